# SPDX-License-Identifier: Apache-2.0
"""Options of the commands that start a server: where it listens, and the limits of its queries."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from kgbench.cli import options
from kgbench.cli.option_groups import Group

if TYPE_CHECKING:
    from kgbench.serve.settings import Limits

TOKEN = "KGBENCH_SERVE_TOKEN"  # noqa: S105 - the name of a variable
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[A-Za-z0-9.:\[\]-]+")


def absolute(text: str | None) -> str | None:
    """Return an option's value if it is an absolute http(s) address, as links are made from it."""
    try:
        parts = urlsplit(text or "http://localhost/")
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        usable = False
    if not usable:
        message = f"'{text}' is not an http or https address: give one like https://example.org/"
        raise typer.BadParameter(message)
    return text


def _origin(text: str | None) -> str | None:
    if text is not None and not _ORIGIN.fullmatch(text):
        message = f"{text!r} is not an origin: give * or scheme and host, as https://example.org"
        raise typer.BadParameter(message)
    return text


Cors = Annotated[
    str | None,
    options.rarer(
        "Access",
        "--cors",
        metavar="ORIGIN|*",
        help="The origin allowed by CORS, or * for all. Default: none; with --public: all.",
        callback=_origin,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening(Group):
    """Where a server listens, and the address by which clients reach it."""

    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1"
    port: Annotated[
        int, typer.Option(help="The port to listen on; 0 picks a free one.", min=0, max=65535)
    ] = 8080
    public: Annotated[
        str | None,
        typer.Option(
            metavar="URL", help="The public URL of the root, behind a proxy.", callback=absolute
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryLimits(Group):
    """Limits of the queries of clients."""

    timeout: Annotated[
        float, options.rarer("Limits", metavar="SECONDS", help="Time limit of a query.", min=0.1)
    ] = 30.0
    rows: Annotated[
        int, options.rarer("Limits", help="Maximum number of rows of an answer.", min=1)
    ] = 1_000_000
    memory: Annotated[
        int, options.rarer("Limits", metavar="MIB", help="Memory limit of a query.", min=256)
    ] = 2048
    workers: Annotated[
        int,
        options.rarer(
            "Limits", help="Maximum number of concurrent queries, each in a process.", min=1
        ),
    ] = 4

    def limits(self) -> Limits:
        """Return the limits as settings of a server."""
        from kgbench.serve.settings import Limits

        return Limits(
            seconds=self.timeout,
            rows=self.rows,
            memory_bytes=self.memory << 20,
            workers=self.workers,
        )
