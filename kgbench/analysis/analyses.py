# SPDX-License-Identifier: Apache-2.0
"""Declarations of the analyses of scores; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kgbench.analysis import case_analyses, judge_analyses, paper_analyses, tool_analyses
from kgbench.analysis.registry import (
    COMMON,
    DECLARED,
    ESTIMAND,
    METRIC,
    ROUND,
    AnalysisRequest,
    Option,
    OptionRefused,
    Purpose,
    analysis,
    check_estimand,
    contents,
    recorded,
)

if TYPE_CHECKING:
    from kgbench.analysis.score_selectors import Score
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store

agreement = judge_analyses.agreement
audit = paper_analyses.audit
calibration = judge_analyses.calibration
confusion = judge_analyses.confusion
contamination = case_analyses.contamination
disagreements = judge_analyses.disagreements
judged_means = judge_analyses.judged_means
panels = judge_analyses.panels
items = case_analyses.items
pairs = case_analyses.pairs
policies = case_analyses.policies
published_means = paper_analyses.published_means
text2kg = paper_analyses.text2kg
references = case_analyses.references
reliability = case_analyses.reliability
difficulty = case_analyses.difficulty
tools = tool_analyses.tools

Metric = Annotated[str | None, METRIC]
Round = Annotated[str | None, ROUND]
Common = Annotated[bool, COMMON]
About = Annotated[str, ESTIMAND]
Declared = Annotated[Path | None, DECLARED]
ScoreSetName = Annotated[
    str, Option("--set", metavar="NAME", help="The declared score set to combine.")
]
CompassName = Annotated[
    str | None,
    Option("--compass", metavar="NAME", help="The declared compass; default: that of the suite."),
]


@analysis("leaderboard", Purpose.LOOK, explained=True)
def leaderboard(
    *,
    score_set: ScoreSetName = "main",
    declared: Declared = None,
    answers: Round = None,
    significance: Annotated[
        bool,
        Option("--significance", help="Test against the best; intervals of scores and ranks."),
    ] = False,
    test: Annotated[
        str | None,
        Option(
            "--test",
            metavar="NAME",
            help="The test against the best: clustered or paired; default: that of the score set. "
            "Implies --significance.",
            panel="Tests",
        ),
    ] = None,
    estimand: Annotated[
        str | None,
        Option(
            "--estimand",
            metavar="NAME",
            help="What the clustered test generalises to: cases (of this kind), repetitions (these "
            "cases again), tasks (of this kind), or dialogues (as if independent); default: that "
            "of the score set, usually available (cases, or repetitions of a task's one case).",
            checked=check_estimand,
            panel="Scores",
        ),
    ] = None,
    alpha: Annotated[
        float,
        Option("--alpha", min=0, max=1, help="Level of the tests against the best.", panel="Tests"),
    ] = 0.05,
    common: Common = False,
) -> AnalysisRequest:
    """Rank models by one combined score.

    >>> results = kgbench.open("kgbench-results")
    >>> [(row["rank"], row["model"]) for row in results.leaderboard()]
    [(1, 'baseline:oracle'), (2, 'baseline:noisy?rate=0.6&seed=7')]
    """
    from kgbench.analysis import declarations, explain
    from kgbench.analysis import leaderboard as computed
    from kgbench.analysis.leaders import arguments, leaders

    scores = declarations.score_set(score_set, declared).at(answers)
    declared_text = contents(declared)
    options: dict[str, Any] = {
        "test": test,
        "estimand": estimand,
        "alpha": alpha,
        "common": common,
    }
    if not significance and test is None:
        return AnalysisRequest(
            lambda store, selection: computed.leaderboard(store, selection, scores, common=common),
            {"set": score_set, "declared": declared_text, "round": answers, "common": common},
            lambda store, _: explain.of_score_set(store, scores),
        )
    return AnalysisRequest(
        lambda store, selection: leaders(store, selection, scores, **options),
        arguments(score_set, declared_text, answers=answers, **options),
        lambda store, _: explain.of_score_set(store, scores),
    )


@analysis("tasks", Purpose.LOOK, explained=True)
def tasks(
    *,
    metric: Metric = None,
    answers: Round = None,
    estimand: About = "cases",
    common: Common = False,
    aspects: Annotated[
        bool,
        Option("--aspects", help="Show what task classes read, write and demand; no scores."),
    ] = False,
) -> AnalysisRequest:
    """Show the distribution of a score for every task and model, with errors.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*").tasks(metric="f1").column("mean")
    [0.25, 0.75, 0.75]
    """
    from kgbench.analysis import explain
    from kgbench.analysis.aspects import task_aspects
    from kgbench.analysis.common import of_common_tasks
    from kgbench.analysis.task_scores import task_scores

    options: dict[str, Any] = {"metric": metric, "answers": answers, "estimand": estimand}

    def compute(store: Store, selection: Selection) -> Table:
        if not aspects:
            table = task_scores(
                store, selection, tasks=selection.tasks, models=selection.models, **options
            )
            return of_common_tasks(table) if common else table
        if metric or answers or common or {"model", "run"} & selection.narrowed.keys():
            raise OptionRefused(
                "aspects",
                "aspects describe tasks, not scores: leave out --metric, --round, --common, "
                "--model and --run",
            )
        return task_aspects(store, selection, tasks=selection.tasks)

    def parts(store: Store, selection: Selection) -> dict[str, list[Score]]:
        return explain.of_tasks(store, selection.tasks, metric, answers)

    return AnalysisRequest(
        compute,
        recorded({"aspects": aspects, "common": common, **options}),
        None if aspects else parts,
    )


@analysis("format-preference", Purpose.COMPARE, explained=True)
def format_preference(
    *,
    comparison: Annotated[
        str, Option("--comparison", metavar="NAME", help="The declared format comparison.")
    ] = "turtle-jsonld",
    declared: Declared = None,
    details: Annotated[
        bool, Option("--details", help="Show every test with p, corrected p and effect size.")
    ] = False,
    alpha: Annotated[
        float, Option("--alpha", min=0, max=1, help="Mark p below this.", panel="Tests")
    ] = 0.05,
    strong: Annotated[
        float, Option("--strong", min=0, max=1, help="Bold p below this.", panel="Tests")
    ] = 0.01,
) -> AnalysisRequest:
    """Test which graph format each model reads better (t-tests).

    >>> results = kgbench.open("kgbench-results")
    >>> results.format_preference().names
    ('model', 'RdfConnectionExplainStatic', 'All tasks')
    """
    from kgbench.analysis import explain
    from kgbench.analysis import format_preference as computed

    formats = computed.comparison(comparison, declared)

    def compute(store: Store, selection: Selection) -> Table:
        if details:
            return computed.format_preference_details(store, selection, formats)
        return computed.format_preference(store, selection, formats, alpha=alpha, strong=strong)

    arguments = {
        "comparison": comparison,
        "declared": contents(declared),
        "details": details,
        "alpha": alpha,
        "strong": strong,
    }
    return AnalysisRequest(compute, arguments, lambda store, _: explain.of_formats(store, formats))


@analysis("compass", Purpose.LOOK, explained=True)
def compass(*, name: CompassName = None, declared: Declared = None) -> AnalysisRequest:
    """Show how well each model does on declared capabilities.

    >>> results = kgbench.open("kgbench-results")
    >>> results.compass(name="eswc").where("axis", "R-Ana").column("mean")
    [0.6236111111111111, 1.0]
    """
    from kgbench.analysis import explain
    from kgbench.analysis.compass import compass_of, compass_table

    return AnalysisRequest(
        lambda store, selection: compass_table(
            store, selection, compass_of(selection.suite, name, declared)
        ),
        {"compass": name, "declared": contents(declared)},
        lambda store, selection: explain.of_compass(
            store, compass_of(selection.suite, name, declared)
        ),
    )


@analysis("sizes", Purpose.COMPARE, explained=True)
def sizes(
    *,
    metric: Metric = None,
    answers: Round = None,
    interval: Annotated[
        str,
        Option(
            "--interval",
            metavar="NAME",
            help="The method of the interval: score (stays inside the range of the metric), or "
            "student (Student's t over single dialogues, as in DL4KG 2023).",
            panel="Scores",
        ),
    ] = "score",
    estimand: About = "cases",
) -> AnalysisRequest:
    """Show a score against problem size, with 95 % intervals.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*", tasks="*-turtle-*").sizes().column("size")
    [1000, 2000]
    """
    from kgbench.analysis import explain
    from kgbench.analysis import sizes as computed

    options: dict[str, Any] = {"metric": metric, "answers": answers, "interval": interval}
    options["estimand"] = estimand
    return AnalysisRequest(
        lambda store, selection: computed.sizes(
            store, selection, tasks=selection.tasks, models=selection.models, **options
        ),
        recorded(options),
        lambda store, selection: explain.of_tasks(store, selection.tasks, metric, answers),
    )


@analysis("dialogue", Purpose.COMPARE, explained=True)
def dialogue(*, estimand: About = "cases") -> AnalysisRequest:
    """Compare the first answer of each dialogue with its best answer after feedback.

    >>> results = kgbench.open("kgbench-results")
    >>> results.feedback().where("feedback", "all dialogues").column("best")
    [1.0, 1.0]
    """
    from kgbench.analysis import explain
    from kgbench.analysis.feedback import feedback_gains

    return AnalysisRequest(
        lambda store, selection: feedback_gains(
            store, selection, tasks=selection.tasks, models=selection.models, estimand=estimand
        ),
        recorded({"estimand": estimand}),
        parts=lambda store, selection: explain.of_answers(store, selection.tasks),
    )


@analysis("characterization", Purpose.UNDERSTAND, explained=True)
def characterization(*, estimand: About = "available") -> AnalysisRequest:
    """Show scores by cognitive process, knowledge dimension and relational complexity.

    >>> results = kgbench.open("kgbench-results")
    >>> results.characterization().where("level", "understand").column("n")
    [16, 16]
    """
    from kgbench.analysis import characterization as computed
    from kgbench.analysis import explain

    return AnalysisRequest(
        lambda store, selection: computed.characterization(store, selection, estimand=estimand),
        recorded({"estimand": estimand}),
        lambda store, _: explain.of_characteristics(store),
    )


@analysis("outcomes", Purpose.LOOK)
def outcomes() -> AnalysisRequest:
    """Show the rate of each outcome of answers, for every task and model.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*oracle").outcomes().column("scored")
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    from kgbench.analysis import outcomes as computed

    return AnalysisRequest(
        lambda store, selection: computed.outcomes(
            store, selection, tasks=selection.tasks, models=selection.models
        ),
    )


@analysis("scaling", Purpose.COMPARE, explained=True)
def scaling(
    *,
    score_set: ScoreSetName = "main",
    declared: Declared = None,
    points: Annotated[
        bool, Option("--points", help="Show models with their facts, instead of trends.")
    ] = False,
) -> AnalysisRequest:
    """Show scores against model size, context length and release date, with trends per family.

    Facts about models come from declared records; --declared adds your own.

    >>> results = kgbench.open("kgbench-results")
    >>> results.scaling(declared=Path("models.ttl"), points=True).column("context")
    [32000, 16000]
    """
    from kgbench.analysis import declarations, explain
    from kgbench.analysis import scaling as computed

    scores = declarations.score_set(score_set)
    return AnalysisRequest(
        lambda store, selection: computed.scaling(store, selection, scores, declared)[not points],
        {"set": score_set, "declared": contents(declared), "points": points},
        lambda store, _: explain.of_score_set(store, scores),
    )
