# SPDX-License-Identifier: Apache-2.0
"""Results and costs of a run: :func:`measured` reads them, :func:`presented` shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from kgbench.analysis import outcomes
from kgbench.analysis.outcomes import Ending
from kgbench.analysis.run_totals import cost, duration, totals, usd
from kgbench.analysis.standings import standings_table
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import ScoredDialogue, worst_dialogues
from kgbench.errors import QueryError
from kgbench.pages.board import board, heat_map
from kgbench.pages.snapshot import View
from kgbench.record.reading import RunInfo
from kgbench.scores.catalogue import display_names, model_names
from kgbench.scores.inference import DIALOGUES
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Table

_WORST = 10


@dataclass(frozen=True, slots=True)
class RunResults:
    """Results and costs of a run; models have their names of the catalogue.

    ``totals`` is the result of :func:`~kgbench.analysis.run_totals.totals`. ``answers`` counts
    answers by model (IRI) and ending. All other fields are empty before the first evaluation pass.
    """

    totals: Mapping[str, Any]
    board: Table | None = None
    tasks: Table | None = None
    answers: Mapping[str, Mapping[Ending, int]] = field(default_factory=dict)
    worst: Sequence[ScoredDialogue] = ()


def measured(store: Store, run: RunInfo, chosen: Selection | None) -> RunResults:
    """Read the results of a run by the scores that are ``chosen``; ``None`` means no pass yet."""
    usage = totals(store, run)
    if chosen is None:
        return RunResults(usage)
    answers: dict[str, Counter[Ending]] = {}
    for (model, _), counts in outcomes.of_answers(store, chosen).items():
        answers.setdefault(model, Counter()).update(counts)
    return RunResults(
        usage,
        standings_table(store, chosen),
        _by_task(store, chosen),
        answers,
        worst_dialogues(store, chosen, _WORST),
    )


def _by_task(store: Store, chosen: Selection) -> Table | None:
    try:
        return task_scores(store, chosen, estimand=DIALOGUES)  # a heat map shows no intervals
    except QueryError:  # tasks without a main metric
        return None


def presented(results: RunResults, view: View) -> dict[str, Any]:
    """Convert results for the template of runs, with the display names of models in ``view``."""
    names = display_names(view)
    display = model_names(view)
    order = [] if results.board is None else [str(name) for name in results.board.column("model")]
    return {
        "board": None if results.board is None else board(results.board, names),
        "heat": None if results.tasks is None else heat_map(results.tasks, order, names),
        "outcomes": sorted(
            # A check makes pages again from other rows, so equal counts need an order of their own.
            (
                display.get(model, model),
                sum(counts.values()),
                sorted(
                    ((ending.words, number) for ending, number in counts.items()),
                    key=lambda item: (-item[1], item[0]),
                ),
            )
            for model, counts in results.answers.items()
        ),
        "worst": [
            (
                view.iris.base + scored.dialogue,
                scored._replace(model=names.get(scored.model, scored.model)),
            )
            for scored in results.worst
        ],
        "spent": _spent(results.totals, names),
    }


def _spent(totals: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return tokens, costs and working time, formatted where needed."""
    return {
        **totals,
        "cost": cost(dict(totals)).removeprefix("cost "),
        "duration": duration(totals["seconds"]),
        "models": [
            (names.get(name, name), {**costs, "cost": _usd(costs["cost_usd"])})
            for name, costs in totals["models"].items()
        ],
    }


def _usd(amount: str | None) -> str:
    return "unknown" if amount is None else usd(Decimal(amount))
