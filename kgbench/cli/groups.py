# SPDX-License-Identifier: Apache-2.0
"""Groups of options that several commands take together, each as one parameter.

A group is a dataclass (:class:`Group`) whose fields are options of typer. A command that is
``grouped`` declares a parameter of that type; the command line has the fields in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields
from decimal import Decimal
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from kgbench.cli import options
from kgbench.cli.tables import Form, write

if TYPE_CHECKING:
    from kgbench.analysis.tables import Table


class Group:
    """Base of the dataclasses that are groups of options."""

    __slots__ = ()


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """``command`` with the options of its groups in place of the parameters that take the groups.

    The result takes keyword arguments only, by the names of the options.
    """
    groups: dict[str, Any] = {}
    taken: list[inspect.Parameter] = []
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        if isinstance(parameter.annotation, type) and issubclass(parameter.annotation, Group):
            groups[parameter.name] = parameter.annotation
            taken += _options(parameter.annotation)
        else:
            taken.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def called(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        command(**given)

    called.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    return called


def _options(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    kind, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
    return [
        inspect.Parameter(
            field.name,
            kind,
            default=none if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(Group):
    """The limits of a run, and how it asks: fields of :class:`~kgbench.model.Plan`."""

    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency", "-c", min=1, help="Calls under way at once, per model, at most."
        ),
    ] = None
    call_timeout: Annotated[
        float | None,
        typer.Option(
            "--call-timeout", metavar="SECONDS", min=0.001, help="Seconds for one answer."
        ),
    ] = None
    requests_per_minute: Annotated[
        float | None,
        typer.Option("--requests-per-minute", min=0.01, help="Calls begun a minute, per model."),
    ] = None
    tokens_per_minute: Annotated[
        float | None,
        typer.Option("--tokens-per-minute", min=1, help="Tokens a minute, per model."),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="USD", min=0, help="Stop when the run has cost this."),
    ] = None
    max_tokens: Annotated[
        int | None,
        typer.Option("--max-tokens", min=0, help="Stop when the run has used so many tokens."),
    ] = None
    prices: Annotated[
        Path | None,
        typer.Option("--prices", metavar="FILE", help="A price table of your own (Turtle)."),
    ] = None
    batch: Annotated[
        bool | None,
        typer.Option(
            "--batch/--no-batch",
            help="Ask through the batch interfaces of providers: cheaper, within a day.",
        ),
    ] = None

    def chosen(self) -> dict[str, Any]:
        """The fields of the plan; ``None`` where the command line says nothing."""
        cost = None if self.max_cost is None else Decimal(str(self.max_cost))
        return {**asdict(self), "max_cost": cost}


@dataclass(frozen=True, slots=True, kw_only=True)
class Output(Group):
    """How and where a table is written."""

    form: options.TableForm = Form.TABLE
    json_: options.AsJson = False
    out: options.TableFile = None
    guard: options.Guard = False
    crlf: options.Crlf = False

    @property
    def wanted(self) -> Form:
        """The format."""
        return Form.JSON if self.json_ else self.form

    def write(self, table: Table) -> None:
        """Write a table (:func:`kgbench.cli.tables.write`)."""
        write(table, self.wanted, self.out, guard=self.guard, crlf=self.crlf)
