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
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from kgbench.analysis.compare import cluster_test
from kgbench.analysis.matching import TaskValues
from kgbench.analysis.registry import EstimandName, Metric, Purpose, Round, analysis
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.inference import CASES, inference
from kgbench.scores.reading import CHOOSING, ROWS, ScoreRow
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
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    metrics = catalogue.metrics(store)
    scored_by = {task: score_name(score, metrics) for task, score in chosen.items()}
    relations = sorted(
        (r for r in declared(store) if scored_by.get(r.published, "") == scored_by.get(r.twin)),
        key=lambda r: (tasks[r.published].name, r.names, tasks[r.twin].name),
    )
    needed = {task: chosen[task] for r in relations for task in (r.published, r.twin)}
    of_cell: dict[tuple[str, str], list[ScoreRow]] = defaultdict(list)
    for row in chosen_rows(store, selection, needed) if needed else ():
        of_cell[row.model, row.task].append(row)
    classes = sorted({tasks[task].task_class for task in needed})
    names = {
        case: str(name) for case, name, _ in queries.rows(store, "case-names", taskClass=classes)
    }
    rows: list[dict[str, Value]] = []
    left_out = 0
    for model in sorted({model for model, _ in of_cell}, key=models.name):
        for relation in relations:
            first, second = (
                # Cases with the same name count as the same case of the same task.
                [
                    row._replace(task=relation.published, case=names.get(row.case, row.case))
                    for row in of_cell.get((model, task), ())
                ]
                for task in (relation.published, relation.twin)
            )
            if not first or not second:
                continue
            bounds = metrics[chosen[relation.published].metric].bounds
            match = TaskValues(first, second, bounds).match(inference_.estimand)
            if match.paired:
                left_out += len(match.rest_a) + len(match.rest_b)
            of_published, of_twins = match.compared_rows()
            mean_published, mean_twin = match.means
            cells: dict[str, Value] = {
                "model": models.name(model),
                "task": tasks[relation.published].name,
                "twin": tasks[relation.twin].name,
                "names": relation.names,
                "metric": scored_by[relation.published],
                "paired": "yes" if match.paired else "no",
                "n_published": len(of_published),
                "n_twin": len(of_twins),
                "mean_published": mean_published,
                "mean_twin": mean_twin,
                "difference": mean_published - mean_twin,
            }
            rows.append(cells | cluster_test([match], inference_.estimand, None))
    ps = [row["p"] if isinstance(row["p"], float) else None for row in rows]
    for cells, corrected in zip(rows, holm(ps), strict=True):
        cells["p_holm"] = corrected
    return Table.of(
        f"Published cases and their twins ({selection.suite_name})",
        COLUMNS,
        rows,
        notes=(inference_.note, *(_notes(rows, left_out) if rows else (_NONE,))),
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


def _notes(rows: Sequence[Mapping[str, Value]], left_out: int) -> Iterator[str]:
    yield "Published - twins is above 0 where a model does better on published cases."
    yield "A difference shows that new names matter, but not why."
    if left_out:
        yield f"The comparison leaves out {left_out} dialogues without a partner."
    unpaired = sorted({str(row["task"]) for row in rows if row["paired"] == "no"})
    if unpaired:
        yield f"No case and twin share a name, so these are not paired: {', '.join(unpaired)}."
