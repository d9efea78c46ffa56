# SPDX-License-Identifier: Apache-2.0
"""``kgbench analyze``: tables from the scores in a store."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.cli.tables import Form, contents, file_stem, read, show_cell, write

if TYPE_CHECKING:
    from kgbench.analysis.choosing import Score
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store

ScoreSetName = Annotated[
    str, typer.Option("--set", metavar="NAME", help="The declared score set to combine.")
]
Cell = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="CELL",
        help="The query and the dialogues behind a cell: MODEL or MODEL::PART "
        "(a task, axis, pair, or characteristic/level).",
    ),
]
CompassName = Annotated[
    str, typer.Option("--compass", metavar="NAME", help="The declared compass.")
]

analyses = typer.Typer(
    name="analyze",
    help="Tables from the scores in a store: one suite, one evaluation pass per dialogue.",
    no_args_is_help=True,
)


def command(app: typer.Typer) -> None:
    """Register the command and its analyses."""
    app.add_typer(analyses, name="analyze")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of an analysis ask for: how its table is made, and what that depends on.

    ``parts`` are the scores behind the cells of the table, where cells can be explained.
    """

    made: Callable[[Store, Selection], Table]
    arguments: Mapping[str, object] = field(default_factory=dict)
    parts: Callable[[Store], Mapping[str, list[Score]]] | None = None


def _print(
    name: str,
    asked: Asked,
    *,
    explain: Cell = None,
    store: options.Store = None,
    suite: options.Suite = None,
    choice: options.Pass = "first",
    form: options.TableForm = Form.TABLE,
    json_: options.AsJson = False,
    out: options.TableFile = None,
) -> None:
    """Print the table that is asked for, or explain a cell of it."""
    if explain is not None and asked.parts is not None:
        show_cell(asked.parts, explain, store, suite, choice)
        return
    table = read(asked.made, store, suite, choice, name=name, arguments=asked.arguments)
    write(table, Form.JSON if json_ else form, out)


def _analysis(
    name: str, *, explained: bool = False
) -> Callable[[Callable[..., Asked]], Callable[..., Asked]]:
    """Registers a command that has options of its own and those of :func:`_print`."""
    shared = [
        option
        for option in inspect.signature(_print, eval_str=True).parameters.values()
        if option.kind is option.KEYWORD_ONLY and (explained or option.name != "explain")
    ]

    def registered(ask: Callable[..., Asked]) -> Callable[..., Asked]:
        own = inspect.signature(ask, eval_str=True).parameters

        @wraps(ask)
        def typed(**given: Any) -> None:
            asked = ask(**{option: given.pop(option) for option in own})
            _print(name, asked, **given)

        typed.__signature__ = inspect.Signature([*own.values(), *shared])  # type: ignore[attr-defined]
        analyses.command(name)(typed)
        return ask

    return registered


@_analysis("leaderboard", explained=True)
def leaderboard(
    *,
    score_set: ScoreSetName = "main",
    declared: options.Declared = None,
    significance: Annotated[
        bool,
        typer.Option("--significance", help="Test against the best; bootstrap scores and ranks."),
    ] = False,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0, max=1, help="Level of the tests against the best.")
    ] = 0.05,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Bootstrap samples.")] = 2_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")] = 0,
) -> Asked:
    """One combined score per model, the best first."""
    from kgbench.analysis import declarations, explain
    from kgbench.analysis import leaderboard as analysis
    from kgbench.analysis.leaders import arguments, leaders

    combined = declarations.score_set(score_set, declared)
    own = contents(declared)
    tested = arguments(score_set, own, alpha=alpha, samples=samples, seed=seed)

    def made(opened: Store, chosen: Selection) -> Table:
        if significance:
            return leaders(opened, chosen, combined, alpha=alpha, samples=samples, seed=seed)
        return analysis.leaderboard(opened, chosen, combined)

    return Asked(
        made,
        tested if significance else {"set": score_set, "declared": own},
        lambda opened: explain.of_score_set(opened, combined),
    )


@_analysis("tasks", explained=True)
def tasks(
    *, metric: options.Metric = None, task: options.TaskGlob = "*", model: options.ModelGlob = "*"
) -> Asked:
    """The distribution of a score for every task and model, with errors."""
    from kgbench.analysis import explain
    from kgbench.analysis.task_scores import task_scores

    return Asked(
        lambda opened, chosen: task_scores(opened, chosen, metric=metric, tasks=task, models=model),
        {"metric": metric, "task": task, "model": model},
        lambda opened: explain.of_tasks(opened, task, metric),
    )


@_analysis("format-preference", explained=True)
def format_preference(
    *,
    comparison: Annotated[
        str, typer.Option("--comparison", metavar="NAME", help="The declared format comparison.")
    ] = "turtle-jsonld",
    declared: options.Declared = None,
    details: Annotated[
        bool, typer.Option("--details", help="Every test with p, corrected p and effect size.")
    ] = False,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0, max=1, help="Mark below this p.")
    ] = 0.05,
    strong: Annotated[
        float, typer.Option("--strong", min=0, max=1, help="Bold below this p.")
    ] = 0.01,
) -> Asked:
    """Which graph format each model reads better, by t-tests."""
    from kgbench.analysis import explain
    from kgbench.analysis import format_preference as analysis

    wanted = analysis.comparison(comparison, declared)

    def made(opened: Store, chosen: Selection) -> Table:
        if details:
            return analysis.format_preference_details(opened, chosen, wanted)
        return analysis.format_preference(opened, chosen, wanted, alpha=alpha, strong=strong)

    arguments = {
        "comparison": comparison,
        "declared": contents(declared),
        "details": details,
        "alpha": alpha,
        "strong": strong,
    }
    return Asked(made, arguments, lambda opened: explain.of_formats(opened, wanted))


