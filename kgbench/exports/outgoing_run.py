# SPDX-License-Identifier: Apache-2.0
"""A run as it may leave the store: redacted, scrubbed, and read from its statements.

All exports are made from these statements, which :mod:`kgbench.publish` has filtered, so that no
format reveals more than another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, StoreError
from kgbench.exports.statement_index import StatementIndex
from kgbench.model import Dialogue, Evaluation
from kgbench.pages.snapshot import MemoryView
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.redaction_rules import prepare_rules
from kgbench.publish.scrubbing import Scrubber
from kgbench.record import reading
from kgbench.record.assembly import Assembler, evaluation
from kgbench.record.reading import PassInfo, RunInfo
from kgbench.record.schema import disclosed
from kgbench.run_selection import newest_judgeable_run
from kgbench.scores.selection import FIRST, LATEST
from kgbench.store.protocol import Store
from kgbench.vocab import DCTERMS, KGB, PROV, SKOS


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """The run to export (IRI, id or label; by default the newest not of judges), and options.

    ``pass_`` is ``first``, ``latest`` or the IRI of an evaluation pass. ``level`` is the level of
    redaction; ``None`` leaves out reference answers, and all texts of protected suites.
    ``unprotected`` are the protected suites whose texts may be exported.
    """

    run: str | None = None
    pass_: str = FIRST
    level: RedactionLevel | None = RedactionLevel.GOLD
    unprotected: frozenset[str] = frozenset()
    dialogue: str | None = None


@dataclass
class OutgoingRun:
    """A run with one evaluation of each dialogue, as statements that may leave the store.

    ``statements`` are those of the run's graph, ``judged`` those of the passes. ``invalid`` are
    invalidated dialogues; ``dialogue`` is the only one to export, if set. ``evaluations`` are the
    IRIs that count, by dialogue and round. ``published`` maps an IRI of the store to the exported
    one.
    """

    info: RunInfo
    passes: list[PassInfo]
    base: str
    level: RedactionLevel
    statements: StatementIndex
    judged: StatementIndex
    catalogue: StatementIndex
    invalid: frozenset[str] = frozenset()
    dialogue: str | None = None
    evaluations: dict[str, dict[int | None, str]] = field(default_factory=dict)
    published: Callable[[str], str] = str

    @cached_property
    def dialogues(self) -> list[Dialogue]:
        """The valid dialogues, by model, task and iteration.

        A text that was left out is a :class:`~kgbench.record.schema.Withheld`.
        """
        counted = [
            self._dialogue(iri)
            for iri in self.statements.instances(KGB.Dialogue)
            if iri not in self.invalid and self.dialogue in (None, iri)
        ]
        return sorted(counted, key=lambda d: (d.model, d.task, d.iteration, d.iri))

    @cached_property
    def verdicts(self) -> dict[str, list[Evaluation]]:
        """The evaluations that count, by dialogue: of each round in order, then of the whole."""
        by_dialogue: dict[str, list[Evaluation]] = {dialogue.iri: [] for dialogue in self.dialogues}
        for dialogue, evaluations in by_dialogue.items():
            by_round = self.evaluations.get(dialogue, {})
            for k in sorted(by_round, key=lambda k: float("inf") if k is None else k):
                scores = dict(sorted(self.judged.doubles(by_round[k]).items()))
                evaluations.append(evaluation(self.judged, by_round[k], scores))
        return by_dialogue

    @cached_property
    def metrics(self) -> dict[str, tuple[str, str | None]]:
        """The short name of each metric, and its aggregation of rounds, if it has one."""
        return {
            iri: (
                self.catalogue.required(iri, SKOS.notation),
                self.catalogue.value(iri, KGB.aggregation),
            )
            for iri in self.catalogue.instances(KGB.Metric)
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
        """Group the instances of a class by the value of a property."""
        groups: dict[str, list[str]] = {}
        for iri in self.statements.instances(kind):
            groups.setdefault(self.statements.required(iri, name), []).append(iri)
        return groups

    def class_of(self, task: str) -> str:
        """Return the task class (IRI) of a task or case."""
        return self.catalogue.required(task, KGB.taskClass)

    def value(self, subject: str, name: str, /) -> str | None:
        """Return a value from the run's graph, else the catalogue (for imported tool servers)."""
        value = self.statements.value(subject, name)
        return self.catalogue.value(subject, name) if value is None else value

    def _dialogue(self, iri: str) -> Dialogue:
        calls = self.calls.get(iri, [])
        tool_calls = self._tool_calls.get(iri, [])
        assembler = Assembler(self)
        uses = assembler.uses(tool_calls, _all_of(self._tool_results, tool_calls))
        turns = assembler.turns(calls, _all_of(self.answers, calls), uses)
        return assembler.dialogue(iri, self.info.iri, turns.values())


def all_answered(dialogue: Dialogue) -> bool:
    """Return whether every turn has an answer that was not left out."""
    answers = [disclosed(turn.answer) for turn in dialogue.turns]
    return bool(answers) and None not in answers


def _all_of(groups: Mapping[str, Sequence[str]], names: Iterable[str]) -> list[str]:
    return [iri for name in names for iri in groups.get(name, ())]


