# SPDX-License-Identifier: Apache-2.0
"""Recovers the readable part of a damaged store, without incomplete dialogues.

A dialogue is kept if all its subjects, texts and evaluations could be read in full. The others are
left out with all their evaluations, so that continuing the run repeats them.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox

from kgbench.rdf import integer
from kgbench.record import reading, schema
from kgbench.record.entries import registry_entry
from kgbench.record.reading import RunInfo
from kgbench.store import copying, registry
from kgbench.store.copying import CopiedGraph
from kgbench.store.protocol import OwnedStore
from kgbench.store.rebuilding import RebuiltStore, rebuild
from kgbench.store.templates import fill
from kgbench.vocab import KGB

_PARTS = 3  # of a dialogue's path below its run: model, task label, iteration and digest


@dataclass(frozen=True, slots=True)
class Missing:
    """A dialogue that could not be read in full; ``turns`` are its known rounds."""

    run: str
    dialogue: str
    turns: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recovered:
    """The files of the damaged store that were read, what was written, and what is missing.

    Data that only ``unread`` files had are missing too, and cannot be listed. ``incomplete`` are
    other resources (IRIs) with statements that could not be read.
    """

    source: str
    unread: list[str]
    copied: list[CopiedGraph]
    missing: list[Missing]
    incomplete: list[str]


def recover(path: Path, target: OwnedStore) -> Recovered:
    """Copy the readable part of the store at ``path`` (not open anywhere) into an empty store.

    Raises :class:`~kgbench.errors.StoreError` if nothing can be read.
    """
    with (
        tempfile.TemporaryDirectory(prefix="kgbench-recovery-") as scratch,
        rebuild(path, Path(scratch)) as rebuilt,
    ):
        _register(rebuilt)
        missing: list[Missing] = []
        for run in reading.runs(rebuilt):
            missing += _without_incomplete(rebuilt, run)
        removed = tuple(f"{lost.dialogue}/" for lost in missing)
        damaged = sorted({s for subjects in rebuilt.hurt.values() for s in subjects})
        incomplete = [s for s in damaged if not _is_below(s, removed) and not _is_result(s)]
        copied = copying.copy(rebuilt, target)
        return Recovered(rebuilt.source, rebuilt.unread, copied, missing, incomplete)


def _is_result(iri: str) -> bool:
    """Return whether an IRI names an evaluation or a text, which are removed with dialogues."""
    return "/text/" in iri or "/pass/" in iri


def _is_below(iri: str, prefixes: tuple[str, ...]) -> bool:
    return f"{iri}/".startswith(prefixes)


def _register(rebuilt: RebuiltStore) -> None:
    """Register runs and passes whose registry entries were lost, and stamp each graph."""
    known = set(registry.graphs(rebuilt))
    stamps = registry.stamps(rebuilt)
    lines = []
    for kind in ("run", "pass"):
        for graph in rebuilt.graphs():
            head = f"{rebuilt.iris.base}graph/{kind}/"
            if not graph.startswith(head):
                continue
            described = f"{rebuilt.iris.base}{kind}/{graph.removeprefix(head)}"
            if graph not in known:
                if not rebuilt.query(fill("described.rq", graph=graph, describes=described)):
                    continue
                lines += registry_entry(graph, described)
            if graph not in stamps:
                stamp = integer(max(stamps.values(), default=0) + 1)
                lines.append(f"<{graph}> <{KGB.changeStamp}> {stamp} .")
    if lines:
        rebuilt.add(rebuilt.iris.catalogue, lines)


def _without_incomplete(rebuilt: RebuiltStore, run: RunInfo) -> list[Missing]:
    """Remove the incomplete dialogues of a run, and return them."""
    passes = reading.passes(rebuilt, run)
    graphs = [run.graph, *(pass_.graph for pass_ in passes)]
    if not any(graph in rebuilt.hurt for graph in graphs):
        return []
    wanted = set(_damaged_dialogues(rebuilt, run, {pass_.graph: pass_.iri for pass_ in passes}))
    for pass_ in passes:
        if pass_.kind == "live":
            rows = rebuilt.query(
                fill("unjudged-dialogues.rq", graph=run.graph, **{"pass": pass_.graph})
            )
            wanted |= {row["dialogue"].value for row in rows}
    for subject in rebuilt.hurt.get(run.graph, ()):
        if subject.startswith(f"{run.iri}/text/"):
            rebuilt.remove(run.graph, subject)
    below = dict(zip(graphs, [run.iri, *(pass_.iri for pass_ in passes)], strict=True))
    turns: dict[str, set[int]] = defaultdict(set)
    for graph, head in below.items():
        named = {triple.subject for triple in rebuilt.triples(graph)}
        for name in {node.value for node in named if isinstance(node, ox.NamedNode)}:
            dialogue = _dialogue(run.iri, head, name)
            if dialogue in wanted:
                turns[dialogue].update(_round(head, name))
                rebuilt.remove(graph, name)
    return [Missing(run.iri, iri, tuple(sorted(turns[iri]))) for iri in sorted(wanted)]


def _damaged_dialogues(
    rebuilt: RebuiltStore, run: RunInfo, passes: dict[str, str]
) -> Iterator[str]:
    """Yield the dialogues of a run that have a damaged subject."""
    for graph, head in {run.graph: run.iri, **passes}.items():
        for subject in rebuilt.hurt.get(graph, ()):
            dialogue = _dialogue(run.iri, head, subject)
            if dialogue is not None:
                yield dialogue
            elif subject.startswith(f"{run.iri}/text/"):
                yield from _users(rebuilt, run, subject)


def _users(rebuilt: RebuiltStore, run: RunInfo, text: str) -> Iterator[str]:
    """Yield the dialogues that use a text."""
    for triple in rebuilt.about(run.graph, ox.NamedNode(text)):
        if triple.predicate.value in schema.texts() and isinstance(triple.subject, ox.NamedNode):
            dialogue = _dialogue(run.iri, run.iri, triple.subject.value)
            if dialogue is not None:
                yield dialogue


def _dialogue(run: str, head: str, subject: str) -> str | None:
    """Return the dialogue of a subject below ``head`` (a run or a pass), if any."""
    path = subject.removeprefix(f"{head}/")
    parts = path.split("/")
    if path == subject or len(parts) < _PARTS:
        return None
    return "/".join([run, *parts[:_PARTS]])


def _round(head: str, subject: str) -> set[int]:
    parts = subject.removeprefix(f"{head}/").split("/")
    return {int(parts[_PARTS])} if len(parts) > _PARTS and parts[_PARTS].isdecimal() else set()
