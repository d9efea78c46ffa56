# SPDX-License-Identifier: Apache-2.0
"""Comparison of scores on published cases and on their generated twins.

Task classes declare which tasks have twins of the cases of other tasks (``kgb:twinOf``). A twin has
the name of its case, and is the same case with new names of entities.

Values are paired where a case and a twin have the same name, as means of all answers to each; a
published case is a cluster. Where no names are shared the sides are compared unpaired, and the
cases of both sides are clusters. Only metrics of the same name are compared.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kgbench.analysis.compare import cluster_test
from kgbench.analysis.matching import Match, TaskValues
from kgbench.analysis.registry import EstimandName, Metric, Purpose, Round, analysis
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import MetricInfo, TaskInfo
from kgbench.scores.inference import CASES, Estimand, inference
from kgbench.scores.reading import CHOOSING, ROWS, Score, ScoreRow
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import chosen_rows, chosen_scores, score_name
from kgbench.statistics.significance import holm
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

COLUMNS = (
    Column("model", "Model"),
    Column("task", "Published task"),
    Column("twin", "Task with twins"),
    Column("names", "Names of twins"),
    Column("metric", "Metric"),
    Column("paired", "Paired"),
    Column("n_published", "n published", Kind.COUNT),
    Column("n_twin", "n twins", Kind.COUNT),
    Column("mean_published", "Mean published", Kind.SCORE),
    Column("mean_twin", "Mean of twins", Kind.SCORE),
    Column("difference", "Published - twins", Kind.SCORE),
    Column("clusters", "Clusters", Kind.COUNT),
    Column("ci_low", "95 % from", Kind.SCORE),
    Column("ci_high", "to", Kind.SCORE),
    Column("p", "p", Kind.P),
    Column("p_holm", "p (Holm)", Kind.P),
    Column("no_claim", "No claim"),
)
_NONE = (
    "No model was scored on a published task and on generated twins of its cases: "
    "'kgbench run --task TASK --task TWINS' runs both."
)
QUERIES = ("twins", "case-names", *CHOOSING, *ROWS)


class Twins(NamedTuple):
    """A task with published cases and a task with their twins (IRIs).

    ``names`` is the kind of names in the twins.
    """

    published: str
    twin: str
    names: str


@analysis("contamination", Purpose.COMPARE)
def contamination(
    store: Store,
    selection: Selection,
    *,
    metric: Metric = None,
    round: Round = None,
    estimand: EstimandName = CASES,
) -> Table:
    """Compare scores on published cases with those on generated twins under new names.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.contamination())
    0
    """
    inference_ = inference(estimand)
    if not inference_.estimand.clustered:
        raise QueryError(f"'{estimand}' treats dialogues as independent: name another estimand")
    chosen = chosen_scores(store, selection.tasks, metric, round)
    tasks, metrics, models = (
        catalogue.tasks(store),
        catalogue.metrics(store),
        catalogue.models(store),
    )
    relations = [relation for relation in declared(store) if _comparable(relation, chosen, metrics)]
    needed_tasks = {task for relation in relations for task in (relation.published, relation.twin)}
    of_cell: dict[tuple[str, str], list[ScoreRow]] = defaultdict(list)
    for row in (
        chosen_rows(store, selection, {t: chosen[t] for t in needed_tasks}) if needed_tasks else ()
    ):
        of_cell[row.model, row.task].append(row)
    names = case_names(store, {tasks[task].task_class for task in needed_tasks})
    rows: list[dict[str, Value]] = []
    matches: list[Match] = []
    for model in sorted({model for model, _ in of_cell}, key=models.name):
        for relation in sorted(relations, key=lambda relation: _order(relation, tasks)):
            published_rows, twin_rows = (
                of_cell.get((model, relation.published)),
                of_cell.get((model, relation.twin)),
            )
            if published_rows and twin_rows:
                score = chosen[relation.published]
                match = _match(
                    published_rows, twin_rows, names, metrics[score.metric], inference_.estimand
                )
                matches.append(match)
                labels: dict[str, Value] = {
                    "model": models.name(model),
                    "task": tasks[relation.published].name,
                    "twin": tasks[relation.twin].name,
                    "names": relation.names,
                    "metric": score_name(score, metrics),
                }
                rows.append(labels | _cells(match, inference_.estimand))
    ps = [row["p"] if isinstance(row["p"], float) else None for row in rows]
    for cells, corrected in zip(rows, holm(ps), strict=True):
        cells["p_holm"] = corrected
    return Table(
        title=f"Published cases and their twins ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(tuple(row.get(column.name) for column in COLUMNS) for row in rows),
        notes=(inference_.note, *(_notes(rows, matches) if rows else (_NONE,))),
        reason=None if rows else _NONE,
        queries=QUERIES,
        context={
            **selection.context,
            "metric": metric or "main",
            "round": round,
            **inference_.context,
        },
    )


def declared(store: Store) -> list[Twins]:
    """Read from the catalogue which tasks have twins of the cases of other tasks."""
    return [Twins(*map(str, row)) for row in queries.rows(store, "twins")]


def case_names(store: Store, classes: Iterable[str]) -> dict[str, str]:
    """Return the names of the cases (IRIs) of some task classes (IRIs); some cases have none."""
    class_iris = sorted(classes)
    return {
        str(case): str(name)
        for case, name, _ in queries.rows(store, "case-names", taskClass=class_iris)
    }


def _comparable(
    relation: Twins, chosen: Mapping[str, Score], metrics: Mapping[str, MetricInfo]
) -> bool:
    """Return whether both tasks are selected, and scored by metrics of the same name."""
    if relation.published not in chosen or relation.twin not in chosen:
        return False
    first, second = (
        score_name(chosen[task], metrics) for task in (relation.published, relation.twin)
    )
    return first == second


def _order(relation: Twins, tasks: Mapping[str, TaskInfo]) -> tuple[str, str, str]:
    return tasks[relation.published].name, relation.names, tasks[relation.twin].name


def _match(
    published: Sequence[ScoreRow],
    twins: Sequence[ScoreRow],
    names: Mapping[str, str],
    metric: MetricInfo,
    estimand: Estimand,
) -> Match:
    """Match published values with those of twins by the names of cases."""
    task = published[0].task
    first, second = (
        [row._replace(task=task, case=names.get(row.case, row.case)) for row in rows]
        for rows in (published, twins)
    )
    return TaskValues(first, second, metric.bounds).match(estimand)


def _cells(match: Match, estimand: Estimand) -> dict[str, Value]:
    published_rows, twin_rows = match.compared_rows()
    mean_published, mean_twin = match.means
    return {
        "paired": "yes" if match.paired else "no",
        "n_published": len(published_rows),
        "n_twin": len(twin_rows),
        "mean_published": mean_published,
        "mean_twin": mean_twin,
        "difference": mean_published - mean_twin,
        **cluster_test([match], estimand, None),
    }


def _notes(rows: Sequence[Mapping[str, Value]], matches: Sequence[Match]) -> Iterator[str]:
    yield "Published - twins is above 0 where a model does better on published cases."
    yield "A difference shows that new names matter, but not why."
    partly = sum(len(m.rest_a) + len(m.rest_b) for m in matches if m.paired)
    if partly:
        yield f"The comparison leaves out {partly} dialogues without a partner."
    unpaired = sorted({str(row["task"]) for row in rows if row["paired"] == "no"})
    if unpaired:
        yield f"No case and twin share a name, so these are not paired: {', '.join(unpaired)}."
