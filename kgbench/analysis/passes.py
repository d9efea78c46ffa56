# SPDX-License-Identifier: Apache-2.0
"""Two stored evaluation passes compared value by value, in the form of ``reevaluate``'s report."""

from __future__ import annotations

from collections import defaultdict

from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import select
from kgbench.comparison import Comparison
from kgbench.record.reading import Seen
from kgbench.store.protocol import Store


def compare_passes(store: Store, suite: str, before: str, after: str) -> Comparison:
    """How the scores of the pass ``after`` differ from ``before`` (IRIs), where both have any."""
    tasks, models = fetch.tasks(store), fetch.models(store)
    names = {metric.iri: metric.name for metric in fetch.metrics(store).values()}
    old = _scores(store, suite, before, sorted(names))
    new = _scores(store, suite, after, sorted(names))
    found = Comparison()
    for dialogue in sorted({*old} & {*new}):
        about, was = old[dialogue]
        found.add(
            dialogue,
            tasks[about[0]].label,
            models[about[1]].id,
            before=was,
            after=new[dialogue][1],
            names=names,
        )
    return found


def _scores(
    store: Store, suite: str, evaluation_pass: str, metrics: list[str]
) -> dict[str, tuple[tuple[str, str], dict[int | None, Seen]]]:
    chosen = select(store, suite, evaluation_pass)
    found: dict[str, tuple[tuple[str, str], dict[int | None, Seen]]] = {}
    scores: dict[tuple[str, int | None], dict[str, float]] = defaultdict(dict)
    for row in fetch.score_rows(store, chosen, metrics):
        values = scores[row.dialogue, row.round]
        values[row.metric] = row.value
        by_round = found.setdefault(row.dialogue, ((row.task, row.model), {}))[1]
        by_round[row.round] = Seen(row.evaluation, values)
    return found
