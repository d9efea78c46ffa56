# SPDX-License-Identifier: Apache-2.0
"""Which stored dialogues a judge is asked about, and what executing them has said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kgbench.config.names import suites_of_judgements
from kgbench.errors import TaskError
from kgbench.model import Metric, Task
from kgbench.record import reading
from kgbench.record.reading import RunInfo, Seen
from kgbench.reevaluation.passes import first_pass
from kgbench.run_selection import Selection
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, succession

BEST = 1 - 1e-9  # a score from here on is the best one; rounding may leave less


@dataclass(frozen=True, slots=True)
class Judged:
    """A stored dialogue without its texts, with what the first pass says of it.

    ``dialogue``, ``model`` and ``case`` are IRIs. ``score`` is the value of the main metric of its
    task, where that has the best value 1, and ``scores`` are all of its last answer and of the
    whole, by short name.
    """

    dialogue: str
    model: str
    case: str
    iteration: int
    ended: datetime
    task: Task
    score: float | None
    scores: dict[str, float]


def newest_judgeable(store: Store) -> RunInfo:
    """The newest run that is not one of judges.

    Raises :class:`~kgbench.errors.TaskError` where there is none.
    """
    for run in reading.runs(store):
        if run.suite not in suites_of_judgements():
            return run
    raise TaskError(f"the store {store.location} holds no run that could be judged")


def judgeable(store: Store, run: RunInfo, chosen: Selection) -> list[Judged]:
    """The complete dialogues of a run that are ``chosen``, in the order in which they ended.

    Raises :class:`~kgbench.errors.TaskError` where there is none, and for a run of judges.
    """
    if run.suite in suites_of_judgements():
        raise TaskError(f"the run {run.id} is one of judges: name the run that they judged")
    found = sorted(_all(store, run, chosen), key=_ended)
    if not found:
        raise TaskError(f"the run {run.id} has no complete dialogue that fits the selection")
    return found


def _all(store: Store, run: RunInfo, chosen: Selection) -> Iterator[Judged]:
    seen = reading.pass_scores(store, first_pass(store, run).graph)
    models = reading.model_labels(store)
    for execution in reading.executions(store, run.graph):
        task = reading.task(store, execution.task)
        if not chosen.fits(task.label, models.get(execution.model, execution.model)):
            continue
        metrics, main = _metrics(store, task)
        for one in reading.answered_dialogues(store, run.graph, execution):
            scores = _named(seen.get(one.iri, {}), metrics, one.answers - 1)
            yield Judged(
                one.iri,
                execution.model,
                one.case,
                one.iteration,
                one.ended,
                task,
                None if main is None else scores.get(main),
                scores,
            )


def _metrics(store: Store, task: Task) -> tuple[dict[str, Metric], str | None]:
    """The metrics of a task by the IRIs it was recorded with, and the name of the main one.

    There is no main one where its best value is not 1, and where its class is unknown here.
    """
    try:
        found = catalogue.task_class(succession.successor(task.task_class))
    except TaskError:
        return {}, None
    by_iri = {metric.iri: metric for metric in found.metrics.values()}
    earlier = succession.renamed_metrics(task, store.iris)
    by_iri |= {before: by_iri[now] for before, now in earlier.items()}
    main = found.metrics[found.main_metric]
    highest = main.maximum is not None and BEST <= main.maximum <= 2 - BEST
    comparable = main.higher_is_better and main.minimum == 0 and highest
    return by_iri, main.name if comparable else None


def _named(
    rounds: dict[int | None, Seen], metrics: dict[str, Metric], last: int
) -> dict[str, float]:
    """The scores of the last answer and of the whole dialogue, by short name."""
    found: dict[str, float] = {}
    for k in (last, None):
        if k in rounds:
            scores = rounds[k].scores.items()
            found |= {metrics[iri].name: value for iri, value in scores if iri in metrics}
    return found


def _ended(judged: Judged) -> tuple[datetime, str]:
    return judged.ended, judged.dialogue
