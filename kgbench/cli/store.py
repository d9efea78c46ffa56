# SPDX-License-Identifier: Apache-2.0
"""``kgbench store``: move a store, check it, and look after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import completing, options
from kgbench.cli.wording import count

if TYPE_CHECKING:
    from kgbench.store.copying import Copied, Source

_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not say what is being done.")]


def command(app: typer.Typer) -> None:
    """Register the group of commands."""
    group = typer.Typer(
        name="store", help="Move a store, check it, and look after it.", no_args_is_help=True
    )
    group.command("copy")(copy)
    group.command("check")(check)
    group.command("backup")(backup)
    group.command("optimize")(optimize)
    group.command("compact")(compact)
    group.command("migrate")(migrate)
    group.command("drop")(drop)
    app.add_typer(group)


def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A store, or a backup (*.nq.gz) of one.")
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="An empty store, or a new folder.")],
    quiet: _Quiet = False,
    json_: options.AsJson = False,
) -> None:
    """Copy a store, from and to folders and servers, and verify every graph of the copy.

    Counts and digests of all graphs are compared after the copy has been read back.
    """
    from kgbench.store import copying, open_store

    with _source(source) as opened, open_store(target) as owned:
        copied = copying.copy(opened, owned, None if quiet or json_ else _progress)
        said = {"from": opened.location, "to": owned.location, **_counts(copied)}
    if json_:
        typer.echo(json.dumps(said, indent=2))
        return
    triples = count(sum(one.triples for one in copied), "triple")
    typer.echo(f"copied and verified {count(len(copied), 'graph')}, {triples}\nstore  {target}")


def check(
    store: options.Store = None,
    digests: Annotated[
        bool, typer.Option("--digests", help="Read everything, and say the digest of each graph.")
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Check that registry and graphs agree; exit code 1 where something is wrong."""
    from kgbench.store import maintenance

    with _source(store) as opened:
        found = maintenance.check(opened, digest=digests)
    if json_:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        typer.echo(
            f"store    {found.location}\nlayout   {found.layout}\n"
            f"content  {count(found.graphs, 'graph')}, {count(found.triples, 'triple')}"
        )
        if found.writer is not None:
            typer.echo(f"writer   {found.writer}")
        for graph, digest in found.digests.items():
            typer.echo(f"{digest}  {graph}")
        for problem in found.problems:
            typer.echo(f"wrong    {problem}")
        wrong = len(found.problems)
        typer.echo("sound" if not wrong else f"{count(wrong, 'thing')} to mend")
    if found.problems:
        raise typer.Exit(1)


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, named *.nq.gz.")],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Write a store into one file that proves itself whole; `store copy FILE TO` brings it back."""
    from kgbench.store import dumps

    with _source(store) as opened:
        written = dumps.write(opened, file)
    said = {"file": str(file), **_counts(written)}
    if json_:
        typer.echo(json.dumps(said, indent=2))
        return
    triples = count(sum(one.triples for one in written), "triple")
    typer.echo(f"{file}: {count(len(written), 'graph')}, {triples}")


def optimize(store: options.Store = None) -> None:
    """Put the database of an embedded store in order: aggregates become about twice as fast."""
    from kgbench.store import default_location, embedded_only, open_store

    location = store or default_location()
    embedded_only(location, "putting a database in order (a server does so itself)")
    with open_store(location) as owned:
        owned.optimize()
    typer.echo(f"store  {location}")


def compact(store: options.Store = None, json_: options.AsJson = False) -> None:
    """Remove stored analyses that no longer hold, and graphs that belong to nothing."""
    from kgbench.store import maintenance, open_store

    with open_store(store) as owned:
        done = maintenance.compact(owned)
        location = owned.location
    if json_:
        said = {"store": location, "analyses": done.analyses, "orphans": done.orphans}
        typer.echo(json.dumps(said, indent=2))
        return
    typer.echo(
        f"removed {count(done.analyses, 'stale analysis', 'stale analyses')}, "
        f"{count(done.orphans, 'graph')} without an entry"
    )
    typer.echo(f"store  {location}")


def migrate(store: options.Store = None) -> None:
    """Bring a store of an earlier kgbench up to the layout of this one."""
    from kgbench.store import default_location, layouts, open_store

    with open_store(store or default_location()) as owned:  # whoever opens it, migrates it
        typer.echo(f"layout {layouts.version(owned)}\nstore  {owned.location}")


def drop(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run's id, IRI or label.", autocompletion=completing.runs
        ),
    ],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Remove a run for good, with its passes, and the analyses that read it.

    Results that are wrong are better invalidated (`kgbench invalidate`): that can be followed.
    """
    from kgbench.record import reading
    from kgbench.record.removal import removal
    from kgbench.store import open_store

    with open_store(store) as owned:
        found = reading.find_run(owned, run)
        going = removal(owned, found)
        what = (
            f"{found.label} ({found.id}), {count(len(going.passes), 'pass', 'passes')}, "
            f"{count(len(going.analyses), 'analysis', 'analyses')}, "
            f"{count(len(going.invalidations), 'invalidation')}"
        )
        if not yes:
            typer.confirm(f"Remove {what} for good?", abort=True, err=True)
        owned.drop(going.graphs)
        location = owned.location
    if json_:
        typer.echo(json.dumps({"store": location, "run": found.iri, "graphs": going.graphs}))
        return
    typer.echo(f"removed {what}\nstore  {location}")


@contextmanager
def _source(location: str | None) -> Iterator[Source]:
    """A store for reading, or a backup."""
    from kgbench.store import dumps, open_reader

    if location is not None and dumps.is_dump(location):
        with dumps.Dump(Path(location)) as dump:
            yield dump
    else:
        with open_reader(location) as reader:
            yield reader


def _progress(graph: str, triples: int) -> None:
    typer.echo(f"{triples:>10}  {graph}", err=True)


def _counts(copied: list[Copied]) -> dict[str, object]:
    return {
        "triples": sum(one.triples for one in copied),
        "graphs": [one._asdict() for one in copied],
    }
