# SPDX-License-Identifier: Apache-2.0
"""One run as it may leave the store: its statements, redacted and scrubbed, and reading them.

Exports are made from what :mod:`kgbench.publish` lets out and from nothing else, so that no format
tells more than another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, StoreError
from kgbench.exports.said import Said
from kgbench.model import Json
from kgbench.pages.snapshot import Memory
from kgbench.publish.addresses import Addresses
from kgbench.publish.learning import prepared
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.scrubbing import Scrubber
from kgbench.publish.veiling import Veil
from kgbench.publish.withholding import Level
from kgbench.rdf import original_text
from kgbench.record import invalidation, reading
from kgbench.record.reading import PassInfo, RunInfo
from kgbench.store.known_keys import commitments
from kgbench.store.protocol import Store
from kgbench.tool_calls import ToolServer
from kgbench.vocab import DCTERMS, KGB, OUTCOME, PROV, SCHEMA, SKOS, TOOL_OUTCOME


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is exported: a run (IRI, id or label; the newest where ``None``), and how.

    ``choice`` is ``first``, ``latest`` or the IRI of an evaluation pass. ``level`` says what is
    left out; ``None`` leaves out reference answers, and every text where the suite is protected.
    ``unprotected`` are the protected suites whose texts may be told.
    """

    run: str | None = None
    choice: str = "first"
    level: Level | None = Level.GOLD
    unprotected: frozenset[str] = frozenset()
    dialogue: str | None = None


@dataclass(frozen=True, slots=True)
class Round:
    """One prompt and what became of it; texts that were left out are ``None``."""

    number: int
    prompt: str
    prompt_text: str | None
    call: str | None
    asked: datetime | None
    answered: datetime | None
    answer: str | None
    answer_text: str | None
    uses: tuple[Used, ...] = ()


@dataclass(frozen=True, slots=True)
class Used:
    """A tool call in an answer, with its result; texts that were left out are ``None``.

    ``outcome`` and ``fault`` are words of :mod:`kgbench.tool_calls`; ``server`` gave the result.
    """

    tool: str
    id: str | None
    arguments: str | None
    malformed: str | None
    result: str | None
    outcome: str
    fault: str | None
    started: datetime
    ended: datetime
    server: ToolServer | None


@dataclass(frozen=True, slots=True)
class Verdict:
    """An evaluation: of the answer of a round, or (``round`` is ``None``) of a whole dialogue."""

    iri: str
    round: int | None
    outcome: str
    scores: dict[str, float]
    infos: dict[str, Json]


@dataclass(frozen=True, slots=True)
class Held:
    """A dialogue that was held, with its rounds and the verdicts that count."""

    iri: str
    model: str
    task: str
    case: str
    iteration: int
    started: datetime
    ended: datetime | None
    rounds: tuple[Round, ...]
    verdicts: tuple[Verdict, ...]
    tool_protocol: str | None = None


