# SPDX-License-Identifier: Apache-2.0
"""What makes dialogues and requests the same, answers to equal requests, and names of dialogues.

Requests are compared by the digests of texts, which their IRIs end with, so that no text is read
until an answer is taken. Then it is one query for one answer, not a whole dialogue.

Short names of dialogues are the ends of their IRIs, such as ``2-fce231bb``, where they are unique.
Runs of one plan repeat the same ends; then the beginning of the run's id comes before the end, as
in ``01a2281f/2-fce231bb``.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from kgbench.errors import NotRecorded, StoreError
from kgbench.model import Json, Reply
from kgbench.rdf import canonical_json, digest, original_text, string
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store
from kgbench.store.templates import fill

_LISTED = 5
_LEAST = 8  # characters of a run in a name


class Ingredients(NamedTuple):
    """The identity of a stored dialogue, by ingredient; prompt and case are digests.

    ``models`` are the id and the label of its model, ``label`` is that of its task.
    """

    dialogue: str
    models: frozenset[str]
    label: str
    iteration: int
    values: Mapping[str, Json]


def ingredients(store: Store, graph: str) -> Iterator[Ingredients]:
    """Yield the ingredients of all dialogues in a run's graph."""
    for r in store.query(fill("ingredients.rq", graph=graph, catalogue=store.iris.catalogue)):
        values = {
            "digest scheme": int(r["scheme"].value),
            "task version": r["class"].value,
            "task parameters": json.loads(r["parameters"].value),
            "case": r["case"].value,
            "prompt": r["text"].value.rpartition("/")[2],
            "sampling": {} if r["asked"] is None else json.loads(r["asked"].value),
            "model": r["model"].value,
        }
        models = frozenset((r["modelId"].value, r["modelLabel"].value))
        iteration = int(r["iteration"].value)
        yield Ingredients(r["dialogue"].value, models, r["label"].value, iteration, values)


class Configuration(NamedTuple):
    """The configuration of a session, in Turtle, and when the session began."""

    started: datetime
    text: str


def configurations(store: Store, run: RunInfo) -> list[Configuration]:
    """Return the configurations of a run's sessions in their order; imported runs have none."""
    rows = store.query(fill("configurations.rq", graph=run.graph, run=run.iri))
    return [
        Configuration(datetime.fromisoformat(row["started"].value), row["text"].value)
        for row in rows
    ]


def last_configuration(store: Store, run: RunInfo) -> str:
    """Return the newest configuration of a run, in Turtle.

    Raises :class:`~kgbench.errors.StoreError` for a run that has none (an imported one).
    """
    all_configurations = configurations(store, run)
    if not all_configurations:
        raise StoreError(f"the run {run.iri} has no configuration: it was imported")
    return all_configurations[-1].text


class StoredAnswer(NamedTuple):
    """An answer of another run: its IRI and graph."""

    answer: str
    graph: str


class ReusableAnswers:
    """The answers of ``models`` in other runs (model IRIs include sampling and options).

    Only the IRIs of answers are held in memory. No answer is used twice, so that the iterations of
    a run stay independent of each other.
    """

    def __init__(self, store: Store, models: Sequence[str], run_graph: str) -> None:
        self._store = store
        self._unused: dict[str, list[StoredAnswer]] = defaultdict(list)
        for model in models:
            self._collect(model, run_graph)
        for answers in self._unused.values():
            answers.sort(reverse=True)

    def take(self, model: str, messages: Sequence[str]) -> tuple[str, Reply] | None:
        """Take an unused answer to the request with these messages: its IRI and reply, if any."""
        known = self._unused.get(request_digest(model, [digest(text) for text in messages]))
        if not known:
            return None
        earlier = known.pop()
        (row,) = self._store.query(fill("answer.rq", graph=earlier.graph, answer=earlier.answer))
        return earlier.answer, _reply(row)

    def _collect(self, model: str, run_graph: str) -> None:
        rounds: dict[str, dict[int, Any]] = defaultdict(dict)
        for row in self._store.query(fill("reusable-answers.rq", model=model, graph=run_graph)):
            rounds[row["dialogue"].value][int(row["round"].value)] = row
        for answered in rounds.values():
            digests: list[str] = []
            for k in range(len(answered)):
                if k not in answered:
                    break
                row = answered[k]
                digests.append(_name(row["prompt"]))
                earlier = StoredAnswer(row["answer"].value, row["graph"].value)
                self._unused[request_digest(model, digests)].append(earlier)
                digests.append(_name(row["extracted"] or row["text"]))


def request_digest(model: str, messages: Sequence[str]) -> str:
    """Return the digest by which requests are equal: of model and message digests."""
    return digest(canonical_json([model, *messages]))


def _name(node: Any) -> str:
    """Return the digest of a text, which its IRI ends with."""
    name: str = node.value.rpartition("/")[2]
    return name


def _reply(row: Any) -> Reply:
    def value(name: str) -> str | None:
        return None if row[name] is None else row[name].value

    reasoning = value("reasoning")
    if reasoning is not None:
        reasoning = original_text(reasoning, value("reasoningOriginal"))
    if row["extracted"] is not None:
        reasoning = None  # the extraction step separates it again
    return Reply(
        text=original_text(row["text"].value, value("original")),
        model=value("model"),
        finish_reason=value("finished"),
        reasoning=reasoning,
        state=value("state"),
    )


def find_dialogue(store: Store, name: str) -> str:
    """Return the IRI of the dialogue called ``name``: IRI, path below the base, or short name.

    IRIs and paths are not looked up. Raises :class:`~kgbench.errors.NotRecorded` if no dialogue, or
    more than one, has this short name.
    """
    run, _, end = name.rpartition("/")
    if "/" in run or name.startswith("/"):
        return name if "://" in name else store.iris.base + name.lstrip("/")
    found = [iri for _, iri in _called(store, [end]) if _is_of_run(iri, run)]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotRecorded(f"no dialogue is called '{name}'; 'kgbench dialogues' lists their names")
    named = [*short_names(store, found).values()]
    more = f" and {len(named) - _LISTED} more" if len(named) > _LISTED else ""
    raise NotRecorded(
        f"'{name}' is the end of {len(named)} dialogues: {', '.join(named[:_LISTED])}{more}"
    )


def short_names(store: Store, paths: Iterable[str]) -> dict[str, str]:
    """Return the shortest names of dialogues by path below the base (or IRI)."""
    ends = {path: path.rpartition("/")[2] for path in paths}
    called: dict[str, list[str]] = defaultdict(list)
    for name, iri in _called(store, set(ends.values())):
        called[name].append(iri)
    return {path: _shortest(path, end, called[end]) for path, end in ends.items()}


def _shortest(path: str, end: str, called: Sequence[str]) -> str:
    """Return the shortest name of a dialogue among those ``called`` by the same end (IRIs)."""
    if len(called) == 1:
        return end
    run = f"/{path}".partition("/run/")[2].partition("/")[0]
    for length in range(min(_LEAST, len(run)), len(run) + 1):
        if sum(_is_of_run(iri, run[:length]) for iri in called) == 1:
            return f"{run[:length]}/{end}"
    return path


def _is_of_run(iri: str, beginning: str) -> bool:
    return not beginning or f"/run/{beginning}" in iri


def _called(store: Store, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names and IRIs of the dialogues with these names, sorted."""
    literals = ", ".join(map(string, sorted(names)))
    if not literals:
        return []
    rows = store.query(fill("dialogues-called.rq", names=literals))
    return sorted({(row["name"].value, row["dialogue"].value) for row in rows})
