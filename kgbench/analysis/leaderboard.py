# SPDX-License-Identifier: Apache-2.0
"""The leaderboard: one combined score per model over a declared set of scores.

Models with all scores of the set are ranked. The others follow without a rank, because a mean over
fewer scores is not comparable with a mean over all.

``queries/papers.ttl`` declares which printed tables are leaderboards, of which suite and score set.
A row from such a table has no dialogues, and so no interval and no test.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Annotated

from kgbench import resources
from kgbench.analysis.outcomes import ERRORS, Errors, count_errors
from kgbench.analysis.registry import (
    NO_SCORES,
    Arguments,
    Common,
    Declared,
    Option,
    Purpose,
    Round,
    SetName,
    analysis,
    check_estimand,
)
from kgbench.errors import QueryError
from kgbench.rdf.declared import shipped
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names
from kgbench.scores.declared import ScoreSet, check_selectors, without_results
from kgbench.scores.declared import score_set as find_set
from kgbench.scores.reading import BY_TASK, CHOOSING, Score, histograms
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import common_note, common_tasks
from kgbench.statistics.histogram import Histogram, mean, mixture
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value, ranks
from kgbench.vocab import DCTERMS, KGB, SKOS

COLUMNS = (
    Column("rank", "Rank", Kind.COUNT),
    Column("model", "Model"),
    Column("score", "Score", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("n", "n", Kind.COUNT),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("failed", "Failed", Kind.COUNT),
    Column("not_judged", "Not judged", Kind.COUNT),
    Column("unreadable", "Unreadable", Kind.SHARE),
)
QUERIES = (*CHOOSING, *BY_TASK, *ERRORS)
SOURCE = Column("source", "Source")


@dataclass(frozen=True)
class Standing:
    """The results of one model (IRI): a histogram for each score of the set, and its errors.

    ``weights`` are those of a score set with groups, ``None`` where all scores weigh the same.
    ``complete`` says whether the model has every score of the set that any model has.
    """

    model: str
    parts: Mapping[Score, Histogram]
    errors: Errors
    weights: Mapping[Score, Fraction] | None = None
    complete: bool = True

    @cached_property
    def score(self) -> float | None:
        """The (weighted) mean over scores of the mean over dialogues; ``None`` without scores."""
        if self.weights is None:
            return mean(part.mean for part in self.parts.values() if part.mean is not None)
        return self._mixed[0]

    @cached_property
    def sd(self) -> float | None:
        """The deviation of all values, with the same weights as the score where it has weights."""
        if self.weights is None:
            return self.pooled.sd
        return self._mixed[1]

    @cached_property
    def _mixed(self) -> tuple[float, float] | tuple[None, None]:
        weights = self.weights or {}
        return mixture((part, weights[s]) for s, part in self.parts.items()) or (None, None)

    @cached_property
    def pooled(self) -> Histogram:
        """All values together."""
        return Histogram.pooled(self.parts.values())

    @property
    def tasks(self) -> int:
        """The number of tasks with scores."""
        return len({score.task for score in self.parts})


def standings(
    store: Store,
    selection: Selection,
    combined: ScoreSet,
    tasks: Mapping[str, catalogue.TaskInfo],
    *,
    common: bool = False,
) -> list[Standing]:
    """Return the standings of all models on the scores of a set.

    With ``common``, only tasks count that all models were scored on. Models with all scores come
    first, by descending score, then models with some of them, then unscored models.
    Raises :class:`~kgbench.errors.QueryError` where models have no ``common`` task.
    """
    check_selectors(store, combined.every_selector, combined.file)
    metrics = catalogue.metrics(store)
    chosen = combined.scores(tasks, metrics)
    parts = histograms(store, selection, chosen)
    if common:
        names = catalogue.models(store)
        shared = common_tasks(
            {names.name(model): {s.task for s in by_score} for model, by_score in parts.items()}
        )
        chosen = [score for score in chosen if score.task in shared]
        parts = {
            model: {s: values for s, values in by_score.items() if s.task in shared}
            for model, by_score in parts.items()
        }
    covered = {score.task for score in chosen}
    errors_of_models: dict[str, Errors] = defaultdict(Errors)
    judged: dict[str, dict[str, int]] = {
        task: {model: _judged(by_score, task) for model, by_score in parts.items()}
        for task in covered - {score.task for score in chosen if score.round is not None}
    }
    for (model, task), errors in count_errors(store, selection, tasks, judged).items():
        if task in covered:
            errors_of_models[model] += errors
    reached = {score for by_score in parts.values() for score in by_score}
    weights = combined.weights(tasks, metrics, reached) if combined.groups else None
    all_standings = []
    for model in sorted({*parts, *errors_of_models}):
        parts_of_model = parts.get(model, {})
        complete = bool(parts_of_model) and parts_of_model.keys() == reached
        all_standings.append(
            Standing(model, parts_of_model, errors_of_models[model], weights, complete)
        )
    return sorted(
        all_standings,
        key=lambda each: (each.complete, -inf if each.score is None else each.score),
        reverse=True,
    )


def parts_of_set(store: Store, _: Selection, arguments: Arguments) -> dict[str, list[Score]]:
    """Return the scores behind a leaderboard, by task."""
    combined = find_set(arguments["set"], arguments["declared"]).at(arguments["round"])
    tasks = catalogue.tasks(store)
    parts: dict[str, list[Score]] = {}
    for score in combined.scores(tasks, catalogue.metrics(store)):
        parts.setdefault(tasks[score.task].name, []).append(score)
    return parts


def standings_table(
    store: Store,
    selection: Selection,
    combined: ScoreSet | None = None,
    *,
    common: bool = False,
    of: list[Standing] | None = None,
) -> Table:
    """Make the leaderboard over a score set (default: the main metric of every task).

    The score of a model is the mean, over the scores of the set, of the mean over dialogues; the
    deviation is that of all values together. In a set with groups both are weighted (see
    :class:`~kgbench.scores.declared.ScoreSet`). Failed dialogues have no score and are counted
    separately; ``unreadable`` is the share of dialogues whose answer was empty or did not parse.
    ``of`` are the :func:`standings`, if they are known, and ``common`` is as there.
    """
    combined = combined or find_set("main")
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    of = of or standings(store, selection, combined, tasks, common=common)
    scored = {score for standing in of for score in standing.parts}
    present = {score.task for score in scored}
    placed = ranks([standing.score if standing.complete else None for standing in of])
    notes = [*_notes(of, len(scored)), *_lacking(store, combined, scored)]
    if common:
        compared = sum(bool(standing.parts) for standing in of)
        notes.insert(0, common_note([tasks[task].name for task in present], compared))
    else:
        notes += without_results(store, combined.every_selector, scored, combined.file)
    return Table.of(
        f"Leaderboard: {combined.label} ({selection.suite_name})",
        COLUMNS,
        [
            {"rank": rank, "model": models.name(standing.model), **_cells(standing)}
            for standing, rank in zip(of, placed, strict=True)
        ],
        notes=tuple(notes),
        queries=QUERIES,
        context={
            **selection.context,
            **({"common": True} if common else {}),
            "score_set": combined.name,
            "tasks": len(present),
        },
    )


def _lacking(store: Store, combined: ScoreSet, scored: Collection[Score]) -> Iterable[str]:
    """Yield a note on the groups of a set without any score, which increase the others' weights."""
    if not combined.groups:
        return
    tasks, metrics = list(catalogue.tasks(store).values()), list(catalogue.metrics(store).values())
    lacking = [
        group.name
        for group in combined.groups
        if not any(score in scored for s in group.selectors for score in s.scores(tasks, metrics))
    ]
    if lacking:
        yield f"The scores leave out {', '.join(lacking)}, for which no model has results."


