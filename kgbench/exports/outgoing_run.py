# SPDX-License-Identifier: Apache-2.0
"""One run as it may leave the store: its statements, redacted and scrubbed, and reading them.

Exports are made from what :mod:`kgbench.publish` lets out and from nothing else, so that no format
tells more than another.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, StoreError
from kgbench.model import Json
from kgbench.pages.snapshot import Memory
from kgbench.publish.addresses import Addresses
from kgbench.publish.learning import renamed, telling
from kgbench.publish.outgoing import Outgoing, Rules
from kgbench.publish.scrubbing import Scrubber, here, hosts_and_people, secrets_here
from kgbench.publish.withholding import Level
from kgbench.rdf import original_text
from kgbench.record import invalidation, reading
from kgbench.record.reading import PassInfo, RunInfo
from kgbench.store.protocol import Store
from kgbench.vocab import DCTERMS, KGB, OUTCOME, PROV, RDF, SKOS, XSD


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is exported: a run (IRI, id or label; the newest where ``None``), and how.

    ``choice`` is ``first``, ``latest`` or the IRI of an evaluation pass; ``unprotected`` are the
    protected suites whose texts may be told.
    """

    run: str | None = None
    choice: str = "first"
    level: Level = Level.GOLD
    unprotected: frozenset[str] = frozenset()
    dialogue: str | None = None


class Said:
    """The statements of some graphs, by subject and property."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.quads = list(quads)
        self._by_subject: dict[str, dict[str, list[str]]] = {}
        self._scores: dict[str, dict[str, float]] = {}
        for quad in self.quads:
            subject = getattr(quad.subject, "value", "")
            value = getattr(quad.object, "value", "")
            name = quad.predicate.value
            self._by_subject.setdefault(subject, {}).setdefault(name, []).append(value)
            if isinstance(quad.object, ox.Literal) and quad.object.datatype.value == XSD.double:
                self._scores.setdefault(subject, {})[name] = float(value)

    def one(self, subject: str, name: str) -> str | None:
        """The value of a property; the least where there are several, ``None`` without any."""
        return min(self.all(subject, name), default=None)

    def needed(self, subject: str, name: str) -> str:
        """The value of a property that must be there."""
        found = self.one(subject, name)
        if found is None:
            raise StoreError(f"<{subject}> has no {name}: the store is damaged")
        return found

    def all(self, subject: str, name: str) -> list[str]:
        """All values of a property, sorted."""
        return sorted(self._by_subject.get(subject, {}).get(name, ()))

    def of_type(self, kind: str) -> list[str]:
        """The things of a class, sorted."""
        return sorted(s for s, said in self._by_subject.items() if kind in said.get(RDF.type, ()))

    def doubles(self, subject: str) -> dict[str, float]:
        """The numbers that are said of a subject, by property: the scores of an evaluation."""
        return self._scores.get(subject, {})

    def data(self, subject: str, name: str) -> Json:
        """The value of a property that is JSON; ``{}`` where it is not there."""
        found = self.one(subject, name)
        return {} if found is None else json.loads(found)


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


@dataclass
class OutgoingRun:
    """A run with one evaluation of each dialogue, as statements that may be told.

    ``run``, ``catalogue`` and ``passes`` hold what is said; ``left_out`` counts dialogues that
    somebody has invalidated.
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
    info = _run_of(store, wanted)
    _refuse_in_the_clear(store, info, wanted)
    passes = _passes(store, info, wanted.choice)
    database = ox.Store()
    for graph in (store.iris.catalogue, info.graph, *(one.graph for one in passes)):
        name = ox.NamedNode(graph)
        database.extend(
            ox.Quad(triple.subject, triple.predicate, triple.object, name)
            for triple in store.triples(graph)
        )
    scrubber = Scrubber(here() | hosts_and_people(telling(database)), secrets_here())
    view = Memory(database, store.iris.base)
    addresses = Addresses(store.iris.base, store.iris.base, renamed(view, scrubber))
    out = Outgoing(database, addresses, Rules(wanted.level, scrubber))

    def said(graph: str) -> list[ox.Quad]:
        return [quad for quads in out.graph(graph) for quad in quads]

    judged = Said(
        quad
        for one in passes
        for quad in (
            _as_published(database, said(one.graph), scrubber)
            if one.kind == "published" and wanted.level is Level.NONE
            else said(one.graph)
        )
    )
    return OutgoingRun(
        info=info,
        passes=passes,
        base=store.iris.base,
        level=wanted.level,
        said=Said(said(info.graph)),
        judged=judged,
        catalogue=Said(said(store.iris.catalogue)),
        invalid=frozenset(map(addresses.published, invalidation.invalid(store, info.graph))),
        dialogue=None if wanted.dialogue is None else addresses.published(wanted.dialogue),
        evaluations=_evaluations(judged, passes, latest=wanted.choice == "latest"),
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


def _refuse_in_the_clear(store: Store, info: RunInfo, wanted: Wanted) -> None:
    if wanted.level >= Level.PROMPTS:
        return
    name = info.suite.rpartition("/")[2]
    said = {
        triple.object.value
        for triple in store.triples(store.iris.catalogue)
        if triple.subject == ox.NamedNode(info.suite)
        and triple.predicate.value == KGB.protected
        and isinstance(triple.object, ox.Literal)
    }
    if said != {"false"} and not {name, info.suite} & wanted.unprotected:
        raise PublicationRefused(
            f"the suite {name} is protected: its prompts and reference answers must not become "
            f"training data. Leave them out (--redact prompts), or, if you may tell them, say so "
            f"(--unprotected {name})"
        )


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
