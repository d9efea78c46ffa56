# SPDX-License-Identifier: Apache-2.0
"""``kgbench store``: copy, check, back up and maintain a store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import options
from kgbench.cli.printing import count, echo_visible, report

if TYPE_CHECKING:
    from kgbench.record.recovery import Recovered
    from kgbench.store import Store
    from kgbench.store.copying import CopiedGraph
    from kgbench.store.maintenance import CheckResult

_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress.")]


group = typer.Typer(help="Copy, check, back up and maintain a store.", no_args_is_help=True)


@group.command("copy")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A store, or a backup (*.nq.gz).")],
    target: Annotated[str, typer.Argument(metavar="TO", help="A new folder, or an empty server.")],
    quiet: _Quiet = False,
    json_: options.AsJson = False,
) -> None:
    """Copy a store between folders and servers, and verify every graph of the copy.

    The copy is read back, and counts and digests of all graphs are compared.
    """
    from kgbench.store import open_store
    from kgbench.store.copying import copy, new_store
    from kgbench.store.publication_keys import carry

    def show(graph: str, triples: int) -> None:
        typer.echo(f"{triples:>10}  {graph}", err=True)

    with _source(source) as opened, new_store(target) as written:
        with open_store(written) as owned:
            copied = copy(opened, owned, None if quiet or json_ else show)
        carry(opened.location, written)
    data = {"from": source, "to": target, **_counts(copied)}
    report(data, (f"copied and verified {_size(copied)}", f"store  {target}"), json_=json_)


@group.command("check")
def check(
    store: options.Store = None,
    digests: Annotated[
        bool, typer.Option("--digests", help="Print the digest of each graph.")
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Check that everything in a store is readable and consistent.

    Exits with 1 if it is not. Of a store in a folder, the writer's files and every snapshot are
    read completely.
    """
    from kgbench.store import back_ends, default_location, embedded_only, examination, maintenance
    from kgbench.store.copying import is_dump

    location = store or default_location()
    if back_ends.is_remote(location) or is_dump(location):
        with _source(location) as opened:
            checked = maintenance.check(opened, digest=digests)
    else:
        checked = examination.check(embedded_only(location, "to check it"))
    if not digests:
        checked.digests.clear()
    report(checked.as_json(), _checked(checked), json_=json_)
    if checked.problems:
        raise typer.Exit(1)


def _checked(checked: CheckResult) -> Iterator[str]:
    yield f"store    {checked.location}"
    yield f"layout   {checked.layout}"
    graphs, triples = count(checked.graphs, "graph"), count(checked.triples, "triple")
    yield f"content  {graphs} and the catalogue, {triples}"
    if checked.writer is not None:
        yield f"writer   {checked.writer}"
    for part, damaged in checked.parts.items():
        yield f"read     {part}: {'damaged' if damaged else 'all of it'}"
    for graph, digest in checked.digests.items():
        yield f"{digest}  {graph}"
    for problem in checked.problems:
        yield f"wrong    {problem}"
    if checked.problems:
        yield f"{count(len(checked.problems), 'thing')} to mend"
    elif checked.parts and checked.writer is not None:
        yield "every snapshot is sound; the writer's own files were not checked"
    else:
        yield "sound"


