# SPDX-License-Identifier: Apache-2.0
"""One run as it may leave the store: its statements, redacted and scrubbed, and reading them.

Exports are made from what :mod:`kgbench.publish` lets out and from nothing else, so that no format
tells more than another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, StoreError
from kgbench.exports.said import Said
from kgbench.model import Dialogue, Evaluation
from kgbench.pages.snapshot import Memory
from kgbench.publish.addresses import Addresses
from kgbench.publish.learning import prepared
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.scrubbing import Scrubber
from kgbench.publish.veiling import Veil
from kgbench.publish.withholding import Level
from kgbench.record import invalidation, reading
from kgbench.record.assembly import Assembler, evaluation
from kgbench.record.reading import PassInfo, RunInfo
from kgbench.record.withheld import disclosed
from kgbench.store.known_keys import commitments
from kgbench.store.protocol import Store
from kgbench.vocab import DCTERMS, KGB, PROV, SKOS


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
    def dialogues(self) -> list[Dialogue]:
        """The dialogues that count, by model, task and iteration.

        A text that was left out is a :class:`~kgbench.record.withheld.Withheld`.
        """
        counted = [
            self._dialogue(iri)
            for iri in self.said.of_type(KGB.Dialogue)
            if iri not in self.invalid and self.dialogue in (None, iri)
        ]
        return sorted(counted, key=lambda d: (d.model, d.task, d.iteration, d.iri))

    @cached_property
    def verdicts(self) -> dict[str, list[Evaluation]]:
        """The evaluations that count, by dialogue: of each round in order, then of the whole."""
        found: dict[str, list[Evaluation]] = {dialogue.iri: [] for dialogue in self.dialogues}
        for dialogue, evaluations in found.items():
            by_round = self.evaluations.get(dialogue, {})
            for k in sorted(by_round, key=lambda k: float("inf") if k is None else k):
                scores = dict(sorted(self.judged.doubles(by_round[k]).items()))
                evaluations.append(evaluation(self.judged, by_round[k], scores))
        return found

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
    def calls(self) -> dict[str, list[str]]:
        """The model calls (IRIs) of each dialogue."""
        return self._grouped(KGB.ModelCall, DCTERMS.isPartOf)

    @cached_property
    def answers(self) -> dict[str, list[str]]:
        """The answer (IRI) of each answered model call."""
        return self._grouped(KGB.Answer, PROV.wasGeneratedBy)

    @cached_property
    def _tool_calls(self) -> dict[str, list[str]]:
        return self._grouped(KGB.ToolCall, KGB.dialogue)

    @cached_property
    def _tool_results(self) -> dict[str, list[str]]:
        return self._grouped(KGB.ToolResult, PROV.wasGeneratedBy)

    def _grouped(self, kind: str, name: str) -> dict[str, list[str]]:
        """The things of a class by the value of a property."""
        groups: dict[str, list[str]] = {}
        for iri in self.said.of_type(kind):
            groups.setdefault(self.said.needed(iri, name), []).append(iri)
        return groups

    def class_of(self, task: str) -> str:
        """The task class (IRI) of a task or case."""
        return self.catalogue.needed(task, KGB.taskClass)

    def one(self, subject: str, name: str, /) -> str | None:
        """A value from the graph of the run, else from the catalogue (of imported tool servers)."""
        value = self.said.one(subject, name)
        return self.catalogue.one(subject, name) if value is None else value

    def _dialogue(self, iri: str) -> Dialogue:
        calls = self.calls.get(iri, [])
        tool_calls = self._tool_calls.get(iri, [])
        assembler = Assembler(self)
        uses = assembler.uses(tool_calls, _all_of(self._tool_results, tool_calls))
        turns = assembler.turns(calls, _all_of(self.answers, calls), uses)
        return assembler.dialogue(iri, self.info.iri, turns.values())


def all_answered(dialogue: Dialogue) -> bool:
    """Whether every turn has an answer that was not left out."""
    answers = [disclosed(turn.answer) for turn in dialogue.turns]
    return bool(answers) and None not in answers


def _all_of(groups: Mapping[str, Sequence[str]], names: Iterable[str]) -> list[str]:
    return [iri for name in names for iri in groups.get(name, ())]


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
