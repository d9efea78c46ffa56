# SPDX-License-Identifier: Apache-2.0
"""``kgbench import text2sparql``: import questions, answers and scores of TEXT2SPARQL."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import count
from kgbench.cli.progress import progress


def text2sparql(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The folder 'docs' of the challenge, with questions, answers, scores and result "
            "sets.",
        ),
    ],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import the TEXT2SPARQL challenge: questions, each system's answers, published scores.

    Questions missing in the folder are looked up beside it and in the installed data set. Files
    are checked before anything is written; faults in published files are reported. Importing again
    changes nothing.
    """
    from kgbench.importers.load import load_each
    from kgbench.plugins.challenges.text2sparql import imported_run, write_averages
    from kgbench.plugins.challenges.text2sparql_files import read
    from kgbench.store import open_for_import

    challenge = read(folder)
    with open_for_import(store) as opened:
        runs = [(files, imported_run(files, opened.iris)) for files in challenge.systems]
        total = sum(len(run.items) for _, run in runs)
        loaded = 0
        with progress(f"importing {folder.name}", total, quiet=json_) as advance:

            def advance_by(number: int) -> None:
                nonlocal loaded
                loaded += number
                advance(loaded)

            summaries = list(load_each(opened, (run for _, run in runs), advance_by))
        for files, run in runs:
            write_averages(opened, files, run)
        location = opened.location
    if json_:
        report = {
            "store": location,
            "runs": [summary.as_json() for summary in summaries],
            "remarks": challenge.remarks,
        }
        typer.echo(json.dumps(report, indent=2))
        return
    for summary in summaries:
        state = "already there" if summary.already_there else f"suite {summary.suite}"
        typer.echo(
            f"{summary.source}: {count(summary.dialogues, 'dialogue')}, "
            f"{count(summary.scores, 'score')} ({state})"
        )
    for remark in challenge.remarks:
        typer.echo(f"remark: {remark}")
    new = [summary for summary in summaries if not summary.already_there]
    dialogues = count(sum(summary.dialogues for summary in new), "dialogue")
    typer.echo(f"imported {count(len(new), 'run')}: {dialogues}")
    typer.echo(f"store  {location}")
