# SPDX-License-Identifier: Apache-2.0
"""Figures of tables: their kinds, their style, and files with the numbers of each figure.

Each module that draws a kind of figure declares it, and an analysis names the kind that draws its
table. The command line, the Python API and the figures of papers use them.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgbench import files
from kgbench.analysis.registry import OptionRefused
from kgbench.analysis.stored_results import stamps
from kgbench.errors import QueryError, ResourceError, pip_install
from kgbench.rdf import canonical_json, digest, queries
from kgbench.scores.catalogue import displayed
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Table, Value, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_STYLE = Path(__file__).with_name("kgbench.mplstyle")
FORMATS = ("png", "svg", "pdf")
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8B6F00")
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
_SCALED = (
    "font.size",
    "axes.titlesize",
    "axes.labelsize",
    "xtick.labelsize",
    "ytick.labelsize",
    "legend.fontsize",
    "figure.titlesize",
    "lines.linewidth",
    "lines.markersize",
    "grid.linewidth",
    "axes.linewidth",
    "xtick.major.size",
    "ytick.major.size",
)
_WITHOUT_DATE: Mapping[str, Mapping[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "kgbench"},
    "pdf": {"CreationDate": None, "Creator": "kgbench", "Producer": None},
}


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a figure in inches, and the scale of its text and lines.

    Without ``height``, a figure is as tall as its contents need.
    """

    width: float
    height: float | None = None
    scale: float = 1.0

    @property
    def across(self) -> float:
        """The width in inches at scale 1, by which a figure is laid out."""
        return self.width / self.scale

    def points(self, size: float) -> float:
        """Scale a size of text or lines in points."""
        return size * self.scale


SIZES: Mapping[str, Size] = {
    "one-column": Size(3.35),
    "two-columns": Size(7.0),
    "slide": Size(13.333, 7.5, 1.9),
}
"""Columns of 85 mm and 178 mm, as journals have them, and a slide of 16:9."""
NATURAL = SIZES["two-columns"]
_GIVEN = re.compile(r"(?P<w>\d{1,4}(\.\d+)?)x(?P<h>\d{1,4}(\.\d+)?)(?P<unit>in|cm|mm)?")
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_LEAST, _MOST = 1.5, 60.0  # limits of the length of an edge in inches
_LETTER = 0.56  # the mean width of a letter, as a share of the font size


def size_of(size: str | tuple[float, float]) -> Size:
    """Parse a size: a key of :data:`SIZES`, or width and height.

    Width and height are a text ``WxH`` in inches, cm or mm, or two numbers of inches. Raises
    :class:`~kgbench.errors.QueryError` for anything else.

    >>> size_of("16x9cm").width == 16 / 2.54
    True
    >>> size_of((6, 4)) == size_of("6x4")
    True
    """
    if isinstance(size, str):
        if size in SIZES:
            return SIZES[size]
        match = _GIVEN.fullmatch(size)
        if match is None:
            raise QueryError(
                f"'{size}' is not a size: choose {', '.join(SIZES)}, or width and height such as "
                f"6x4 (inches), 16x9cm or 85x60mm"
            )
        inch = _INCHES[match["unit"] or "in"]
        width, height = float(match["w"]) * inch, float(match["h"]) * inch
    else:
        width, height = map(float, size)
    if not (_LEAST <= width <= _MOST and _LEAST <= height <= _MOST):
        raise QueryError(
            f"width and height of a figure must be {_LEAST:g} to {_MOST:g} inches, unlike '{size}'"
        )
    return Size(width, height)


