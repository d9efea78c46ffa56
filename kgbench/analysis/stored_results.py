# SPDX-License-Identifier: Apache-2.0
"""Results of analyses that are kept in the store and read back while nothing has changed.

Each result is a graph: the activity with the digests of its queries and the change stamps of the
graphs it read, the estimand and method of its intervals and tests, the table as JSON, and the same
numbers as a Data Cube for SPARQL. Its key covers everything that the result depends on, so equal
keys mean equal results.

A cube has one observation per measure (``qb:measureType``). The dimensions are the suite, the
choice of the pass, and the models, tasks, metrics or axes of the rows; the measures are the columns
that the vocabulary declares. A missing value is ``NaN`` and a row without any number is left out,
so that the cube is complete (integrity constraint 17 of the Data Cube recommendation). Estimand,
method and levels of intervals and tests are attributes of the data set.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from kgbench import __version__, clock
from kgbench.analysis.registry import Analysis, Arguments
from kgbench.model import Json
from kgbench.rdf import (
    canonical_json,
    digest,
    double,
    integer,
    json_literal,
    moment,
    queries,
    string,
)
from kgbench.scores.inference import inference_statements
from kgbench.scores.selection import Selection
from kgbench.store.iris import new_id
from kgbench.store.protocol import Block, Store
from kgbench.tables import Ref, Table, Value
from kgbench.vocab import DCTERMS, DQV, KGB, PROV, QB, RDF, RDFS, XSD

DIMENSIONS: Mapping[str, str] = {
    "model": KGB.model,
    "task": KGB.task,
    "metric": KGB.metric,
    "axis": KGB.axis,
}
MEASURES: Mapping[str, tuple[str, str]] = {
    "rank": (KGB.rank, XSD.integer),
    "score": (KGB.mean, XSD.double),
    "mean": (KGB.mean, XSD.double),
    "sd": (KGB.standardDeviation, XSD.double),
    "median": (KGB.median, XSD.double),
    "n": (KGB["count"], XSD.integer),
    "errors": (KGB.errorCount, XSD.integer),
    "clusters": (KGB.clusterCount, XSD.integer),
    "ci_low": (KGB.lowerBound, XSD.double),
    "ci_high": (KGB.upperBound, XSD.double),
    "band_from": (KGB.bandFrom, XSD.double),
    "band_to": (KGB.bandTo, XSD.double),
    "p_best": (KGB.pValue, XSD.double),
}
ATTRIBUTES = (KGB.estimand, KGB.inferenceMethod, KGB.confidenceLevel, KGB.significanceLevel)
_ERRORS = ("failed", "not_judged")
_RANGES = {
    KGB.model: KGB.Model,
    KGB.task: KGB.Task,
    KGB.metric: KGB.Metric,
    KGB.suite: KGB.Suite,
    KGB.axis: DQV.Dimension,
}


@dataclass(frozen=True, slots=True)
class Basis:
    """The inputs of an analysis: name, arguments, selected scores, and the state of the store.

    ``stamps`` has the change stamps of the graphs that it reads, ``declared`` the digest of the
    declared files that the catalogue was filled from.
    """

    name: str
    arguments: Mapping[str, Json]
    selection: Selection
    stamps: Mapping[str, str]
    declared: str

    @property
    def key(self) -> str:
        """The SHA-256 of the inputs, the texts of all queries and the version of the code."""
        return digest(
            canonical_json(
                {
                    "name": self.name,
                    "arguments": dict(self.arguments),
                    "suite": self.selection.suite,
                    "pass": self.selection.pass_,
                    "narrowed": dict(self.selection.narrowed),
                    "stamps": dict(self.stamps),
                    "declared": self.declared,
                    "queries": queries.digest(),
                    "version": __version__,
                }
            )
        )


def basis(
    store: Store, selection: Selection, analysis: Analysis[...], arguments: Arguments
) -> Basis:
    """Return the inputs of an analysis in the current state of a store.

    ``arguments`` are those of :meth:`~kgbench.analysis.registry.Analysis.arguments`.
    """
    graphs = {*selection.pass_graphs, *selection.run_graphs}
    for name in analysis.reads:
        graphs |= _graphs(store, selection, name)
    recorded = analysis.recorded(arguments)
    declared = queries.rows(store, "declared-digest")
    return Basis(
        analysis.name,
        recorded,
        selection,
        stamps(store, graphs),
        str(declared[0][1]) if declared else "",
    )


def stamps(store: Store, graphs: Collection[str]) -> dict[str, str]:
    """Return the change stamps of graphs, by the IRI of the graph."""
    return {
        str(graph): str(stamp)
        for graph, stamp in queries.rows(store, "list-stamps")
        if graph in graphs
    }


def _graphs(store: Store, selection: Selection, name: str) -> set[str]:
    """Return all values of the query ``name`` about a selection: graphs, and other things."""
    selectors = {"suite": selection.suite, "runGraph": list(selection.run_graphs)}
    known = {parameter.name for parameter in queries.load(name).parameters}
    arguments = {key: value for key, value in selectors.items() if key in known}
    return {str(value) for row in queries.rows(store, name, **arguments) for value in row}


def stored_table(store: Store, inputs: Basis) -> Table | None:
    """Return the table that is stored for exactly these inputs, or ``None``."""
    for _, table in queries.rows(store, "stored-analysis", key=inputs.key):
        return Table.from_json(json.loads(table or "{}"))
    return None


def stored_or_computed(
    store: Store,
    selection: Selection,
    analysis: Analysis[...],
    arguments: Arguments,
    *,
    keep: bool = False,
) -> Table:
    """Return the table of an analysis, from the store if it is stored there, else computed.

    With ``keep``, a computed table is stored in the store, which the caller must own.
    """
    inputs = basis(store, selection, analysis, arguments)
    table = stored_table(store, inputs)
    if table is None:
        started = clock.now() if keep else None
        table = analysis.make(store, selection, **arguments)
        if started is not None:
            store_table(store, inputs, table, started)
    return table


def is_cube(table: Table) -> bool:
    """Return whether a table has means, and references in its dimensions identify its rows."""
    names = _dimensions(table)
    keys = [tuple(row[name] for name in names) for row in table.records()]
    measured = "n" in table.names and not {"score", "mean"}.isdisjoint(table.names)
    return measured and bool(names) and len(set(keys)) == len(keys)


def _dimensions(table: Table) -> list[str]:
    """Return the columns of dimensions that have references only."""
    return [
        name
        for name in table.names
        if name in DIMENSIONS and all(isinstance(value, Ref) for value in table.column(name))
    ]


def observations(
    table: Table, dataset: str
) -> Iterator[tuple[Mapping[str, Value], Mapping[str, str]]]:
    """Yield the rows of the cube ``dataset``, each with the IRIs of its observations by measure.

    Measures are named as in :data:`MEASURES`.
    """
    between = "-" if "#" in dataset else "/"
    rows = [_measured(row) for row in table.records() if row.get("n")]
    declared = measures_of(table)
    measures = [
        name
        for name in (*table.names, "errors")
        if name in declared and all(name in row for row in rows)
    ]
    for number, row in enumerate(rows):
        yield row, {name: f"{dataset}{between}{number}{between}{name}" for name in measures}


def cube_triples(
    table: Table,
    dataset: str,
    suite: str,
    pass_choice: str,
    links: Callable[[Mapping[str, Value]], Iterable[tuple[str, str]]] = lambda _: (),
) -> Iterator[str]:
    """Yield the N-Triples lines of a table as a ``qb:DataSet`` with the IRI ``dataset``.

    Models, tasks and axes are references. ``links`` returns further properties of a row's
    observations with the IRIs of their values.
    """
    between = "-" if "#" in dataset else "/"
    measure_of = measures_of(table)
    dimensions = _dimensions(table)
    rows = list(observations(table, dataset))
    measures = list(rows[0][1]) if rows else []
    inference_lines = list(inference_statements(dataset, table))
    attributes = [
        term for term in ATTRIBUTES if any(f"<{term}>" in line for line in inference_lines)
    ]
    roles = [(QB.dimension, KGB.suite), (QB.dimension, KGB.passChoice)]
    roles += [(QB.dimension, DIMENSIONS[name]) for name in dimensions]
    roles += [(QB.dimension, QB.measureType)]
    roles += [(QB.measure, measure_of[name][0]) for name in measures]
    roles += [(QB.attribute, term) for term in attributes]
    yield from _structure(dataset, f"{dataset}{between}structure", roles)
    yield from inference_lines
    fixed = f"<{KGB.suite}> <{suite}>", f"<{KGB.passChoice}> {string(pass_choice)}"
    for row, iris in rows:
        dimension_pairs = [
            f"<{DIMENSIONS[name]}> <{value.iri}>"
            for name in dimensions
            if isinstance(value := row[name], Ref)
        ]
        linked = [f"<{prop}> <{iri}>" for prop, iri in links(row)]
        for name, iri in iris.items():
            node = f"<{iri}>"
            measure, datatype = measure_of[name]
            yield f"{node} <{RDF.type}> <{QB.Observation}> ."
            yield f"{node} <{QB.dataSet}> <{dataset}> ."
            yield from (f"{node} {pair} ." for pair in (*fixed, *dimension_pairs, *linked))
            yield f"{node} <{QB.measureType}> <{measure}> ."
            yield f"{node} <{measure}> {_number(row[name], datatype)} ."


def _measured(row: dict[str, Value]) -> dict[str, Value]:
    """Return a row with the sum of its errors, and without its missing whole numbers."""
    errors = [int(row[name] or 0) for name in _ERRORS if name in row]
    with_errors = {**row, "errors": sum(errors)} if errors else dict(row)
    return {
        name: value
        for name, value in with_errors.items()
        if value is not None or MEASURES.get(name, ("", ""))[1] == XSD.double
    }


def _number(value: Value, datatype: str) -> str:
    if datatype == XSD.integer:
        return integer(int(value or 0))
    return double(math.nan if value is None else float(value))


def measures_of(table: Table) -> Mapping[str, tuple[str, str]]:
    """Return the measures of the columns of a table: property and datatype by column name."""
    if table.context.get("deviation") == "population":
        return {**MEASURES, "sd": (KGB.populationDeviation, XSD.double)}
    return MEASURES


def _structure(dataset: str, structure: str, roles: list[tuple[str, str]]) -> Iterator[str]:
    between = "-" if "#" in structure else "/"
    yield f"<{dataset}> <{RDF.type}> <{QB.DataSet}> ."
    yield f"<{dataset}> <{QB.structure}> <{structure}> ."
    yield f"<{structure}> <{RDF.type}> <{QB.DataStructureDefinition}> ."
    for number, (role, term) in enumerate(roles, 1):
        component = f"<{structure}{between}{number}>"
        yield f"<{structure}> <{QB.component}> {component} ."
        yield f"{component} <{role}> <{term}> ."
        yield f"{component} <{QB.order}> {integer(number)} ."
        if role == QB.attribute:
            yield f"{component} <{QB.componentAttachment}> <{QB.DataSet}> ."
        if role == QB.dimension and term != QB.measureType:
            yield f"<{term}> <{RDF.type}> <{QB.DimensionProperty}> ."
            yield f"<{term}> <{RDFS.range}> <{_RANGES.get(term, XSD.string)}> ."


def store_table(store: Store, inputs: Basis, table: Table, started: datetime) -> str:
    """Write a table and its provenance into a new graph; returns the IRI of the analysis.

    Nothing is written where the store already has a result for these inputs.
    """
    for analysis, _ in queries.rows(store, "stored-analysis", key=inputs.key):
        return str(analysis)
    from kgbench.record.recorder import registry_entry

    number = new_id()
    analysis = store.iris.mint("analysis", analysis=number)
    graph = store.iris.mint("analysisGraph", analysis=number)
    lines = [*_activity(store, analysis, inputs, table, started)]
    dataset = f"{analysis}/table"
    if is_cube(table):
        selection = inputs.selection
        lines += cube_triples(table, dataset, selection.suite, selection.pass_)
        lines.append(f"<{dataset}> <{PROV.wasGeneratedBy}> <{analysis}> .")
        lines.append(f"<{dataset}> <{RDFS.label}> {string(table.title)} .")
    store.write([Block(graph, lines), Block(store.iris.catalogue, registry_entry(graph, analysis))])
    return analysis


def _activity(
    store: Store, analysis: str, inputs: Basis, table: Table, started: datetime
) -> list[str]:
    from kgbench.software import this_software

    node = f"<{analysis}>"
    software = this_software()
    used_queries = [queries.load(name) for name in table.queries]
    lines = [
        f"{node} <{RDF.type}> <{KGB.Analysis}> .",
        f"{node} <{RDF.type}> <{PROV.Activity}> .",
        f"{node} <{RDFS.label}> {string(table.title)} .",
        f"{node} <{KGB.analysisName}> {string(inputs.name)} .",
        f"{node} <{KGB.analysisKey}> {string(inputs.key)} .",
        f"{node} <{KGB.passChoice}> {string(inputs.selection.pass_)} .",
        f"{node} <{KGB.suite}> <{inputs.selection.suite}> .",
        f"{node} <{KGB.parameters}> {json_literal(dict(inputs.arguments))} .",
        f"{node} <{KGB.tableJson}> {json_literal(table.as_json())} .",
        f"{node} <{PROV.startedAtTime}> {moment(started)} .",
        f"{node} <{PROV.endedAtTime}> {moment(clock.now())} .",
        f"{node} <{PROV.wasAssociatedWith}> <{software.iri(store.iris)}> .",
        *software.entry(store.iris),
        *inference_statements(analysis, table),
    ]
    for number, (graph, stamp) in enumerate(sorted(inputs.stamps.items())):
        usage = f"<{analysis}/usage/{number}>"
        lines += [
            f"{node} <{KGB.readGraph}> <{graph}> .",
            f"{node} <{PROV.qualifiedUsage}> {usage} .",
            f"{usage} <{RDF.type}> <{PROV.Usage}> .",
            f"{usage} <{PROV.entity}> <{graph}> .",
            f"{usage} <{KGB.stampAtUse}> {integer(int(stamp))} .",
        ]
    for query in used_queries:
        text = f"{analysis}/query/{query.name}"
        lines += [
            f"{node} <{PROV.used}> <{text}> .",
            f"<{text}> <{RDF.type}> <{PROV.Entity}> .",
            f"<{text}> <{DCTERMS.isVersionOf}> <https://w3id.org/kgbench/query/{query.name}> .",
            f"<{text}> <{KGB.digest}> {string(query.digest)} .",
        ]
    return lines
