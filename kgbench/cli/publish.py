# SPDX-License-Identifier: Apache-2.0
"""``kgbench publish``: a store as a static Linked Data site with dumps."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import completing, options
from kgbench.cli.wording import count


class Compression(StrEnum):
    """How dumps are compressed."""

    ZSTD = "zstd"
    GZIP = "gzip"


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("publish")(publish)


def publish(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR|FILE", help="With --check: what was published before, to be checked."
        ),
    ] = None,
    *,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", metavar="IRI", help="The address at which it will be found."),
    ] = None,
    store: options.Store = None,
    run: Annotated[
        list[str] | None,
        typer.Option(
            "--run",
            metavar="RUN",
            help="Only the run with this id, IRI or label; repeatable.",
            autocompletion=completing.runs,
        ),
    ] = None,
    redact: Annotated[
        options.Redact | None,
        typer.Option(
            "--redact",
            help="Leave out nothing, reference answers, also prompts, also answers. "
            "Default: gold; with --encrypt: none.",
        ),
    ] = None,
    unprotected: options.Unprotected = None,
    encrypt: Annotated[
        bool,
        typer.Option(
            "--encrypt",
            help="Encrypt the dumps with the password in KGBENCH_PUBLISH_PASSWORD; "
            "pages then carry no texts.",
        ),
    ] = False,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is called.")] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it is.")] = None,
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence", "--license", metavar="SPDX", help="An SPDX identifier or an IRI."
        ),
    ] = None,
    creator: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Who made it, as 'Name' or 'Name <IRI>'; repeatable."),
    ] = None,
    publisher: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who publishes it. Default: first creator.")
    ] = None,
    keyword: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="A keyword; repeatable.")
    ] = None,
    about: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A description in Turtle: one dcat:Dataset."),
    ] = None,
    endpoint: Annotated[
        str | None, typer.Option(metavar="URL", help="A public SPARQL endpoint with these data.")
    ] = None,
    compress: Annotated[
        Compression, typer.Option("--compress", help="How dumps are compressed.")
    ] = Compression.ZSTD,
    processes: Annotated[
        int, typer.Option("--processes", help="How many processes make runs and figures.", min=1)
    ] = 2,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Check what was published, the folder just written or what is named; "
            "exit code 1 where there are faults.",
        ),
    ] = False,
    mldcat_shapes: Annotated[
        Path | None,
        typer.Option(
            "--mldcat-shapes",
            metavar="FILE",
            help="With --check: SHACL shapes for the catalogue, such as the official ones of "
            "MLDCAT-AP.",
        ),
    ] = None,
    disclosed: Annotated[
        Path | None,
        typer.Option(
            "--disclosed",
            metavar="FILE",
            help="With --check: values that kgbench disclose told, to be compared.",
        ),
    ] = None,
    sign: Annotated[
        Path | None,
        typer.Option(
            "--sign", metavar="KEYFILE", help="Sign it with this private key (kgbench keys new)."
        ),
    ] = None,
    key: Annotated[
        list[str] | None,
        typer.Option(
            "--key",
            metavar="PUBLIC",
            help="With --check: a public key, or its file, that must vouch for the signatures; "
            "repeatable.",
        ),
    ] = None,
    json_: options.AsJson = False,
) -> None:
    """Publish results as a folder for any static host: pages, RDF, dumps, catalogue.

    Publishing again to the same folder changes only what has changed.
    """
    from kgbench.cli import checklist

    _refuse_misplaced(paths, out, key, check=check)
    if paths:
        checklist.show(
            checklist.checked(paths, mldcat_shapes, unprotected or (), disclosed, key or ()),
            json_=json_,
        )
        return
    if out is None or base is None:
        raise typer.BadParameter("--out and --base are needed (to check only: --check DIR)")
    from kgbench.cli.progress import progress
    from kgbench.cli.wording import missing
    from kgbench.store import copying, default_location, known_keys

    try:
        from kgbench.publish import about as describing
        from kgbench.publish.dumps import check_compression, checked_password
        from kgbench.publish.settings import PASSWORD, Settings, checked_base, checked_endpoint
        from kgbench.publish.signing import Signer
        from kgbench.publish.site import publish as publish_site
        from kgbench.publish.withholding import Level
    except ModuleNotFoundError as error:
        raise missing(error, "publish") from None
    described = describing.About() if about is None else describing.read(about)
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
    chosen = redact or (options.Redact.NONE if encrypt else options.Redact.GOLD)
    location = store or default_location()
    known_keys.commitments(location)  # made where they stay, not in a copy
    password = checked_password(PASSWORD, os.environ.get(PASSWORD)) if encrypt else None
    for note in () if json_ else described.missing:  # before it takes its time
        typer.echo(f"note     {note}", err=True)
    settings = Settings(
        location=location,
        out=out,
        base=checked_base(base),
        level=Level[chosen.name],
        unprotected=frozenset(unprotected or ()),
        password=password,
        runs=tuple(run or ()),
        endpoint=None if endpoint is None else checked_endpoint(endpoint),
        about=described,
        compression=str(compress),
        processes=processes,
        signer=None if sign is None else Signer.read(sign, out, password),
    )
    with (
        copying.local(location) as folder,  # pages are made from a database that is at hand
        progress("publishing", None, quiet=json_) as advance,
    ):
        report = publish_site(
            replace(settings, location=str(folder)),
            lambda done, of, what: advance(done, what, total=of or None),
        )
    verdicts = (
        checklist.checked([out], mldcat_shapes, unprotected or (), disclosed, key or ())
        if check
        else None
    )
    if json_:
        said = report._asdict()
        if verdicts is not None:
            said["check"] = verdicts.as_json()
        typer.echo(json.dumps(said, indent=2))
        if verdicts is not None and not verdicts.passed:
            raise typer.Exit(1)
        return
    typer.echo(
        f"{count(report.runs, 'run')}, {count(report.dialogues, 'dialogue')}, "
        f"{count(report.triples, 'statement')}"
    )
    typer.echo(f"version  {report.version}")
    typer.echo(
        f"files    {report.files:,}, of which {report.changed:,} new or changed"
        + (f"; {report.removed:,} removed" if report.removed else "")
    )
    typer.echo(f"base     {report.base}")
    typer.echo(f"folder   {report.out}")
    if verdicts is not None:
        checklist.show(verdicts, json_=False)


def _refuse_misplaced(
    paths: list[Path] | None, out: Path | None, key: list[str] | None, *, check: bool
) -> None:
    """Refuse what is said of a check where there is none, and of a publication where there is."""
    if key and not check:
        raise typer.BadParameter("--key is for checking: --check")
    if paths and (not check or out is not None):
        raise typer.BadParameter("a folder or files are named to be checked only: --check DIR")
