# SPDX-License-Identifier: Apache-2.0
"""Marks results as invalid, with agent, time and reason, and finds what is removed with a run.

An invalidation removes nothing; a removal keeps what other runs share.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import NamedTuple

from kgbench import clock
from kgbench.errors import NotRecorded, StoreError
from kgbench.rdf import iri
from kgbench.record import reading, schema
from kgbench.record.identity import find_dialogue
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import registry_entry
from kgbench.store.iris import new_id
from kgbench.store.maintenance import analyses_of
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill
from kgbench.vocab import PROV, RDF

_FEW = 20  # up to so many dialogues are looked up one by one


class Invalidated(NamedTuple):
    """An invalidation: its IRI, and the numbers of dialogues and of results that it covers."""

    iri: str
    dialogues: int
    results: int


def invalidate(
    store: Store, name: str, reason: str, by: str, *, person: bool = False
) -> Invalidated:
    """Mark a run (IRI, id or label) or a dialogue (short name or IRI) as invalid, in one write.

    ``by`` names the ``person`` (or else the account) who does this. Raises
    :class:`~kgbench.errors.StoreError` for an unknown ``name``, for an empty reason or ``by``, and
    where everything is invalid already.
    """
    if not reason.strip() or not by.strip():
        raise StoreError("an invalidation needs a reason and the name of the person giving it")
    graph_of = _dialogues(store, name)
    for graph in set(graph_of.values()):
        for dialogue in reading.invalid(store, graph):
            graph_of.pop(dialogue, None)
    if not graph_of:
        raise StoreError(f"all dialogues of '{name}' are invalid already")
    return invalidate_dialogues(store, graph_of, reason, by, person=person)


def invalidate_dialogues(
    store: Store, graph_of: Mapping[str, str], reason: str, by: str, *, person: bool = False
) -> Invalidated:
    """Mark dialogues as invalid, in one write; ``graph_of`` are the graphs of their runs.

    None of them may be invalid already. ``reason``, ``by`` and ``person`` are as in
    :func:`invalidate`.
    """
    entities = _entities(store, graph_of)
    number = new_id()
    node = store.iris.mint("invalidation", invalidation=number)
    graph = store.iris.mint("invalidationGraph", invalidation=number)
    agent, now = f"{node}/by", clock.now()
    lines = schema.of("Invalidation").triples(
        node, reason=reason, started=now, ended=now, agent=agent, dialogues=list(graph_of)
    )
    lines += schema.of("Invalidator").triples(agent, label=by)
    if person:
        lines.append(f"<{agent}> <{RDF.type}> <{PROV.Person}> .")
    lines += [f"<{entity}> <{PROV.wasInvalidatedBy}> <{node}> ." for entity in entities]
    blocks = [Block(graph, lines), Block(store.iris.catalogue, registry_entry(graph, node))]
    # An empty block renews the stamp of a graph, which outdates the analyses that read it.
    changed = sorted({*graph_of.values(), *entities.values()})
    store.write([*blocks, *(Block(name, []) for name in changed)])
    return Invalidated(node, len(graph_of), len(entities))


def _dialogues(store: Store, name: str) -> dict[str, str]:
    """Return the graphs of the dialogues that ``name`` selects, by dialogue."""
    term = ""
    with contextlib.suppress(ValueError, NotRecorded):
        term = iri(find_dialogue(store, name))
    by_iri = _query(store, f"VALUES ?dialogue {{ {term} }}") if term else {}
    if by_iri:
        return by_iri
    return _query(store, f"VALUES ?run {{ <{reading.find_run(store, name).iri}> }}")


def _query(store: Store, condition: str) -> dict[str, str]:
    rows = store.query(fill("dialogues.rq", which=condition))
    return {row["dialogue"].value: row["graph"].value for row in rows}


def _entities(store: Store, dialogues: Mapping[str, str]) -> dict[str, str]:
    """Return the graphs of the answers and evaluations of ``dialogues``, by entity."""
    few = len(dialogues) <= _FEW
    which = f"VALUES ?dialogue {{ {' '.join(f'<{d}>' for d in dialogues)} }}" if few else ""
    graphs = set(dialogues.values())
    asked = [("answers-of-dialogues.rq", graph) for graph in graphs]
    for run in reading.runs(store):
        if run.graph in graphs:
            passes = reading.passes(store, run)
            asked += [("dialogue-evaluations.rq", pass_.graph) for pass_ in passes]
    return {
        row["entity"].value: graph
        for name, graph in asked
        for row in store.query(fill(name, graph=graph, which=which))
        if row["dialogue"].value in dialogues
    }


def unrepeated(store: Store, graph: str) -> int:
    """Return how many planned dialogues of a run's graph were invalidated and not begun again."""
    (row,) = store.query(fill("unrepeated-invalid.rq", graph=graph))
    return int(row["count"].value)


class Removal(NamedTuple):
    """The graphs that are removed with a run."""

    run: str
    passes: tuple[str, ...]
    analyses: tuple[str, ...]
    invalidations: tuple[str, ...]

    @property
    def graphs(self) -> list[str]:
        """All of them; the run comes first, so that no graph refers to one that is gone already."""
        return [self.run, *self.passes, *self.analyses, *self.invalidations]


def removal(store: Store, run: RunInfo) -> Removal:
    """Find the passes of ``run``, the analyses that read it, and invalidations of it alone."""
    passes = tuple(pass_.graph for pass_ in reading.passes(store, run))
    rows = store.query(fill("invalidations-of.rq", catalogue=store.iris.catalogue, run=run.iri))
    invalidations = tuple(
        sorted(row["graph"].value for row in rows if row["of"].value == row["all"].value)
    )
    analyses = tuple(analyses_of(store, {run.graph, *passes}))
    return Removal(run.graph, passes, analyses, invalidations)
