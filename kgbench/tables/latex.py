# SPDX-License-Identifier: Apache-2.0
"""Tables in LaTeX: a ``tabular`` in a floating ``table``, or a ``longtable`` of several pages.

The result needs the packages booktabs and longtable, and runs with pdfTeX, LuaTeX and XeTeX.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kgbench.characters import one_line
from kgbench.tables.rendering import Grid

_PAGE = 45  # rows of a floating table
_LONG = 40  # characters of a cell, above which its column breaks lines
_CHARACTERS = {
    "[": "{[}",  # after the end of a row it would begin an argument
    "]": "{]}",
    "*": "{*}",  # after the end of a row it would suppress a page break
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",  # fonts in the encoding OT1 have other characters at these codes
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "\u2013": "--",
    "—": "---",
    "…": r"\dots{}",
    "·": r"\textperiodcentered{}",
    "\u2212": "$-$",
    "±": r"$\pm$",
    "\u00d7": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
}
# pdfTeX stops at most Unicode characters: there, their code points are shown instead.
_UNICODE = (
    r"\providecommand{\kgbenchcharacter}[1]"
    r"{\ifdefined\Uchar\Uchar\numexpr#1\relax\else{[}U+#1{]}\fi}"
)
_PLAIN = frozenset("ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöùúûüýÿßÆæØøŒœ")
_BOLD = "**"


def render_latex(title: str, grid: Grid, marks: Sequence[bool], notes: Sequence[str]) -> str:
    r"""Render a table as LaTeX; in columns with ``marks``, cells between ``**`` are set in bold.

    >>> escaped("A & B_1")
    'A \\& B\\_1'
    """
    label = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    caption = rf"\caption{{{escaped(' '.join([title + '.', *notes]))}}}\label{{tab:{label}}}"
    head = [r"\toprule", _row(grid.heads), r"\midrule"]
    body = [_row(row, marks) for row in grid.rows]
    columns = "".join(_alignment(number, grid) for number in range(len(grid.heads)))
    make = _floating if len(body) < _PAGE else _long
    lines = list(make(caption, f"@{{}}{columns}@{{}}", head, body))
    if any(r"\kgbenchcharacter" in line for line in lines):
        lines.insert(0, _UNICODE)
    return "\n".join([*lines, ""])


def escaped(text: str) -> str:
    """Return one line of text with all characters escaped that are special to LaTeX."""
    hyphens = re.split("(?<=-)(?=-)", one_line(text))  # two of them would become a dash
    return "{}".join("".join(map(_character, part)) for part in hyphens)


def _character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character.isascii() or character in _PLAIN:
        return character
    return rf"\kgbenchcharacter{{{ord(character)}}}"


def _alignment(column: int, grid: Grid) -> str:
    if any(len(row[column]) > _LONG for row in grid.rows):
        return r"p{0.4\linewidth}"
    return "l" if grid.texts[column] else "r"


def _row(cells: Sequence[str], marks: Sequence[bool] | None = None) -> str:
    texts = [
        rf"\textbf{{{escaped(cell.strip('*'))}}}"
        if marks is not None and marks[number] and cell.startswith(_BOLD)
        else escaped(cell)
        for number, cell in enumerate(cells)
    ]
    return " & ".join(texts) + r" \\"


def _floating(
    caption: str, columns: str, head: Sequence[str], body: Sequence[str]
) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"\centering\footnotesize\setlength{\tabcolsep}{3pt}"
    yield caption
    yield rf"\begin{{tabular}}{{{columns}}}"
    yield from [*head, *body, r"\bottomrule", r"\end{tabular}", r"\end{table}"]


def _long(caption: str, columns: str, head: Sequence[str], body: Sequence[str]) -> Iterator[str]:
    yield r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\LTcapwidth}{\linewidth}"
    yield rf"\begin{{longtable}}{{{columns}}}"
    yield rf"{caption}\\"
    yield from [*head, r"\endfirsthead", *head, r"\endhead", r"\bottomrule", r"\endfoot"]
    yield from [*body, r"\end{longtable}", r"\endgroup"]