@_analysis("compass", explained=True)
def compass(*, name: CompassName = "eswc", declared: options.Declared = None) -> Asked:
    """How each model does along declared capabilities."""
    from kgbench.analysis import compass as analysis
    from kgbench.analysis import explain

    wanted = analysis.compass(name, declared)
    return Asked(
        lambda opened, chosen: analysis.compass_table(opened, chosen, wanted),
        {"compass": name, "declared": contents(declared)},
        lambda opened: explain.of_compass(opened, wanted),
    )


@_analysis("sizes", explained=True)
def sizes(
    *, metric: options.Metric = None, task: options.TaskGlob = "*", model: options.ModelGlob = "*"
) -> Asked:
    """A score against problem size, with 95 % intervals."""
    from kgbench.analysis import explain
    from kgbench.analysis import sizes as analysis

    return Asked(
        lambda opened, chosen: analysis.sizes(
            opened, chosen, metric=metric, tasks=task, models=model
        ),
        {"metric": metric, "task": task, "model": model},
        lambda opened: explain.of_tasks(opened, task, metric),
    )


@_analysis("dialogue", explained=True)
def dialogue() -> Asked:
    """What feedback brings: the first answer of dialogues against the best."""
    from kgbench.analysis import explain
    from kgbench.analysis.feedback import feedback_gains

    return Asked(feedback_gains, parts=explain.of_answers)


@_analysis("characterization", explained=True)
def characterization() -> Asked:
    """Scores by cognitive process, knowledge dimension and relational complexity."""
    from kgbench.analysis import characterization as analysis
    from kgbench.analysis import explain

    return Asked(analysis.characterization, parts=explain.of_characteristics)


@_analysis("outcomes")
def outcomes(*, task: options.TaskGlob = "*", model: options.ModelGlob = "*") -> Asked:
    """How answers ended: the rate of each outcome, for every task and model."""
    from kgbench.analysis import outcomes as analysis

    return Asked(
        lambda opened, chosen: analysis.outcomes(opened, chosen, tasks=task, models=model),
        {"task": task, "model": model},
    )


@_analysis("scaling", explained=True)
def scaling(
    *,
    score_set: ScoreSetName = "main",
    declared: options.Declared = None,
    points: Annotated[
        bool, typer.Option("--points", help="The models with what is known of them; no trends.")
    ] = False,
) -> Asked:
    """Scores against model size, context length and release date, with trends per family.

    What is known of models is declared; --declared adds records of your own.
    """
    from kgbench.analysis import declarations, explain
    from kgbench.analysis import scaling as analysis

    combined = declarations.score_set(score_set)
    return Asked(
        lambda opened, chosen: analysis.scaling(opened, chosen, combined, declared)[not points],
        {"set": score_set, "declared": contents(declared), "points": points},
        lambda opened: explain.of_score_set(opened, combined),
    )


@analyses.command("card")
def card(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, id or IRI.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("cards"),
    name: CompassName = "eswc",
    store: options.Store = None,
    suite: options.Suite = None,
    choice: options.Pass = "first",
) -> None:
    """Write the card of a model in Markdown and HTML, with figures where matplotlib is there."""
    from importlib.util import find_spec

    from kgbench import files
    from kgbench.analysis import cards, scores
    from kgbench.analysis.compass import compass as declared_compass
    from kgbench.analysis.selection import select
    from kgbench.store import open_reader

    axes = declared_compass(name)
    with open_reader(store) as opened:
        chosen = select(opened, suite, choice)
        figures: list[str] = []
        if find_spec("matplotlib") is not None:
            from kgbench.plots.cards import card_figures

            found = scores.models(opened).find(model)
            figures = card_figures(opened, chosen, found, axes, out)
        made = cards.card(opened, chosen, model, axes=axes, figures=figures)
    stem = file_stem(made.model.name)
    for suffix, text in (("md", cards.as_markdown_card(made)), ("html", cards.as_html_card(made))):
        path = out / f"{stem}.{suffix}"
        files.write(path, text)
        typer.echo(path)


class Text2KG(StrEnum):
    """Which table of Text2KGBench is made."""

    ONTOLOGIES = "ontologies"
    OVERVIEW = "overview"
    PER_ONTOLOGY = "per-ontology"
    AVERAGES = "averages"


@_analysis("text2kg")
def text2kg(
    *,
    kind: Annotated[
        Text2KG,
        typer.Option(
            "--table",
            help="Tables 1 (ontologies), 2 (overview) and 3 (per-ontology) of the paper, or "
            "averages with intervals.",
        ),
    ] = Text2KG.OVERVIEW,
) -> Asked:
    """Extraction of facts by ontology: the tables of the Text2KGBench paper, beside its numbers."""
    from kgbench.analysis.text2kg import TABLES

    return Asked(TABLES[kind.value], {"table": kind.value})
