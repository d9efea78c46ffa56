# SPDX-License-Identifier: Apache-2.0
"""``kgbench publish``: publish a store as a static Linked Data site with dumps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kgbench.characters import one_line
from kgbench.cli import options, printing
from kgbench.cli.commands import end_after
from kgbench.cli.printing import count, missing_package

if TYPE_CHECKING:
    from kgbench.publish.checks import Report


class Compression(StrEnum):
    """Compression formats of dumps."""

    ZSTD = "zstd"
    GZIP = "gzip"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("publish")(publish)


def publish(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR|FILE", help="With --check: an existing publication to check."),
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="IRI", help="The base address of the published site."),
    ] = None,
    store: options.Store = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Only the run with this id, IRI or label; repeatable.",
            autocompletion=options.complete_runs,
        ),
    ] = None,
    redact: Annotated[
        options.Redact | None,
        typer.Option(
            "--redact",
            help="What to leave out: nothing (none), reference answers (gold), also prompts, or "
            "also answers. Default: gold; with --encrypt: none.",
        ),
    ] = None,
    unprotected: options.Unprotected = None,
    encrypt: Annotated[
        bool,
        typer.Option(
            "--encrypt",
            help="Encrypt the dumps with the password in KGBENCH_PUBLISH_PASSWORD; "
            "pages then contain no texts.",
            rich_help_panel="Selection",
        ),
    ] = False,
    title: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="The title of the publication.", rich_help_panel="Metadata"
        ),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="A description of the publication.", rich_help_panel="Metadata"
        ),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence",
            "--license",
            metavar="SPDX",
            help="The licence: an SPDX identifier or an IRI.",
        ),
    ] = None,
    creator: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A creator, as 'Name' or 'Name <IRI>'; repeatable."),
    ] = None,
    publisher: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The publisher. Default: the first creator.",
            rich_help_panel="Metadata",
        ),
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="A keyword; repeatable.", rich_help_panel="Metadata"),
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Metadata in Turtle: one dcat:Dataset.", rich_help_panel="Metadata"
        ),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="A public SPARQL endpoint with the same data.",
            rich_help_panel="Metadata",
        ),
    ] = None,
    compress: Annotated[
        Compression,
        typer.Option("--compress", help="Compression of dumps.", rich_help_panel="Output"),
    ] = Compression.ZSTD,
    processes: Annotated[
        int,
        typer.Option(
            "--processes", help="Number of worker processes.", min=1, rich_help_panel="Output"
        ),
    ] = 2,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Check the publication: the folder just written, or DIR or FILE; exit with 1 if "
            "there are faults.",
        ),
    ] = False,
    mldcat_shapes: Annotated[
        Path | None,
        typer.Option(
            "--mldcat-shapes",
            metavar="FILE",
            help="With --check: SHACL shapes for the catalogue, such as the official ones of "
            "MLDCAT-AP.",
            rich_help_panel="Checking",
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", metavar="KEYFILE", help="Sign with this private key (kgbench keys new)."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="PUBLIC",
            help="With --check: a trusted public key, its file, or a list of keys (.keys); one "
            "must have signed; repeatable.",
            rich_help_panel="Checking",
        ),
    ] = None,
    max_megabytes: Annotated[
        int,
        typer.Option(
            "--most",
            metavar="MB",
            help="With --check: the most megabytes of unpacked dumps.",
            min=1,
            rich_help_panel="Checking",
        ),
    ] = 8_192,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            help="With --check: the time limit in seconds.",
            min=0.1,
            rich_help_panel="Checking",
        ),
    ] = 21_600.0,
    json_: options.AsJson = False,
) -> None:
    """Publish results as a static site: pages, RDF, dumps and a catalogue.

    Publishing again to the same folder only writes files that have changed.
    """
    _refuse_misplaced(paths, out, key, check=check)

    def checked(folder: list[Path]) -> Report:
        return _check(
            folder,
            mldcat_shapes,
            unprotected or (),
            key or (),
            megabytes=max_megabytes,
            seconds=seconds,
        )

    if paths:
        _print({}, [], checked(paths), json_=json_)
        return
    if out is None or base is None:
        raise typer.BadParameter("--out and --base are required (to check only: --check DIR)")
    from kgbench.cli.printing import progress
    from kgbench.store import default_location
    from kgbench.store.copying import local
    from kgbench.store.publication_keys import publication_key

    try:
        from kgbench.publish import settings as describing
        from kgbench.publish.dumps import check_compression, checked_password
        from kgbench.publish.redaction import RedactionLevel
        from kgbench.publish.settings import PASSWORD, Settings, checked_base, checked_endpoint
        from kgbench.publish.signing import Signer
        from kgbench.publish.site import publish as publish_site
    except ModuleNotFoundError as error:
        raise missing_package(error, "publish") from None
    described = describing.DatasetDescription() if about is None else describing.read(about)
    described = describing.with_options(
        described,
        title=title,
        description=description,
        licence_given=licence,
        creators=creator or [],
        publisher=publisher,
        keywords=keyword or [],
    )
    check_compression(str(compress))
    level = redact or (options.Redact.NONE if encrypt else options.Redact.GOLD)
    location = store or default_location()
    publication_key(location)  # created in the store itself, not in the copy below
    password = checked_password(PASSWORD, os.environ.get(PASSWORD)) if encrypt else None
    for note in () if json_ else described.missing:  # before the long work starts
        typer.echo(f"note     {note}", err=True)
    settings = Settings(
        location=location,
        out=out,
        base=checked_base(base),
        level=RedactionLevel[level.name],
        unprotected=frozenset(unprotected or ()),
        password=password,
        runs=tuple(run or ()),
        endpoint=None if endpoint is None else checked_endpoint(endpoint),
        metadata=described,
        compression=str(compress),
        processes=processes,
        signer=None if sign is None else Signer.read(sign, out, password),
    )
    with (
        local(location) as folder,  # pages are rendered from a local database
        progress("publishing", None, quiet=json_) as advance,
    ):
        report = publish_site(
            replace(settings, location=str(folder)),
            lambda completed, total, step: advance(completed, step, total=total or None),
        )
    removed = f"; {report.removed:,} removed" if report.removed else ""
    counts = ((report.runs, "run"), (report.dialogues, "dialogue"), (report.triples, "statement"))
    lines = [
        ", ".join(count(*each) for each in counts),
        f"version  {report.version}",
        f"files    {report.files:,}, of which {report.changed:,} new or changed{removed}",
        f"base     {report.base}",
        f"folder   {report.out}",
    ]
    _print(report._asdict(), lines, checked([out]) if check else None, json_=json_)


def _refuse_misplaced(
    paths: list[Path] | None, out: Path | None, key: list[str] | None, *, check: bool
) -> None:
    """Refuse options and arguments that apply to checks only, or to publishing only."""
    if key and not check:
        raise typer.BadParameter("--key needs --check")
    if paths and (not check or out is not None):
        raise typer.BadParameter("DIR and FILE need --check, without --out")


def _check(
    paths: list[Path],
    shapes: Path | None,
    unprotected: Sequence[str],
    keys: Sequence[str],
    *,
    megabytes: int,
    seconds: float,
) -> Report:
    """Check a published folder, or some of its files.

    ``keys`` are public keys, their files or files of lists; one of them must have signed. Encrypted
    dumps are opened with the password in ``KGBENCH_PUBLISH_PASSWORD``, if set.
    """
    end_after(seconds)
    from kgbench.publish.checks import check
    from kgbench.publish.settings import PASSWORD
    from kgbench.signing.key_list import KeyList

    given = KeyList.given(keys)
    return check(
        *paths,
        password=os.environ.get(PASSWORD) or None,
        mldcat_shapes=shapes,
        unprotected=unprotected,
        keys=given.usable,
        revoked=given.revoked,
        max_bytes=megabytes << 20,
    )


def _print(data: dict[str, Any], lines: list[str], verdicts: Report | None, *, json_: bool) -> None:
    """Print a publication and its checklist, or the checklist alone; exit with 1 for faults."""
    if verdicts is not None:
        data = {**data, "check": verdicts.as_json()} if data else verdicts.as_json()
        lines = [*lines, *map(one_line, verdicts.lines())]
    printing.report(data, lines, json_=json_)
    if verdicts is not None and not verdicts.passed:
        raise typer.Exit(1)
