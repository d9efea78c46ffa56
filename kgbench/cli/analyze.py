# SPDX-License-Identifier: Apache-2.0
"""``kgbench analyze``: tables from the scores in a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.tables import (
    DeclaredOption,
    ExplainOption,
    Form,
    FormOption,
    MetricOption,
    ModelOption,
    OutOption,
    TaskOption,
    contents,
    file_stem,
    read,
    show_cell,
    write,
)

if TYPE_CHECKING:
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store

analyses = typer.Typer(
    name="analyze",
    help="Tables from the scores in a store: one suite, one evaluation pass per dialogue.",
    no_args_is_help=True,
)


def command(app: typer.Typer) -> None:
    """Register the command and its analyses."""
    app.add_typer(analyses, name="analyze")


@analyses.command("leaderboard")
def leaderboard(
    *,
    score_set: Annotated[
        str, typer.Option("--set", metavar="NAME", help="The declared score set to combine.")
    ] = "main",
    declared: DeclaredOption = None,
    significance: Annotated[
        bool,
        typer.Option("--significance", help="Test against the best; bootstrap scores and ranks."),
    ] = False,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0, max=1, help="Level of the tests against the best.")
    ] = 0.05,
    samples: Annotated[int, typer.Option("--samples", min=1, help="Bootstrap samples.")] = 2_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the bootstrap.")] = 0,
    explain: ExplainOption = None,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """One combined score per model, the best first."""
    from kgbench.analysis import declarations
    from kgbench.analysis import leaderboard as analysis
    from kgbench.analysis.leaders import leaders

    combined = declarations.score_set(score_set, declared)

    def made(opened: Store, chosen: Selection) -> Table:
        if significance:
            return leaders(opened, chosen, combined, alpha=alpha, samples=samples, seed=seed)
        return analysis.leaderboard(opened, chosen, combined)

    if explain is not None:
        from kgbench.analysis.explain import of_score_set

        show_cell(lambda opened: of_score_set(opened, combined), explain, store, suite, which)
        return
    arguments: dict[str, object] = {"set": score_set, "declared": contents(declared)}
    if significance:
        arguments |= {"alpha": alpha, "samples": samples, "seed": seed}
    table = read(made, store, suite, which, name="leaderboard", arguments=arguments)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("tasks")
def tasks(
    *,
    metric: MetricOption = None,
    task: TaskOption = "*",
    model: ModelOption = "*",
    explain: ExplainOption = None,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """The distribution of a score for every task and model, with errors."""
    from kgbench.analysis.task_scores import task_scores

    def made(opened: Store, chosen: Selection) -> Table:
        return task_scores(opened, chosen, metric=metric, tasks=task, models=model)

    if explain is not None:
        from kgbench.analysis.explain import of_tasks

        show_cell(lambda opened: of_tasks(opened, task, metric), explain, store, suite, which)
        return
    arguments = {"metric": metric, "task": task, "model": model}
    table = read(made, store, suite, which, name="tasks", arguments=arguments)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("format-preference")
def format_preference(
    *,
    comparison: Annotated[
        str, typer.Option("--comparison", metavar="NAME", help="The declared format comparison.")
    ] = "turtle-jsonld",
    declared: DeclaredOption = None,
    details: Annotated[
        bool, typer.Option("--details", help="Every test with p, corrected p and effect size.")
    ] = False,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0, max=1, help="Mark below this p.")
    ] = 0.05,
    strong: Annotated[
        float, typer.Option("--strong", min=0, max=1, help="Bold below this p.")
    ] = 0.01,
    explain: ExplainOption = None,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """Which graph format each model reads better, by t-tests."""
    from kgbench.analysis import format_preference as analysis

    wanted = analysis.comparison(comparison, declared)

    def made(opened: Store, chosen: Selection) -> Table:
        if details:
            return analysis.format_preference_details(opened, chosen, wanted)
        return analysis.format_preference(opened, chosen, wanted, alpha=alpha, strong=strong)

    if explain is not None:
        from kgbench.analysis.explain import of_formats

        show_cell(lambda opened: of_formats(opened, wanted), explain, store, suite, which)
        return
    arguments = {
        "comparison": comparison,
        "declared": contents(declared),
        "details": details,
        "alpha": alpha,
        "strong": strong,
    }
    table = read(made, store, suite, which, name="format-preference", arguments=arguments)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("compass")
def compass(
    *,
    name: Annotated[
        str, typer.Option("--compass", metavar="NAME", help="The declared compass.")
    ] = "eswc",
    declared: DeclaredOption = None,
    explain: ExplainOption = None,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """How each model does along declared capabilities."""
    from kgbench.analysis import compass as analysis

    wanted = analysis.compass(name, declared)

    def made(opened: Store, chosen: Selection) -> Table:
        return analysis.compass_table(opened, chosen, wanted)

    if explain is not None:
        from kgbench.analysis.explain import of_compass

        show_cell(lambda opened: of_compass(opened, wanted), explain, store, suite, which)
        return
    arguments = {"compass": name, "declared": contents(declared)}
    table = read(made, store, suite, which, name="compass", arguments=arguments)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("sizes")
def sizes(
    *,
    metric: MetricOption = None,
    task: TaskOption = "*",
    model: ModelOption = "*",
    explain: ExplainOption = None,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """A score against problem size, with 95 % intervals."""
    from kgbench.analysis import sizes as analysis

    def made(opened: Store, chosen: Selection) -> Table:
        return analysis.sizes(opened, chosen, metric=metric, tasks=task, models=model)

    if explain is not None:
        from kgbench.analysis.explain import of_tasks

        show_cell(lambda opened: of_tasks(opened, task, metric), explain, store, suite, which)
        return
    arguments = {"metric": metric, "task": task, "model": model}
    table = read(made, store, suite, which, name="sizes", arguments=arguments)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("dialogue")
def dialogue(
    *,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """What feedback brings: the first answer of dialogues against the best."""
    from kgbench.analysis.feedback import feedback_gains

    table = read(feedback_gains, store, suite, which, name="dialogue")
    write(table, Form.JSON if json_ else form, out)


@analyses.command("characterization")
def characterization(
    *,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """Scores by cognitive process, knowledge dimension and relational complexity."""
    from kgbench.analysis import characterization as analysis

    made = analysis.characterization
    table = read(made, store, suite, which, name="characterization")
    write(table, Form.JSON if json_ else form, out)


@analyses.command("outcomes")
def outcomes(
    *,
    task: TaskOption = "*",
    model: ModelOption = "*",
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """How answers ended: the rate of each outcome, for every task and model."""
    from kgbench.analysis import outcomes as analysis

    def made(opened: Store, chosen: Selection) -> Table:
        return analysis.outcomes(opened, chosen, tasks=task, models=model)

    chosen_by = {"task": task, "model": model}
    table = read(made, store, suite, which, name="outcomes", arguments=chosen_by)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("scaling")
def scaling(
    *,
    score_set: Annotated[
        str, typer.Option("--set", metavar="NAME", help="The declared score set to combine.")
    ] = "main",
    declared: DeclaredOption = None,
    points: Annotated[
        bool, typer.Option("--points", help="The models with what is known of them; no trends.")
    ] = False,
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
    form: FormOption = Form.TABLE,
    json_: options.AsJson = False,
    out: OutOption = None,
) -> None:
    """Scores against model size, context length and release date, with trends per family.

    What is known of models is declared; --declared adds records of your own.
    """
    from kgbench.analysis import declarations
    from kgbench.analysis import scaling as analysis

    combined = declarations.score_set(score_set)

    def made(opened: Store, chosen: Selection) -> Table:
        return analysis.scaling(opened, chosen, combined, declared)[0 if points else 1]

    arguments = {"set": score_set, "declared": contents(declared), "points": points}
    table = read(made, store, suite, which, name="scaling", arguments=arguments)
    write(table, Form.JSON if json_ else form, out)


@analyses.command("card")
def card(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model's name, id or IRI.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("cards"),
    name: Annotated[
        str, typer.Option("--compass", metavar="NAME", help="The declared compass.")
    ] = "eswc",
    store: options.Store = None,
    suite: options.Suite = None,
    which: options.Pass = "first",
) -> None:
    """Write the card of a model in Markdown and HTML, with figures where matplotlib is there."""
    from importlib.util import find_spec

    from kgbench.analysis import cards, scores
    from kgbench.analysis.compass import compass as declared_compass
    from kgbench.analysis.selection import select
    from kgbench.store import open_reader

    axes = declared_compass(name)
    with open_reader(store) as opened:
        chosen = select(opened, suite, which)
        figures: list[str] = []
        if find_spec("matplotlib") is not None:
            from kgbench.plots.cards import card_figures

            found = scores.models(opened).find(model)
            figures = card_figures(opened, chosen, found, axes, out)
        made = cards.card(opened, chosen, model, axes=axes, figures=figures)
    out.mkdir(parents=True, exist_ok=True)
    stem = file_stem(made.model.name)
    for suffix, text in (("md", cards.as_markdown_card(made)), ("html", cards.as_html_card(made))):
        path = out / f"{stem}.{suffix}"
        path.write_text(text, encoding="utf-8")
        typer.echo(path)
