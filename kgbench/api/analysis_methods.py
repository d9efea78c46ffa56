# SPDX-License-Identifier: Apache-2.0
"""Analyses as typed methods of results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, Self, TypeVar, cast, overload

from kgbench.analysis.index import ANALYSES, INDEX
from kgbench.analysis.stored_results import stored_or_computed
from kgbench.scores.catalogue import display_names
from kgbench.scores.selection import Selection
from kgbench.scores.selectors import with_left_out_notes
from kgbench.store.protocol import Store
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from kgbench.analysis.registry import Analysis

P = ParamSpec("P")
T = TypeVar("T")


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
    """An analysis of the scores that count; call it for its table, or draw its figure."""

    def __init__(self, analysis: Analysis[P], results: SelectedScores) -> None:
        self._analysis, self._results = analysis, results
        self.__doc__ = analysis.documentation
        self.__signature__ = analysis.signature

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Table:
        """Return the table of the analysis, as ``kgbench analyze --format json`` prints it."""
        arguments = self._analysis.arguments(*args, **kwargs)
        store, selection = self._results.store, self._results.selection
        table = stored_or_computed(store, selection, self._analysis, arguments)
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
        from kgbench.plots.figures import Layout, find_figure

        kind = find_figure(self._analysis.name)
        layout = Layout(size, title, top, overlay)
        kind.check(layout)
        arguments: Any = {**kwargs, **kind.fixed}
        table = self(*args, **arguments)
        return kind.figure(table, display_names(self._results.store), layout)[0]


class analysis_method(Generic[P]):  # noqa: N801 - used like `property`
    """Descriptor that turns an analysis, or the one of a name, into a method."""

    def __init__(self, analysis: Analysis[P] | str) -> None:
        self._given = analysis

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """The documentation of the method."""
        return self.analysis.documentation

    @property
    def analysis(self) -> Analysis[P]:
        """The analysis; one that was given by name is imported when it is used."""
        if isinstance(self._given, str):
            return cast("Analysis[P]", ANALYSES[self._given])
        return self._given

    @overload
    def __get__(self, results: None, owner: type) -> Self: ...

    @overload
    def __get__(self, results: SelectedScores, owner: type) -> AnalysisMethod[P]: ...

    def __get__(self, results: SelectedScores | None, owner: type) -> Self | AnalysisMethod[P]:
        return self if results is None else AnalysisMethod(self.analysis, results)


def with_analyses(owner: type[T]) -> type[T]:
    """Give a class a method for each analysis of the index."""
    for name, entry in INDEX.items():
        setattr(owner, entry.method, analysis_method(name))
    return owner
