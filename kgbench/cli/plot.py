# SPDX-License-Identifier: Apache-2.0
"""``kgbench plot``: figures from the scores in a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kgbench.cli import options

if TYPE_CHECKING:
    from kgbench.analysis.tables import Table
    from kgbench.api.results import Results

_Drawn: TypeAlias = "tuple[tuple[str, ...], Table]"


class Kind(StrEnum):
    """What is drawn."""

    AGREEMENT = "agreement"
    BOXPLOT = "boxplot"
    COMPASS = "compass"
    CONFUSION = "confusion"
    DIFFICULTY = "difficulty"
    FORMAT_PREFERENCE = "format-preference"
    LEADERBOARD = "leaderboard"
    SIZES = "sizes"
    TOOLS = "tools"


_TAKEN: Mapping[Kind, Mapping[str, str]] = {
    Kind.AGREEMENT: {},
    Kind.BOXPLOT: {"metric": "metric", "answers": "answers"},
    Kind.COMPASS: {"name": "name", "declared": "declared"},
    Kind.CONFUSION: {},
    Kind.DIFFICULTY: {"metric": "metric", "answers": "answers"},
    Kind.FORMAT_PREFERENCE: {"name": "comparison", "declared": "declared"},
    Kind.LEADERBOARD: {
        "name": "score_set",
        "declared": "declared",
        "answers": "answers",
        "common": "common",
    },
    Kind.SIZES: {"metric": "metric", "answers": "answers"},
    Kind.TOOLS: {"metric": "metric"},
}
"""The options that choose what each kind shows, with the parameters of its analysis."""
_DECLARED_AS: Mapping[Kind, str] = {
    Kind.COMPASS: "compass",
    Kind.FORMAT_PREFERENCE: "comparison",
    Kind.LEADERBOARD: "score_set",
}
"""Where the context of a table says which declaration it is of."""
_FLAGS = {"answers": "--round"}
_OF_JUDGES = (Kind.AGREEMENT, Kind.CONFUSION)


class FigureForm(StrEnum):
    """How a figure is written."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("plot")(plot)


class Each(StrEnum):
    """What every figure is about, where there is to be more than one."""

    MODEL = "model"


def plot(
    kind: Annotated[Kind, typer.Argument(help="What to draw.")],
    *,
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = Path("plots"),
    form: Annotated[
        list[FigureForm] | None,
        typer.Option("--format", "-f", help="png, svg or pdf; repeatable. Default: png."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--name", metavar="NAME", help="The declared compass, score set or format comparison."
        ),
    ] = None,
    each: Annotated[
        Each | None,
        typer.Option("--each", help="One figure for each model; not of a leaderboard."),
    ] = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="The title of the figures.")
    ] = None,
    no_title: Annotated[bool, typer.Option("--no-title", help="Leave the title out.")] = False,
    size: Annotated[
        str | None,
        typer.Option(
            "--size",
            metavar="SIZE",
            help="one-column (85 mm), two-columns (178 mm), slide (16:9), or width and height: "
            "6x4 (inches), 16x9cm, 85x60mm.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option("--top", metavar="N", min=1, help="Only the N best models of each figure."),
    ] = None,
    overlay: Annotated[
        bool, typer.Option("--overlay", help="A compass with all models in one, up to eight.")
    ] = False,
    common: options.Common = False,
    declared: options.Declared = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="NAME",
            help="A metric's short name, for boxplot, difficulty, sizes and tools; default: the "
            "main one.",
        ),
    ] = None,
    answers: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = "*",
    run: options.OfRun = None,
    store: options.Store = None,
    suite: options.Suite = None,
    choice: options.Pass = "first",
) -> None:
    """Draw figures; beside each a JSON file with the numbers drawn and the queries behind them."""
    if no_title and title is not None:
        raise typer.BadParameter("it contradicts --title", param_hint="--no-title")
    given = {"name": name, "declared": declared, "metric": metric, "answers": answers}
    arguments = _arguments(kind, {**given, "common": common or None})
    _refuse_each(kind, each, top, overlay=overlay)
    from kgbench.analysis.display_names import display_names
    from kgbench.analysis.registry import OptionRefused
    from kgbench.api.opening import open as open_results
    from kgbench.plots.figures import file_name, save, state_digest
    from kgbench.plots.kinds import KINDS, Layout

    drawn, layout = KINDS[kind], Layout(size, "" if no_title else title, top, overlay)
    try:
        drawn.check(layout)
    except OptionRefused as refused:
        raise typer.BadParameter(refused.why, param_hint=f"--{refused.name}") from None
    formats = [str(one) for one in form or [FigureForm.PNG]]
    with open_results(
        store, suite=suite, choice=choice, run=run, tasks=task, models=model
    ) as results:
        state = state_digest(results.store, results.selection)
        names = display_names(results.store)
        tables = _tables(kind, results, arguments)
        for labels, table in _of_each_model(kind, tables) if each else tables:
            figure, shown = drawn.figure(table, names, layout)
            named = file_name(str(kind), *labels)
            for path in save(figure, out, named, formats=formats, tables=[shown], state=state):
                typer.echo(path)


