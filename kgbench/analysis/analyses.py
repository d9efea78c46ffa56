# SPDX-License-Identifier: Apache-2.0
"""The analyses, each declared once; see :mod:`kgbench.analysis.registry`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from kgbench.analysis import case_analyses, judge_analyses, tool_analyses
from kgbench.analysis.registry import (
    COMMON,
    DECLARED,
    ESTIMAND,
    METRIC,
    ROUND,
    Asked,
    Option,
    OptionRefused,
    analysis,
    contents,
)

if TYPE_CHECKING:
    from kgbench.analysis.choosing import Score
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store

agreement = judge_analyses.agreement
audit = case_analyses.audit
calibration = judge_analyses.calibration
confusion = judge_analyses.confusion
contamination = case_analyses.contamination
disagreements = judge_analyses.disagreements
judged_means = judge_analyses.judged_means
panels = judge_analyses.panels
items = case_analyses.items
pairs = case_analyses.pairs
policies = case_analyses.policies
published_means = case_analyses.published_means
references = case_analyses.references
reliability = case_analyses.reliability
difficulty = case_analyses.difficulty
tools = tool_analyses.tools
variance = case_analyses.variance

Metric = Annotated[str | None, METRIC]
Round = Annotated[str | None, ROUND]
Common = Annotated[bool, COMMON]
About = Annotated[str, ESTIMAND]
Declared = Annotated[Path | None, DECLARED]
ScoreSetName = Annotated[
    str, Option("--set", metavar="NAME", help="The declared score set to combine.")
]
COMPASS = Option(
    "--compass", metavar="NAME", help="The declared compass; default: that of the suite."
)
CompassName = Annotated[str | None, COMPASS]


@analysis("leaderboard", explained=True)
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
            help="The test against the best: clustered, bootstrap or paired; default: that of the "
            "score set. Implies --significance.",
        ),
    ] = None,
    about: Annotated[
        str | None,
        Option(
            "--estimand",
            metavar="NAME",
            help="What the clustered test generalises to: cases (of this kind), repetitions (these "
            "cases again), tasks (of this kind), or dialogues (as if independent); default: that "
            "of the score set.",
        ),
    ] = None,
    alpha: Annotated[
        float, Option("--alpha", min=0, max=1, help="Level of the tests against the best.")
    ] = 0.05,
    samples: Annotated[int, Option("--samples", min=1, help="Bootstrap samples.")] = 2_000,
    seed: Annotated[int, Option("--seed", min=0, help="Seed of the bootstrap.")] = 0,
    common: Common = False,
) -> Asked:
    """One combined score per model, the best first.

    >>> results = kgbench.open("kgbench-results")
    >>> [(row["rank"], row["model"]) for row in results.leaderboard()]
    [(1, 'baseline:oracle'), (2, 'baseline:noisy?rate=0.6&seed=7')]
    """
    from kgbench.analysis import declarations, explain
    from kgbench.analysis import leaderboard as computed
    from kgbench.analysis.leaders import arguments, leaders

    combined = declarations.score_set(score_set, declared).at(answers)
    own = contents(declared)
    how: dict[str, Any] = {
        "test": test,
        "about": about,
        "alpha": alpha,
        "samples": samples,
        "seed": seed,
        "common": common,
    }
    if not significance and test is None:
        return Asked(
            lambda opened, chosen: computed.leaderboard(opened, chosen, combined, common=common),
            {"set": score_set, "declared": own, "round": answers, "common": common},
            lambda opened, _: explain.of_score_set(opened, combined),
        )
    return Asked(
        lambda opened, chosen: leaders(opened, chosen, combined, **how),
        arguments(score_set, own, answers=answers, **how),
        lambda opened, _: explain.of_score_set(opened, combined),
    )


@analysis("tasks", explained=True)
def tasks(
    *,
    metric: Metric = None,
    answers: Round = None,
    about: About = "cases",
    common: Common = False,
    aspects: Annotated[
        bool,
        Option("--aspects", help="What each task class reads, writes and demands; no scores."),
    ] = False,
) -> Asked:
    """The distribution of a score for every task and model, with errors.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*").tasks(metric="f1").column("mean")
    [0.25, 0.75, 0.75]
    """
    from kgbench.analysis import explain
    from kgbench.analysis.aspects import task_aspects
    from kgbench.analysis.common import of_common_tasks
    from kgbench.analysis.task_scores import task_scores

    wanted: dict[str, Any] = {"metric": metric, "answers": answers, "about": about}

    def made(opened: Store, chosen: Selection) -> Table:
        if not aspects:
            table = task_scores(opened, chosen, tasks=chosen.tasks, models=chosen.models, **wanted)
            return of_common_tasks(table) if common else table
        if metric or answers or common or {"model", "run"} & chosen.narrowed.keys():
            raise OptionRefused(
                "aspects",
                "aspects are facts about tasks: leave out --metric, --round, --common, --model and "
                "--run",
            )
        return task_aspects(opened, chosen, tasks=chosen.tasks)

    def parts(opened: Store, chosen: Selection) -> dict[str, list[Score]]:
        return explain.of_tasks(opened, chosen.tasks, metric, answers)

    return Asked(made, {"aspects": aspects, "common": common, **wanted}, None if aspects else parts)


@analysis("format-preference", explained=True)
def format_preference(
    *,
    comparison: Annotated[
        str, Option("--comparison", metavar="NAME", help="The declared format comparison.")
    ] = "turtle-jsonld",
    declared: Declared = None,
    details: Annotated[
        bool, Option("--details", help="Every test with p, corrected p and effect size.")
    ] = False,
    alpha: Annotated[float, Option("--alpha", min=0, max=1, help="Mark below this p.")] = 0.05,
    strong: Annotated[float, Option("--strong", min=0, max=1, help="Bold below this p.")] = 0.01,
) -> Asked:
    """Which graph format each model reads better, by t-tests.

    >>> results = kgbench.open("kgbench-results")
    >>> results.format_preference().names
    ('model', 'RdfConnectionExplainStatic', 'All tasks')
    """
    from kgbench.analysis import explain
    from kgbench.analysis import format_preference as computed

    wanted = computed.comparison(comparison, declared)

    def made(opened: Store, chosen: Selection) -> Table:
        if details:
            return computed.format_preference_details(opened, chosen, wanted)
        return computed.format_preference(opened, chosen, wanted, alpha=alpha, strong=strong)

    arguments = {
        "comparison": comparison,
        "declared": contents(declared),
        "details": details,
        "alpha": alpha,
        "strong": strong,
    }
    return Asked(made, arguments, lambda opened, _: explain.of_formats(opened, wanted))


@analysis("compass", explained=True)
def compass(*, name: CompassName = None, declared: Declared = None) -> Asked:
    """How each model does along declared capabilities.

    >>> results = kgbench.open("kgbench-results")
    >>> results.compass(name="eswc").where("axis", "R-Ana").column("mean")
    [0.6236111111111111, 1.0]
    """
    from kgbench.analysis import explain
    from kgbench.analysis.compass import compass_of, compass_table

    return Asked(
        lambda opened, chosen: compass_table(
            opened, chosen, compass_of(chosen.suite, name, declared)
        ),
        {"compass": name, "declared": contents(declared)},
        lambda opened, chosen: explain.of_compass(opened, compass_of(chosen.suite, name, declared)),
    )


@analysis("sizes", explained=True)
def sizes(
    *,
    metric: Metric = None,
    answers: Round = None,
    interval: Annotated[
        str,
        Option(
            "--interval",
            metavar="NAME",
            help="score (inside the range of the metric), or student (Student's t over single "
            "dialogues, as DL4KG 2023 draws it).",
        ),
    ] = "score",
    about: About = "cases",
) -> Asked:
    """A score against problem size, with 95 % intervals.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*noisy*", tasks="*-turtle-*").sizes().column("size")
    [1000, 2000]
    """
    from kgbench.analysis import explain
    from kgbench.analysis import sizes as computed

    wanted: dict[str, Any] = {
        "metric": metric,
        "answers": answers,
        "interval": interval,
        "about": about,
    }
    return Asked(
        lambda opened, chosen: computed.sizes(
            opened, chosen, tasks=chosen.tasks, models=chosen.models, **wanted
        ),
        wanted,
        lambda opened, chosen: explain.of_tasks(opened, chosen.tasks, metric, answers),
    )


@analysis("dialogue", explained=True)
def dialogue(*, about: About = "cases") -> Asked:
    """What feedback brings: the first answer of dialogues against the best.

    >>> results = kgbench.open("kgbench-results")
    >>> results.feedback().where("feedback", "all dialogues").column("best")
    [1.0, 1.0]
    """
    from kgbench.analysis import explain
    from kgbench.analysis.feedback import feedback_gains

    return Asked(
        lambda opened, chosen: feedback_gains(
            opened, chosen, tasks=chosen.tasks, models=chosen.models, about=about
        ),
        {"about": about},
        parts=lambda opened, chosen: explain.of_answers(opened, chosen.tasks),
    )


@analysis("characterization", explained=True)
def characterization(*, about: About = "cases") -> Asked:
    """Scores by cognitive process, knowledge dimension and relational complexity.

    >>> results = kgbench.open("kgbench-results")
    >>> results.characterization().where("level", "understand").column("n")
    [16, 16]
    """
    from kgbench.analysis import characterization as computed
    from kgbench.analysis import explain

    return Asked(
        lambda opened, chosen: computed.characterization(opened, chosen, about=about),
        {"about": about},
        lambda opened, _: explain.of_characteristics(opened),
    )


@analysis("outcomes")
def outcomes() -> Asked:
    """How answers ended: the rate of each outcome, for every task and model.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(models="*oracle").outcomes().column("scored")
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    from kgbench.analysis import outcomes as computed

    return Asked(
        lambda opened, chosen: computed.outcomes(
            opened, chosen, tasks=chosen.tasks, models=chosen.models
        ),
    )


