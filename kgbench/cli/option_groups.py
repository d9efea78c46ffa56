# SPDX-License-Identifier: Apache-2.0
"""Groups of options that several commands share: limits, permissions, and where servers listen."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer

from kgbench.cli import options
from kgbench.cli.commands import Group

if TYPE_CHECKING:
    from kgbench.model import ModelSetup
    from kgbench.serve import settings

TOKEN = "KGBENCH_SERVE_TOKEN"  # noqa: S105 - the name of a variable
_ORIGIN = re.compile(r"\*|null|[a-z][a-z0-9+.-]*://[A-Za-z0-9.:\[\]-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget(Group):
    """Limits on the requests, cost and tokens of a model."""

    requests_per_minute: Annotated[
        float | None, options.rarer("Limits", min=0.01, help="Rate limit of calls, per model.")
    ] = None
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="Stop when this much is spent.")
    ] = None
    max_tokens: Annotated[
        int | None, options.rarer("Limits", min=0, help="Stop when this many tokens are used.")
    ] = None
    prices: Annotated[
        Path | None, options.rarer("Limits", metavar="FILE", help="Your own price table (Turtle).")
    ] = None

    @property
    def usd(self) -> Decimal | None:
        """The limit on the cost, exactly as it was written."""
        return None if self.max_cost is None else Decimal(str(self.max_cost))


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Budget):
    """Limits of a run and batch mode: fields of :class:`~kgbench.model.Plan`."""

    concurrency: Annotated[
        int | None,
        options.rarer(
            "Limits",
            "--concurrency",
            "-c",
            min=1,
            help="Maximum number of concurrent calls per model.",
        ),
    ] = None
    call_timeout: Annotated[
        float | None,
        options.rarer(
            "Limits", metavar="SECONDS", min=0.001, help="Timeout of one call in seconds."
        ),
    ] = None
    tokens_per_minute: Annotated[
        float | None, options.rarer("Limits", min=1, help="Rate limit of tokens, per model.")
    ] = None
    batch: Annotated[
        bool | None,
        options.rarer(
            "Limits",
            "--batch/--no-batch",
            help="Use the providers' batch APIs: cheaper, with answers within a day.",
        ),
    ] = None

    def chosen(self) -> dict[str, Any]:
        """Return the fields of the plan; ``None`` for options that were not given."""
        return {**asdict(self), "max_cost": self.usd}


def _allow_secrets(context: typer.Context, names: list[str] | None) -> list[str] | None:
    """Permit that secrets are sent where a configuration says, until the command ends."""
    if names:
        from kgbench.connectors import keys

        context.with_resource(keys.allowed(*names))
    return names


@dataclass(frozen=True, slots=True, kw_only=True)
class Permissions(Group):
    """Options without which no specification of a model may send a secret or run its code."""

    allow_secret: Annotated[
        list[str] | None,
        options.rarer(
            "Models",
            metavar="NAME",
            help="Send the secret in this variable (or this chat template file) where a model's "
            "options say; repeatable.",
            callback=_allow_secrets,
        ),
    ] = None
    trust_remote_code: Annotated[
        bool,
        options.rarer(
            "Models",
            "--trust-remote-code",
            help="Run code of models with the option trust_remote_code.",
        ),
    ] = False

    def require(self, models: Iterable[ModelSetup], *, start_tool_servers: bool = False) -> None:
        """Raise :class:`~kgbench.errors.ModelSpecError` if a model needs a permission."""
        from kgbench.connectors.declared import START_TOOL_SERVERS, TRUST_REMOTE_CODE, require

        given = {
            TRUST_REMOTE_CODE: self.trust_remote_code,
            START_TOOL_SERVERS: start_tool_servers,
        }
        require(models, {option for option, chosen in given.items() if chosen})


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

    def limits(self) -> settings.Limits:
        """Return the limits as settings of a server."""
        from kgbench.serve import settings

        return settings.Limits(
            seconds=self.timeout,
            rows=self.rows,
            memory_bytes=self.memory << 20,
            workers=self.workers,
        )
