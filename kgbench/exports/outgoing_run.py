# SPDX-License-Identifier: Apache-2.0
"""A run as it may leave the store: redacted, scrubbed, and read from its statements.

All exports are made from these statements, which :mod:`kgbench.publish` has filtered, so that no
format reveals more than another.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, StoreError
from kgbench.model import Dialogue, Evaluation, Json
from kgbench.pages.things import MemoryView
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.redact import prepare_rules
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.scrubbing import Scrubber
from kgbench.rdf.quads import ByIndex, IndexedQuads, by_subject
from kgbench.record import reading
from kgbench.record.dialogues import StoredDialogues
from kgbench.record.reading import PassInfo, RunInfo
from kgbench.record.schema import disclosed, required
from kgbench.scores.selection import FIRST, LATEST, newest_judgeable_run
from kgbench.store.protocol import Store
from kgbench.vocab import KGB, PROV, RDF, SKOS


class StatementIndex:
    """Statements, indexed by subject and property."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.quads = list(quads)
        self._by_subject = by_subject(self.quads)

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of a property; of several values, the least."""
        return min(self.values(subject, name), default=None)

    def required(self, subject: str, name: str) -> str:
        """Return the value of a mandatory property; raises StoreError if it is missing."""
        return required(self, subject, name)

    def values(self, subject: str, name: str) -> list[str]:
        """Return all values of a property, sorted."""
        return sorted(one.value for one in self._by_subject.get(subject, {}).get(name, ()))

    def instances(self, kind: str) -> list[str]:
        """Return the instances of a class, sorted."""
        return sorted(s for s in self._by_subject if kind in self.values(s, RDF.type))

    def data(self, subject: str, name: str) -> Json:
        """Parse the value of a property that is JSON; ``{}`` if it is missing."""
        text = self.value(subject, name)
        return {} if text is None else json.loads(text)


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

    ``statements`` are those of the run's graph, ``judged`` those of the passes. ``found`` has the
    valid dialogues, with the evaluations that count; ``dialogue`` is the only one, if set.
    ``published`` maps an IRI of the store to the exported one.
    """

    info: RunInfo
    passes: list[PassInfo]
    base: str
    level: RedactionLevel
    statements: StatementIndex
    judged: StatementIndex
    catalogue: StatementIndex
    found: StoredDialogues
    dialogue: str | None = None
    published: Callable[[str], str] = str

    @cached_property
    def dialogues(self) -> list[Dialogue]:
        """The valid dialogues, by model, task and iteration.

        A text that was left out is a :class:`~kgbench.record.schema.Withheld`.
        """
        valid = map(self.found.dialogue, self.found.parts)
        return sorted(valid, key=lambda d: (d.model, d.task, d.iteration, d.iri))

    @cached_property
    def verdicts(self) -> dict[str, list[Evaluation]]:
        """The evaluations that count, by dialogue: of each round in order, then of the whole."""
        evaluations = self.found.evaluations
        return {d.iri: list(map(self.found.evaluation, evaluations[d.iri])) for d in self.dialogues}

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

    def class_of(self, task: str) -> str:
        """Return the task class (IRI) of a task or case."""
        return self.catalogue.required(task, KGB.taskClass)


def all_answered(dialogue: Dialogue) -> bool:
    """Return whether every turn has an answer that was not left out."""
    answers = [disclosed(turn.answer) for turn in dialogue.turns]
    return bool(answers) and None not in answers


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
    statements = StatementIndex(published(info.graph))
    catalogue = StatementIndex(published(store.iris.catalogue))
    invalid = frozenset(map(addresses.published, reading.invalid(store, info.graph)))
    # The IRI of a dialogue from an earlier export is its published one already.
    dialogue = None if wanted.dialogue is None else addresses.published(wanted.dialogue)
    found = StoredDialogues(
        ByIndex(IndexedQuads(chain(statements.quads, catalogue.quads, judged.quads))),
        (
            iri
            for iri in statements.instances(KGB.Dialogue)
            if iri not in invalid and dialogue in (None, iri)
        ),
    )
    found.find_evaluations()
    order = [each.iri for each in (reversed(passes) if wanted.pass_ == LATEST else passes)]
    for evaluations in found.evaluations.values():
        _keep_one_pass(found, evaluations, order)
    return OutgoingRun(
        info=info,
        passes=passes,
        base=store.iris.base,
        level=level,
        statements=statements,
        judged=judged,
        catalogue=catalogue,
        found=found,
        dialogue=dialogue,
        published=addresses.published,
    )


def _keep_one_pass(found: StoredDialogues, evaluations: list[str], order: Sequence[str]) -> None:
    """Keep the evaluations by the first pass (IRI) in ``order`` that has any."""
    by_pass: dict[str | None, list[str]] = {}
    for iri in evaluations:
        by_pass.setdefault(found.value(iri, PROV.wasGeneratedBy), []).append(iri)
    evaluations[:] = next((by_pass[one] for one in order if one in by_pass), [])


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
