# SPDX-License-Identifier: Apache-2.0
"""``kgbench import``: import published results into the store."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options, plug_ins
from kgbench.cli.commands import end_after
from kgbench.cli.plug_ins import Subcommand
from kgbench.cli.printing import count, progress, report

if TYPE_CHECKING:
    from kgbench.importers.llm_kg_bench import ImportedRun
    from kgbench.importers.load import Summary
    from kgbench.importers.rdf.loading import Summary as RdfSummary
    from kgbench.store.protocol import Store

GROUP = "kgbench.importers"  # of plug-ins
_OWN = ("rdf", "llm-kg-bench", "text2kgbench")
_SUITE = re.compile(r"[A-Za-z0-9._-]+")
_MANY = 100_000  # dialogues, whose files the engine has not merged when an import ends


group = typer.Typer(help="Import published results into the store.", no_args_is_help=True)


def subcommands(_: Sequence[str]) -> Iterator[Subcommand]:
    """Yield the importers of plug-ins that have a name of their own, not the suffix of files."""
    found = plug_ins.usable(GROUP, _OWN)
    return (Subcommand(*each) for each in found.items() if not each[0].startswith("."))


@group.command("rdf")
def rdf(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE|URL...",
            help="Dumps (N-Quads, TriG, Turtle, N-Triples, JSON-LD, RDF/XML; optionally .gz, .zst "
            "or .zip), or the folder or URL of a published site.",
        ),
    ],
    password: options.Password = None,
    *,
    max_megabytes: options.MaxMegabytes = 8_192,
    seconds: options.Seconds = 3_600.0,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import results published by another kgbench: runs, passes, and what they refer to.

    All sources together are one data set. It is checked against checksums, the SHACL shapes of
    results and the store before anything is written. Importing it again changes nothing. URLs are
    fetched by http or https only.
    """
    from kgbench.importers.rdf import contents as data_sets
    from kgbench.importers.rdf import loading
    from kgbench.importers.rdf.parsing import scratch_folder, stage
    from kgbench.importers.rdf.sources import Documents, fetch_documents
    from kgbench.net.limits import Budget
    from kgbench.store import open_for_import

    budget = Budget(max_megabytes << 20, seconds)
    end_after(seconds)
    with scratch_folder() as scratch:
        gathered = Documents()
        for source in sources:
            part = fetch_documents(source, scratch, password, budget)
            gathered.files += part.files
            gathered.origins += part.origins
        contents = data_sets.read(stage(gathered.files, scratch, budget))
        with (
            open_for_import(store) as opened,
            progress("copying statements", None, quiet=json_) as advance,
        ):
            summary = loading.load(opened, contents, gathered.origins, scratch, advance)
            location = opened.location
    data = {"store": location, **summary.as_json()}
    report(data, (*rdf_lines(summary), f"store  {location}"), json_=json_)


def rdf_lines(summary: RdfSummary) -> Iterator[str]:
    """Yield what an import of RDF found and stored."""
    for origin in summary.sources:
        yield f"{origin.name}  sha256:{origin.digest[:16]}"
    for activity in (*summary.runs, *summary.passes, *summary.invalidations):
        yield f"  new   {activity}"
    for activity in summary.grown:
        yield f"  grown {activity}"
    for activity in summary.there:
        yield f"  there {activity}"
    for published, known in summary.elsewhere:
        yield f"  there {published} (as {known})"
    counts = (
        f"{count(len(summary.runs), 'run')}, {count(len(summary.passes), 'pass', 'passes')}, "
        f"{count(summary.described, 'statement')} for the catalogue"
    )
    beside = f"; {count(summary.foreign, 'foreign statement')} kept" if summary.foreign else ""
    out = f"; {summary.left_out:,} left out (analyses, declarations)" if summary.left_out else ""
    yield f"imported {counts}{beside if summary.brought else ''}{out}"


