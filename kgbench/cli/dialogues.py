# SPDX-License-Identifier: Apache-2.0
"""``kgbench dialogues``: find dialogues by model, task, outcome, score and text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import echo_visible
from kgbench.cli.option_groups import Output, grouped
from kgbench.cli.tables import Form
from kgbench.outcomes import Outcome

if TYPE_CHECKING:
    from kgbench.tables import Table


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