def read(store: Store, wanted: ExportRequest) -> OutgoingRun:
    """Read a run, redacted and scrubbed.

    Raises :class:`~kgbench.errors.PublicationRefused` if texts of a protected suite would be
    exported, and :class:`~kgbench.errors.StoreError` for a missing run, dialogue or pass.
    """
    info = selected_run(store, wanted)
    level = _level(store, info, wanted)
    passes = _passes(store, info, wanted.pass_)
    database = ox.Store()
    for graph in (store.iris.catalogue, info.graph, *(each.graph for each in passes)):
        name = ox.NamedNode(graph)
        database.extend(
            ox.Quad(triple.subject, triple.predicate, triple.object, name)
            for triple in store.triples(graph)
        )
    view = MemoryView(database, store.iris.base)
    rules, addresses = prepare_rules(view, store.location, store.iris.base, level)
    out = QuadRedactor(database, addresses, rules)

    def published(graph: str) -> list[ox.Quad]:
        return [quad for quads in out.graph(graph) for quad in quads]

    judged = StatementIndex(
        quad
        for each in passes
        for quad in (
            _as_published(database, published(each.graph), rules.scrubber)
            if each.kind == "published" and level is RedactionLevel.NONE
            else published(each.graph)
        )
    )
    return OutgoingRun(
        info=info,
        passes=passes,
        base=store.iris.base,
        level=level,
        statements=StatementIndex(published(info.graph)),
        judged=judged,
        catalogue=StatementIndex(published(store.iris.catalogue)),
        invalid=frozenset(map(addresses.published, reading.invalid(store, info.graph))),
        # The IRI of a dialogue from an earlier export is its published one already.
        dialogue=None if wanted.dialogue is None else addresses.published(wanted.dialogue),
        evaluations=_evaluations(judged, passes, latest=wanted.pass_ == LATEST),
        published=addresses.published,
    )


def _as_published(
    database: ox.Store, quads: Iterable[ox.Quad], scrubber: Scrubber
) -> Iterator[ox.Quad]:
    """Restore the original infos of evaluations that others published.

    These reveal nothing about this machine, and scrubbing would remove URLs of their data.
    """
    infos = ox.NamedNode(KGB.infos)
    for quad in quads:
        if quad.predicate == infos:
            for original in database.quads_for_pattern(quad.subject, infos, None):
                if not scrubber.tells(str(original.object)):
                    quad = original  # noqa: PLW2901 - replaces the scrubbed one
        yield quad


def selected_run(store: Store, wanted: ExportRequest) -> RunInfo:
    """Return the run to export; by default the newest that is not a run of judges.

    Raises :class:`~kgbench.errors.StoreError` or :class:`~kgbench.errors.TaskError` if there is
    none.
    """
    if wanted.run is None and wanted.dialogue is None:
        return newest_judgeable_run(store)
    if wanted.dialogue is None:
        return reading.find_run(store, wanted.run)
    for run in reading.runs(store):
        if wanted.dialogue.startswith(run.iri + "/"):
            return run
    raise StoreError(f"{store.location} holds no dialogue <{wanted.dialogue}>")


def _level(store: Store, info: RunInfo, wanted: ExportRequest) -> RedactionLevel:
    """Return the level of redaction for a run."""
    if wanted.level is not None and wanted.level >= RedactionLevel.PROMPTS:
        return wanted.level
    name = info.suite.rpartition("/")[2]
    if not _protected(store, info.suite) or {name, info.suite} & wanted.unprotected:
        return RedactionLevel.GOLD if wanted.level is None else wanted.level
    if wanted.level is None:
        return RedactionLevel.ANSWERS
    raise PublicationRefused(
        f"the suite {name} is protected: its prompts and reference answers must not become "
        f"training data. Leave them out (--redact prompts), or, if you may publish them, say so "
        f"(--unprotected {name})"
    )


def _protected(store: Store, suite: str) -> bool:
    values = {
        triple.object.value
        for triple in store.triples(store.iris.catalogue)
        if triple.subject == ox.NamedNode(suite)
        and triple.predicate.value == KGB.protected
        and isinstance(triple.object, ox.Literal)
    }
    return values != {"false"}


def _passes(store: Store, info: RunInfo, pass_: str) -> list[PassInfo]:
    all_passes = reading.passes(store, info)
    if pass_ in (FIRST, LATEST):
        return all_passes
    chosen = [each for each in all_passes if pass_ in (each.iri, each.iri.rpartition("/")[2])]
    if not chosen:
        known = ", ".join(each.iri for each in all_passes)
        raise StoreError(f"'{pass_}' is not an evaluation pass over {info.iri}; there are: {known}")
    return chosen


def _evaluations(
    judged: StatementIndex, passes: Sequence[PassInfo], *, latest: bool
) -> dict[str, dict[int | None, str]]:
    """Return the evaluations that count, by dialogue and round: one pass per dialogue."""
    by_pass: dict[str, dict[str, dict[int | None, str]]] = {}
    for iri in judged.instances(KGB.Evaluation):
        of_pass = by_pass.setdefault(judged.required(iri, PROV.wasGeneratedBy), {})
        number = judged.value(iri, KGB.round)
        dialogue = judged.required(iri, KGB.dialogue)
        of_pass.setdefault(dialogue, {})[None if number is None else int(number)] = iri
    counting: dict[str, dict[int | None, str]] = {}
    for each in reversed(passes) if latest else passes:
        for dialogue, evaluations in by_pass.get(each.iri, {}).items():
            counting.setdefault(dialogue, evaluations)
    return counting
