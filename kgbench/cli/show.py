# SPDX-License-Identifier: Apache-2.0
"""``kgbench show``: one dialogue, readable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.cli import options
from kgbench.vocab import BASE

if TYPE_CHECKING:
    from rich.console import Console

    from kgbench.analysis.dialogues import DialogueView, RoundView, ToolView, VerdictView
    from kgbench.judges.about import VerdictAbout


_LINES = 12  # of the result of a tool


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("show")(show)


def show(
    dialogue: Annotated[
        str,
        typer.Argument(metavar="DIALOGUE", help="IRI of a dialogue, or its path below the base."),
    ],
    store: options.Store = None,
    pass_: Annotated[
        str | None,
        typer.Option("--pass", metavar="PASS", help="Only the verdicts of this evaluation pass."),
    ] = None,
    json_: options.AsJson = False,
) -> None:
    """Show one dialogue: prompts, answers, verdicts and where it comes from.

    Verdicts of judges and of people come last. What could steer a terminal is shown as an escape,
    never sent.
    """
    from kgbench.analysis.dialogues import view
    from kgbench.judges.about import verdicts_about
    from kgbench.store import open_reader

    with open_reader(store) as opened:
        iri = dialogue if "://" in dialogue else opened.iris.base + dialogue.lstrip("/")
        found = view(opened, iri, pass_)
        judged = [
            one
            for one in verdicts_about(opened, iri)
            if pass_ is None or one.verdict.startswith(f"{pass_}/")
        ]
    if json_:
        said = {**found.as_json(), "judgements": [_as_json(one) for one in judged]}
        typer.echo(json.dumps(said, indent=2, ensure_ascii=True))
    else:
        _print(found, judged)


def _as_json(one: VerdictAbout) -> dict[str, Any]:
    """A verdict as JSON, with its rubric by IRI."""
    said = one._asdict() | {"call": None if one.call is None else one.call._asdict()}
    rubric = said.pop("rubric_iri")
    return {**said, "rubric": rubric}


def _print(found: DialogueView, judged: Sequence[VerdictAbout]) -> None:
    from rich.console import Console

    from kgbench.characters import one_line

    console = Console(highlight=False, markup=False, soft_wrap=True)
    console.print(one_line(found.iri), style="bold")
    for name, value in found.facts:
        if value:
            console.print(f"{name:<10} {one_line(value)}")
    for one in found.rounds:
        _print_round(console, one)
    for verdict in found.verdicts:
        _print_verdict(console, verdict)
    for each in judged:
        _print_judgement(console, each)


def _print_round(console: Console, one: RoundView) -> None:
    from kgbench.characters import one_line, visible

    if one.of_tools:  # they stand below the calls that they are of
        console.print()
        _print_answer(console, one)
        return
    feedback = f" (feedback: {one_line(one.feedback)})" if one.feedback else ""
    console.print()
    console.rule(f"prompt {one.round}{feedback}", align="left")
    console.print(visible(one.prompt))
    _print_answer(console, one)


def _print_answer(console: Console, one: RoundView) -> None:
    from kgbench.characters import one_line, visible

    for call in one.calls:
        console.print(f"[{one_line(call)}]", style="dim")
    if one.reasoning:
        console.rule(f"reasoning {one.round}", align="left")
        console.print(visible(one.reasoning), style="dim")
    if one.answer is not None:
        console.rule(f"answer {one.round}", align="left")
        console.print(visible(one.beside if one.tools else one.answer))
    for use in one.tools:
        _print_tool(console, use)
    if one.note:
        console.print(f"[{one.note}]", style="dim")


def _print_tool(console: Console, use: ToolView) -> None:
    """A call with its result; arguments and results are whole in the JSON."""
    from kgbench.characters import one_line, visible

    ended = f"{use.outcome}{f', {use.fault}' if use.fault else ''}"
    where = f" by {one_line(use.server)}" if use.server else ""
    console.print(f"> {use.brief}  [{ended}, {use.size}{where}]", style="bold")
    if use.brief.endswith("\u2026)"):
        console.print(f"    {visible(use.arguments)}")
    lines = visible(use.result).split("\n")
    for line in lines[:_LINES]:
        console.print(f"    {line}")
    if len(lines) > _LINES:
        console.print(f"    ({len(lines) - _LINES} more lines: --json has all)", style="dim")


def _print_verdict(console: Console, verdict: VerdictView) -> None:
    from kgbench.characters import one_line

    console.print()
    console.rule(one_line(verdict.title), align="left")
    console.print(f"outcome {one_line(verdict.outcome)}")
    for metric, score in verdict.scores:
        console.print(f"{one_line(metric):<24} {score!r}")
    for info, value in verdict.infos:
        console.print(f"{one_line(info):<24} {one_line(value)}", style="dim")


def _print_judgement(console: Console, one: VerdictAbout) -> None:
    """What a judge or a person decided, and why."""
    from kgbench.characters import one_line, visible

    who = f"{one.reviewer} (person)" if one.reviewer else one.judge.removeprefix(BASE)
    rubric = one.rubric_iri if one.rubric is None else f"{one.rubric.name} {one.rubric.version}"
    place = f", as the {one.shown}" if one.shown else ""
    console.print()
    console.rule(f"verdict of {one_line(who)} by {one_line(rubric)}{place}", align="left")
    implied = f" (execution: {one_line(one.executed)})" if one.executed else ""
    console.print(f"verdict {one_line(one.chosen)}{implied}")
    if one.reason:
        console.print(visible(one.reason))
    if one.call is not None:
        console.print(f"asked in {one_line(one.call.asked)}", style="dim")
    else:
        settles = ", to settle earlier verdicts" if one.settles else ""
        console.print(f"decided {one_line(str(one.decided))}{settles}", style="dim")
