# SPDX-License-Identifier: Apache-2.0
"""Benchmark runs as RDF: measurements of kgbench itself are stored like other results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from bench.harness import Result
from kgbench.rdf import double, json_literal, moment, queries, string
from kgbench.record.recorder import registry_entry
from kgbench.software import this_software
from kgbench.store import Block, OwnedStore, Store, new_id
from kgbench.tables import Column, Kind, Table
from kgbench.vocab import KGB, PROV, RDF, RDFS, SCHEMA

_Key = tuple[str, str, str]
_COLUMNS = (
    Column("benchmark", "Benchmark"),
    Column("what", "What"),
    Column("value", "Value"),
    Column("against", "Against"),
    Column("goal", "Goal"),
    Column("last", "Last"),
    Column("change", "Change", Kind.SHARE),
)


def record(
    store: OwnedStore,
    results: Mapping[str, Sequence[Result]],
    *,
    machine: Mapping[str, str],
    started: datetime,
    ended: datetime,
) -> str:
    """Write a benchmark run with its measurements into a new graph; return its IRI.

    Results without a unit were not measured and are left out.
    """
    number = new_id()
    iri = store.iris.mint("benchmark", benchmark=number)
    graph = store.iris.mint("benchmarkGraph", benchmark=number)
    software = this_software()
    node = f"<{iri}>"
    lines = [
        f"{node} <{RDF.type}> <{KGB.BenchmarkRun}> .",
        f"{node} <{RDF.type}> <{PROV.Activity}> .",
        f"{node} <{PROV.startedAtTime}> {moment(started)} .",
        f"{node} <{PROV.endedAtTime}> {moment(ended)} .",
        f"{node} <{PROV.wasAssociatedWith}> <{software.iri(store.iris)}> .",
        f"{node} <{KGB.machine}> {json_literal(dict(machine))} .",
    ]
    measured = [
        (name, result) for name, group in results.items() for result in group if result.unit
    ]
    for index, (name, result) in enumerate(measured):
        lines += _measurement(f"{iri}/{index:03}", iri, name, result)
    store.write(
        [
            Block(graph, lines),
            Block(
                store.iris.catalogue,
                [*registry_entry(graph, iri), *software.entry(store.iris)],
            ),
        ]
    )
    return iri


def _measurement(iri: str, run: str, benchmark: str, result: Result) -> list[str]:
    node = f"<{iri}>"
    lines = [
        f"{node} <{RDF.type}> <{KGB.Measurement}> .",
        f"{node} <{RDF.type}> <{PROV.Entity}> .",
        f"{node} <{PROV.wasGeneratedBy}> <{run}> .",
        f"{node} <{KGB.benchmark}> {string(benchmark)} .",
        f"{node} <{RDFS.label}> {string(result.what)} .",
        f"{node} <{SCHEMA.value}> {double(float(result.value))} .",
        f"{node} <{SCHEMA.unitText}> {string(result.unit)} .",
    ]
    optional = (
        (KGB.against, result.against),
        (KGB.goal, result.goal),
        (SCHEMA.description, result.note),
    )
    return lines + [f"{node} <{term}> {string(text)} ." for term, text in optional if text]


def last(store: Store, names: Sequence[str]) -> dict[_Key, float]:
    """Return the latest recorded values of the benchmarks called ``names``."""
    values: dict[_Key, float] = {}
    for row in queries.run(store, "benchmark-measurements", benchmark=list(names)):
        against = "" if row["against"] is None else row["against"].value
        key = (row["benchmark"].value, row["label"].value, against)
        values[key] = float(row["value"].value)
    return values


def compared(results: Mapping[str, Sequence[Result]], before: Mapping[_Key, float]) -> Table:
    """Return a table of all results with goals, latest recorded values and changes since then."""
    rows = []
    for name, group in results.items():
        for result in group:
            if not result.unit:
                continue
            previous = before.get((name, result.what, result.against))
            rows.append(
                (
                    name,
                    result.what,
                    written(result.value, result.unit),
                    result.against,
                    result.goal,
                    None if previous is None else written(previous, result.unit),
                    result.value / previous - 1 if previous else None,
                )
            )
    return Table("Benchmarks of kgbench", _COLUMNS, tuple(rows))


def written(value: float, unit: str) -> str:
    """Round a value to three digits (to an integer from 1,000 on), and append its unit."""
    shown = f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"  # noqa: PLR2004
    return f"{shown} {unit}"
