# SPDX-License-Identifier: Apache-2.0
"""Scores that papers print, in a leaderboard beside those of a store.

``queries/papers.ttl`` declares which printed tables are leaderboards, of which suite and score set.
A row from such a table has no dialogues, and so no interval and no test.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace

from kgbench import resources
from kgbench.errors import QueryError
from kgbench.rdf.declared import shipped
from kgbench.tables import Column, Table, Value, ranks
from kgbench.vocab import DCTERMS, KGB, SKOS

SOURCE = Column("source", "Source")


def published_sets(suite: str) -> dict[str, tuple[str, str]]:
    """Return the score sets with printed leaderboards of a suite (IRI): name and source of each."""
    declared = shipped("queries", "papers.ttl")
    found = {}
    for node in declared.instances(KGB.PublishedTable):
        arguments = declared.read(node, KGB.parameters, json.loads) or {}
        analysis = declared.text(node, KGB.analysisName)
        if analysis == "leaderboard" and declared.text(node, KGB.suite) == suite:
            name = declared.required(node, SKOS.notation)
            found[arguments["set"]] = (name, declared.required(node, DCTERMS.source))
    return found


def with_published(table: Table, suite: str, score_set: str, shown: Mapping[str, str]) -> Table:
    """Add the printed scores of models that a leaderboard lacks, and rank all models again.

    ``shown`` are the display names of the store's models, by their names in the table. Raises
    :class:`~kgbench.errors.QueryError` if no paper prints scores of this suite (IRI) and set.
    """
    sets = published_sets(suite)
    if score_set not in sets:
        known = f"those of the sets {', '.join(sorted(sets))} are" if sets else "none are"
        raise QueryError(f"no published scores of the set '{score_set}' are known: {known}")
    name, source = sets[score_set]
    here = {shown.get(str(model), str(model)) for model in table.column("model")}
    rows: list[dict[str, Value]] = [{**row, "source": "this store"} for row in table.records()]
    for printed in printed_rows(name):
        if printed["model"] not in here:
            values: dict[str, Value] = {
                "model": printed["model"],
                "score": float(printed["score"]),
                "sd": float(printed["sd"]),
                "source": "published",
            }
            rows.append(values)

    def counted(row: Mapping[str, Value]) -> float | None:
        complete = row["source"] == "published" or row["rank"] is not None
        return float(str(row["score"])) if complete else None

    rows.sort(key=lambda row: (counted(row) is None, -(counted(row) or 0.0)))
    places = ranks([counted(row) for row in rows])
    columns = (*table.columns, SOURCE)
    placed = ({**row, "rank": place} for row, place in zip(rows, places, strict=True))
    return replace(
        table,
        columns=columns,
        rows=tuple(tuple(row.get(column.name) for column in columns) for row in placed),
        notes=(*table.notes, f"Published: {source}; printed with two decimals, no intervals."),
        context={**table.context, "published": True},
    )


def printed_rows(name: str) -> list[dict[str, str]]:
    """Read the printed cells of a published table, by column.

    They are kept in ``queries/published/NAME.csv``; the result is empty where a paper prints no
    values. A cell that is not printed is an empty text.
    """
    file = resources.path("queries", "published").joinpath(f"{name}.csv")
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))