def _cells(standing: Standing) -> dict[str, Value]:
    tasks, errors = {score.task for score in standing.parts}, standing.errors
    answered = sum(_judged(standing.parts, task) for task in tasks) + errors.not_judged
    return {
        "score": standing.score,
        "sd": standing.sd,
        "n": standing.pooled.n,
        "tasks": standing.tasks,
        "failed": errors.failed,
        "not_judged": errors.not_judged,
        "unreadable": errors.unreadable / answered if answered else None,
    }


def _judged(parts: Mapping[Score, Histogram], task: str) -> int:
    """Count the judged dialogues of a task: the greatest number with any one of its scores."""
    return max((part.n for score, part in parts.items() if score.task == task), default=0)


def _notes(all_standings: list[Standing], scores: int) -> Iterable[str]:
    if any(standing.parts and not standing.complete for standing in all_standings):
        yield f"Models without all {scores} scores are not ranked: their means are not comparable."
    left_out = {
        "without a complete answer": sum(standing.errors.failed for standing in all_standings),
        "not judged yet (kgbench reevaluate judges them)": sum(
            standing.errors.not_judged for standing in all_standings
        ),
    }
    for why, number in left_out.items():
        if number:
            things = "1 dialogue" if number == 1 else f"{number} dialogues"
            yield f"The scores leave out {things} {why}."


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
    combined = find_set(set, declared).at(round)
    if published and common:
        raise QueryError("printed scores are means over all tasks: leave out --common")
    if not (significance or test or estimand):
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

    Printed scores are over all tasks of the set, so models with fewer have no rank. ``shown`` are
    the display names of the store's models, by their names in the table. Raises
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
    every_task = len({selector.glob for selector in find_set(score_set).every_selector})
    here = {shown.get(str(model), str(model)) for model in table.column("model")}
    rows: list[dict[str, Value]] = [{**row, "source": "this store"} for row in table.records()]
    for printed in printed_rows(name):
        if printed["model"] not in here:
            score, sd = (float(printed[column]) for column in ("score", "sd"))
            rows.append(
                {"model": printed["model"], "score": score, "sd": sd, "source": "published"}
            )

    def counted(row: Mapping[str, Value]) -> float | None:
        printed = row["source"] == "published"
        counts = printed or (row["rank"] is not None and int(str(row["tasks"])) >= every_task)
        return float(str(row["score"])) if counts else None

    rows.sort(key=lambda row: (counted(row) is None, -(counted(row) or 0.0)))
    places = ranks([counted(row) for row in rows])
    return Table.of(
        table.title,
        (*table.columns, SOURCE),
        [{**row, "rank": place} for row, place in zip(rows, places, strict=True)],
        queries=table.queries,
        notes=(
            *table.notes,
            f"Only models with all {every_task} tasks have ranks; tests leave out printed scores.",
            f"Published: {source}; printed with two decimals, no intervals.",
        ),
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
