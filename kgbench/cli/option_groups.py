# SPDX-License-Identifier: Apache-2.0
"""Groups of options that several commands share, each passed to a command as one parameter.

A group is a dataclass (:class:`Group`) whose fields are typer options. A command decorated with
:func:`grouped` declares a parameter of that type; the command line shows the fields instead.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import MISSING, asdict, dataclass, fields
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from kgbench.cli import options
from kgbench.cli.tables import Form, write

if TYPE_CHECKING:
    from kgbench.model import ModelSetup
    from kgbench.tables import Table


class Group:
    """Base class of groups of options."""

    __slots__ = ()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Replace parameters of ``command`` that are groups by the options of the groups.

    The result takes only keyword arguments, named after the options.
    """
    groups: dict[str, Any] = {}
    flattened: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Group):
            groups[parameter.name] = parameter.annotation
            flattened += _options(parameter.annotation)
        else:
            flattened.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def wrapper(**kwargs: Any) -> None:
        for name, group in groups.items():
            kwargs[name] = group(**{field.name: kwargs.pop(field.name) for field in fields(group)})
        command(**kwargs)

    wrapper.__signature__ = inspect.Signature(flattened)  # type: ignore[attr-defined]
    return wrapper


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind, empty = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    return [
        inspect.Parameter(
            field.name,
            kind,
            default=empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


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
        from kgbench.connectors import permissions

        given = {
            permissions.TRUST_REMOTE_CODE: self.trust_remote_code,
            permissions.START_TOOL_SERVERS: start_tool_servers,
        }
        permissions.require(models, {option for option, chosen in given.items() if chosen})


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Group):
    """Format and destination of a table."""

    form: options.TableForm = None
    json_: options.AsJson = False
    out: options.TableFile = None
    columns: options.Columns = None
    guard: options.Guard = False
    crlf: options.Crlf = False

    @property
    def effective_form(self) -> Form:
        """The output format: ``--json``, ``--format``, or else what the file name shows."""
        if self.json_:
            return Form.JSON
        if self.form is not None or self.out is None:
            return self.form or Form.TABLE
        return Form.of_file(self.out)

    def write(self, table: Table) -> None:
        """Write the chosen columns of a table; see :func:`kgbench.cli.tables.write`."""
        if self.columns is not None:
            table = table.only(*(name.strip() for name in self.columns.split(",")))
        write(table, self.effective_form, self.out, guard=self.guard, crlf=self.crlf)
