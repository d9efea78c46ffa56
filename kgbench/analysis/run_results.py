# SPDX-License-Identifier: Apache-2.0
"""The results of a run: its leaderboard, the outcomes of its answers, its worst dialogues."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import NamedTuple

from kgbench.analysis import catalogue, outcomes
from kgbench.analysis.display_names import display_names, displayed
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.outcome_counts import Ending
from kgbench.analysis.published_standings import published_sets
from kgbench.analysis.run_warnings import warnings
from kgbench.analysis.score_selectors import with_left_out_notes
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.standings import standings_table
from kgbench.analysis.tables import Table
from kgbench.analysis.worst import ScoredDialogue, worst_dialogues
from kgbench.errors import QueryError
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store


class RunResults(NamedTuple):
    """The results of a run; ``endings`` counts the answers of each model (name) by their ending.

    ``published`` is the leaderboard of the run's suite with the scores that a paper prints, if one
    does.
    """

    table: Table
    published: Table | None
    endings: dict[str, Counter[Ending]]
    worst: list[ScoredDialogue]
    warnings: list[str]


def run_results(store: Store, run: RunInfo, *, whole_store: bool) -> RunResults:
    """Compute the results of ``run``; with ``whole_store``, the table covers its whole suite."""
    of_run = select(store, run=run.iri)
    ranked: Selection = select(store, suite=run.suite) if whole_store else of_run
    models = catalogue.models(store)
    counted: dict[str, Counter[Ending]] = {}
    for (model, _), counts in outcomes.of_answers(store, of_run).items():
        counted.setdefault(models.name(model), Counter()).update(counts)
    return RunResults(
        table=with_left_out_notes(store, standings_table(store, ranked)),
        published=_published(store, run.suite),
        endings=counted,
        worst=worst_dialogues(store, of_run),
        warnings=warnings(store, run, counted),
    )


def _published(store: Store, suite: str) -> Table | None:
    """Return the leaderboard of a suite by the first score set of which a paper prints scores."""
    for score_set in sorted(published_sets(suite)):
        with suppress(QueryError):  # the store has no scores of this set
            of_suite = select(store, suite=suite)
            table = leaderboard(store, of_suite, set=score_set, published=True)
            return displayed(table, display_names(store))
    return None
