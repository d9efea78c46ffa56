# SPDX-License-Identifier: Apache-2.0
"""``kgbench disclose``: reveal the values behind commitments in a publication."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli import options
from kgbench.cli.messages import count


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("disclose")(disclose)


def disclose(
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COMMITMENT|IRI",
            help="Commitments in the publication, or IRIs of its cases, texts or evaluations. "
            "Default: all.",
        ),
    ] = None,
    *,
    store: options.Store = None,
    redact: Annotated[
        options.Redact,
        typer.Option("--redact", help="The redaction level of the publication."),
    ] = options.Redact.GOLD,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="The file to write. Default: standard output."
        ),
    ] = None,
) -> None:
    """Disclose values that a publication left out, in a form that anybody can verify.

    The publication has commitments in place of the values. Each line of the output has a
    commitment, its nonce and the value; `kgbench publish --check DIR --disclosed FILE` verifies
    them.
    """
    from kgbench.publish.disclosures import collect_openings, serialise
    from kgbench.publish.redaction import RedactionLevel
    from kgbench.publish.site import open_newest_snapshot
    from kgbench.store import commitment_key, copying, default_location

    location = store or default_location()
    commitment_key.commitments(location)
    with copying.local(location) as folder:
        values = collect_openings(
            open_newest_snapshot(str(folder)),
            str(folder),
            RedactionLevel[redact.name],
            identifiers or (),
        )
    text = serialise(values)
    if out is None:
        typer.echo(text, nl=False)
        return
    out.write_text(text, encoding="utf-8")
    typer.echo(f"{count(len(values), 'value')} disclosed in {out}")
