# SPDX-License-Identifier: Apache-2.0
"""``kgbench export nanopublications``: one signed nanopublication per claim of a publication."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from kgbench.cli.messages import count


def nanopublications(
    site: Annotated[Path, typer.Argument(metavar="DIR", help="A published folder.")],
    *,
    key: Annotated[
        Path, typer.Option("--key", metavar="KEYFILE", help="An RSA key (kgbench keys new --rsa).")
    ],
    creator: Annotated[
        str, typer.Option("--creator", metavar="NAME", help="The publisher, as 'Name <IRI>'.")
    ],
    folder: Annotated[
        Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")
    ],
    licence: Annotated[
        str | None,
        typer.Option(
            "--licence", "--license", metavar="SPDX", help="An SPDX identifier or an IRI."
        ),
    ] = None,
) -> None:
    """Export each claim of a published folder as a signed nanopublication with a trusty IRI.

    Nothing is sent to a server.
    """
    from kgbench.cli.messages import missing_package
    from kgbench.exports import nanopublications as exporting
    from kgbench.publish import description

    author = description.agent(creator)
    licence_iri = None if licence is None else description.licence(licence)
    try:
        documents = dict(
            exporting.nanopublications(site, key, author, licence_iri, datetime.now(UTC))
        )
        for content in documents.values():
            exporting.verified(content)
    except ModuleNotFoundError as error:
        raise missing_package(error, "nanopub") from None
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in documents.items():
        (folder / f"{name}.trig").write_bytes(content)
    typer.echo(f"{count(len(documents), 'nanopublication')} in {folder}")
