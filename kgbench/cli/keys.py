# SPDX-License-Identifier: Apache-2.0
"""``kgbench keys``: manage the keys that sign publications."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

KeyFile = Annotated[Path, typer.Argument(metavar="KEYFILE", help="The file of a private key.")]


group = typer.Typer(
    help="Create, list and revoke keys that sign publications.",
    no_args_is_help=True,
)


@group.command("new")
def new(
    file: KeyFile,
    after: Annotated[
        Path | None,
        typer.Option(metavar="KEYFILE", help="An earlier key, whose list of keys is continued."),
    ] = None,
    rsa: Annotated[
        bool, typer.Option("--rsa", help="Create an RSA key, for nanopublications.")
    ] = False,
) -> None:
    """Create a key pair: KEYFILE, which only you can read, and KEYFILE.pub, to be shared.

    KEYFILE.keys lists your keys with their dates. Readers trust the keys that they name, so tell
    them a new one.
    """
    from kgbench.signing.key_list import KeyList
    from kgbench.signing.keys import PUBLIC, SigningKey, new_rsa_key

    if rsa:
        if after is not None:
            raise typer.BadParameter("it does not apply to RSA keys", param_hint="--after")
        new_rsa_key(file)
        typer.echo(f"private  {file}: keep it secret, and keep a copy of it")
        return
    key = SigningKey.new()
    earlier = KeyList() if after is None else KeyList.read(after)
    key.keep(file)
    earlier.adding(key.public, datetime.now(UTC)).keep(file)
    typer.echo(key.public)
    typer.echo(f"private  {file}: keep it secret, and keep a copy of it")
    typer.echo(f"public   {file}{PUBLIC}: publish it where readers look for it")


@group.command("revoke")
def revoke(
    file: KeyFile,
    key: Annotated[
        str, typer.Argument(metavar="PUBLIC", help="The earlier public key, or its file.")
    ],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why the key is revoked.")],
) -> None:
    """Revoke an earlier key: publications signed with KEYFILE state the revocation from now on.

    The revoked key then vouches for nothing, also where it signed before.
    """
    from kgbench.signing.key_list import KeyList
    from kgbench.signing.keys import public_key

    revoked = public_key(key)
    KeyList.read(file).revoking(revoked, reason, datetime.now(UTC)).keep(file)
    typer.echo(f"revoked {revoked}; publish again with --sign {file}")


@group.command("list")
def listed(file: KeyFile) -> None:
    """List the public keys in KEYFILE.keys, oldest first."""
    from kgbench.signing.key_list import KeyList

    for entry in KeyList.read(file).entries.values():
        state = "" if entry.revoked is None else f"  revoked {entry.revoked}: {entry.reason}"
        typer.echo(f"{entry.key}  since {entry.created}{state}")