def _arguments(kind: Kind, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, as arguments of the analysis behind a kind of figure.

    An option that has no effect on this kind is refused.
    """
    taken = _TAKEN[kind]
    arguments: dict[str, Any] = {}
    for option, value in given.items():
        if value is None:
            continue
        if option not in taken:
            raise typer.BadParameter(
                _why(kind, option), param_hint=_FLAGS.get(option, f"--{option}")
            )
        arguments[taken[option]] = value
    return arguments


def _why(kind: Kind, option: str) -> str:
    """Why an option has no effect on a kind of figure."""
    if kind in _OF_JUDGES:
        return f"the figure {kind} shows verdicts of judges, which have no such choice"
    if option == "common":
        return "it is for a leaderboard"
    if option in ("name", "declared"):
        return f"{kind} shows a metric, nothing declared: choose it with --metric"
    if kind is Kind.TOOLS:
        return "success with tools is that of whole dialogues"
    what = "metrics of" if option == "metric" else "answers that count in"
    return f"the {what} a {kind} are declared: choose them with --name or --declared"


def _refuse_each(kind: Kind, each: Each | None, top: int | None, *, overlay: bool) -> None:
    """Refuse figures of single models where a figure compares models."""
    if each is not None and kind is Kind.LEADERBOARD:
        raise typer.BadParameter(
            "a leaderboard compares models: choose some with --model", param_hint="--each"
        )
    if each is not None and kind in _OF_JUDGES:
        raise typer.BadParameter(
            f"the figure {kind} shows judges: choose judged models with --model",
            param_hint="--each",
        )
    if each is not None and (overlay or top is not None):
        raise typer.BadParameter(
            "each figure shows one model: leave out --overlay and --top", param_hint="--each"
        )


def _tables(kind: Kind, results: Results, arguments: dict[str, Any]) -> Iterator[_Drawn]:
    """The tables of the figures of a kind, each with what distinguishes the name of its file."""
    if kind is Kind.BOXPLOT:
        from kgbench.plots.box_plots import distributions

        found = distributions(results.store, results.selection, **arguments)
        yield from (((task,), table) for task, table in found.items())
        return
    from kgbench.errors import QueryError
    from kgbench.plots.kinds import KINDS

    analysis = getattr(results, kind.replace("-", "_"))
    table = analysis(**arguments, **KINDS[kind].fixed)
    if not table.rows:
        raise QueryError(": ".join(("there is nothing to draw", *table.notes[:1])))
    if kind is Kind.DIFFICULTY:
        for family in dict.fromkeys(map(str, table.column("family"))):
            of_family = table.where("family", family)
            yield (family,), replace(of_family, title=f"{family}: scores by level of difficulty")
        return
    declared = _DECLARED_AS.get(kind)
    yield () if declared is None else (str(table.context[declared]),), table


def _of_each_model(kind: Kind, tables: Iterable[_Drawn]) -> Iterator[_Drawn]:
    """The same for each model alone; box plots then have a box for each task."""
    if kind is Kind.BOXPLOT:
        from kgbench.plots.box_plots import of_model

        by_task = {labels[0]: table for labels, table in tables}
        models = sorted({str(m) for table in by_task.values() for m in table.column("model")})
        for model in models:
            yield (model,), of_model(by_task, model)
        return
    for labels, table in tables:
        for model in dict.fromkeys(map(str, table.column("model"))):
            yield (*labels, model), table.where("model", model)
