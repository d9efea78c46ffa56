# SPDX-License-Identifier: Apache-2.0
"""A stored run as a model: ``replay:RUN`` says again what was answered there.

``RUN`` is a run's IRI, its id or the beginning of that, or its label; option ``store`` is the
folder of the store that holds it (else the store of the command), ``model`` the label of one of
its models, or the last part of its IRI, where there were several.

A conversation is answered when its case and every prompt and answer in it are recorded; with
``match=case`` the case and the number of the round are enough, so that old answers can be tried
on new prompts. Answers to equal conversations are given in the order of their iterations, each
once, and a question that is repeated gets the same answer.

A replay calls no provider, so it counts no tokens.

Connectors stand below the room of results and do not import it. One query gives all answers of a
run in order; calls, times and tools, which whole dialogues have, are not needed.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Self

from kgbench import rdf
from kgbench.connectors import extraction
from kgbench.connectors.declared import Declaration, Option, read_options
from kgbench.errors import ModelSpecError, ProviderRefused, StoreError
from kgbench.model import ModelSetup, Outcome, Reply, Request
from kgbench.rdf import queries
from kgbench.store import open_reader
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import OUTCOME

# Where the command that is running keeps its results; set by whoever opens connectors.
SOURCE: ContextVar[str | None] = ContextVar("kgbench.connectors.replay.source", default=None)

DECLARED = Declaration(
    specifications=("replay:RUN",),
    options={
        "store": Option(str, None, meaning="the store with the run, if it is another one"),
        "model": Option(str, None, meaning="which model of the run, if it has several"),
        "match": Option(
            str,
            "prompt",
            allowed=("prompt", "case"),
            meaning="what must be as recorded: every prompt, or only the case and the round",
        ),
    },
    sampling=(),
)

Key = tuple[str, ...]


@dataclass(slots=True)
class Answers:
    """Recorded answers by what they answer, each list in the order of iterations."""

    by_conversation: dict[Key, list[Reply]] = field(default_factory=lambda: defaultdict(list))
    by_round: dict[Key, list[Reply]] = field(default_factory=lambda: defaultdict(list))


def open(setup: ModelSetup, timeout: float) -> Replay:  # noqa: A001, ARG001 - the interface
    """Return the recorded answers of one model of the run that ``setup`` names."""
    options = read_options(setup.options, DECLARED.options, setup.spec)
    try:
        with open_reader(options["store"] or SOURCE.get()) as store:
            run, graph = _run(store, setup.model_id)
            rows = _rows(store, graph, options["model"], setup.spec)
    except StoreError as error:
        raise ModelSpecError(f"{setup.spec}: {error}") from None
    if not rows:
        raise ModelSpecError(f"{setup.spec}: the run {run} holds no answers")
    recorded = answers(rows, extraction.of(setup))
    return Replay(setup.spec, recorded, by_case=options["match"] == "case")


class Replay:
    """Gives recorded answers; see the module."""

    def __init__(self, spec: str, recorded: Answers, *, by_case: bool) -> None:
        self._spec = spec
        self._recorded = recorded
        self._by_case = by_case
        self._positions: dict[Key, int] = defaultdict(int)
        self._by_seed: dict[str, Reply] = {}

    async def ask(self, request: Request) -> Reply:
        """Return the next recorded answer to this conversation.

        Raises :class:`~kgbench.errors.ProviderRefused` when there is none, or none any more.
        """
        await asyncio.sleep(0)  # others get their turn, as with any provider
        if request.seed not in self._by_seed:
            self._by_seed[request.seed] = self._next(request)
        return self._by_seed[request.seed]

    def _next(self, request: Request) -> Reply:
        key = _conversation(request.case.iri, request.messages)
        replies = self._recorded.by_conversation.get(key)
        if replies is None and self._by_case:
            key = (request.case.iri, str(len(request.messages) // 2))
            replies = self._recorded.by_round.get(key)
        if replies is None:
            raise ProviderRefused(f"{self._spec}: no answer to this conversation was recorded")
        position = self._positions[key]
        if position >= len(replies):
            raise ProviderRefused(
                f"{self._spec}: all {len(replies)} answers to this conversation have been given"
            )
        self._positions[key] += 1
        return replies[position]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Nothing to give back."""


def answers(
    rows: Iterable[Mapping[str, Any]], extract: extraction.Step = extraction.whole
) -> Answers:
    """Return the answers in the ``rows`` of the query ``replay-answers``, by what they answer.

    Later messages of a conversation have what ``extract`` leaves of an answer.
    """
    result = Answers()
    messages: list[str] = []
    dialogue = None
    for row in rows:
        if row["dialogue"].value != dialogue:
            dialogue, messages = row["dialogue"].value, []
        prompt = rdf.original_text(row["promptText"].value, _value(row["promptOriginal"]))
        reply = _reply(row)
        messages = [*messages, prompt]
        case, k = row["case"].value, int(row["round"].value)
        result.by_conversation[_conversation(case, messages)].append(reply)
        result.by_round[case, str(k)].append(reply)
        messages = [*messages, extract(reply.text).text]
    return result


def _reply(row: Mapping[str, Any]) -> Reply:
    outcome = _value(row["outcome"])
    return Reply(
        text=rdf.original_text(row["answerText"].value, _value(row["answerOriginal"])),
        model=row["model"].value.rpartition("/")[2],
        finish_reason=_value(row["finishReason"]),
        reasoning=_value(row["reasoningText"]),
        outcome=None if outcome is None else Outcome(outcome.removeprefix(OUTCOME)),
    )


def _conversation(case: str, messages: Sequence[str]) -> Key:
    return (case, rdf.digest(rdf.canonical_json(list(messages))))


def _value(term: Any) -> str | None:
    return None if term is None else str(term.value)


def _run(store: Store, name: str) -> tuple[str, str]:
    """Return the IRI and graph of the run called ``name``, the newest if several share a label."""
    rows = list(store.query(fill("runs.rq", catalogue=store.iris.catalogue)))
    runs = [(row["run"].value, row["graph"].value, row["label"].value) for row in rows]
    exact = [run for run in runs if name in (run[0], _id(run[0]))]
    begun = [run for run in runs if _id(run[0]).startswith(name)]
    labelled = [run for run in runs if run[2] == name]
    candidates = exact or (begun if len(begun) == 1 else []) or labelled
    if not candidates:
        known = ", ".join(f"{_id(iri)} ({label})" for iri, _, label in runs[:8]) or "none"
        raise StoreError(f"'{name}' names no run in {store.location}; there are: {known}")
    return candidates[0][0], candidates[0][1]


def _id(iri: str) -> str:
    return iri.rpartition("/")[2]


def _rows(store: Store, graph: str, model: str | None, spec: str) -> list[Any]:
    """Return the answers of one model in a run.

    Raises :class:`ModelSpecError` if it is not clear which model is meant.
    """
    labels = {
        row["model"].value: row["label"].value
        for row in store.query(fill("models.rq", catalogue=store.iris.catalogue))
    }
    rows = list(queries.run(store, "replay-answers", runGraph=graph))
    models = sorted({row["model"].value for row in rows})
    chosen = [iri for iri in models if model in (None, iri, _id(iri), labels.get(iri))]
    if len(chosen) > 1 or (models and not chosen):
        there_are = ", ".join(labels.get(iri, _id(iri)) for iri in models)
        raise ModelSpecError(f"{spec}: choose a model with the option 'model': {there_are}")
    return [row for row in rows if row["model"].value in chosen]
