# SPDX-License-Identifier: Apache-2.0
"""``kgbench analyze`` and ``kgbench compare``: a command for each declared analysis."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench import entry_points
from kgbench.analysis.index import ANALYSES, INDEX
from kgbench.analysis.registry import Analysis, Arguments, OptionRefused, check_estimand
from kgbench.cli import options
from kgbench.cli.commands import grouped
from kgbench.cli.options import Form
from kgbench.cli.plug_ins import Subcommand
from kgbench.cli.printing import Output, read, report

if TYPE_CHECKING:
    from kgbench.analysis.worst import Explanation
    from kgbench.scores.selection import Selection
    from kgbench.store.protocol import Store
    from kgbench.tables import Table

Cell = Annotated[
    str | None,
    typer.Option(
        "--explain",
        metavar="CELL",
        help="Explain a cell by its query, parts and worst dialogues: MODEL or MODEL::PART "
        "(a task, axis, pair, or characteristic/level).",
        rich_help_panel="Output",
    ),
]
Whole = Annotated[
    bool,
    typer.Option(
        "--all",
        help="With --explain: print the complete query, all parts and all values.",
        rich_help_panel="Output",
    ),
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep",
        help="Store the table and its sources: as an RDF Data Cube, and as a cache for later "
        "calls.",
        rich_help_panel="Output",
    ),
]

Sources = Annotated[
    Path | None,
    typer.Option(
        "--sources",
        metavar="FOLDER",
        help="Combine the sources that kgbench harvest wrote to FOLDER, instead of reading a "
        "store.",
        rich_help_panel="Sources of others",
    ),
]
Trust = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        metavar="SOURCE",
        help="With --sources: use only these sources, by name, address, base or public key; "
        "repeatable. Default: sources verified with a key.",
        rich_help_panel="Sources of others",
    ),
]


group = typer.Typer(
    help="Analyse the scores in a store: tables over one suite and one evaluation pass.",
    no_args_is_help=True,
)


def subcommands(words: Sequence[str]) -> Iterator[Subcommand]:
    """Yield a command for each analysis.

    With the ``words`` of a command line after ``analyze``, only the command that they begin with
    has its options: no other analysis is imported.
    """
    for name, entry in INDEX.items():
        if words and words[0] != name:
            yield Subcommand(name, help=entry.summary, panel=entry.group)
        else:
            description = ANALYSES[name].description
            yield Subcommand(name, AnalysisCommand(name), description, entry.group)


@grouped
def _print(
    analysis: Analysis[...],
    arguments: Arguments,
    *,
    explain: Cell = None,
    whole: Whole = False,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    run: options.OfRun = None,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
    output: Output,
    keep: Keep = False,
) -> None:
    """Print the table of an analysis, or explain one of its cells."""
    from kgbench.scores.selection import select

    def choose(opened: Store) -> Selection:
        printed = bool(arguments.get("published"))  # scores of papers need no results of a store
        return select(
            opened, suite, pass_, run=run, tasks=task, models=model or "*", absent=printed
        )

    if explain is None:
        if whole:
            raise typer.BadParameter("it needs --explain", param_hint="--all")
        table = read(analysis, arguments, store, choose, form=output.effective_form, keep=keep)
        output.write(table)
        return
    if keep:
        raise typer.BadParameter("an explanation cannot be stored", param_hint="--keep")
    explanation = _explained(analysis, arguments, explain, store, choose)
    if output.out is None and output.effective_form in (Form.TABLE, Form.JSON):
        lines = _explanation(explanation, options.explicit_store(store), whole=whole)
        as_json = output.effective_form is Form.JSON
        report(explanation.as_json(whole=whole), lines, json_=as_json)
    else:
        output.write(explanation.values if whole else explanation.parts)


def _combined(
    values: Mapping[str, Any], arguments: Mapping[str, Any], sources: Path, trust: list[str] | None
) -> None:
    """Print the leaderboard of harvested sources; refuse options that need a store."""
    from kgbench.scores.declared import score_set

    shared = inspect.signature(_print, eval_str=True).parameters
    # The store is accepted because it may come from the environment.
    accepted = {"suite", "form", "json_", "out", "columns", "guard", "crlf", "store"}
    for name, value in values.items():
        if name not in accepted and value != shared[name].default:
            hint = f"--{name.rstrip('_')}"
            raise typer.BadParameter("it cannot be used with --sources", param_hint=hint)
    if (
        arguments["significance"]
        or arguments["test"]
        or arguments["estimand"]
        or arguments["common"]
    ):
        raise typer.BadParameter(
            "it cannot be combined with tests or --common", param_hint="--sources"
        )
    scores = score_set(arguments["set"], arguments["declared"]).at(arguments["round"])
    combined_leaderboard = entry_points.load("kgbench.sources", "harvest")
    table = combined_leaderboard(sources, scores, values["suite"], trust or ())
    Output(**{field.name: values[field.name] for field in fields(Output)}).write(table)


def _explained(
    analysis: Analysis[...],
    arguments: Arguments,
    cell: str,
    store: str | None,
    choose: Callable[[Store], Selection],
) -> Explanation:
    from kgbench.analysis.worst import explain
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        chosen = choose(opened)
        assert analysis.parts is not None  # without it, there is no option --explain
        return explain(opened, chosen, analysis.parts(opened, chosen, arguments), cell)


def _explanation(
    explanation: Explanation, store: str | None, *, whole: bool
) -> Iterator[str | Table]:
    """Yield the query, the parts and the worst dialogues; shortened unless ``whole``."""
    from kgbench.analysis.worst import show_line

    yield explanation.query(whole=whole)
    yield explanation.parts if whole else explanation.first_parts()
    if whole:
        yield ""
        yield explanation.values
    if explanation.worst:
        yield "\nThe worst dialogues:"
    for dialogue in explanation.worst:
        yield show_line(dialogue, store)


class AnalysisCommand:
    """The command of an analysis; its options are those of the analysis and of :func:`_print`."""

    def __init__(self, name: str) -> None:
        self.__name__, self.__doc__ = name, INDEX[name].summary
        self.__annotations__: dict[str, Any] = {}  # typer wants these beside the signature

    @property
    def __signature__(self) -> inspect.Signature:
        """The options of the analysis, those of harvested leaderboards, and those of all."""
        analysis = ANALYSES[self.__name__]
        shared = [
            option
            for option in inspect.signature(_print, eval_str=True).parameters.values()
            if option.name not in {"analysis", "arguments"}
            and (analysis.parts or option.name not in {"explain", "whole"})
        ]
        own = [
            inspect.Parameter(
                parameter.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=parameter.default,
                annotation=Annotated[
                    parameter.type, options.analysis_option(parameter.name, parameter.option)
                ],
            )
            for parameter in analysis.parameters()
        ]
        harvested = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
            for name, option in (("sources", Sources), ("trust", Trust))
            if analysis.name == "leaderboard"
        ]
        return inspect.Signature([*own, *harvested, *shared])

    def __call__(self, **values: Any) -> None:
        """Print the table, or explain one of its cells."""
        sources, trust = values.pop("sources", None), values.pop("trust", None)
        if trust and sources is None:
            raise typer.BadParameter("it needs --sources", param_hint="--trust")
        analysis = ANALYSES[self.__name__]
        parameters = {each.name: each for each in analysis.parameters()}
        arguments = {name: values.pop(name) for name in parameters}
        if sources is not None:
            _combined(values, arguments, sources, trust)
            return
        try:
            _print(analysis=analysis, arguments=arguments, **values)
        except OptionRefused as refused:
            flag = parameters[refused.name].flag
            raise typer.BadParameter(refused.reason, param_hint=flag) from None


leaderboard = AnalysisCommand("leaderboard")
"""The command ``kgbench leaderboard``, short for ``kgbench analyze leaderboard``."""


@grouped
def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="A model, run or evaluation pass.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another of the same kind.")],
    *,
    metric: options.Metric = None,
    round: options.Round = None,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    run: options.OfRun = None,
    flips: Annotated[
        bool, typer.Option("--flips", help="List the cases that only one side solved.")
    ] = False,
    solved: Annotated[
        float, options.rarer("Scores", help="The minimum score of a solved dialogue.")
    ] = 0.5,
    estimand: Annotated[
        str,
        options.rarer(
            "Scores",
            metavar="NAME",
            help="The population of intervals and tests: cases (of this kind), repetitions (of "
            "these cases), tasks (of this kind), or dialogues (as if independent); available "
            "stands for cases, or repetitions where a task has one case.",
            callback=check_estimand,
        ),
    ] = "available",
    margin: Annotated[
        float | None,
        typer.Option(min=0, help="Also test whether A and B differ by less than this."),
    ] = None,
    samples: Annotated[
        int, options.rarer("Tests", min=1, help="Bootstrap samples (dialogues).")
    ] = 10_000,
    seed: Annotated[
        int, options.rarer("Tests", min=0, help="Seed of the bootstrap (dialogues).")
    ] = 0,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
    output: Output,
) -> None:
    """Compare two models, two runs or two evaluation passes, task by task.

    Answers to the same cases are paired; a note says where the sides share no case.
    With --json, two passes are compared value by value, in the format of `reevaluate --json`.
    """
    from kgbench.analysis import compare as analysis
    from kgbench.analysis.matching import matches, select_sides
    from kgbench.analysis.passes import compare_passes
    from kgbench.analysis.registry import OptionRefused
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        try:
            a, b, chosen = select_sides(
                opened,
                first,
                second,
                suite=suite,
                pass_=pass_,
                run=run,
                tasks=task,
                models=model or "*",
            )
        except OptionRefused as refused:
            hint = {"models": "--model", "run": "--run"}[refused.name]
            raise typer.BadParameter(refused.reason, param_hint=hint) from None
        if output.json_ and a.kind == "pass" and not flips:
            report(compare_passes(opened, chosen, a.iri, b.iri).report(), (), json_=True)
            return
        pairs = matches(opened, chosen, a, b, metric=metric, round=round)
        table = (
            analysis.flips(pairs, a, b, estimand=estimand, solved=solved)
            if flips
            else analysis.compare(
                pairs,
                a,
                b,
                estimand=estimand,
                margin=margin,
                solved=solved,
                samples=samples,
                seed=seed,
            )
        )
    output.write(table)
