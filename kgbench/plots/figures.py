# SPDX-License-Identifier: Apache-2.0
"""Making and saving figures: one style, several formats, and the numbers drawn beside each."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgbench import files
from kgbench.analysis import queries
from kgbench.analysis.selection import Selection
from kgbench.analysis.stored import basis
from kgbench.analysis.tables import Table, render
from kgbench.rdf import canonical_json, digest
from kgbench.store.protocol import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8B6F00")
MARKERS = "osD^vPX*"
DASHES = ("-", "--", "-.", ":")
STYLE = Path(__file__).with_name("kgbench.mplstyle")
_WITHOUT_DATE: Mapping[str, Mapping[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": "kgbench"},
    "pdf": {"CreationDate": None, "Creator": "kgbench", "Producer": None},
}


def styled(draw: Callable[[Figure], None], *, width: float, height: float) -> Figure:
    """A figure of ``width`` x ``height`` inches in the style of all figures, drawn by ``draw``."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(fname=str(STYLE)):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure)
    return figure


def distinct(place: int) -> dict[str, Any]:
    """Colour, marker and dashes of the line at ``place``: 32 lines differ in more than colour."""
    return {
        "color": PALETTE[place % len(PALETTE)],
        "marker": MARKERS[place % len(MARKERS)],
        "linestyle": DASHES[(place // len(PALETTE)) % len(DASHES)],
    }


def state_digest(store: Store, selection: Selection) -> str:
    """The SHA-256 over the change stamps of the graphs that count: equal digests, equal data."""
    return digest(canonical_json(dict(basis(store, selection, "figure", {}).stamps)))


def save(
    figure: Figure,
    folder: Path,
    name: str,
    *,
    formats: Sequence[str],
    tables: Iterable[Table],
    state: str,
) -> list[Path]:
    """Write a figure in each of ``formats`` and, beside it, a JSON file with what it shows.

    That file has the tables with the numbers drawn, the texts of the queries they rest on, and the
    digest of the data (:func:`state_digest`). Returns the files, the JSON file last.
    """
    import matplotlib as mpl

    written = []
    with mpl.rc_context(fname=str(STYLE)):
        for form in formats:
            path = folder / f"{name}.{form}"
            drawing = BytesIO()
            figure.savefig(drawing, format=form, metadata=dict(_WITHOUT_DATE[form]))
            files.write(path, drawing.getvalue())
            written.append(path)
    drawn = list(tables)
    named = sorted({query for table in drawn for query in table.queries})
    about = {
        "figure": name,
        "tables": [json.loads(render(table, "json")) for table in drawn],
        "queries": {query: queries.load(query).text for query in named},
        "state": state,
    }
    path = folder / f"{name}.json"
    files.write(path, json.dumps(about, indent=2, ensure_ascii=False) + "\n")
    return [*written, path]


def file_name(*parts: str) -> str:
    """A file name from words: what is not safe in a name becomes ``-``."""
    joined = "-".join(parts)
    return "".join(c if c.isalnum() or c in "._-" else "-" for c in joined)
