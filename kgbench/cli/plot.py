# SPDX-License-Identifier: Apache-2.0
"""``kgbench plot``: a command for each declared kind of figure."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from kgbench.analysis.index import FIGURES, INDEX
from kgbench.cli import options
from kgbench.cli.plug_ins import Subcommand

if TYPE_CHECKING:
    from kgbench.api.results import Results
    from kgbench.plots.figures import FigureKind
    from kgbench.tables import Table

_Drawn: TypeAlias = "tuple[tuple[str, ...], Table]"

ALL = "all"
_COMPARING = ("leaderboard", "agreement")  # figures that no single model has


class FigureForm(StrEnum):
    """File formats of figures."""

    PNG = "png"
    SVG = "svg"
    PDF = "pdf"


class Each(StrEnum):
    """What gets a figure of its own."""

    MODEL = "model"


group = typer.Typer(
    help="Draw figures from the scores in a store. Beside each, a JSON file has the numbers "
    "drawn and the queries behind them.",
    no_args_is_help=True,
)


def subcommands(words: Sequence[str]) -> Iterator[Subcommand]:
    """Yield a command for each kind of figure.

    With the ``words`` of a command line after ``plot``, only the command that they begin with has
    its options: no other kind is imported.
    """
    summaries = {
        **{name: INDEX[name].summary for name in FIGURES if name in INDEX},
        "boxplot": "Show the distribution of each model's scores, task by task.",
        ALL: "Draw every figure that the scores allow.",
    }
    for name in (*FIGURES, ALL):
        if words and words[0] != name:
            yield Subcommand(name, help=summaries[name])
        else:
            yield Subcommand(name, FigureCommand(name), summaries[name])


class FigureCommand:
    """The command of a kind of figure: those options of :func:`draw` that apply to it."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__annotations__: dict[str, Any] = {}  # typer wants these beside the signature

    @property
    def __signature__(self) -> inspect.Signature:
        """The options of all figures, and those that the kind declares."""
        every = inspect.signature(draw, eval_str=True).parameters
        own = {"name", "top", "each", "overlay", "common", "declared", "metric", "round"}
        return inspect.Signature(
            [
                parameter
                for name, parameter in every.items()
                if name != "kind" and (name not in own or name in self._accepted())
            ]
        )

    def _accepted(self) -> set[str]:
        from kgbench.plots.figures import find_figure

        if self.__name__ == ALL:
            return set()
        kind = find_figure(self.__name__)
        applicable = {
            "name": kind.declared is not None,
            "top": kind.ranked is not None,
            "overlay": kind.together is not None,
            "each": kind.name not in _COMPARING,
        }
        return {*kind.options, *(name for name, applies in applicable.items() if applies)}

    def __call__(self, **values: Any) -> None:
        """Draw the figures."""
        draw(self.__name__, **values)


def draw(
    kind: str,
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
    each: Annotated[Each | None, options.rarer("Figure", help="One figure per model.")] = None,
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
        bool,
        options.rarer("Figure", "--overlay", help="Draw up to eight models in one compass."),
    ] = False,
    common: options.Common = False,
    declared: options.Declared = None,
    metric: options.Metric = None,
    round: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    run: options.OfRun = None,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
) -> None:
    """Draw a kind of figure, or ``all``; the options are those of its command."""
    if no_title and title is not None:
        raise typer.BadParameter("it contradicts --title", param_hint="--no-title")
    if each is not None and (overlay or top is not None):
        raise typer.BadParameter(
            "each figure shows one model: leave out --overlay and --top", param_hint="--each"
        )
    from kgbench.api.results import open as open_results
    from kgbench.errors import QueryError
    from kgbench.plots.figures import Layout, file_name, find_figure, save, state_digest
    from kgbench.scores.catalogue import display_names

    given: dict[str, Any] = {
        "name": name,
        "declared": declared,
        "metric": metric,
        "round": round,
        "common": common or None,
    }
    kinds = [find_figure(one) for one in (FIGURES if kind == ALL else [kind])]
    layout = Layout(size, "" if no_title else title, top, overlay)
    for one in kinds:
        one.check(layout)
    formats = [str(file_format) for file_format in form or [FigureForm.PNG]]
    with open_results(
        store, suite=suite, pass_=pass_, run=run, tasks=task, models=model or "*"
    ) as results:
        state = state_digest(results.store, results.selection)
        names = display_names(results.store)
        for one in kinds:
            arguments = {
                one.declared[0] if option == "name" and one.declared else option: value
                for option, value in given.items()
                if value is not None
            }
            try:
                tables = _tables(one, results, arguments)
                for labels, table in _of_each_model(one, tables) if each else tables:
                    figure, drawn = one.figure(table, names, layout)
                    stem = file_name(one.name, *labels)
                    for path in save(
                        figure, out, stem, formats=formats, tables=[drawn], state=state
                    ):
                        typer.echo(path)
            except QueryError as nothing:
                if kind != ALL:
                    raise
                typer.echo(f"left out: {one.name}: {nothing}", err=True)


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