@group.command("llm-kg-bench")
def llm_kg_bench(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Result files: JSON, YAML, zip archives of these, or folders of all.",
        ),
    ],
    password: options.Password = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The suite to import into; default: llm-kg-bench-1 to 3."
        ),
    ] = None,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import results of LLM-KG-Bench 1 to 3: dialogues, cases and published scores.

    Importing the same file again changes nothing. Dialogues that another file brought as well
    count twice, and are reported. An invalid file is refused as a whole; files before it stay
    imported.
    """
    from kgbench.importers.archives import result_files, unread_members
    from kgbench.importers.load import repeated
    from kgbench.store import open_for_import

    if suite is not None and _SUITE.fullmatch(suite) is None:
        raise typer.BadParameter(
            "a suite's name consists of letters, digits, '.', '_' and '-'", param_hint="--suite"
        )
    summaries: list[Summary] = []
    twice: dict[str, dict[str, int]] = {}
    unread: list[str] = []
    with open_for_import(store) as opened:
        for file in (each for path in files for each in result_files(path)):
            for summary in _import(opened, file, password, suite, quiet=json_):
                summaries.append(summary)
                run = summary.run
                others = {} if summary.already_there else repeated(opened, run)
                # Of two runs that became visible together, only one names the other.
                new = {other: n for other, n in others.items() if run not in twice.get(other, {})}
                twice.setdefault(run, new)
                if not json_:
                    typer.echo(_line(summary))
                    _warn_of_missing(summary.missing_scores)
                    _warn(new)
            unread += (f"{file.name}/{member}" for member in unread_members(file))
        for folder in filter(Path.is_dir, files):
            unread += (f"{folder.name}/{member}" for member in unread_members(folder))
        location = opened.location
    data = {
        "store": location,
        "runs": [{**one.as_json(), "repeated": twice[one.run]} for one in summaries],
        "not_read": unread,
    }
    lines = [f"not read: {member}" for member in unread]
    lines += [_total(summaries), f"store  {location}"]
    if sum(summary.dialogues for summary in summaries if not summary.already_there) >= _MANY:
        lines.append("hint   kgbench store optimize makes so large a store faster and smaller")
    report(data, lines, json_=json_)


@group.command("text2kgbench")
def text2kgbench(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="The folder 'data' of Text2KGBench, with its two collections.",
            exists=True,
            file_okay=False,
        ),
    ],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Import Text2KGBench: ontologies, tasks, cases, faults of the data, stored responses.

    Responses without published metrics are judged. Importing again changes nothing. Invalid data
    are refused as a whole, before anything is written; tolerable faults are reported and stored as
    annotations.
    """
    from kgbench.importers import text2kgbench as importing
    from kgbench.store import open_for_import

    with progress("reading ontologies", None, quiet=json_) as advance:
        data = importing.read(folder, advance)
    with open_for_import(store) as opened:
        cases = importing.write_catalogue(opened, data)
        summaries = [_with_scores(opened, run) for run in importing.runs(folder, data, opened.iris)]
        location = opened.location
    faults = dict(sorted(data.problems.items()))
    imported = {
        "store": location,
        "ontologies": len(data.parts),
        "cases": cases,
        "problems": faults,
        "runs": [summary.as_json() for summary in summaries],
    }
    lines = (
        f"{count(len(data.parts), 'ontology', 'ontologies')}, {count(cases, 'case')}",
        *(f"  {times:5} {kind}" for kind, times in faults.items()),
        *map(_line, summaries),
        _total(summaries),
        f"store  {location}",
    )
    report(imported, lines, json_=json_)


def _with_scores(store: Store, run: ImportedRun) -> Summary:
    """Load a run, and judge its responses without published scores."""
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import executor
    from kgbench.importers.load import judge_unjudged, load

    summary = load(store, run)
    if not run.unjudged:
        return summary
    with executor("local") as pool:
        scores = judge_unjudged(store, run, pool, JudgeLimits())
    return replace(summary, scores=summary.scores + scores)


def _import(
    store: Store, file: Path, password: str | None, suite: str | None, *, quiet: bool
) -> list[Summary]:
    """Import one file; all of it is validated before anything is written."""
    from kgbench.importers.archives import open_results
    from kgbench.importers.llm_kg_bench import read_runs
    from kgbench.importers.load import load_each

    result_files = open_results(file, password)
    runs = [run for result in result_files for run in read_runs(result, store.iris, suite)]
    total = sum(len(run.items) for run in runs)
    loaded = 0
    with progress(f"importing {file.name}", total, quiet=quiet) as advance:

        def advance_by(count: int) -> None:
            nonlocal loaded
            loaded += count
            advance(loaded)

        return list(load_each(store, runs, advance_by))


def _line(summary: Summary) -> str:
    counts = (
        f"{count(summary.dialogues, 'dialogue')}, {count(summary.labels, 'task label')}, "
        f"{count(summary.scores, 'score')} of {', '.join(summary.models)}"
    )
    state = "already there" if summary.already_there else f"suite {summary.suite}"
    return f"{summary.source}: {counts} ({state})"


def _warn_of_missing(scores: Sequence[str]) -> None:
    """Print how many scores are not recorded, and the first of them."""
    if scores:
        are = "score is" if len(scores) == 1 else "scores are"
        typer.echo(
            f"  warning: {len(scores)} {are} recorded as missing, not finite or outside the range "
            f"of the metric (all with --json): {scores[0]}"
        )


def _warn(others: Mapping[str, int]) -> None:
    """Print which runs already have how many of the dialogues of a new run."""
    for run, number in others.items():
        typer.echo(
            f"  warning: the run {run} has {count(number, 'dialogue')} of this file, which now "
            f"{'counts' if number == 1 else 'count'} twice; if one file contains the other, remove "
            f"the run of the smaller one: kgbench store drop"
        )


def _total(summaries: list[Summary]) -> str:
    new = [summary for summary in summaries if not summary.already_there]
    dialogues = sum(summary.dialogues for summary in new)
    scores = sum(summary.scores for summary in new)
    known = len(summaries) - len(new)
    passed = f"; {known} already there" if known else ""
    contents = f"{count(dialogues, 'dialogue')}, {count(scores, 'score')}"
    return f"imported {count(len(new), 'run')}: {contents}{passed}"
