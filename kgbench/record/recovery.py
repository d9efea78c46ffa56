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

from kgbench.errors import StoreError
from kgbench.rdf import integer
from kgbench.record import reading, schema
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import registry_entry
from kgbench.store import examination, registry, snapshots
from kgbench.store.copying import CopiedGraph, copy
from kgbench.store.databases import ReadDatabase
from kgbench.store.protocol import OwnedStore
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


@dataclass(frozen=True, slots=True)
class _Read:
    """What could be read: a ``database``, and the parts of the store that it was read of.

    ``hurt`` maps each incomplete graph to the subjects with missing triples.
    """

    store: ReadDatabase
    database: ox.Store
    source: str
    unread: list[str]
    hurt: dict[str, list[str]]

    def remove(self, graph: str, subject: str, predicate: str | None = None) -> None:
        """Remove the triples about a subject from a graph."""
        property_ = None if predicate is None else ox.NamedNode(predicate)
        pattern = (ox.NamedNode(subject), property_, None, ox.NamedNode(graph))
        for quad in list(self.database.quads_for_pattern(*pattern)):
            self.database.remove(quad)


def recover(path: Path, target: OwnedStore) -> Recovered:
    """Copy the readable part of the store at ``path`` (not open anywhere) into an empty store.

    It is the readable part of the owner's files or, if these are damaged and a snapshot has more
    that can be read, of that snapshot: snapshots share most files with the store, so that joining
    them would add little. Raises :class:`~kgbench.errors.StoreError` if nothing can be read.
    """
    with tempfile.TemporaryDirectory(prefix="kgbench-recovery-") as scratch:
        found = _read(path, Path(scratch))
        with found.store as store:
            _register(found)
            missing: list[Missing] = []
            for run in reading.runs(store):
                missing += _without_incomplete(found, run)
            removed = tuple(f"{lost.dialogue}/" for lost in missing)
            damaged = sorted({s for subjects in found.hurt.values() for s in subjects})
            incomplete = [
                subject
                for subject in damaged
                if not f"{subject}/".startswith(removed) and not _is_result(subject)
            ]
            copied = copy(store, target)
            return Recovered(found.source, found.unread, copied, missing, incomplete)


def _read(path: Path, scratch: Path) -> _Read:
    """Load the part of a store of which most can be read, without entries of missing graphs."""
    file = scratch / "read.nq"
    unread: list[str] = []
    most: _Read | None = None
    for folder in (path / "data", *snapshots.all_of(path / "snapshots")):
        examined = examination.examine(folder, file)
        if (examined.graphs or examined.hurt) and file.stat().st_size:
            database = ox.Store(str(scratch / folder.name))
            database.bulk_load(path=str(file), format=ox.RdfFormat.N_QUADS)
            file.unlink()
            if most is None or len(database) > len(most.database):
                unread += [] if most is None else [most.source]
                store = ReadDatabase(str(path), database)
                name = examination.name(folder)
                most = _Read(store, database, name, list(unread), examined.hurt)
            if not examined.damage:
                break
        elif most is None:
            unread.append(examination.name(folder))
    if most is None:
        raise StoreError(f"nothing of the store {path} can be read: restore it from a backup")
    catalogue = most.store.iris.catalogue
    most.remove(catalogue, catalogue, KGB.declaredDigest)  # so that it is declared again
    for graph in set(registry.graphs(most.store)) - set(most.store.graphs()):
        most.remove(catalogue, graph)
    return most


def _is_result(iri: str) -> bool:
    """Return whether an IRI names an evaluation or a text, which are removed with dialogues."""
    return "/text/" in iri or "/pass/" in iri


def _register(found: _Read) -> None:
    """Register runs and passes whose registry entries were lost, and stamp each graph."""
    store = found.store
    known = set(registry.graphs(store))
    stamps = registry.stamps(store)
    lines = []
    for kind in ("run", "pass"):
        for graph in store.graphs():
            head = f"{store.iris.base}graph/{kind}/"
            if not graph.startswith(head):
                continue
            described = f"{store.iris.base}{kind}/{graph.removeprefix(head)}"
            if graph not in known:
                if not store.query(fill("described.rq", graph=graph, describes=described)):
                    continue
                lines += registry_entry(graph, described)
            if graph not in stamps:
                stamp = integer(max(stamps.values(), default=0) + 1)
                lines.append(f"<{graph}> <{KGB.changeStamp}> {stamp} .")
    content, catalogue = "\n".join(lines).encode(), ox.NamedNode(store.iris.catalogue)
    found.database.load(content, ox.RdfFormat.N_TRIPLES, to_graph=catalogue)


def _without_incomplete(found: _Read, run: RunInfo) -> list[Missing]:
    """Remove the incomplete dialogues of a run, and return them."""
    passes = reading.passes(found.store, run)
    graphs = [run.graph, *(pass_.graph for pass_ in passes)]
    if not any(graph in found.hurt for graph in graphs):
        return []
    wanted = set(_damaged_dialogues(found, run, {pass_.graph: pass_.iri for pass_ in passes}))
    for pass_ in passes:
        if pass_.kind == "live":
            rows = found.store.query(
                fill("unjudged-dialogues.rq", graph=run.graph, **{"pass": pass_.graph})
            )
            wanted |= {row["dialogue"].value for row in rows}
    for subject in found.hurt.get(run.graph, ()):
        if subject.startswith(f"{run.iri}/text/"):
            found.remove(run.graph, subject)
    below = dict(zip(graphs, [run.iri, *(pass_.iri for pass_ in passes)], strict=True))
    turns: dict[str, set[int]] = defaultdict(set)
    for graph, head in below.items():
        named = {triple.subject for triple in found.store.triples(graph)}
        for name in {node.value for node in named if isinstance(node, ox.NamedNode)}:
            dialogue = _dialogue(run.iri, head, name)
            if dialogue in wanted:
                turns[dialogue].update(_round(head, name))
                found.remove(graph, name)
    return [Missing(run.iri, iri, tuple(sorted(turns[iri]))) for iri in sorted(wanted)]


def _damaged_dialogues(found: _Read, run: RunInfo, passes: dict[str, str]) -> Iterator[str]:
    """Yield the dialogues of a run that have a damaged subject."""
    for graph, head in {run.graph: run.iri, **passes}.items():
        for subject in found.hurt.get(graph, ()):
            dialogue = _dialogue(run.iri, head, subject)
            if dialogue is not None:
                yield dialogue
            elif subject.startswith(f"{run.iri}/text/"):
                yield from _users(found, run, subject)


def _users(found: _Read, run: RunInfo, text: str) -> Iterator[str]:
    """Yield the dialogues that use a text."""
    pattern = (None, None, ox.NamedNode(text), ox.NamedNode(run.graph))
    for quad in found.database.quads_for_pattern(*pattern):
        if quad.predicate.value in schema.texts() and isinstance(quad.subject, ox.NamedNode):
            dialogue = _dialogue(run.iri, run.iri, quad.subject.value)
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
