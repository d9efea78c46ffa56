# SPDX-License-Identifier: Apache-2.0
"""``kgbench import rdf``: import results published by another kgbench."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.interruption import end_after
from kgbench.cli.messages import count, report
from kgbench.cli.progress import progress

if TYPE_CHECKING:
    from kgbench.importers.rdf.loading import Summary


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
    report(data, (*_lines(summary), f"store  {location}"), json_=json_)


def _lines(summary: Summary) -> Iterator[str]:
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
