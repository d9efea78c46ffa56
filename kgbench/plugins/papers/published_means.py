# SPDX-License-Identifier: Apache-2.0
"""Published means of imported systems, recomputed from the published scores of their answers.

A mean of TEXT2SPARQL is either plain or includes the row of averages itself: the sum of
``set_F_ndcg`` over n questions plus the mean nDCG of the questions whose order matters, divided by
n + 1 (``text2sparql_client/utils/order_matters.py``). The table says which of the two was
published.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Final

import kgbench.api as kb
from kgbench.record import reading
from kgbench.scores import catalogue
from kgbench.scores.reading import score_rows
from kgbench.tables import ranks

QUERIES: Final = ("published-means", "score-rows")
POLICY: Final = "text2sparql-2025"
COLUMNS: Final = (
    kb.Column("model", "Model"),
    kb.Column("dataset", "Data set"),
    kb.Column("language", "Language"),
    kb.Column("metric", "Score"),
    kb.Column("n", "n", kb.Kind.COUNT),
    kb.Column("published", "Published", kb.Kind.SCORE),
    kb.Column("mean", "Mean", kb.Kind.SCORE),
    kb.Column("with_average", "Mean with the average row", kb.Kind.SCORE),
    kb.Column("equals", "Published is"),
    kb.Column("rank_published", "Rank (published)", kb.Kind.COUNT),
    kb.Column("rank_mean", "Rank (mean)", kb.Kind.COUNT),
)

_RANKED: Final = "set_F_ndcg"
_TOLERANCE: Final = 5e-7  # published tables have six digits; the files have more


@dataclass(frozen=True, slots=True)
class _Answer:
    """The published scores of one answer by short name; ``gain`` is its nDCG, where it has one."""

    model: str
    dataset: str
    language: str
    scores: dict[str, float]
    gain: float | None
    copied: bool


@dataclass(slots=True)
class _Row:
    model: str
    dataset: str
    language: str
    metric: str
    n: int
    published: float
    mean: float
    with_average: float | None

    @property
    def equals(self) -> str:
        """Which of the two means was published."""
        plain = abs(self.published - self.mean) <= _TOLERANCE
        if self.with_average is None or abs(self.published - self.with_average) > _TOLERANCE:
            return "mean" if plain else "neither"
        return "either" if plain else "mean with the average row"


@kb.analysis("published-means", kb.Purpose.PAPERS)
def published_means(store: kb.Store, selection: kb.Selection) -> kb.Table:
    """Recompute the published means of imported systems from their published scores.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.published_means())
    0
    """
    answers = _answers(store, selection)
    rows = []
    for run, name, language, value in kb.query_rows(store, "published-means"):
        of_run = [
            answer
            for answer in answers.get(str(run), ())
            if name in {*answer.scores, "ndcg"} and language in {None, answer.language}
        ]
        if of_run:
            rows.append(_row(str(name), str(language or ""), float(str(value)), of_run))
    placed = _ranks(rows)
    rows.sort(
        key=lambda row: (
            row.dataset,
            row.metric,
            row.language,
            -row.published,
            row.model,
        )
    )
    models = catalogue.models(store)
    return kb.Table(
        title=f"Published means ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(
            (
                models.name(row.model),
                row.dataset,
                row.language,
                row.metric,
                row.n,
                row.published,
                row.mean,
                row.with_average,
                row.equals,
                *(placed[row.dataset, row.model] if _is_ranked(row) else (None, None)),
            )
            for row in rows
        ),
        notes=_notes(rows, answers, models),
        queries=QUERIES,
        context=selection.context,
    )


def _answers(store: kb.Store, selection: kb.Selection) -> dict[str, list[_Answer]]:
    metrics = kb.policy(POLICY).answer_metrics
    names = {metric.iri: name for name, metric in metrics.items()}
    infos = dict(_infos(store, selection))
    tasks: dict[str, dict[str, str]] = {}
    scores: dict[str, dict[str, float]] = {}
    origins: dict[str, tuple[str, str]] = {}
    for row in score_rows(store, selection, names):
        scores.setdefault(row.dialogue, {})[names[row.metric]] = row.value
        origins[row.dialogue] = row.model, row.task
        if row.task not in tasks:
            tasks[row.task] = dict(reading.task(store, row.task).parameters)
    answers: dict[str, list[_Answer]] = {}
    for dialogue, (model, task) in origins.items():
        noted, parameters = infos.get(dialogue, {}), tasks[task]
        answer = _Answer(
            model,
            parameters.get("dataset", ""),
            parameters.get("language", ""),
            scores[dialogue],
            noted.get("ndcg"),
            noted.get("publishedResultSetIsCopy", False),
        )
        answers.setdefault(dialogue.rsplit("/", 3)[0], []).append(answer)
    return answers


def _infos(store: kb.Store, selection: kb.Selection) -> Iterator[tuple[str, dict[str, kb.Json]]]:
    for run in reading.runs(store):
        if run.graph not in selection.run_graphs:
            continue
        graphs_of_run = {run_pass.graph for run_pass in reading.passes(store, run)}
        graphs = graphs_of_run & {*selection.pass_graphs}
        for execution in reading.executions(store, run.graph):
            for graph in graphs:
                yield from reading.execution_infos(store, graph, execution)


def _row(name: str, language: str, published: float, answers: Sequence[_Answer]) -> _Row:
    gains = [answer.gain for answer in answers if answer.gain is not None]
    gain = fsum(gains) / len(gains) if gains else None
    values = gains if name == "ndcg" else [answer.scores[name] for answer in answers]
    total, n = fsum(values), len(values)
    extended = name == _RANKED and gain is not None
    return _Row(
        model=answers[0].model,
        dataset=answers[0].dataset,
        language=language,
        metric=name,
        n=n,
        published=published,
        mean=total / n if n else 0.0,
        with_average=(total + gain) / (n + 1) if extended and gain is not None else None,
    )


def _ranks(rows: Sequence[_Row]) -> dict[tuple[str, str], tuple[int | None, int | None]]:
    of_data_set: dict[str, list[_Row]] = defaultdict(list)
    for row in rows:
        if _is_ranked(row):
            of_data_set[row.dataset].append(row)
    return {
        (rival.dataset, rival.model): both
        for rivals in of_data_set.values()
        for rival, both in zip(
            rivals,
            zip(
                ranks([rival.published for rival in rivals]),
                ranks([rival.mean for rival in rivals]),
                strict=True,
            ),
            strict=True,
        )
    }


def _is_ranked(row: _Row) -> bool:
    return row.metric == _RANKED and not row.language


def _notes(
    rows: Sequence[_Row], answers: dict[str, list[_Answer]], models: catalogue.Models
) -> tuple[str, ...]:
    if not rows:
        return ("no published means: 'kgbench import text2sparql DIR' imports them",)
    main = [row for row in rows if _is_ranked(row)]
    follow = sum(row.equals != "neither" for row in rows)
    extended = sum(row.equals == "mean with the average row" for row in main)
    copied = sorted(
        {
            f"{models.name(answer.model)} ({answer.dataset})"
            for of_run in answers.values()
            for answer in of_run
            if answer.copied
        }
    )
    how_many = (
        f"{extended} of {len(main)} published means of {_RANKED} over all languages have the "
        "average row among their rows."
    )
    notes = [
        f"{follow} of {len(rows)} published means follow from the published scores of answers.",
        how_many,
    ]
    if copied:
        notes.append(
            f"Published result sets that are copies of those of the reference queries: "
            f"{', '.join(copied)}."
        )
    return tuple(notes)