@dataclass
class OutgoingRun:
    """A run with one evaluation of each dialogue, as statements that may be told.

    ``run``, ``catalogue`` and ``passes`` hold what is said; ``left_out`` counts dialogues that
    somebody has invalidated. ``published`` gives the IRI by which a thing of the store is told of.
    """

    info: RunInfo
    passes: list[PassInfo]
    base: str
    level: Level
    said: Said
    judged: Said
    catalogue: Said
    invalid: frozenset[str] = frozenset()
    dialogue: str | None = None
    evaluations: dict[str, dict[int | None, str]] = field(default_factory=dict)
    published: Callable[[str], str] = str

    @cached_property
    def held(self) -> list[Held]:
        """The dialogues that count, by model, task and iteration."""
        found = [
            self._held(iri)
            for iri in self.said.of_type(KGB.Dialogue)
            if iri not in self.invalid and self.dialogue in (None, iri)
        ]
        return sorted(found, key=lambda d: (d.model, d.task, d.iteration, d.iri))

    @cached_property
    def metrics(self) -> dict[str, tuple[str, str | None]]:
        """Every metric's short name, with how it aggregates rounds (``None``: it does not)."""
        return {
            iri: (
                self.catalogue.needed(iri, SKOS.notation),
                self.catalogue.one(iri, KGB.aggregation),
            )
            for iri in self.catalogue.of_type(KGB.Metric)
        }

    @cached_property
    def _calls(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for call in self.said.of_type(KGB.ModelCall):
            found.setdefault(self.said.needed(call, DCTERMS.isPartOf), []).append(call)
        return found

    @cached_property
    def _answers(self) -> dict[str, str]:
        return {
            self.said.needed(answer, PROV.wasGeneratedBy): answer
            for answer in self.said.of_type(KGB.Answer)
        }

    @cached_property
    def _tool_calls(self) -> dict[str, list[str]]:
        """The tool calls of each model call, in their order."""
        found: dict[str, list[str]] = {}
        for call in self.said.of_type(KGB.ToolCall):
            found.setdefault(self.said.needed(call, PROV.wasInformedBy), []).append(call)
        for calls in found.values():
            calls.sort(key=lambda call: int(self.said.needed(call, KGB.callIndex)))
        return found

    @cached_property
    def _tool_results(self) -> dict[str, str]:
        return {
            self.said.needed(result, PROV.wasGeneratedBy): result
            for result in self.said.of_type(KGB.ToolResult)
        }

    def text(self, node: str | None) -> str | None:
        """The content of a text, or ``None`` where it was left out."""
        value = None if node is None else self.said.one(node, PROV.value)
        if node is None or value is None:
            return None
        return original_text(value, self.said.one(node, KGB.originalBytes))

    def class_of(self, task: str) -> str:
        """The task class (IRI) of a task or case."""
        return self.catalogue.needed(task, KGB.taskClass)

    def _held(self, iri: str) -> Held:
        said = self.said
        ended = said.one(iri, PROV.endedAtTime)
        return Held(
            iri=iri,
            model=said.needed(iri, KGB.model),
            task=said.needed(iri, KGB.task),
            case=said.needed(iri, KGB.case),
            iteration=int(said.needed(iri, KGB.iteration)),
            started=datetime.fromisoformat(said.needed(iri, PROV.startedAtTime)),
            ended=None if ended is None else datetime.fromisoformat(ended),
            rounds=tuple(self._rounds(iri)),
            verdicts=tuple(self._verdicts(iri)),
            tool_protocol=said.one(iri, KGB.toolProtocol),
        )

    def _rounds(self, dialogue: str) -> Iterator[Round]:
        calls: dict[int, list[str]] = {}
        for call in self._calls.get(dialogue, ()):
            calls.setdefault(int(self.said.needed(call, KGB.round)), []).append(call)
        for number in sorted(calls):
            in_order = sorted(calls[number], key=lambda c: int(c.rpartition("/")[2]))
            yield self._round(number, in_order)

    def _round(self, number: int, calls: Sequence[str]) -> Round:
        said = self.said
        call = next((c for c in calls if c in self._answers), calls[-1])
        answer = self._answers.get(call)
        prompt = said.needed(call, PROV.used)
        node = None if answer is None else said.one(answer, KGB.extracted)
        if node is None and answer is not None:
            node = said.one(answer, KGB.text)
        return Round(
            number=number,
            prompt=prompt,
            prompt_text=self.text(said.one(prompt, KGB.text)),
            call=call,
            asked=datetime.fromisoformat(said.needed(call, PROV.startedAtTime)),
            answered=datetime.fromisoformat(said.needed(call, PROV.endedAtTime)),
            answer=answer,
            answer_text=self.text(node),
            uses=tuple(map(self._used, self._tool_calls.get(call, ()))),
        )

    def _used(self, call: str) -> Used:
        said = self.said
        result = self._tool_results.get(call, "")
        agent = said.one(call, PROV.wasAssociatedWith)
        told = (SKOS.notation, SCHEMA.softwareVersion, KGB.digest)
        server = agent and ToolServer(*(said.needed(agent, term) for term in told))
        return Used(
            tool=said.one(call, KGB.tool) or "",
            id=said.one(call, KGB.toolCallId),
            arguments=self.text(said.one(call, PROV.used)),
            malformed=said.one(call, SCHEMA.error),
            result=self.text(said.one(result, KGB.text)),
            outcome=said.needed(call, KGB.toolOutcome).removeprefix(TOOL_OUTCOME),
            fault=said.one(call, KGB.toolFault),
            started=datetime.fromisoformat(said.needed(call, PROV.startedAtTime)),
            ended=datetime.fromisoformat(said.needed(call, PROV.endedAtTime)),
            server=server or None,
        )

    def _verdicts(self, dialogue: str) -> Iterator[Verdict]:
        by_round = self.evaluations.get(dialogue, {})
        for number in sorted(by_round, key=lambda k: float("inf") if k is None else k):
            iri = by_round[number]
            outcome = self.judged.needed(iri, KGB.outcome)
            yield Verdict(
                iri,
                number,
                outcome.removeprefix(OUTCOME),
                dict(sorted(self.judged.doubles(iri).items())),
                self.judged.data(iri, KGB.infos),
            )


def read(store: Store, wanted: Wanted) -> OutgoingRun:
    """The run that is wanted, redacted and scrubbed.

    Raises :class:`~kgbench.errors.PublicationRefused` where texts of a protected suite would be
    told, and :class:`~kgbench.errors.StoreError` for a run, dialogue or pass that is not there.
    """
    if wanted.dialogue is not None:  # perhaps by the IRI that an earlier export gave it
        known = Addresses(store.iris.base, store.iris.base, veil=Veil(commitments(store.location)))
        wanted = replace(wanted, dialogue=known.original(wanted.dialogue))
    info = _run_of(store, wanted)
    level = _level(store, info, wanted)
    passes = _passes(store, info, wanted.choice)
    database = ox.Store()
    for graph in (store.iris.catalogue, info.graph, *(one.graph for one in passes)):
        name = ox.NamedNode(graph)
        database.extend(
            ox.Quad(triple.subject, triple.predicate, triple.object, name)
            for triple in store.triples(graph)
        )
    view = Memory(database, store.iris.base)
    rules, addresses = prepared(view, store.location, store.iris.base, level)
    out = Outgoing(database, addresses, rules)

    def said(graph: str) -> list[ox.Quad]:
        return [quad for quads in out.graph(graph) for quad in quads]

    judged = Said(
        quad
        for one in passes
        for quad in (
            _as_published(database, said(one.graph), rules.scrubber)
            if one.kind == "published" and level is Level.NONE
            else said(one.graph)
        )
    )
    return OutgoingRun(
        info=info,
        passes=passes,
        base=store.iris.base,
        level=level,
        said=Said(said(info.graph)),
        judged=judged,
        catalogue=Said(said(store.iris.catalogue)),
        invalid=frozenset(map(addresses.published, invalidation.invalid(store, info.graph))),
        dialogue=None if wanted.dialogue is None else addresses.published(wanted.dialogue),
        evaluations=_evaluations(judged, passes, latest=wanted.choice == "latest"),
        published=addresses.published,
    )


def _as_published(
    database: ox.Store, quads: Iterable[ox.Quad], scrubber: Scrubber
) -> Iterator[ox.Quad]:
    """Evaluations that others published, with what they noted untouched.

    It says nothing of the machines at work here, and often has addresses of the data.
    """
    infos = ox.NamedNode(KGB.infos)
    for quad in quads:
        if quad.predicate == infos:
            for original in database.quads_for_pattern(quad.subject, infos, None):
                if not scrubber.tells(str(original.object)):
                    quad = original  # noqa: PLW2901 - in its place
        yield quad


def _run_of(store: Store, wanted: Wanted) -> RunInfo:
    if wanted.dialogue is None:
        return reading.find_run(store, wanted.run)
    for run in reading.runs(store):
        if wanted.dialogue.startswith(run.iri + "/"):
            return run
    raise StoreError(f"{store.location} holds no dialogue <{wanted.dialogue}>")


def _level(store: Store, info: RunInfo, wanted: Wanted) -> Level:
    """What is left out of the export of a run."""
    if wanted.level is not None and wanted.level >= Level.PROMPTS:
        return wanted.level
    name = info.suite.rpartition("/")[2]
    if not _protected(store, info.suite) or {name, info.suite} & wanted.unprotected:
        return Level.GOLD if wanted.level is None else wanted.level
    if wanted.level is None:
        return Level.ANSWERS
    raise PublicationRefused(
        f"the suite {name} is protected: its prompts and reference answers must not become "
        f"training data. Leave them out (--redact prompts), or, if you may tell them, say so "
        f"(--unprotected {name})"
    )


def _protected(store: Store, suite: str) -> bool:
    said = {
        triple.object.value
        for triple in store.triples(store.iris.catalogue)
        if triple.subject == ox.NamedNode(suite)
        and triple.predicate.value == KGB.protected
        and isinstance(triple.object, ox.Literal)
    }
    return said != {"false"}


def _passes(store: Store, info: RunInfo, choice: str) -> list[PassInfo]:
    found = reading.passes(store, info)
    if choice in ("first", "latest"):
        return found
    chosen = [one for one in found if choice in (one.iri, one.iri.rpartition("/")[2])]
    if not chosen:
        known = ", ".join(one.iri for one in found)
        raise StoreError(f"'{choice}' is no evaluation pass over {info.iri}; there are: {known}")
    return chosen


def _evaluations(
    judged: Said, passes: Sequence[PassInfo], *, latest: bool
) -> dict[str, dict[int | None, str]]:
    """The evaluations that count, by dialogue and round: all of a dialogue from one pass."""
    by_pass: dict[str, dict[str, dict[int | None, str]]] = {}
    for iri in judged.of_type(KGB.Evaluation):
        of_pass = by_pass.setdefault(judged.needed(iri, PROV.wasGeneratedBy), {})
        number = judged.one(iri, KGB.round)
        dialogue = judged.needed(iri, KGB.dialogue)
        of_pass.setdefault(dialogue, {})[None if number is None else int(number)] = iri
    found: dict[str, dict[int | None, str]] = {}
    for one in reversed(passes) if latest else passes:
        for dialogue, evaluations in by_pass.get(one.iri, {}).items():
            found.setdefault(dialogue, evaluations)
    return found
