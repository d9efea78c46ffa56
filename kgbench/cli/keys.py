# SPDX-License-Identifier: Apache-2.0
"""``kgbench keys``: manage the keys that sign publications."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

KeyFile = Annotated[Path, typer.Argument(metavar="KEYFILE", help="The file of a private key.")]


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    keys = typer.Typer(
        help="Create, succeed and revoke keys that sign publications.",
        no_args_is_help=True,
    )
    keys.command("new")(new)
    keys.command("revoke")(revoke)
    keys.command("list")(listed)
    app.add_typer(keys, name="keys")


def new(
    file: KeyFile,
    after: Annotated[
        Path | None,
        typer.Option(
            "--after", metavar="KEYFILE", help="The earlier key, which endorses the new one."
        ),
    ] = None,
    rsa: Annotated[
        bool, typer.Option("--rsa", help="Create an RSA key, for nanopublications.")
    ] = False,
) -> None:
    """Create a key pair: KEYFILE, which only you can read, and KEYFILE.pub, to be shared.

    KEYFILE.keys has the history of your keys. With --after, readers who trust the earlier key also
    trust the new one.
    """
    from kgbench.signing.key_history import KeyHistory
    from kgbench.signing.keys import PUBLIC, SigningKey, new_rsa_key

    if rsa:
        if after is not None:
            raise typer.BadParameter("it does not apply to RSA keys", param_hint="--after")
        new_rsa_key(file)
        typer.echo(f"private  {file}: keep it secret, and keep a copy of it")
        return
    now = datetime.now(UTC)
    key = SigningKey.new()
    if after is None:
        history = KeyHistory.start(key.public, now)
    else:
        history = KeyHistory.read(after).with_successor(SigningKey.read(after), key.public, now)
    key.keep(file)
    history.keep(file)
    typer.echo(key.public)
    typer.echo(f"private  {file}: keep it secret, and keep a copy of it")
    typer.echo(f"public   {file}{PUBLIC}: publish it where readers look for it")


def revoke(
    file: KeyFile,
    key: Annotated[
        str, typer.Argument(metavar="PUBLIC", help="The earlier public key, or its file.")
    ],
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why the key is revoked.")
    ],
) -> None:
    """Revoke an earlier key: publications signed with KEYFILE state the revocation from now on.

    Signatures that the revoked key made before stay valid.
    """
    from kgbench.signing.key_history import KeyHistory
    from kgbench.signing.keys import public_key

    revoked = public_key(key)
    KeyHistory.read(file).revoking(revoked, reason, datetime.now(UTC)).keep(file)
    typer.echo(f"revoked {revoked}; publish again with --sign {file}")


def listed(file: KeyFile) -> None:
    """List the history of a key: its public key and its predecessors."""
    from kgbench.signing.key_history import KeyHistory

    for entry in KeyHistory.read(file).entries.values():
        state = "" if entry.revoked is None else f"  revoked {entry.revoked}: {entry.reason}"
        typer.echo(f"{entry.key}  since {entry.created}{state}")