@analysis("scaling", explained=True)
def scaling(
    *,
    score_set: ScoreSetName = "main",
    declared: Declared = None,
    points: Annotated[
        bool, Option("--points", help="The models with what is known of them; no trends.")
    ] = False,
) -> Asked:
    """Scores against model size, context length and release date, with trends per family.

    What is known of models is declared; --declared adds records of your own.

    >>> results = kgbench.open("kgbench-results")
    >>> results.scaling(declared=Path("models.ttl"), points=True).column("context")
    [32000, 16000]
    """
    from kgbench.analysis import declarations, explain
    from kgbench.analysis import scaling as computed

    combined = declarations.score_set(score_set)
    return Asked(
        lambda opened, chosen: computed.scaling(opened, chosen, combined, declared)[not points],
        {"set": score_set, "declared": contents(declared), "points": points},
        lambda opened, _: explain.of_score_set(opened, combined),
    )


class Text2KG(StrEnum):
    """Which table of Text2KGBench is made."""

    ONTOLOGIES = "ontologies"
    OVERVIEW = "overview"
    PER_ONTOLOGY = "per-ontology"
    AVERAGES = "averages"


@analysis("text2kg")
def text2kg(
    *,
    kind: Annotated[
        Text2KG,
        Option(
            "--table",
            help="Tables 1 (ontologies), 2 (overview) and 3 (per-ontology) of the paper, or "
            "averages with intervals.",
        ),
    ] = Text2KG.OVERVIEW,
) -> Asked:
    """Extraction of facts by ontology: the tables of the Text2KGBench paper, beside its numbers.

    >>> results = kgbench.open("kgbench-results")
    >>> results.text2kg(kind="ontologies").names[:3]
    ('collection', 'ontology', 'concepts')
    """
    from kgbench.analysis.text2kg import TABLES

    def made(opened: Store, chosen: Selection) -> Table:
        if kind is Text2KG.ONTOLOGIES and chosen.narrowed:
            raise OptionRefused(
                "kind",
                "the table of ontologies has no scores: leave out --task, --model and --run",
            )
        return TABLES[kind.value](opened, chosen)

    return Asked(made, {"table": kind.value})
