# SPDX-License-Identifier: Apache-2.0
"""The kinds of figures: the function that draws each, and the order of its models.

The command line, the Python API and the figures of papers use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kgbench.analysis.display_names import display_names, displayed
from kgbench.analysis.registry import OptionRefused
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Table
from kgbench.errors import ResourceError
from kgbench.plots import (
    compasses,
    judge_maps,
    preference_maps,
    size_curves,
    standings,
    tool_points,
)
from kgbench.plots.box_plots import box_plot, distributions
from kgbench.plots.box_plots import ranked as ranked_boxes
from kgbench.plots.figures import Size, size_of
from kgbench.store.protocol import Store

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

    ``ranked`` returns the models of a table from the best to the worst, and is ``None`` where the
    figure ranks no models. ``together`` draws all models in one compass, and is ``None`` where
    that is not possible. ``fixed`` are arguments of the analysis that the figure always needs.
    """

    name: str
    draw: Callable[[Table, Size | None], Figure]
    ranked: Callable[[Table], Iterable[str]] | None = None
    together: Callable[[Table, Size | None], Figure] | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)

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


KINDS: Mapping[str, FigureKind] = {
    kind.name: kind
    for kind in (
        FigureKind("agreement", judge_maps.agreement_map),
        FigureKind("boxplot", box_plot, ranked_boxes),
        FigureKind(
            "compass",
            compasses.compass_figure,
            compasses.ranked,
            together=compasses.overlay_figure,
        ),
        FigureKind("confusion", judge_maps.confusion_map),
        FigureKind("format-preference", preference_maps.preference_map, fixed={"details": False}),
        FigureKind(
            "leaderboard",
            standings.standings_figure,
            standings.ranked,
            fixed={"significance": True},
        ),
        FigureKind("difficulty", size_curves.difficulty_figure, size_curves.ranked),
        FigureKind("sizes", size_curves.size_figure, size_curves.ranked),
        FigureKind("tools", tool_points.tool_figure, tool_points.ranked, fixed={"by": "model"}),
    )
}
"""All kinds by name; each but ``boxplot`` draws the table of the analysis with the same name."""


def box_plots(
    store: Store, selection: Selection, layout: Layout, metric: str | None, answers: str | None
) -> dict[str, Figure]:
    """Draw the box plot of each task; returns figures by task label.

    ``metric`` and ``answers`` are as in :func:`kgbench.plots.box_plots.distributions`.
    """
    kind = KINDS["boxplot"]
    kind.check(layout)
    names = display_names(store)
    tables = distributions(store, selection, metric=metric, answers=answers)
    return {task: kind.figure(table, names, layout)[0] for task, table in tables.items()}
