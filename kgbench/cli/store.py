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
from kgbench.cli.wording import count, tell

if TYPE_CHECKING:
    from kgbench.store.copying import Copied, Source
    from kgbench.store.maintenance import Checked

_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Do not say what is being done.")]


def command(app: typer.Typer) -> None:
    """Register the group of commands."""
    group = typer.Typer(
        name="store", help="Move a store, check it, and look after it.", no_args_is_help=True
    )
    group.command("copy")(copy)
    group.command("check")(check)
    group.command("recover")(recover)
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
    from kgbench.store import copying, known_keys, open_store

    with _source(source) as opened, open_store(target) as owned:
        copied = copying.copy(opened, owned, None if quiet or json_ else _progress)
        known_keys.carry(opened.location, owned.location)
        said = {"from": opened.location, "to": owned.location, **_counts(copied)}
    if json_:
        typer.echo(json.dumps(said, indent=2))
        return
    triples = count(sum(one.triples for one in copied), "triple")
    typer.echo(f"copied and verified {count(len(copied), 'graph')}, {triples}\nstore  {target}")


def check(
    store: options.Store = None,
    digests: Annotated[
        bool, typer.Option("--digests", help="Say the digest of each graph.")
    ] = False,
    aggregates: Annotated[
        bool,
        typer.Option(
            "--aggregates",
            help="Compare the counts from which tables are made with the evaluations instead, and "
            "count anew where they differ.",
        ),
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Check that everything can be read and agrees; exit code 1 where something is wrong.

    Of a store in a folder, the owner's files and every snapshot are read to their ends.
    """
    if aggregates:
        _check_aggregates(store, json_=json_)
        return
    from kgbench.store import (
        back_ends,
        checking,
        default_location,
        dumps,
        embedded_only,
        maintenance,
    )

    location = store or default_location()
    if back_ends.is_remote(location) or dumps.is_dump(location):
        with _source(location) as opened:
            found = maintenance.check(opened, digest=digests)
    else:
        found = checking.check(embedded_only(location, "to check it"))
    if not digests:
        found.digests.clear()
    if json_:
        typer.echo(json.dumps(found.as_json(), indent=2))
    else:
        _print_checked(found)
    if found.problems:
        raise typer.Exit(1)


def _check_aggregates(store: str | None, *, json_: bool) -> None:
    from kgbench.cli.progress import progress
    from kgbench.record import aggregates
    from kgbench.store import open_existing

    with open_existing(store) as owned, progress("passes", None, quiet=json_) as advance:
        found = aggregates.check(owned, lambda iri: advance(1, iri))
        location = owned.location
    if json_:
        typer.echo(json.dumps({"store": location, **found._asdict()}, indent=2))
    else:
        for iri in found.missing:
            typer.echo(f"counted  {iri}")
        for iri in found.wrong:
            typer.echo(f"wrong    {iri}, counted anew")
        right = count(len(found.right), "evaluation pass is", "evaluation passes are")
        typer.echo(f"store    {location}\n{right} counted rightly")
    if found.wrong:
        raise typer.Exit(1)


def _print_checked(found: Checked) -> None:
    typer.echo(
        f"store    {found.location}\nlayout   {found.layout}\n"
        f"content  {count(found.graphs, 'graph')}, {count(found.triples, 'triple')}"
    )
    if found.writer is not None:
        typer.echo(f"writer   {found.writer}")
    for part, wrong in found.parts.items():
        typer.echo(f"read     {part}: {'damaged' if wrong else 'all of it'}")
    for graph, digest in found.digests.items():
        typer.echo(f"{digest}  {graph}")
    for problem in found.problems:
        typer.echo(f"wrong    {problem}")
    if found.problems:
        typer.echo(f"{count(len(found.problems), 'thing')} to mend")
    elif found.parts and found.writer is not None:
        typer.echo("every snapshot is sound; the writer's own files were not looked at")
    else:
        typer.echo("sound")


def recover(
    target: Annotated[str, typer.Argument(metavar="NEW", help="A new folder.")],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Save what can be read of a damaged store into a new one; the damaged one stays as it is.

    Lists the dialogues that could not be read in full: `kgbench run` asks only for those again.
    """
    from dataclasses import asdict

    from kgbench import files
    from kgbench.errors import StoreError, StoreInUse
    from kgbench.record import aggregates
    from kgbench.record.recovery import recover as recovered
    from kgbench.store import checking, default_location, embedded_only, known_keys, open_store

    path = embedded_only(store or default_location(), "to recover it")
    if Path(target).exists():
        raise StoreError(f"{target} exists: name a new folder")
    with checking.unowned(path) as owner:
        if owner is not None:
            raise StoreInUse(f"the store {path} is in use by {owner}: wait for it to end")
        with open_store(target) as owned:
            done = recovered(path, owned)
        with open_store(target) as owned:
            aggregates.check(owned)
        try:
            known_keys.carry(str(path), target)
        except StoreError as error:  # that file may be damaged, too
            tell(f"without the fingerprints of keys: {error}", err=True)
        for log in path.glob("write-ahead/*.log"):  # replies that no store has yet
            files.write(Path(target) / "write-ahead" / log.name, log.read_bytes())
    if json_:
        missing = [asdict(one) for one in done.missing]
        said = {
            "sources": done.sources,
            "unread": done.unread,
            "missing": missing,
            "incomplete": done.incomplete,
        }
        typer.echo(json.dumps({"from": str(path), "to": target, **said, **_counts(done.copied)}))
        return
    triples = count(sum(one.triples for one in done.copied), "triple")
    typer.echo(f"recovered {count(len(done.copied), 'graph')}, {triples}")
    typer.echo(f"read     {', '.join(done.sources)}")
    if done.unread:
        typer.echo(f"unread   {', '.join(done.unread)}: what only they held is missing, too")
    for one in done.missing:
        turns = ", ".join(map(str, one.turns)) or "unknown"
        typer.echo(f"missing  {one.dialogue}, turns {turns}")
    for iri in done.incomplete:
        typer.echo(f"in part  {iri}")
    if done.missing or done.unread:
        typer.echo("`kgbench run` with the same configuration asks for what is missing")
    typer.echo(f"store    {target}")


def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, named *.nq.gz.")],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Write a store into one file that proves itself whole; `store copy FILE TO` brings it back.

    The file is read back and verified before it gets its name.
    """
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
    from kgbench.store import default_location, embedded_only, open_existing

    location = store or default_location()
    embedded_only(location, "putting a database in order (a server does so itself)")
    with open_existing(location) as owned:
        owned.optimize()
    typer.echo(f"store  {location}")


def compact(store: options.Store = None, json_: options.AsJson = False) -> None:
    """Remove stored analyses that no longer hold, and graphs that belong to nothing."""
    from kgbench.store import maintenance, open_existing

    with open_existing(store) as owned:
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
    from kgbench.store import layouts, open_existing

    with open_existing(store) as owned:  # whoever opens it, migrates it
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

    What the catalogue says of tasks, cases, models and task classes that nothing uses any more goes
    with it.
    Results that are wrong are better invalidated (`kgbench invalidate`): that can be followed.
    """
    from kgbench.record import reading
    from kgbench.record.removal import removal
    from kgbench.store import declared, open_existing

    with open_existing(store) as owned:
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
        forgotten = declared.forget_unused(owned)
        owned.publish_soon()
        location = owned.location
    if json_:
        said = {"graphs": going.graphs, "forgotten": forgotten}
        typer.echo(json.dumps({"store": location, "run": found.iri, **said}))
        return
    entries = count(len(forgotten), "catalogue entry", "catalogue entries")
    typer.echo(f"removed {what}, {entries}\nstore  {location}")


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
