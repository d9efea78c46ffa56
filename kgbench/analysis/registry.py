# SPDX-License-Identifier: Apache-2.0
"""Declarations of analyses: the function that makes the table declares everything else.

An analysis is a function of a store, a selection of scores and keyword parameters that returns a
:class:`~kgbench.tables.Table`. Each parameter is annotated with an :class:`Option`, and
its name is that of the option. From the signature and the docstring come a command (``kgbench
analyze NAME``), a method of :class:`kgbench.Results`, a page of the server and the arguments under
which ``--keep`` stores the table. :mod:`kgbench.analysis.index` lists all analyses.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from numbers import Integral
from pathlib import Path
from types import NoneType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Generic,
    NamedTuple,
    ParamSpec,
    TypeAlias,
    get_args,
)

from kgbench.errors import QueryError

if TYPE_CHECKING:  # `kgbench --help` imports this module and must stay fast
    from kgbench.model import Json
    from kgbench.scores.reading import Score
    from kgbench.scores.selection import Selection
    from kgbench.store.protocol import Store
    from kgbench.tables import Table

NO_SCORES = "The selection has no scores that count: 'kgbench status' tells what has run."

P = ParamSpec("P")
Arguments: TypeAlias = Mapping[str, Any]
Parts: TypeAlias = "Callable[[Store, Selection, Arguments], Mapping[str, list[Score]]]"


class OptionRefused(QueryError):
    """An analysis refuses the value of the parameter ``name`` for a ``reason``."""

    def __init__(self, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"{name}: {reason}")


def check_number(
    name: str,
    value: Any,
    low: float | None = None,
    high: float | None = None,
    *,
    whole: bool = False,
) -> None:
    """Raise :class:`OptionRefused` unless ``value`` is a finite number from ``low`` to ``high``.

    With ``whole`` it must be an integer, too.
    """
    try:
        # Written so that NaN, with which all comparisons are false, is refused.
        finite = math.isfinite(value)
        within = (low is None or value >= low) and (high is None or value <= high)
    except (TypeError, ValueError, OverflowError):
        finite = within = False
    if finite and not within:
        wanted = f"{low} upwards" if high is None else f"{low} to {high}"
        raise OptionRefused(name, f"{value!r} is not in the range {wanted}")
    if not finite or (whole and not isinstance(value, Integral)):
        kind = "whole" if whole else "finite"
        raise OptionRefused(name, f"{value!r} is not a {kind} number")


@dataclass(frozen=True, slots=True)
class Option:
    """An option of an analysis: its help text and its permitted values.

    ``min`` and ``max`` are inclusive. An option with a ``panel`` is one of the rarer ones, which
    ``--help-all`` shows under this title. ``checked`` converts a typed value, and raises
    :class:`~kgbench.errors.QueryError` or :class:`ValueError` for an invalid one.
    """

    help: str
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    checked: Callable[[str], str] | None = None
    panel: str | None = None


def _check_round(text: str) -> str:
    from kgbench.scores.selectors import check_round

    return check_round(text)


def check_estimand(name: str) -> str:
    """Return ``name`` as :func:`kgbench.scores.inference.check_estimand` does."""
    from kgbench.scores import inference as estimands

    return estimands.check_estimand(name)


METRIC = Option(
    "The metric: a short name, or a published name such as 0_combined; default: the main "
    "metric of each task.",
    metavar="NAME",
    panel="Scores",
)
ROUND = Option(
    "Which answers of dialogues count: first, last, best, or a round counted from 0.",
    metavar="ROUND",
    checked=_check_round,
    panel="Scores",
)
COMMON = Option("Compare on the tasks that all models were scored on.")
DECLARED = Option("A Turtle file with your own declarations.", metavar="FILE", panel="Scores")

Metric = Annotated[str | None, METRIC]
Round = Annotated[str | None, ROUND]
Common = Annotated[bool, COMMON]
Declared = Annotated[Path | None, DECLARED]
EstimandName = Annotated[
    str,
    Option(
        "What intervals and tests generalise to: cases (of this kind), repetitions (these cases "
        "again), tasks (of this kind), or dialogues (as if independent); available stands for "
        "cases, or repetitions where a task has one case.",
        metavar="NAME",
        checked=check_estimand,
        panel="Scores",
    ),
]
SetName = Annotated[str, Option("The declared score set to combine.", metavar="NAME")]
Solved = Annotated[
    float | None,
    Option(
        "The least score of a solved dialogue; default: the threshold that each metric declares.",
        metavar="SCORE",
    ),
]


class Parameter(NamedTuple):
    """A parameter of an analysis."""

    name: str
    type: Any
    default: Any
    option: Option

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def kind(self) -> type:
        """The type of a value that is not absent."""
        return next((k for k in get_args(self.type) if k is not NoneType), self.type)

    def read(self, text: str) -> Any:
        """Return the value that a text on a page stands for; see :meth:`checked`."""
        if self.kind is bool:
            return text not in {"", "0", "false"}
        try:
            return self.kind(text)
        except ValueError:
            raise OptionRefused(self.name, f"'{text}' is not permitted") from None

    def checked(self, value: Any) -> Any:
        """Validate and convert ``value``; see :meth:`Analysis.arguments`."""
        if value is None:
            return None
        low, high = self.option.min, self.option.max
        if low is not None or high is not None or self.kind is float:
            check_number(self.name, value, low, high)
        if self.option.checked is not None:
            return self.option.checked(value)
        if isinstance(self.type, type) and issubclass(self.type, Enum):
            if value not in list(self.type):
                raise OptionRefused(self.name, f"choose {', '.join(map(str, self.type))}")
            return self.type(value)
        return value


class Purpose(StrEnum):
    """Groups of analyses, in the order in which lists show them."""

    LOOK = "Look first"
    COMPARE = "Compare"
    UNDERSTAND = "Understand"
    JUDGES = "Judges"
    PAPERS = "Papers"


class Entry(NamedTuple):
    """An entry: the analysis as ``module:function``, its group, its first line, its figure."""

    target: str
    group: Purpose
    summary: str
    figure: str | None = None

    @property
    def method(self) -> str:
        """The name of the function, which is that of the method of :class:`kgbench.Results`."""
        return self.target.partition(":")[2]


@dataclass(frozen=True)
class Analysis(Generic[P]):
    """An analysis: its name, the function that makes its table, and its place in lists.

    ``parts`` returns the scores behind the cells of a table by the name of the part; without it,
    cells cannot be explained. ``reads`` names the queries whose results name the graphs that the
    analysis reads beside those of the selection. ``figure`` is the
    :class:`~kgbench.plots.figures.FigureKind` that draws its table, as ``module:name``.
    """

    name: str
    make: Callable[Concatenate[Store, Selection, P], Table]
    group: Purpose
    parts: Parts | None = None
    reads: tuple[str, ...] = ()
    figure: str | None = None

    def __call__(
        self, store: Store, selection: Selection, *args: P.args, **kwargs: P.kwargs
    ) -> Table:
        """Make the table of the selected scores; the arguments are checked as by a command.

        Raises :class:`OptionRefused` for a value that the command line would refuse, too.
        """
        return self.make(store, selection, *args, **self.arguments(**kwargs))

    def arguments(self, **given: Any) -> dict[str, Any]:
        """Return the values of all parameters, checked, in the order of the declaration.

        Raises :class:`TypeError` for an unknown parameter, and :class:`OptionRefused` for a value
        that is not permitted.
        """
        bound = self.signature.bind(**given)
        bound.apply_defaults()
        return {
            parameter.name: parameter.checked(bound.arguments[parameter.name])
            for parameter in self.parameters()
        }

    def recorded(self, arguments: Arguments) -> dict[str, Json]:
        """Return arguments as a kept table has them: files by their text, choices by their name."""
        return {
            name: value.read_text(encoding="utf-8")
            if isinstance(value, Path)
            else value.value
            if isinstance(value, Enum)
            else value
            for name, value in arguments.items()
        }

    @property
    def description(self) -> str:
        """The help text of the command: the docstring of the function without its examples."""
        return (inspect.getdoc(self.make) or "").partition(">>> ")[0].strip()

    @property
    def documentation(self) -> str:
        """The docstring of the method in the Python API: parameters, then examples."""
        docstring = inspect.getdoc(self.make) or ""
        descriptions = (
            f"``{parameter.name}``: {parameter.option.help}" for parameter in self.parameters()
        )
        return "\n".join([self.description, "", *descriptions, "", *_example(docstring)])

    @property
    def signature(self) -> inspect.Signature:
        """The signature of the method in the Python API, without command-line metadata."""
        return inspect.Signature(
            [
                inspect.Parameter(
                    parameter.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=parameter.default,
                    annotation=parameter.type,
                )
                for parameter in self.parameters()
            ]
        )

    def parameters(self) -> Iterator[Parameter]:
        """Iterate over the parameters in the order of their declaration."""
        for parameter in inspect.signature(self.make, eval_str=True).parameters.values():
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kind, option = get_args(parameter.annotation)
                yield Parameter(parameter.name, kind, parameter.default, option)


def _example(text: str) -> list[str]:
    """Return the lines of a docstring from its first example on."""
    lines = text.splitlines()
    return lines[next((k for k, line in enumerate(lines) if line.startswith(">>> ")), len(lines)) :]


def analysis(
    name: str,
    group: Purpose,
    *,
    parts: Parts | None = None,
    reads: tuple[str, ...] = (),
    figure: str | None = None,
) -> Callable[[Callable[Concatenate[Store, Selection, P], Table]], Analysis[P]]:
    """Declare the analysis ``name``; a decorator for the function that makes its table.

    The other arguments are the attributes of :class:`Analysis`.
    """

    def declare(make: Callable[Concatenate[Store, Selection, P], Table]) -> Analysis[P]:
        return Analysis(name, make, group, parts, reads, figure)

    return declare
