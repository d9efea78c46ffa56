# SPDX-License-Identifier: Apache-2.0
"""The registry of analyses: each is declared once, as a function of its parameters.

A declaration is a function with keyword parameters that returns an :class:`AnalysisRequest`; each
parameter is annotated with an :class:`Option`. Every declaration becomes a command (``kgbench
analyze NAME``) and a method of :class:`kgbench.Results`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, get_args

from kgbench.errors import QueryError

if TYPE_CHECKING:  # `kgbench --help` imports the declarations and must stay fast
    from kgbench.analysis.score_selectors import Score
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store

P = ParamSpec("P")


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
    """A command-line option: its flag, its help text and its permitted values.

    ``min`` and ``max`` are inclusive. An option with a ``panel`` is one of the rarer ones, which
    ``--help-all`` shows under this title. ``checked`` converts a typed value, and raises
    :class:`~kgbench.errors.QueryError` or :class:`ValueError` for an invalid one.
    """

    flag: str
    help: str
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    checked: Callable[[str], str] | None = None
    panel: str | None = None


def _answers(text: str) -> str:
    from kgbench.analysis.score_selectors import check_answers

    return check_answers(text)


def check_estimand(name: str) -> str:
    """Return ``name`` as :func:`kgbench.analysis.estimands.check_estimand` does."""
    from kgbench.analysis import estimands

    return estimands.check_estimand(name)


METRIC = Option(
    "--metric",
    metavar="NAME",
    help="The metric: a short name, or a published name such as 0_combined; default: the main "
    "metric of each task.",
    panel="Scores",
)
ROUND = Option(
    "--round",
    metavar="ROUND",
    help="Which answers of dialogues count: first, last, best, or a round counted from 0.",
    checked=_answers,
    panel="Scores",
)
ESTIMAND = Option(
    "--estimand",
    metavar="NAME",
    help="What intervals and tests generalise to: cases (of this kind), repetitions (these cases "
    "again), tasks (of this kind), or dialogues (as if independent); available stands for cases, "
    "or repetitions where a task has one case.",
    checked=check_estimand,
    panel="Scores",
)
COMMON = Option("--common", help="Compare on the tasks that all models were scored on.")
DECLARED = Option(
    "--declared", metavar="FILE", help="A Turtle file with your own declarations.", panel="Scores"
)


@dataclass(frozen=True, slots=True)
class AnalysisRequest:
    """A request for an analysis: the function that makes its table, and its arguments.

    ``made`` computes the table of a selection of scores. ``arguments`` are all values that the
    table depends on beside the selection. ``parts`` returns the scores behind the cells of the
    table by the name of the part; it is ``None`` where cells cannot be explained.
    """

    made: Callable[[Store, Selection], Table]
    arguments: Mapping[str, object] = field(default_factory=dict)
    parts: Callable[[Store, Selection], Mapping[str, list[Score]]] | None = None


def recorded(options: Mapping[str, object]) -> dict[str, object]:
    """Return options under the names that stores and publications have: estimands are ``about``."""
    return {"about" if name == "estimand" else name: value for name, value in options.items()}


class Parameter(NamedTuple):
    """A parameter of an analysis, under its name in Python."""

    name: str
    type: Any
    default: Any
    option: Option

    def checked(self, value: Any) -> Any:
        """Validate and convert ``value``; see :meth:`Analysis.build_request`."""
        low, high = self.option.min, self.option.max
        if low is not None or high is not None:
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


@dataclass(frozen=True)
class Analysis(Generic[P]):
    """A declared analysis: its name on the command line, and the function that declares it.

    ``explained`` says whether cells of its table can be explained by the scores behind them.
    ``by_policy`` says whether it reads the passes of comparison policies in addition to the
    selected passes. ``group`` is its place in lists of analyses.
    """

    name: str
    ask: Callable[P, AnalysisRequest]
    group: Purpose
    explained: bool = False
    by_policy: bool = False

    @property
    def description(self) -> str:
        """The help text of the command: the docstring of the declaration without its examples."""
        return (inspect.getdoc(self.ask) or "").partition(">>> ")[0].strip()

    @property
    def documentation(self) -> str:
        """The docstring of the method in the Python API: parameters, then examples."""
        docstring = inspect.getdoc(self.ask) or ""
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

    def build_request(self, *args: P.args, **kwargs: P.kwargs) -> AnalysisRequest:
        """Check the arguments and return the request for the analysis.

        Raises :class:`OptionRefused` for a value that the command line would refuse, too.
        """
        for parameter in self.parameters():
            if kwargs.get(parameter.name) is not None:
                kwargs[parameter.name] = parameter.checked(kwargs[parameter.name])
        return self.ask(*args, **kwargs)

    def parameters(self) -> Iterator[Parameter]:
        """Iterate over the parameters in the order of their declaration."""
        for parameter in inspect.signature(self.ask, eval_str=True).parameters.values():
            kind, option = get_args(parameter.annotation)
            yield Parameter(parameter.name, kind, parameter.default, option)

    def flag(self, name: str) -> str:
        """Return the command-line flag of the parameter ``name``."""
        return next(
            parameter.option.flag for parameter in self.parameters() if parameter.name == name
        )


def _example(text: str) -> list[str]:
    """Return the lines of a docstring from its first example on."""
    lines = text.splitlines()
    return lines[next((k for k, line in enumerate(lines) if line.startswith(">>> ")), len(lines)) :]


ANALYSES: dict[str, Analysis[...]] = {}
"""All declared analyses by name; importing :mod:`kgbench.analysis.analyses` declares them."""


def analysis(
    name: str, group: Purpose, *, explained: bool = False, by_policy: bool = False
) -> Callable[[Callable[P, AnalysisRequest]], Analysis[P]]:
    """Declare the analysis ``name``; a decorator for the function that declares it.

    ``group``, ``explained`` and ``by_policy`` are as in :class:`Analysis`.
    """

    def register(ask: Callable[P, AnalysisRequest]) -> Analysis[P]:
        declaration = Analysis(name, ask, group, explained, by_policy)
        ANALYSES[name] = declaration
        return declaration

    return register


def contents(file: Path | None) -> str | None:
    """Read a file of declarations, whose text is one of the arguments of an analysis."""
    return None if file is None else file.read_text(encoding="utf-8")
