# SPDX-License-Identifier: Apache-2.0
"""``kgbench plot``: draw figures from the scores in a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kgbench.analysis.index import FIGURES, INDEX
from kgbench.cli import options

if TYPE_CHECKING:
    from kgbench.api.results import Results
    from kgbench.plots.figures import FigureKind
    from kgbench.tables import Table

_Drawn: TypeAlias = "tuple[tuple[str, ...], Table]"


ALL = "all"
Kind = StrEnum("Kind", {name: name for name in [*FIGURES, ALL]})  # type: ignore[misc]


_OF_JUDGES = ("agreement", "confusion")


class FigureForm(StrEnum):
    """File formats of figures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plot")(plot)


class Each(StrEnum):
    """What gets a figure of its own."""

    MODEL = "model"


def plot(
    kind: Annotated[Kind, typer.Argument(help="The kind of figure, or all that the scores allow.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = Path("plots"),
    form: Annotated[
        list[FigureForm] | None,
        typer.Option(
            "--format", "-f", help="File format: png, svg or pdf; repeatable. Default: png."
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The declared compass, score set or format comparison."),
    ] = None,
    each: Annotated[
        Each | None, options.rarer("Figure", help="One figure per model; not for leaderboards.")
    ] = None,
    title: Annotated[
        str | None, options.rarer("Figure", metavar="TEXT", help="The title of the figures.")
    ] = None,
    no_title: Annotated[
        bool, options.rarer("Figure", "--no-title", help="Omit the title.")
    ] = False,
    size: Annotated[
        str | None,
        options.rarer(
            "Figure",
            metavar="SIZE",
            help="one-column (85 mm), two-columns (178 mm), slide (16:9), or width and height, "
            "such as 6x4 (inches), 16x9cm or 85x60mm.",
        ),
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Only the N best models per figure.")
    ] = None,
    overlay: Annotated[
        bool, options.rarer("Figure", "--overlay", help="Draw up to eight models in one compass.")
    ] = False,
    common: options.Common = False,
    declared: options.Declared = None,
    metric: Annotated[
        str | None,
        options.rarer(
            "Scores",
            metavar="NAME",
            help="Short name of a metric, for boxplot, difficulty, sizes and tools. Default: the "
            "main metric.",
        ),
    ] = None,
    round: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    run: options.OfRun = None,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
) -> None:
    """Draw figures from the scores in a store.

    Beside each figure, a JSON file has the numbers drawn and the queries behind them.
    """
    if no_title and title is not None:
        raise typer.BadParameter("it contradicts --title", param_hint="--no-title")
    from kgbench.plots.figures import Layout, find_figure

    option_values = {"name": name, "declared": declared, "metric": metric, "round": round}
    arguments = _arguments(kind, {**option_values, "common": common or None})
    _refuse_each(kind, each, top, overlay=overlay)
    kinds = [find_figure(one) for one in (FIGURES if kind == ALL else [kind.value])]
    from kgbench.analysis.registry import OptionRefused
    from kgbench.api.opening import open as open_results
    from kgbench.errors import QueryError
    from kgbench.plots.figures import file_name, save, state_digest
    from kgbench.scores.catalogue import display_names

    layout = Layout(size, "" if no_title else title, top, overlay)
    try:
        for one in kinds:
            one.check(layout)
    except OptionRefused as refused:
        raise typer.BadParameter(refused.reason, param_hint=f"--{refused.name}") from None
    formats = [str(file_format) for file_format in form or [FigureForm.PNG]]
    with open_results(
        store, suite=suite, pass_=pass_, run=run, tasks=task, models=model or "*"
    ) as results:
        state = state_digest(results.store, results.selection)
        names = display_names(results.store)

        def draw(one: FigureKind) -> None:
            tables = _tables(one, results, arguments)
            for labels, table in _of_each_model(one, tables) if each else tables:
                figure, drawn = one.figure(table, names, layout)
                stem = file_name(one.name, *labels)
                for path in save(figure, out, stem, formats=formats, tables=[drawn], state=state):
                    typer.echo(path)

        for one in kinds:
            try:
                draw(one)
            except QueryError as nothing:
                if kind != ALL:
                    raise
                typer.echo(f"left out: {one.name}: {nothing}", err=True)


def _arguments(kind: str, option_values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of options as arguments of the analysis behind a kind of figure.

    Refuses options that have no effect on this kind.
    """
    from kgbench.plots.figures import find_figure

    accepted: dict[str, str] = {}
    if kind != ALL:
        figure = find_figure(kind)
        accepted = {option: option for option in figure.options}
        if figure.declared is not None:
            accepted["name"], _ = figure.declared
    arguments: dict[str, Any] = {}
    for option, value in option_values.items():
        if value is None:
            continue
        if option not in accepted:
            raise typer.BadParameter(_why(kind, option), param_hint=f"--{option}")
        arguments[accepted[option]] = value
    return arguments


def _why(kind: str, option: str) -> str:
    """Explain why an option has no effect on a kind of figure."""
    if kind == ALL:
        return "it applies to some kinds of figures only: name one"
    if kind in _OF_JUDGES:
        return f"it does not apply to {kind}, which shows verdicts of judges"
    if option == "common":
        return "it applies to leaderboards only"
    if option in ("name", "declared"):
        return f"it does not apply to {kind}, which shows a metric: choose it with --metric"
    if kind == "tools":
        return "success with tools is defined for dialogues, not for single answers"
    subject = "metrics of" if option == "metric" else "answers that count in"
    return f"the {subject} a {kind} are declared: choose them with --name or --declared"


def _refuse_each(kind: str, each: Each | None, top: int | None, *, overlay: bool) -> None:
    """Refuse options that the kind of figure does not support."""
    if kind == ALL and (each is not None or overlay):
        raise typer.BadParameter("it applies to some kinds only: name one", param_hint="all")
    if each is not None and kind == "leaderboard":
        raise typer.BadParameter(
            "a leaderboard compares models: select models with --model", param_hint="--each"
        )
    if each is not None and kind in _OF_JUDGES:
        raise typer.BadParameter(
            f"the figure {kind} shows judges: select judged models with --model",
            param_hint="--each",
        )
    if each is not None and (overlay or top is not None):
        raise typer.BadParameter(
            "each figure shows one model: leave out --overlay and --top", param_hint="--each"
        )


def _tables(kind: FigureKind, results: Results, arguments: dict[str, Any]) -> Iterator[_Drawn]:
    """Yield the tables of a kind of figure, each with the parts that distinguish its file name."""
    if kind.name == "boxplot":
        from kgbench.plots.box_plots import distributions

        by_task = distributions(results.store, results.selection, **arguments)
        yield from (((task,), table) for task, table in by_task.items())
        return
    from kgbench.errors import QueryError

    table = getattr(results, INDEX[kind.name].method)(**arguments, **kind.fixed)
    if not table.rows:
        reason = table.reason or "the selection has no scores that count"
        raise QueryError(f"there is nothing to draw: {reason}")
    if kind.each is not None:
        for value in dict.fromkeys(map(str, table.column(kind.each))):
            part = table.where(kind.each, value)
            yield (value,), replace(part, title=f"{value}: scores by level of difficulty")
        return
    yield () if kind.declared is None else (str(table.context[kind.declared[1]]),), table


def _of_each_model(kind: FigureKind, tables: Iterable[_Drawn]) -> Iterator[_Drawn]:
    """Yield the tables of each model separately; box plots then have a box per task."""
    if kind.name == "boxplot":
        from kgbench.plots.box_plots import of_model

        by_task = {labels[0]: table for labels, table in tables}
        models = sorted(
            {str(model_name) for table in by_task.values() for model_name in table.column("model")}
        )
        for model in models:
            yield (model,), of_model(by_task, model)
        return
    for labels, table in tables:
        for model in dict.fromkeys(map(str, table.column("model"))):
            yield (*labels, model), table.where("model", model)
