# SPDX-License-Identifier: Apache-2.0
"""Selection of stored dialogues for judges, with the scores of execution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kgbench.api import Store, Task, TaskError
from kgbench.model import Metric
from kgbench.record import reading
from kgbench.record.reading import RunInfo, ScoredEvaluation
from kgbench.reevaluation.passes import first_pass
from kgbench.run_selection import Selection
from kgbench.scores.selection import suites_of_judgements
from kgbench.tasks import catalogue

BEST_SCORE = 1 - 1e-9  # scores from this value count as 1, to tolerate rounding


@dataclass(frozen=True, slots=True)
class JudgeableDialogue:
    """A stored dialogue without its texts, with the scores of its first evaluation pass.

    ``dialogue``, ``model`` and ``case`` are IRIs. ``score`` is the value of the task's main metric
    if that ranges from 0 to 1 (best), else ``None``. ``scores`` are all scores of the last answer
    and of the dialogue, by short name.
    """

    dialogue: str
    model: str
    case: str
    iteration: int
    ended: datetime
    task: Task
    score: float | None
    scores: dict[str, float]


def judgeable_dialogues(store: Store, run: RunInfo, chosen: Selection) -> list[JudgeableDialogue]:
    """Return the complete dialogues of a run that fit ``chosen``, sorted by their end time.

    Raises :class:`~kgbench.errors.TaskError` if there is none, and for a run of judges.
    """
    if run.suite in suites_of_judgements():
        raise TaskError(f"the run {run.id} is one of judges: name the run that they judged")
    dialogues = sorted(
        _selected(store, run, chosen), key=lambda judged: (judged.ended, judged.dialogue)
    )
    if not dialogues:
        raise TaskError(f"the run {run.id} has no complete dialogue that fits the selection")
    return dialogues


def _selected(store: Store, run: RunInfo, chosen: Selection) -> Iterator[JudgeableDialogue]:
    seen = reading.pass_scores(store, first_pass(store, run).graph)
    models = reading.model_labels(store)
    for execution in reading.executions(store, run.graph):
        task = reading.task(store, execution.task)
        if not chosen.fits(task.label, models.get(execution.model, execution.model)):
            continue
        metrics, main = _metrics(store, task)
        for dialogue in reading.answered_dialogues(store, run.graph, execution):
            scores = _scores_by_name(seen.get(dialogue.iri, {}), metrics, dialogue.answers - 1)
            yield JudgeableDialogue(
                dialogue.iri,
                execution.model,
                dialogue.case,
                dialogue.iteration,
                dialogue.ended,
                task,
                None if main is None else scores.get(main),
                scores,
            )


def _metrics(store: Store, task: Task) -> tuple[dict[str, Metric], str | None]:
    """Return the metrics of a task by recorded IRI, and the name of the main metric.

    The name is ``None`` if its range is not 0 to 1 (best), or if the task class is unknown.
    """
    try:
        task_class = catalogue.task_class(catalogue.successor(task.task_class))
    except TaskError:
        return {}, None
    by_iri = {metric.iri: metric for metric in task_class.metrics.values()}
    renamed = catalogue.renamed_metrics(task, store.iris)
    by_iri |= {before: by_iri[now] for before, now in renamed.items()}
    main = task_class.metrics[task_class.main_metric]
    highest = main.maximum is not None and BEST_SCORE <= main.maximum <= 2 - BEST_SCORE
    comparable = main.higher_is_better and main.minimum == 0 and highest
    return by_iri, main.name if comparable else None


def _scores_by_name(
    rounds: dict[int | None, ScoredEvaluation], metrics: dict[str, Metric], last_round: int
) -> dict[str, float]:
    by_name: dict[str, float] = {}
    for k in (last_round, None):
        if k in rounds:
            scores = rounds[k].scores.items()
            by_name |= {metrics[iri].name: value for iri, value in scores if iri in metrics}
    return by_name
