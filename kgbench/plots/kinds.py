# SPDX-License-Identifier: Apache-2.0
"""The kinds of figures: how the table of each is drawn, and how it ranks models.

The command line, the Python API and the figures of papers draw by them.
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
    """What a user may choose about a figure beside its numbers.

    ``size`` is what :func:`~kgbench.plots.figures.size_of` takes. ``title`` replaces the title of
    the table; an empty one leaves the title out. ``top`` is the number of the best models to show.
    With ``overlay`` all models share one compass.
    """

    size: str | tuple[float, float] | None = None
    title: str | None = None
    top: int | None = None
    overlay: bool = False


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure: what draws its table, and the models of a table from the best to the worst.

    ``ranked`` is ``None`` where the figure ranks no models, ``together`` where models cannot share
    a drawing. ``fixed`` are arguments of the analysis that the figure always needs.
    """

    name: str
    draw: Callable[[Table, Size | None], Figure]
    ranked: Callable[[Table], Iterable[str]] | None = None
    together: Callable[[Table, Size | None], Figure] | None = None
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def check(self, layout: Layout) -> Size | None:
        """The size of a figure with this layout, ``None`` for the default.

        Raises :class:`~kgbench.analysis.registry.OptionRefused` for what this kind of figure cannot
        obey, :class:`~kgbench.errors.QueryError` for what is no size, and
        :class:`~kgbench.errors.ResourceError` where matplotlib is not installed.
        """
        if layout.overlay and self.together is None:
            raise OptionRefused("overlay", "only a compass has an overlay")
        if layout.top is not None and self.ranked is None:
            raise OptionRefused(
                "top", f"a {self.name} figure ranks no models: select some models instead"
            )
        if layout.top is not None and layout.top < 1:
            raise OptionRefused("top", f"{layout.top} models cannot be shown: at least 1 can")
        try:
            import matplotlib as mpl  # noqa: F401 - drawing imports it only after reading the store
        except ModuleNotFoundError as error:
            raise ResourceError(
                f"{error.name} is not installed: pip install 'kgbench[plots]'"
            ) from None
        return None if layout.size is None else size_of(layout.size)

    def figure(
        self, table: Table, names: Mapping[str, str], layout: Layout
    ) -> tuple[Figure, Table]:
        """The figure of a table, and the part of the table that it shows.

        The figure has the display ``names`` of models; the table keeps their names in the store.
        Raises what :meth:`check` raises.
        """
        size = self.check(layout)
        shown = self._best(table, layout.top)
        title = names.get(table.title, table.title) if layout.title is None else layout.title
        draw = self.together if layout.overlay and self.together else self.draw
        return draw(replace(displayed(shown, names), title=title), size), shown

    def _best(self, table: Table, top: int | None) -> Table:
        """The table with only the best models, in the order in which the figure ranks them."""
        if top is None or self.ranked is None:
            return table
        place, best = table.names.index("model"), list(self.ranked(table))[:top]
        return replace(table, rows=tuple(row for row in table.rows if row[place] in best))


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
"""All kinds by name; all but ``boxplot`` are drawn from the table of the analysis of that name."""


def box_plots(
    store: Store, selection: Selection, layout: Layout, metric: str | None, answers: str | None
) -> dict[str, Figure]:
    """The box plot of each task label; see :func:`kgbench.plots.box_plots.distributions`."""
    kind = KINDS["boxplot"]
    kind.check(layout)
    names = display_names(store)
    tables = distributions(store, selection, metric=metric, answers=answers)
    return {task: kind.figure(table, names, layout)[0] for task, table in tables.items()}
