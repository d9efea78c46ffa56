# SPDX-License-Identifier: Apache-2.0
"""The leaderboard as an analysis, and the scores that papers print, beside those of a store.

``queries/papers.ttl`` declares which printed tables are leaderboards, of which suite and score set.
A row from such a table has no dialogues, and so no interval and no test.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from typing import Annotated

from kgbench import resources
from kgbench.analysis.registry import (
    NO_SCORES,
    Common,
    Declared,
    Option,
    Purpose,
    Round,
    SetName,
    analysis,
    check_estimand,
)
from kgbench.analysis.standings import (
    parts_of_set,
    standings_table,
)
from kgbench.errors import QueryError
from kgbench.rdf.declared import shipped
from kgbench.scores.catalogue import display_names
from kgbench.scores.declared import score_set
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Table, Value, ranks
from kgbench.vocab import DCTERMS, KGB, SKOS

SOURCE = Column("source", "Source")


@analysis(
    "leaderboard", Purpose.LOOK, parts=parts_of_set, figure="kgbench.plots.standings:STANDINGS"
)
def leaderboard(
    store: Store,
    selection: Selection,
    *,
    set: SetName = "main",
    declared: Declared = None,
    round: Round = None,
    significance: Annotated[
        bool, Option("Test against the best; intervals of scores and ranks.")
    ] = False,
    test: Annotated[
        str | None,
        Option(
            "The test against the best: clustered or paired; default: that of the score set. "
            "Implies --significance.",
            metavar="NAME",
            panel="Tests",
        ),
    ] = None,
    estimand: Annotated[
        str | None,
        Option(
            "What the clustered test generalises to: cases (of this kind), repetitions (these "
            "cases again), tasks (of this kind), or dialogues (as if independent); default: that "
            "of the score set, usually available (cases, or repetitions of a task's one case).",
            metavar="NAME",
            checked=check_estimand,
            panel="Scores",
        ),
    ] = None,
    alpha: Annotated[
        float, Option("Level of the tests against the best.", min=0, max=1, panel="Tests")
    ] = 0.05,
    common: Common = False,
    published: Annotated[
        bool,
        Option("Add the scores that papers print of models without dialogues.", panel="Scores"),
    ] = False,
) -> Table:
    """Rank models by one combined score.

    >>> results = kgbench.open("kgbench-results")
    >>> [(row["rank"], row["model"]) for row in results.leaderboard()]
    [(1, 'baseline:oracle'), (2, 'baseline:noisy?rate=0.6&seed=7')]
    """
    combined = score_set(set, declared).at(round)
    if published and common:
        raise QueryError("printed scores are means over all tasks: leave out --common")
    if not significance and test is None:
        table = standings_table(store, selection, combined, common=common)
    else:
        from kgbench.analysis.leaders import leaders  # its estimators take time to import

        table = leaders(
            store, selection, combined, test=test, estimand=estimand, alpha=alpha, common=common
        )
    if not published:
        return table.explained(NO_SCORES)
    return with_published(table, selection.suite, combined.name, display_names(store))


def published_sets() -> dict[tuple[str, str], tuple[str, str]]:
    """Return name and source of each printed leaderboard, by suite (IRI) and score set."""
    declared = shipped("queries", "papers.ttl")
    found = {}
    for node in declared.instances(KGB.PublishedTable):
        arguments = declared.read(node, KGB.parameters, json.loads) or {}
        if declared.text(node, KGB.analysisName) == "leaderboard":
            place = (declared.required(node, KGB.suite), arguments["set"])
            name = declared.required(node, SKOS.notation)
            found[place] = (name, declared.required(node, DCTERMS.source))
    return found


def with_published(table: Table, suite: str, score_set: str, shown: Mapping[str, str]) -> Table:
    """Add the printed scores of models that a leaderboard lacks, and rank all models again.

    ``shown`` are the display names of the store's models, by their names in the table. Raises
    :class:`~kgbench.errors.QueryError` if no paper prints scores of this suite (IRI) and set.
    """
    sets = published_sets()
    if (suite, score_set) not in sets:
        known = (f"--suite {iri.rpartition('/')[2]} --set {name}" for iri, name in sorted(sets))
        raise QueryError(
            f"no paper prints scores of the suite {suite.rpartition('/')[2]} and the set "
            f"'{score_set}'; --published goes with {' or '.join(known)}"
        )
    name, source = sets[suite, score_set]
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
    return Table.of(
        table.title,
        (*table.columns, SOURCE),
        [{**row, "rank": place} for row, place in zip(rows, places, strict=True)],
        queries=table.queries,
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
