# SPDX-License-Identifier: Apache-2.0
"""``kgbench keys``: the keys that publications are signed with."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

KeyFile = Annotated[Path, typer.Argument(metavar="KEYFILE", help="The file of a private key.")]


def command(app: typer.Typer) -> None:
    """Register the commands."""
    keys = typer.Typer(
        help="Make, follow and revoke the keys that publications are signed with.",
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
            "--after", metavar="KEYFILE", help="The key that it follows, which endorses it."
        ),
    ] = None,
    rsa: Annotated[bool, typer.Option("--rsa", help="An RSA key, for nanopublications.")] = False,
) -> None:
    """Make a key pair: KEYFILE, which only you can read, and KEYFILE.pub, to be passed on.

    KEYFILE.keys has the history of your keys. With --after, readers who trust the earlier key
    trust the new one.
    """
    from kgbench.signing.history import History
    from kgbench.signing.keys import PUBLIC, SigningKey, new_rsa_key

    if rsa:
        if after is not None:
            raise typer.BadParameter("it is for keys that sign publications", param_hint="--after")
        new_rsa_key(file)
        typer.echo(f"private  {file}: keep it secret, and keep a copy of it")
        return
    now = datetime.now(UTC)
    made = SigningKey.new()
    if after is None:
        history = History.begun(made.public, now)
    else:
        history = History.read(after).followed(SigningKey.read(after), made.public, now)
    made.keep(file)
    history.keep(file)
    typer.echo(made.public)
    typer.echo(f"private  {file}: keep it secret, and keep a copy of it")
    typer.echo(f"public   {file}{PUBLIC}: tell it where readers look for it")


def revoke(
    file: KeyFile,
    key: Annotated[
        str, typer.Argument(metavar="PUBLIC", help="The earlier public key, or its file.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why.")],
) -> None:
    """Revoke an earlier key: publications signed with KEYFILE say so from now on.

    What the revoked key signed before stays valid.
    """
    from kgbench.signing.history import History
    from kgbench.signing.keys import public_key

    revoked = public_key(key)
    History.read(file).revoking(revoked, reason, datetime.now(UTC)).keep(file)
    typer.echo(f"revoked {revoked}; publish again with --sign {file}")


def listed(file: KeyFile) -> None:
    """List the history of a key: its public key, and those that it follows."""
    from kgbench.signing.history import History

    for entry in History.read(file).entries.values():
        state = "" if entry.revoked is None else f"  revoked {entry.revoked}: {entry.reason}"
        typer.echo(f"{entry.key}  since {entry.created}{state}")
