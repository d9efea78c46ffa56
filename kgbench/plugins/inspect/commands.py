# SPDX-License-Identifier: Apache-2.0
"""``kgbench import inspect`` and ``kgbench export inspect``: logs of Inspect AI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.api import ExportRun, ExportSource, grouped
from kgbench.cli import options
from kgbench.cli.commands import end_after
from kgbench.cli.export import OutFolder, indented_json, report_written
from kgbench.cli.printing import count, report

if TYPE_CHECKING:
    from kgbench.importers.load import Summary


def import_logs(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="LOG...", help="Logs of Inspect AI (.eval or .json)."),
    ],
    max_megabytes: options.MaxMegabytes = 8_192,
    seconds: options.Seconds = 3_600.0,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import logs of 'inspect eval kgbench/LABEL': dialogues and scores, as published runs.

    Importing the same log again, in either format, changes nothing. Logs of other tasks are
    refused; samples that ended with an error are skipped and counted.
    """
    from kgbench.importers.load import load
    from kgbench.net.limits import Budget
    from kgbench.plugins.inspect import logs
    from kgbench.store import open_for_import

    budget = Budget(max_megabytes << 20, seconds)
    end_after(seconds)
    results: list[tuple[Summary, int]] = []
    with open_for_import(store) as opened:
        for file in files:
            log = logs.read_run(logs.read(file, budget), opened.iris)
            results.append((load(opened, log.run), log.without_answer))
        location = opened.location
    runs = [{**summary.as_json(), "without_answer": skipped} for summary, skipped in results]
    lines = [*(_line(*result) for result in results), f"store  {location}"]
    report({"store": location, "runs": runs}, lines, json_=json_)


def _line(summary: Summary, skipped: int) -> str:
    state = "already there" if summary.already_there else f"suite {summary.suite}"
    note = f"; {count(skipped, 'sample')} without answer or scores left out" if skipped else ""
    return (
        f"{summary.source}: {count(summary.dialogues, 'dialogue')}, "
        f"{count(summary.scores, 'score')} of "
        f"{', '.join(summary.models)} ({state}){note}\nrun    {summary.run}"
    )


@grouped
def export_logs(
    run: ExportRun = None,
    *,
    folder: OutFolder,
    source: ExportSource,
    json_: options.AsJson = False,
) -> None:
    """Export a run as logs of Inspect AI, one for each model and task, with tool calls.

    Importing them gives the same prompts, answers, tool calls and scores.
    """
    from kgbench import files
    from kgbench.plugins.inspect import export

    results = source.read(run)
    logs = export.logs(results)
    for name, log in logs.items():
        files.write(folder / name, indented_json(log))
    counts = {"logs": len(logs), "dialogues": sum(len(log["samples"]) for log in logs.values())}
    report_written(folder, counts, json_=json_)
