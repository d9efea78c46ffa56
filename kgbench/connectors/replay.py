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
from kgbench.connectors.declared import Declaration
from kgbench.connectors.options import Option, read
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
    """The recorded answers of one model of the run that ``setup`` names."""
    options = read(setup.options, DECLARED.options, setup.spec)
    try:
        with open_reader(options["store"] or SOURCE.get()) as store:
            run, graph = _run(store, setup.model_id)
            rows = _rows(store, graph, options["model"], setup.spec)
    except StoreError as error:
        raise ModelSpecError(f"{setup.spec}: {error}") from None
    if not rows:
        raise ModelSpecError(f"{setup.spec}: the run {run} holds no answers")
    return Replay(setup.spec, answers(rows), by_case=options["match"] == "case")


class Replay:
    """Gives recorded answers; see the module."""

    def __init__(self, spec: str, recorded: Answers, *, by_case: bool) -> None:
        self._spec = spec
        self._recorded = recorded
        self._by_case = by_case
        self._given: dict[Key, int] = defaultdict(int)
        self._told: dict[str, Reply] = {}

    async def ask(self, request: Request) -> Reply:
        """The next recorded answer to this conversation.

        Raises :class:`~kgbench.errors.ProviderRefused` when there is none, or none any more.
        """
        await asyncio.sleep(0)  # others get their turn, as with any provider
        if request.seed not in self._told:
            self._told[request.seed] = self._next(request)
        return self._told[request.seed]

    def _next(self, request: Request) -> Reply:
        key = _conversation(request.case.iri, request.messages)
        found = self._recorded.by_conversation.get(key)
        if found is None and self._by_case:
            key = (request.case.iri, str(len(request.messages) // 2))
            found = self._recorded.by_round.get(key)
        if found is None:
            raise ProviderRefused(f"{self._spec}: no answer to this conversation was recorded")
        given = self._given[key]
        if given >= len(found):
            raise ProviderRefused(
                f"{self._spec}: all {len(found)} answers to this conversation have been given"
            )
        self._given[key] += 1
        return found[given]

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Nothing to give back."""


def answers(rows: Iterable[Mapping[str, Any]]) -> Answers:
    """The answers in the ``rows`` of the query ``replay-answers``, by what they answer."""
    found = Answers()
    said: list[str] = []
    dialogue = None
    for row in rows:
        if row["dialogue"].value != dialogue:
            dialogue, said = row["dialogue"].value, []
        prompt = rdf.original_text(row["promptText"].value, _value(row["promptOriginal"]))
        reply = _reply(row)
        said = [*said, prompt]
        case, k = row["case"].value, int(row["round"].value)
        found.by_conversation[_conversation(case, said)].append(reply)
        found.by_round[case, str(k)].append(reply)
        said = [*said, reply.text]
    return found


def _reply(row: Mapping[str, Any]) -> Reply:
    outcome = _value(row["outcome"])
    return Reply(
        text=rdf.original_text(row["answerText"].value, _value(row["answerOriginal"])),
        model=row["model"].value.rpartition("/")[2],
        finish_reason=_value(row["finishReason"]),
        reasoning=_value(row["reasoningText"]),
        outcome=None if outcome is None else Outcome(outcome.removeprefix(OUTCOME)),
    )


def _conversation(case: str, said: Sequence[str]) -> Key:
    return (case, rdf.digest(rdf.canonical_json(list(said))))


def _value(term: Any) -> str | None:
    return None if term is None else str(term.value)


def _run(store: Store, name: str) -> tuple[str, str]:
    """The IRI and the graph of the run called ``name``; the newest of several with one label."""
    rows = list(store.query(fill("runs.rq", catalogue=store.iris.catalogue)))
    runs = [(row["run"].value, row["graph"].value, row["label"].value) for row in rows]
    exact = [run for run in runs if name in (run[0], _id(run[0]))]
    begun = [run for run in runs if _id(run[0]).startswith(name)]
    labelled = [run for run in runs if run[2] == name]
    found = exact or (begun if len(begun) == 1 else []) or labelled
    if not found:
        known = ", ".join(f"{_id(iri)} ({label})" for iri, _, label in runs[:8]) or "none"
        raise StoreError(f"'{name}' names no run in {store.location}; there are: {known}")
    return found[0][0], found[0][1]


def _id(iri: str) -> str:
    return iri.rpartition("/")[2]


def _rows(store: Store, graph: str, model: str | None, spec: str) -> list[Any]:
    """The answers of one model in a run; :class:`ModelSpecError` when it is not clear of which."""
    labels = {
        row["model"].value: row["label"].value
        for row in store.query(fill("models.rq", catalogue=store.iris.catalogue))
    }
    rows = list(queries.run(store, "replay-answers", runGraph=graph))
    asked = sorted({row["model"].value for row in rows})
    chosen = [one for one in asked if model in (None, one, _id(one), labels.get(one))]
    if len(chosen) > 1 or (asked and not chosen):
        there_are = ", ".join(labels.get(one, _id(one)) for one in asked)
        raise ModelSpecError(f"{spec}: choose a model with the option 'model': {there_are}")
    return [row for row in rows if row["model"].value in chosen]
