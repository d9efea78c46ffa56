# SPDX-License-Identifier: Apache-2.0
"""The kinds of figures: the function that draws each, and the order of its models.

Each module that draws a kind declares it, and an analysis names the kind that draws its table. The
command line, the Python API and the figures of papers use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgbench.analysis.index import FIGURES, resolve
from kgbench.analysis.registry import OptionRefused
from kgbench.errors import QueryError, ResourceError
from kgbench.plots.figures import Size, size_of
from kgbench.scores.catalogue import displayed
from kgbench.tables import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Layout:
    """The options for the appearance of a figure.

    ``size`` is an argument of :func:`~kgbench.plots.figures.size_of`. ``title`` replaces the title
    of the table; an empty text removes it. ``top`` is the number of the best models to show. With
    ``overlay`` all models share one compass.
    """

    size: str | tuple[float, float] | None = None
    title: str | None = None
    top: int | None = None
    overlay: bool = False


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure: the function that draws a table, and further properties.

    ``options`` are the parameters of the analysis that a figure may have, and ``declared`` is the
    one among them that names a declaration, with its key in the context of the table. ``ranked``
    returns the models of a table from the best to the worst, and is ``None`` where the
    figure ranks no models. ``together`` draws all models in one compass, and is ``None`` where
    that is not possible. ``fixed`` are arguments of the analysis that the figure always needs.
    There is a figure for each value of the column ``each``.
    """

    name: str
    draw: Callable[[Table, Size | None], Figure]
    options: tuple[str, ...] = ()
    declared: tuple[str, str] | None = None
    ranked: Callable[[Table], Iterable[str]] | None = None
    together: Callable[[Table, Size | None], Figure] | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)
    each: str | None = None

    def check(self, layout: Layout) -> Size | None:
        """Check a layout and return its size, ``None`` for the default.

        Raises :class:`~kgbench.analysis.registry.OptionRefused` for options that this kind of
        figure does not support, :class:`~kgbench.errors.QueryError` for an invalid size, and
        :class:`~kgbench.errors.ResourceError` where matplotlib is not installed.
        """
        if layout.overlay and self.together is None:
            raise OptionRefused("overlay", "only a compass has an overlay")
        if layout.top is not None and self.ranked is None:
            raise OptionRefused(
                "top", f"a {self.name} figure ranks no models: select some models instead"
            )
        if layout.top is not None and layout.top < 1:
            raise OptionRefused("top", f"cannot show {layout.top} models: choose at least 1")
        try:
            import matplotlib as mpl  # noqa: F401 - fails before the store is read, not after
        except ModuleNotFoundError as error:
            raise ResourceError(
                f"{error.name} is not installed: pip install 'kgbench[plots]'"
            ) from None
        return None if layout.size is None else size_of(layout.size)

    def figure(
        self, table: Table, names: Mapping[str, str], layout: Layout
    ) -> tuple[Figure, Table]:
        """Draw a table; returns the figure, and the part of the table that it shows.

        The figure has the display ``names`` of models; the table keeps their names in the store.
        Raises the errors of :meth:`check`.
        """
        size = self.check(layout)
        shown = self._best(table, layout.top)
        title = names.get(table.title, table.title) if layout.title is None else layout.title
        draw = self.together if layout.overlay and self.together else self.draw
        return draw(replace(displayed(shown, names), title=title), size), shown

    def _best(self, table: Table, top: int | None) -> Table:
        """Return the table with only the ``top`` best models."""
        if top is None or self.ranked is None:
            return table
        index, best = table.names.index("model"), list(self.ranked(table))[:top]
        return replace(table, rows=tuple(row for row in table.rows if row[index] in best))


def find_figure(name: str) -> FigureKind:
    """Return the kind of figure ``name``; :class:`~kgbench.errors.QueryError` if there is none."""
    if name not in FIGURES:
        raise QueryError(f"there is no figure of '{name}'; there are: {', '.join(FIGURES)}")
    kind = resolve(FIGURES[name])
    assert isinstance(kind, FigureKind)
    return kind
