# SPDX-License-Identifier: Apache-2.0
"""The registry of analyses: each is declared once, as a function of its parameters.

The command line makes ``kgbench analyze NAME`` of a declaration, the Python API a method of
:class:`kgbench.Results`. A declaration is a function that takes its parameters by
keyword and answers with an :class:`Asked`; the metadata of each parameter is an :class:`Option`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, ParamSpec, get_args

from kgbench.errors import QueryError

if TYPE_CHECKING:  # declarations are read by `kgbench --help`, which computes nothing
    from kgbench.analysis.choosing import Score
    from kgbench.analysis.selection import Selection
    from kgbench.analysis.tables import Table
    from kgbench.store.protocol import Store

P = ParamSpec("P")


class OptionRefused(QueryError):
    """An analysis cannot obey the parameter called ``name``, and ``why``."""

    def __init__(self, name: str, why: str) -> None:
        self.name, self.why = name, why
        super().__init__(f"{name}: {why}")


@dataclass(frozen=True, slots=True)
class Option:
    """A parameter on the command line: its flag, what help says, and what its value may be.

    ``min`` and ``max`` are inclusive. ``checked`` gives the value to use for one that was typed,
    and raises :class:`~kgbench.errors.QueryError` or :class:`ValueError` for one that cannot be.
    """

    flag: str
    help: str
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    checked: Callable[[str], str] | None = None


def _answers(text: str) -> str:
    from kgbench.analysis.choosing import checked_answers

    return checked_answers(text)


METRIC = Option(
    "--metric",
    metavar="NAME",
    help="A metric's short name, or a published one such as 0_combined; default: the main one.",
)
ROUND = Option(
    "--round",
    metavar="ROUND",
    help="Which answers of dialogues count: first, last, best, or a round counted from 0.",
    checked=_answers,
)
ESTIMAND = Option(
    "--estimand",
    metavar="NAME",
    help="What intervals and tests generalise to: cases (of this kind), repetitions (these cases "
    "again), tasks (of this kind), or dialogues (as if independent).",
)
COMMON = Option("--common", help="Compare on the tasks that all models were scored on.")
DECLARED = Option("--declared", metavar="FILE", help="Your own declarations (Turtle).")


@dataclass(frozen=True, slots=True)
class Asked:
    """What an analysis was asked for: how its table is made, and what that depends on.

    ``parts`` are the scores behind the cells of the table, where cells can be explained.
    """

    made: Callable[[Store, Selection], Table]
    arguments: Mapping[str, object] = field(default_factory=dict)
    parts: Callable[[Store, Selection], Mapping[str, list[Score]]] | None = None


class Parameter(NamedTuple):
    """A parameter of an analysis, by its name in Python."""

    name: str
    type: Any
    default: Any
    option: Option

    def checked(self, value: Any) -> Any:
        """``value`` as the analysis takes it; see :meth:`Analysis.asked`."""
        low, high = self.option.min, self.option.max
        if (low is not None and value < low) or (high is not None and value > high):
            raise OptionRefused(self.name, f"{value!r} is not in the range {low} to {high}")
        if self.option.checked is not None:
            return self.option.checked(value)
        if isinstance(self.type, type) and issubclass(self.type, Enum):
            if value not in list(self.type):
                raise OptionRefused(self.name, f"choose {', '.join(map(str, self.type))}")
            return self.type(value)
        return value


@dataclass(frozen=True)
class Analysis(Generic[P]):
    """A declared analysis: its name on the command line, and the function that declares it.

    ``explained`` says whether cells of its table can be explained by the scores behind them,
    ``by_policy`` that it reads the passes by comparison policies beside those that are selected.
    """

    name: str
    ask: Callable[P, Asked]
    explained: bool
    by_policy: bool = False

    @property
    def description(self) -> str:
        """What the analysis shows: the docstring of its declaration, without examples."""
        return (inspect.getdoc(self.ask) or "").partition(">>> ")[0].strip()

    @property
    def documentation(self) -> str:
        """The documentation of the method that is made of it: parameters, then examples."""
        whole = inspect.getdoc(self.ask) or ""
        parameters = (f"``{one.name}``: {one.option.help}" for one in self.parameters())
        return "\n".join([self.description, "", *parameters, "", *_example(whole)])

    @property
    def signature(self) -> inspect.Signature:
        """The signature of that method, without what is for the command line."""
        return inspect.Signature(
            [
                inspect.Parameter(
                    one.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=one.default,
                    annotation=one.type,
                )
                for one in self.parameters()
            ]
        )

    def asked(self, *args: P.args, **kwargs: P.kwargs) -> Asked:
        """What the analysis is asked for with these arguments, each of which is checked.

        Raises :class:`OptionRefused` for a value that the command line would refuse.
        """
        for one in self.parameters():
            if kwargs.get(one.name) is not None:
                kwargs[one.name] = one.checked(kwargs[one.name])
        return self.ask(*args, **kwargs)

    def parameters(self) -> Iterator[Parameter]:
        """The parameters in the order of their declaration."""
        for one in inspect.signature(self.ask, eval_str=True).parameters.values():
            kind, option = get_args(one.annotation)
            yield Parameter(one.name, kind, one.default, option)

    def flag(self, name: str) -> str:
        """The flag of the parameter called ``name`` on the command line."""
        return next(one.option.flag for one in self.parameters() if one.name == name)


def _example(text: str) -> list[str]:
    """The lines of a docstring from its first example on."""
    lines = text.splitlines()
    return lines[next((k for k, line in enumerate(lines) if line.startswith(">>> ")), len(lines)) :]


ANALYSES: dict[str, Analysis[...]] = {}
"""All declared analyses by name; importing :mod:`kgbench.analysis.analyses` declares them."""


def analysis(
    name: str, *, explained: bool = False, by_policy: bool = False
) -> Callable[[Callable[P, Asked]], Analysis[P]]:
    """Declares the analysis called ``name``."""

    def declared(ask: Callable[P, Asked]) -> Analysis[P]:
        found = Analysis(name, ask, explained, by_policy)
        ANALYSES[name] = found
        return found

    return declared


def contents(file: Path | None) -> str | None:
    """The text of a file of declarations: part of what a table depends on."""
    return None if file is None else file.read_text(encoding="utf-8")
