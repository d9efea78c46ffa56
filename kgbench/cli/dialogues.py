# SPDX-License-Identifier: Apache-2.0
"""``kgbench dialogues`` and ``kgbench show``: find dialogues, and show one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.characters import one_line, visible
from kgbench.cli import options
from kgbench.cli.commands import grouped
from kgbench.cli.options import Form
from kgbench.cli.printing import Output, echo_visible, report
from kgbench.vocab import BASE, Outcome

if TYPE_CHECKING:
    from rich.console import Console

    from kgbench.analysis.dialogues import RoundView, ToolView, VerdictView
    from kgbench.record.judgements import DialogueVerdict
    from kgbench.tables import Table

_LINES = 12  # shown lines of a tool result


class Sort(StrEnum):
    """Sort order of dialogues."""

    SCORE = "score"
    TASK = "task"
    MODEL = "model"
    OUTCOME = "outcome"


@grouped
def dialogues(
    *,
    outcome: Annotated[
        Outcome | None, typer.Option(help="Only dialogues with an answer of this outcome.")
    ] = None,
    below: Annotated[
        float | None,
        typer.Option(metavar="SCORE", help="Only dialogues whose main score is below this."),
    ] = None,
    search: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Only dialogues with this text in an answer (case-insensitive)."
        ),
    ] = None,
    sort: Annotated[
        Sort, options.rarer("Output", help="Sort order; score lists the lowest first.")
    ] = Sort.SCORE,
    limit: Annotated[
        int, options.rarer("Output", min=1, help="Maximum number of dialogues listed.")
    ] = 20,
    task: options.TaskGlob = "*",
    model: options.ModelGlob = None,
    run: options.OfRun = None,
    store: options.Store = None,
    suite: options.Suite = None,
    pass_: options.Pass = options.FIRST,
    output: Output,
) -> None:
    """Find judged dialogues, and print a `kgbench show` command for each.

    Dialogues that wait for an answer are not judged; see `kgbench status`.
    """
    from kgbench.analysis.dialogue_search import find_dialogues
    from kgbench.record.identity import short_names
    from kgbench.scores.catalogue import display_names, displayed
    from kgbench.scores.selection import select
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        chosen = select(opened, suite, pass_, run=run, tasks=task, models=model or "*")
        table = find_dialogues(
            opened, chosen, outcome=outcome, below=below, text=search, sort=sort, limit=limit
        )
        if output.effective_form.for_people:
            table = displayed(table, display_names(opened))
        if output.effective_form is Form.TABLE and output.out is None:
            names = short_names(opened, map(str, table.column("dialogue")))
            _print_commands(table, names, options.explicit_store(store))
            return
    output.write(table)


def _print_commands(table: Table, names: Mapping[str, str], location: str | None) -> None:
    """Print a ``kgbench show`` command for each dialogue."""
    echo_visible(table.title)
    store_option = f" --store {shlex.quote(location)}" if location is not None else ""
    for row in table.records():
        score = "no score" if row["score"] is None else f"{row['score']:.3f} {row['metric']}"
        comment = f"{score}, {row['outcome']}, {row['task']} by {row['model']}"
        echo_visible(
            f"kgbench show {shlex.quote(names[str(row['dialogue'])])}{store_option}  # {comment}"
        )
    for note in table.notes:
        echo_visible(note)


def show(
    dialogue: Annotated[
        str,
        typer.Argument(
            metavar="DIALOGUE", help="The short name of a dialogue, its path or its IRI."
        ),
    ],
    store: options.Store = None,
    pass_: Annotated[
        str | None,
        typer.Option("--pass", metavar="PASS", help="Only the verdicts of this evaluation pass."),
    ] = None,
    json_: options.AsJson = False,
) -> None:
    """Show one dialogue: prompts, answers, verdicts and provenance.

    Verdicts of judges and human reviewers come last. Control characters are escaped.
    """
    from rich.console import Console

    from kgbench.analysis.dialogues import view
    from kgbench.record.identity import find_dialogue
    from kgbench.record.judgements import verdicts_about
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        iri = find_dialogue(opened, dialogue)
        dialogue_view = view(opened, iri, pass_)
        judgements = [
            verdict
            for verdict in verdicts_about(opened, iri)
            if pass_ is None or verdict.verdict.startswith(f"{pass_}/")
        ]
    if json_:
        data = {**dialogue_view.as_json(), "judgements": list(map(_as_json, judgements))}
        report(data, (), json_=True)
        return
    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(one_line(dialogue_view.iri), style="bold")
    for name, value in dialogue_view.facts:
        if value:
            console.print(f"{name:<10} {one_line(value)}")
    for round_ in dialogue_view.rounds:
        _print_round(console, round_)
    for verdict in dialogue_view.verdicts:
        _print_verdict(console, verdict)
    for judgement in judgements:
        _print_judgement(console, judgement)


def _as_json(verdict: DialogueVerdict) -> dict[str, Any]:
    """Return a verdict as JSON, with the IRI of its rubric."""
    data = verdict._asdict() | {"call": None if verdict.call is None else verdict.call._asdict()}
    rubric = data.pop("rubric_iri")
    return {**data, "rubric": rubric}


def _print_round(console: Console, round_: RoundView) -> None:
    console.print()
    if not round_.of_tools:  # tool results were printed below their calls
        feedback = f" (feedback: {one_line(round_.feedback)})" if round_.feedback else ""
        console.rule(f"prompt {round_.round}{feedback}", align="left")
        console.print(visible(round_.prompt))
    for call in round_.calls:
        console.print(f"[{one_line(call)}]", style="dim")
    if round_.reasoning:
        console.rule(f"reasoning {round_.round}", align="left")
        console.print(visible(round_.reasoning), style="dim")
    if round_.answer is not None:
        console.rule(f"answer {round_.round}", align="left")
        console.print(visible(round_.beside if round_.tools else round_.answer))
    for use in round_.tools:
        _print_tool(console, use)
    if round_.note:
        console.print(f"[{round_.note}]", style="dim")


def _print_tool(console: Console, use: ToolView) -> None:
    """Print a tool call and the first lines of its result; ``--json`` has all of it."""
    result = f"{use.outcome}{f', {use.fault}' if use.fault else ''}"
    where = f" by {one_line(use.server)}" if use.server else ""
    console.print(f"> {use.brief}  [{result}, {use.size}{where}]", style="bold")
    if use.brief.endswith("\u2026)"):
        console.print(f"    {visible(use.arguments)}")
    lines = visible(use.result).split("\n")
    for line in lines[:_LINES]:
        console.print(f"    {line}")
    if len(lines) > _LINES:
        console.print(f"    ({len(lines) - _LINES} more lines: --json has all)", style="dim")


def _print_verdict(console: Console, verdict: VerdictView) -> None:
    console.print()
    console.rule(one_line(verdict.title), align="left")
    console.print(f"outcome {one_line(verdict.outcome)}")
    for metric, score in verdict.scores:
        console.print(f"{one_line(metric):<24} {score!r}")
    for info, value in verdict.infos:
        console.print(f"{one_line(info):<24} {one_line(value)}", style="dim")


def _print_judgement(console: Console, verdict: DialogueVerdict) -> None:
    """Print the verdict of a judge or human reviewer, and its reason."""
    person = f"{verdict.reviewer} (person)" if verdict.reviewer else None
    author = person or verdict.judge.removeprefix(BASE)
    known = verdict.rubric
    rubric = verdict.rubric_iri if known is None else f"{known.name} {known.version}"
    position = f", as the {verdict.shown}" if verdict.shown else ""
    console.print()
    console.rule(f"verdict of {one_line(author)} by {one_line(rubric)}{position}", align="left")
    implied = f" (execution: {one_line(verdict.executed)})" if verdict.executed else ""
    console.print(f"verdict {one_line(verdict.chosen)}{implied}")
    if verdict.reason:
        console.print(visible(verdict.reason))
    if verdict.call is not None:
        console.print(f"asked in {one_line(verdict.call.asked)}", style="dim")
    else:
        settles = ", to settle earlier verdicts" if verdict.settles else ""
        console.print(f"decided {one_line(str(verdict.decided))}{settles}", style="dim")
