# SPDX-License-Identifier: Apache-2.0
"""``kgbench import text2sparql``, ``spinach`` and ``grasp``: results that challenges published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.api import JsonOption, StoreOption
from kgbench.cli.printing import count, progress, report

if TYPE_CHECKING:
    from kgbench.importers.load import Summary
    from kgbench.plugins.challenges.published_answers import AnswerFile, Benchmark


def text2sparql(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR",
            help="The folder 'docs' of the challenge, with questions, answers, scores and result "
            "sets.",
        ),
    ],
    store: StoreOption = None,
    json_: JsonOption = False,
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
    new = [summary for summary in summaries if not summary.already_there]
    dialogues = count(sum(summary.dialogues for summary in new), "dialogue")
    report(
        {
            "store": location,
            "runs": [summary.as_json() for summary in summaries],
            "remarks": challenge.remarks,
        },
        [
            *map(_line, summaries),
            *(f"remark: {remark}" for remark in challenge.remarks),
            f"imported {count(len(new), 'run')}: {dialogues}",
            f"store  {location}",
        ],
        json_=json_,
    )


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
    store: StoreOption = None,
    json_: JsonOption = False,
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
    store: StoreOption = None,
    json_: JsonOption = False,
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
    runs = [{**summary.as_json(), **counts} for summary, counts in results]
    lines = [_line(summary, _notes(counts)) for summary, counts in results]
    report({"store": location, "runs": runs}, [*lines, f"store  {location}"], json_=json_)


def _notes(counts: dict[str, int]) -> Iterable[str]:
    if counts["tool_calls"]:
        calls = count(counts["tool_calls"], "tool call")
        yield f"{calls} ({counts['repeated_calls']:,} repeated)"
    if counts["unanswered"]:
        yield f"{counts['unanswered']:,} without an answer"


def _line(summary: Summary, notes: Iterable[str] = ()) -> str:
    state = "already there" if summary.already_there else f"suite {summary.suite}"
    contents = (count(summary.dialogues, "dialogue"), count(summary.scores, "score"), *notes)
    return f"{summary.source}: {', '.join(contents)} ({state})"