@group.command("recover")
def recover(
    target: Annotated[str, typer.Argument(metavar="NEW", help="A new folder.")],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Recover the readable data of a damaged store into a new one, without changing the former.

    Lists the dialogues that could not be read completely; `kgbench run` repeats only those.
    """
    import shutil
    from dataclasses import asdict

    from kgbench.errors import StoreError, StoreInUse
    from kgbench.record.recovery import recover as recovered
    from kgbench.store import default_location, embedded_only, examination, open_store
    from kgbench.store.back_ends import REPLY_LOG
    from kgbench.store.embedded import new_folder
    from kgbench.store.publication_keys import carry

    path = embedded_only(store or default_location(), "to recover it")
    with examination.unowned(path) as owner:
        if owner is not None:
            raise StoreInUse(f"the store {path} is in use by {owner}: wait for it to end")
        with new_folder(Path(target)) as folder:
            with open_store(str(folder)) as owned:
                result = recovered(path, owned)
            try:
                carry(str(path), str(folder))
            except StoreError as error:  # the file of the key may be damaged as well
                echo_visible(f"without the key of publications: {error}", err=True)
            if (log := path / REPLY_LOG).exists():  # replies that are not in the store yet
                shutil.copy(log, folder)
    data = {
        "from": str(path),
        "to": target,
        "source": result.source,
        "unread": result.unread,
        "missing": [asdict(item) for item in result.missing],
        "incomplete": result.incomplete,
        **_counts(result.copied),
    }
    report(data, (*_recovered(result), f"store    {target}"), json_=json_)


def _recovered(result: Recovered) -> Iterator[str]:
    yield f"recovered {_size(result.copied)}"
    yield f"read     {result.source}"
    if result.unread:
        yield f"unread   {', '.join(result.unread)}: what only they held is missing, too"
    for item in result.missing:
        turns = ", ".join(map(str, item.turns)) or "unknown"
        yield f"missing  {item.dialogue}, turns {turns}"
    for iri in result.incomplete:
        yield f"in part  {iri}"
    if result.missing or result.unread:
        yield "`kgbench run` with the same configuration asks for what is missing"


@group.command("backup")
def backup(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new file, named *.nq.gz.")],
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Write a store into one file with checksums; `kgbench store copy FILE TO` restores it.

    The file is read back and verified before it gets its name.
    """
    from kgbench.store.copying import write

    with _source(store) as opened:
        written = write(opened, file)
    report({"file": str(file), **_counts(written)}, [f"{file}: {_size(written)}"], json_=json_)


@group.command("optimize")
def optimize(store: options.Store = None) -> None:
    """Optimise the database of an embedded store, for example after a large import.

    The engine merges its files. After half a million imported dialogues, counts are then read in a
    third of the time, and the files have little more than half the size.
    """
    from kgbench.store import default_location, embedded_only, open_existing

    location = store or default_location()
    embedded_only(location, "optimising a database (a server does so itself)")
    with open_existing(location) as owned:
        owned.optimize()
    typer.echo(f"store  {location}")


@group.command("compact")
def compact(store: options.Store = None, json_: options.AsJson = False) -> None:
    """Remove outdated stored analyses and graphs without a catalogue entry."""
    from kgbench.store import maintenance, open_existing

    with open_existing(store) as owned:
        result = maintenance.compact(owned)
        location = owned.location
    data = {"store": location, "analyses": result.analyses, "orphans": result.orphans}
    stale = count(result.analyses, "stale analysis", "stale analyses")
    removed = f"removed {stale}, {count(result.orphans, 'graph')} without an entry"
    report(data, (removed, f"store  {location}"), json_=json_)


@group.command("drop")
def drop(
    run: options.RunName,
    yes: options.Yes = False,
    store: options.Store = None,
    json_: options.AsJson = False,
) -> None:
    """Remove a run permanently, with its evaluation passes and the analyses that read it.

    Catalogue entries of tasks, cases, models and task classes that are no longer used are removed
    as well. Prefer `kgbench invalidate` for wrong results: it keeps a record.
    """
    from kgbench.record import reading
    from kgbench.record.invalidation import removal
    from kgbench.store import declared, open_existing

    with open_existing(store) as owned:
        info = reading.find_run(owned, run)
        removed = removal(owned, info)
        description = (
            f"{info.label} ({info.id}), {count(len(removed.passes), 'pass', 'passes')}, "
            f"{count(len(removed.analyses), 'analysis', 'analyses')}, "
            f"{count(len(removed.invalidations), 'invalidation')}"
        )
        if not yes:
            typer.confirm(f"Remove {description} permanently?", abort=True, err=True)
        owned.drop(removed.graphs)
        forgotten = declared.forget_unused(owned)
        owned.publish_soon()
        location = owned.location
    data = {
        "store": location,
        "run": info.iri,
        "graphs": removed.graphs,
        "forgotten": forgotten,
    }
    entries = count(len(forgotten), "catalogue entry", "catalogue entries")
    lines = (f"removed {description}, {entries}", f"store  {location}")
    report(data, lines, json_=json_)


@contextmanager
def _source(location: str | None) -> Iterator[Store]:
    """Open a store or a backup for reading."""
    from kgbench.store import open_reader
    from kgbench.store.copying import Dump, is_dump

    if location is not None and is_dump(location):
        with Dump(Path(location)) as dump:
            yield dump
    else:
        with open_reader(location) as reader:
            yield reader


def _size(copied: Sequence[CopiedGraph]) -> str:
    triples = count(sum(graph.triples for graph in copied), "triple")
    return f"{count(len(copied), 'graph')}, {triples}"


def _counts(copied: list[CopiedGraph]) -> dict[str, object]:
    return {
        "triples": sum(graph.triples for graph in copied),
        "graphs": [graph._asdict() for graph in copied],
    }
