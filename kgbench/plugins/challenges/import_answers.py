# SPDX-License-Identifier: Apache-2.0
"""``kgbench import spinach`` and ``import grasp``: import answers that benchmarks published."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import count

if TYPE_CHECKING:
    from kgbench.plugins.challenges.published_answers import AnswerFile, Benchmark


def spinach(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="Files spinach_output_*.json, or a folder with them, such as datasets/ of "
            "SPINACH.",
            exists=True,
        ),
    ],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import answers of SPINACH with the results of both queries and the published F1.

    'kgbench reevaluate --policy NAME' judges them again without an endpoint. Importing again
    changes nothing.
    """
    from kgbench.plugins.challenges import spinach as importing

    answers = [importing.read(file) for path in paths for file in importing.files(path)]
    _load(importing.BENCHMARK, answers, store, json_=json_)


def grasp(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="A folder with test.jsonl and runs beside it or in outputs/.",
            exists=True,
            file_okay=False,
        ),
    ],
    graph: Annotated[
        str | None,
        typer.Option(
            "--graph",
            metavar="NAME",
            help="The installed graph for the queries. Default: the graph that the runs name.",
        ),
    ] = None,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import runs of GRASP: questions, final queries, transcripts and published scores.

    Importing again changes nothing.
    """
    from kgbench.plugins.challenges import grasp as importing

    _load(importing.BENCHMARK, list(importing.read(folder, graph)), store, json_=json_)


def _load(
    benchmark: Benchmark, files: Sequence[AnswerFile], store: str | None, *, json_: bool
) -> None:
    from kgbench.importers.load import load_each
    from kgbench.plugins.challenges.published_answers import imported_run
    from kgbench.store import open_for_import

    with open_for_import(store) as opened:
        imported = (imported_run(benchmark, file, opened.iris) for file in files)
        pairs = zip(load_each(opened, imported), files, strict=True)
        results = [(summary, file.counts()) for summary, file in pairs]
        location = opened.location
    if json_:
        runs = [{**summary.as_json(), **counts} for summary, counts in results]
        typer.echo(json.dumps({"store": location, "runs": runs}, indent=2))
        return
    for summary, counts in results:
        state = "already there" if summary.already_there else f"suite {summary.suite}"
        contents = f"{count(summary.dialogues, 'dialogue')}, {count(summary.scores, 'score')}"
        if counts["tool_calls"]:
            contents += f", {count(counts['tool_calls'], 'tool call')}"
            contents += f" ({counts['repeated_calls']:,} repeated)"
        if counts["unanswered"]:
            contents += f", {counts['unanswered']:,} without an answer"
        typer.echo(f"{summary.source}: {contents} ({state})")
    typer.echo(f"store  {location}")
