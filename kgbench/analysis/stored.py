# SPDX-License-Identifier: Apache-2.0
"""Analyses that are computed once: kept in the store, and read back while nothing has changed.

Each is a graph of its own: the activity with the digests of its queries and the change stamps of
the graphs it read, what its intervals and tests are about, the table as JSON, and the same numbers
as a Data Cube for SPARQL. Its key
covers everything that the result depends on; equal keys, equal result.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from kgbench import __version__
from kgbench.analysis.cubes import cube_triples, is_cube
from kgbench.analysis.inference import statements
from kgbench.analysis.registry import ANALYSES
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Table
from kgbench.model import Json
from kgbench.rdf import canonical_json, digest, integer, json_literal, moment, queries, string
from kgbench.record.entries import registry_entry
from kgbench.software import this_software
from kgbench.store.iris import new_id
from kgbench.store.protocol import Block, Store
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, RDFS

OF_JUDGES = frozenset({"agreement", "confusion", "disagreements", "judged-means", "panels"})
"""The analyses that read passes of judges, too."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What an analysis depends on: its name and arguments, the scores it reads, and their state."""

    name: str
    arguments: Mapping[str, Json]
    selection: Selection
    stamps: Mapping[str, str]
    declared: str

    @property
    def key(self) -> str:
        """The SHA-256 of all of it, with the texts of all queries and the version of the code."""
        return digest(
            canonical_json(
                {
                    "name": self.name,
                    "arguments": dict(self.arguments),
                    "suite": self.selection.suite,
                    "pass": self.selection.choice,
                    "narrowed": dict(self.selection.narrowed),
                    "stamps": dict(self.stamps),
                    "declared": self.declared,
                    "queries": queries.digest(),
                    "version": __version__,
                }
            )
        )


def basis(store: Store, selection: Selection, name: str, arguments: Mapping[str, Json]) -> Basis:
    """The basis of an analysis in the present state of a store."""
    read = {*selection.pass_graphs, *selection.run_graphs}
    if name in ANALYSES and ANALYSES[name].by_policy:
        passes = queries.run(store, "policy-passes", suite=selection.suite)
        read |= {row["passGraph"].value for row in passes}
    if name == "calibration":
        calibrated = queries.rows(store, "calibration-verdicts")
        read |= {str(graph) for graph, *_ in calibrated}
    if name in OF_JUDGES:
        judged = queries.rows(store, "judge-passes", runGraph=list(selection.run_graphs))
        read |= {str(graph) for graph, *_ in judged}
    stamps = {
        str(graph): str(stamp)
        for graph, stamp in queries.rows(store, "list-stamps")
        if graph in read
    }
    declared = queries.rows(store, "declared-digest")
    return Basis(name, arguments, selection, stamps, str(declared[0][1]) if declared else "")


def stored(store: Store, wanted: Basis) -> Table | None:
    """The table that was kept for this very basis, or ``None``."""
    for _, table in queries.rows(store, "stored-analysis", key=wanted.key):
        return Table.from_json(json.loads(table or "{}"))
    return None


def keep(store: Store, made: Basis, table: Table, started: datetime) -> str:
    """Write a table with what it was made from into a graph of its own; returns the analysis's IRI.

    Nothing is written where the store already has the result of this basis.
    """
    for analysis, _ in queries.rows(store, "stored-analysis", key=made.key):
        return str(analysis)
    number = new_id()
    analysis = store.iris.mint("analysis", analysis=number)
    graph = store.iris.mint("analysisGraph", analysis=number)
    lines = [*_activity(store, analysis, made, table, started)]
    dataset = f"{analysis}/table"
    if is_cube(table):
        selection = made.selection
        lines += cube_triples(table, dataset, selection.suite, selection.choice)
        lines.append(f"<{dataset}> <{PROV.wasGeneratedBy}> <{analysis}> .")
        lines.append(f"<{dataset}> <{RDFS.label}> {string(table.title)} .")
    store.write([Block(graph, lines), Block(store.iris.catalogue, registry_entry(graph, analysis))])
    return analysis


def remembered(
    store: Store,
    selection: Selection,
    name: str,
    arguments: Mapping[str, Json],
    compute: Callable[[], Table],
) -> tuple[Table, Basis, datetime | None]:
    """The table of an analysis: read back where it is kept, else computed.

    The moment is when the computation began, ``None`` for a table that was read back. It is for the
    caller to :func:`keep` a computed table, where it owns the store.
    """
    wanted = basis(store, selection, name, arguments)
    found = stored(store, wanted)
    if found is not None:
        return found, wanted, None
    started = datetime.now(UTC)
    return compute(), wanted, started


def _activity(
    store: Store, analysis: str, made: Basis, table: Table, started: datetime
) -> list[str]:
    node = f"<{analysis}>"
    software = this_software()
    used = [queries.load(name) for name in table.queries]
    lines = [
        f"{node} <{RDF.type}> <{KGB.Analysis}> .",
        f"{node} <{RDF.type}> <{PROV.Activity}> .",
        f"{node} <{RDFS.label}> {string(table.title)} .",
        f"{node} <{KGB.analysisName}> {string(made.name)} .",
        f"{node} <{KGB.analysisKey}> {string(made.key)} .",
        f"{node} <{KGB.passChoice}> {string(made.selection.choice)} .",
        f"{node} <{KGB.suite}> <{made.selection.suite}> .",
        f"{node} <{KGB.parameters}> {json_literal(dict(made.arguments))} .",
        f"{node} <{KGB.tableJson}> {json_literal(table.as_json())} .",
        f"{node} <{PROV.startedAtTime}> {moment(started)} .",
        f"{node} <{PROV.endedAtTime}> {moment(datetime.now(UTC))} .",
        f"{node} <{PROV.wasAssociatedWith}> <{software.iri(store.iris)}> .",
        *software.entry(store.iris),
        *statements(analysis, table),
    ]
    for number, (graph, stamp) in enumerate(sorted(made.stamps.items())):
        usage = f"<{analysis}/usage/{number}>"
        lines += [
            f"{node} <{KGB.readGraph}> <{graph}> .",
            f"{node} <{PROV.qualifiedUsage}> {usage} .",
            f"{usage} <{RDF.type}> <{PROV.Usage}> .",
            f"{usage} <{PROV.entity}> <{graph}> .",
            f"{usage} <{KGB.stampAtUse}> {integer(int(stamp))} .",
        ]
    for query in used:
        text = f"{analysis}/query/{query.name}"
        lines += [
            f"{node} <{PROV.used}> <{text}> .",
            f"<{text}> <{RDF.type}> <{PROV.Entity}> .",
            f"<{text}> <{DCTERMS.isVersionOf}> <https://w3id.org/kgbench/query/{query.name}> .",
            f"<{text}> <{KGB.digest}> {string(query.digest)} .",
        ]
    return lines