@cache
def _styled_figure() -> type[Figure]:
    """Define a matplotlib figure that keeps kgbench's style when it is saved."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    class StyledFigure(Figure):
        """A figure that is written in its style.

        Matplotlib reads resolution, embedding of fonts and style of ticks only when it writes a
        file; without this class it would then use the user's settings.
        """

        def savefig(self, *args: Any, **kwargs: Any) -> None:
            with mpl.rc_context(fname=str(_STYLE)):
                super().savefig(*args, **kwargs)

    return StyledFigure


def create_figure(
    draw: Callable[[Figure], None],
    *,
    size: Size,
    height: float,
    title: str = "",
    handles: Sequence[Any] = (),
) -> Figure:
    """Create a figure in the common style, drawn by ``draw``, with title and legend.

    ``height`` is the height in inches that it needs at scale 1 beside :func:`title_height` and
    :func:`legend_height`; a height in ``size`` takes precedence. The legend of ``handles`` is below
    the figure.
    """
    import matplotlib as mpl

    with mpl.rc_context(fname=str(_STYLE)):
        settings: Any = mpl.rcParams
        for name in _SCALED:
            settings[name] *= size.scale
        needed = height + title_height(title, size) + legend_height(handles, size)
        tall = needed * size.scale if size.height is None else size.height
        figure: Figure = _styled_figure()(figsize=(size.width, tall), layout="constrained")
        draw(figure)
        if title:
            figure.suptitle("\n".join(_lines(title, size)), x=0.012, ha="left", fontweight="bold")
        if handles:
            columns = _columns(handles, size)
            figure.legend(handles=list(handles), loc="outside lower center", ncols=columns)
        # Matplotlib creates some ticks only when it writes a file, outside of this context.
        for axes in figure.axes:
            axes.tick_params(labelsize=mpl.rcParams["xtick.labelsize"])
    return figure


def _lines(title: str, size: Size) -> list[str]:
    """Wrap a title to the width of a figure; its bold type is wider than other text."""
    letters = max(20, int(size.across * 72 / (1.18 * _LETTER * 9.5)))
    return textwrap.wrap(title, letters, break_on_hyphens=False)


def title_height(title: str, size: Size) -> float:
    """Return the height in inches of a title at scale 1."""
    return 0.18 * len(_lines(title, size)) + (0.1 if title else 0.0)


def legend_height(handles: Sequence[Any], size: Size) -> float:
    """Return the height in inches of a legend at scale 1."""
    return 0.12 + 0.15 * -(-len(handles) // _columns(handles, size)) if handles else 0.0


def _columns(handles: Sequence[Any], size: Size) -> int:
    """Return in how many columns a legend fits below a figure."""
    widest = max((text_width(str(handle.get_label()), 7) for handle in handles), default=0.0)
    return max(1, min(len(handles), int(size.across / (0.45 + widest))))


def text_width(text: str, points: float) -> float:
    """Estimate the width in inches of the longest line of a text."""
    return max(map(len, text.split("\n")), default=0) * _LETTER * points / 72


def wrapped(name: str, letters: int) -> str:
    r"""Break a name into lines of at most ``letters`` letters, between its words where possible.

    >>> wrapped("RdfConnectionExplainStatic", 14).split("\n")
    ['RdfConnection', 'ExplainStatic']
    """
    parts = re.findall(r"[A-Z]?[^A-Z\s-]+-?|[A-Z]+|[\s-]|\S", name)
    lines = [""]
    for part in parts:
        if lines[-1] and len(lines[-1]) + len(part.rstrip()) > letters:
            lines.append("")
        lines[-1] += part if lines[-1] else part.lstrip()
    return "\n".join(line.rstrip() for line in lines)


def goodness(table: Table, metric: Value, mean: float) -> float:
    """Return the ``mean`` of a metric of a table, negative where less of the metric is better.

    >>> goodness(Table("T", (), (), context={"less_is_better": "lost 0_lost"}), "lost", 2.0)
    -2.0
    """
    less = str(table.context.get("less_is_better", "")).split()
    return -mean if str(metric) in less else mean


def line_style(index: int) -> dict[str, Any]:
    """Return colour, marker and dashes of the line number ``index``; they repeat after 32 lines."""
    return {
        "color": PALETTE[index % len(PALETTE)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": DASHES[(index // len(PALETTE)) % len(DASHES)],
    }


def state_digest(store: Store, selection: Selection) -> str:
    """Return the SHA-256 of the change stamps of the selected graphs, which identifies the data."""
    return digest(canonical_json(stamps(store, {*selection.pass_graphs, *selection.run_graphs})))


def save(
    figure: Figure,
    folder: Path,
    name: str,
    *,
    formats: Sequence[str],
    tables: Iterable[Table],
    state: str,
) -> list[Path]:
    """Write a figure in each of ``formats``, and a JSON file with its numbers.

    The JSON file has the tables with the drawn numbers, the texts of their queries, and the digest
    of the data (:func:`state_digest`). Returns the paths, that of the JSON file last.
    """
    paths = []
    for form in formats:
        path = folder / f"{name}.{form}"
        drawing = BytesIO()
        figure.savefig(drawing, format=form, metadata=dict(_WITHOUT_DATE[form]))
        files.write(path, drawing.getvalue())
        paths.append(path)
    all_tables = list(tables)
    query_names = sorted({query for table in all_tables for query in table.queries})
    description = {
        "figure": name,
        "tables": [json.loads(render(table, "json")) for table in all_tables],
        "queries": {query: queries.load(query).text for query in query_names},
        "state": state,
    }
    path = folder / f"{name}.json"
    files.write(path, json.dumps(description, indent=2, ensure_ascii=False) + "\n")
    return [*paths, path]


def file_name(*parts: str) -> str:
    """Join words into a file name; unsafe characters become ``-``."""
    joined = "-".join(parts)
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in joined)


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
                f"{error.name} is not installed: {pip_install('kgbench[plots]')}"
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
    from kgbench.analysis.index import FIGURES, resolve

    if name not in FIGURES:
        raise QueryError(f"there is no figure of '{name}'; there are: {', '.join(FIGURES)}")
    kind = resolve(FIGURES[name])
    assert isinstance(kind, FigureKind)
    return kind
