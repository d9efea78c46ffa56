# SPDX-License-Identifier: Apache-2.0
"""Tables in LaTeX compile and stay within the width and the height of a page."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kgbench.errors import QueryError
from kgbench.tables import Column, Kind, Table
from kgbench.tables.latex import escaped
from kgbench.tables.rendering import as_latex

DPI = 36  # two points are a pixel
START = "\\documentclass{article}\n\\usepackage{booktabs,longtable}\n\\begin{document}\n"
ODD = (
    "[x] *y* <a|b> \"q\" `c` 'd' a--b {}$&#%_^~\\ \x1b \u202e \u4e2d\u6587 "
    "\u0142\u00f3d\u017a \u2265 1"
)


def table(columns: int, rows: int, text: str = "Model_with-a-name:2024?size=7B") -> Table:
    """Return a table with a name and many numbers in each row."""
    scores = [Column(f"c{n}", f"Score {n}", Kind.SCORE) for n in range(columns)]
    cells = tuple((text, *[0.5] * columns) for _ in range(rows))
    return Table("A title", (Column("m", "Model"), *scores), cells, (text,))


TABLES = {
    "small": table(3, 4),
    "long": table(3, 200),
    "odd": table(3, 3, ODD),
    "wordy": table(2, 3, "so many words that a line does not hold them all " * 9),
}


def test_signs_stay_what_they_are():
    """No character begins an argument, a ligature or a command, or changes in an old font."""
    assert escaped("[<0.1]") == r"{[}\textless{}0.1{]}"
    assert escaped("a--b_c") == r"a-{}-b\_c"
    assert escaped("\u4e2d") == r"\kgbenchcharacter{20013}"
    assert "\x1b" not in escaped("\x1b[1m")


def test_short_tables_float_and_others_break():
    """A table that fits a page floats; a longer one is a longtable. Both have a label."""
    small, long = as_latex(TABLES["small"]), as_latex(TABLES["long"])

    assert r"\begin{table}" in small
    assert r"\begin{longtable}" in long
    assert small.count(r"\label{tab:a-title}") == long.count(r"\label{tab:a-title}") == 1


def test_columns_are_chosen():
    """A table for one column of a paper has the columns that its author names, in this order."""
    narrow = TABLES["small"].only("c1", "m")

    assert narrow.names == ("c1", "m")
    assert narrow.rows[0] == (0.5, TABLES["small"].rows[0][0])
    assert r"\begin{tabular}{@{}rl@{}}" in as_latex(narrow)
    with pytest.raises(QueryError, match="no column 'c9'"):
        narrow.only("c9")


@pytest.mark.parametrize("name", sorted(TABLES))
def test_tables_fit_pages(name: str, tmp_path: Path) -> None:
    """No ink lies outside the text block of an article, on any page."""
    missing = [one for one in ("pdflatex", "pdftoppm") if shutil.which(one) is None]
    if missing:
        pytest.skip(f"needs {missing[0]}")
    body = as_latex(TABLES[name])
    (tmp_path / "t.tex").write_text(f"{START}{body}\\end{{document}}\n", encoding="utf-8")
    for _ in range(3):  # longtable measures its columns
        done = subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout[-2000:]
    subprocess.run(["pdftoppm", "-r", str(DPI), "-gray", "t.pdf", "page"], cwd=tmp_path, check=True)
    pages = sorted(tmp_path.glob("page*.pgm"))
    assert len(pages) >= (3 if name == "long" else 1)
    for page in pages:
        _, size, _, data = page.read_bytes().split(b"\n", 3)
        width, height = map(int, size.split())
        ink = np.frombuffer(data, np.uint8).reshape(height, width) < 200
        columns, lines = np.nonzero(ink.any(axis=0))[0], np.nonzero(ink.any(axis=1))[0]
        # The text block is 345 points wide and ends 480 points from the left, whatever paper size
        # TeX is configured for, and ends 700 points from the top, page number included.
        assert columns[-1] - columns[0] <= 345 * DPI / 72 + 2
        assert columns[-1] <= 480 * DPI / 72 + 2
        assert lines[-1] <= 705 * DPI / 72
