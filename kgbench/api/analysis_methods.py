# SPDX-License-Identifier: Apache-2.0
"""Declared analyses as typed methods of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, Self, overload

from kgbench.analysis.display_names import display_names
from kgbench.analysis.registry import ANALYSES, Analysis
from kgbench.analysis.score_selectors import with_left_out_notes
from kgbench.analysis.selection import Selection
from kgbench.analysis.stored_results import stored_or_computed
from kgbench.analysis.tables import Table
from kgbench.errors import QueryError
from kgbench.store.protocol import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

P = ParamSpec("P")


class SelectedScores(Protocol):
    """The input of an analysis: a store, and the scores in it that count."""

    @property
    def store(self) -> Store:
        """The store."""
        ...

    @property
    def selection(self) -> Selection:
        """The scores that count."""
        ...


class AnalysisMethod(Generic[P]):
    """A declared analysis of the scores that count; call it for its table, or draw its figure."""

    def __init__(self, declared: Analysis[P], results: SelectedScores) -> None:
        self._declared, self._results = declared, results
        self.__doc__ = declared.documentation
        self.__signature__ = declared.signature

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Table:
        """Return the table of the analysis, as ``kgbench analyze --format json`` prints it."""
        request = self._declared.build_request(*args, **kwargs)
        store, selection = self._results.store, self._results.selection
        table, *_ = stored_or_computed(
            store,
            selection,
            self._declared.name,
            request.arguments,
            lambda: request.made(store, selection),
        )
        return with_left_out_notes(store, table)

    def figure(
        self,
        size: str | tuple[float, float] | None = None,
        title: str | None = None,
        top: int | None = None,
        overlay: bool = False,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Figure:
        """Draw the figure of the analysis, like ``kgbench plot``.

        Args:
            size: ``one-column``, ``two-columns`` or ``slide``, a text such as ``16x9cm``, or width
                and height in inches.
            title: A title instead of the default; an empty one omits it.
            top: Number of the best models to draw; default: all.
            overlay: Draw up to eight models in one compass.
            args: Arguments of the analysis.
            kwargs: Arguments of the analysis, by name.

        Raises:
            QueryError: The analysis has no figure, or its figure does not support an option.
            ResourceError: matplotlib is not installed.

        >>> results = kgbench.open("kgbench-results")
        >>> figure = results.leaderboard.figure(size=(6, 3), title="", top=1)
        >>> [float(inches) for inches in figure.get_size_inches()]
        [6.0, 3.0]
        """
        from kgbench.plots.kinds import KINDS, Layout

        kind = KINDS.get(self._declared.name)
        if kind is None:
            available = ", ".join(name for name in KINDS if name in ANALYSES)
            raise QueryError(
                f"there is no figure of '{self._declared.name}'; there are: {available}"
            )
        layout = Layout(size, title, top, overlay)
        kind.check(layout)
        arguments: Any = {**kwargs, **kind.fixed}
        table = self(*args, **arguments)
        return kind.figure(table, display_names(self._results.store), layout)[0]


class analysis_method(Generic[P]):  # noqa: N801 - used like `property`
    """Descriptor that turns a declared analysis into a method."""

    def __init__(self, declared: Analysis[P]) -> None:
        self._declared = declared
        self.__doc__ = declared.documentation

    @overload
    def __get__(self, results: None, owner: type) -> Self: ...

    @overload
    def __get__(self, results: SelectedScores, owner: type) -> AnalysisMethod[P]: ...

    def __get__(self, results: SelectedScores | None, owner: type) -> Self | AnalysisMethod[P]:
        return self if results is None else AnalysisMethod(self._declared, results)
