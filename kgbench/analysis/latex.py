# SPDX-License-Identifier: Apache-2.0
r"""Tables in LaTeX that fit a page: columns in blocks, long ones over several pages.

Columns are laid out as on a terminal (:mod:`kgbench.analysis.terminal`), for the text width of the
class ``article``, 345 points. What fits one page floats as a ``table``, everything else is a
``longtable``. A cell of several lines takes as many rows, so that pages may break within it.
The packages booktabs and longtable are needed, and any of pdfTeX, LuaTeX and XeTeX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest

from kgbench.analysis.terminal import Block, Grid, laid_out, lines
from kgbench.characters import one_line

WIDTH = 76
"""Characters beside each other, by the width of digits in ``footnotesize``."""
_PAGE = 45  # lines, of the 57 that a page has in this size
_CHARACTERS = {
    "[": "{[}",  # after the end of a row it would begin an argument
    "]": "{]}",
    "*": "{*}",  # there, too
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
    "<": r"\textless{}",  # fonts of the encoding OT1 have other characters in these places
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "{''}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
    "-": "-{}",  # two would become a dash
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
# pdfTeX has no letters for most of Unicode and would stop: it shows their numbers.
_UNICODE = (
    r"\providecommand{\kgbenchcharacter}[1]"
    r"{\ifdefined\Uchar\Uchar\numexpr#1\relax\else{[}U+#1{]}\fi}"
)
_PLAIN = frozenset("ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÑÒÓÔÕÖÙÚÛÜÝàáâãäåçèéêëìíîïñòóôõöùúûüýÿßÆæØøŒœ")
_BOLD = "**"


def drawn(title: str, grid: Grid, marks: Sequence[bool], notes: Sequence[str]) -> str:
    r"""The table as LaTeX; cells of columns with ``marks`` are bold between two asterisks.

    >>> escaped("A & B_1")
    'A \\& B\\_1'
    """
    layout = laid_out(grid, WIDTH)
    blocks = [_Rows(grid, block, marks, grouped=layout.grouped) for block in layout.blocks]
    caption = " ".join([title + ".", *notes])
    body = [list(block.body()) for block in blocks]
    short = len(body) == 1 and len(body[0]) + len(caption) // WIDTH < _PAGE
    found = list(_floating(blocks[0], body[0], caption) if short else _long(title, blocks, body))
    if not short:
        found += [*(rf"\noindent {escaped(note)}\par" for note in notes), r"\endgroup"]
    if any(r"\kgbenchcharacter" in line for line in found):
        found.insert(0, _UNICODE)
    return "\n".join([*found, ""])


def escaped(text: str) -> str:
    """One line of text without anything that LaTeX would take for a command."""
    return "".join(map(_character, one_line(text)))


def _character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character.isascii() or character in _PLAIN:
        return character
    return rf"\kgbenchcharacter{{{ord(character)}}}"


class _Rows:
    """The columns of one block as rows of LaTeX."""

    def __init__(self, grid: Grid, block: Block, marks: Sequence[bool], *, grouped: bool) -> None:
        self._grid, self._block, self._marks, self._grouped = grid, block, marks, grouped
        self.alignment = "".join("l" if grid.texts[place] else "r" for place, _ in block)

    def head(self) -> Iterator[str]:
        """The rows of headings."""
        if self._grouped:
            yield self._spanning(self._grid.heads[0])
        yield from self._lines(self._grid.heads, marked=False)

    def body(self) -> Iterator[str]:
        """The other rows."""
        grouped = self._grouped
        for name, rows in groupby(self._grid.rows, key=lambda row: row[0] if grouped else ""):
            if grouped:
                yield self._spanning(name)
            for row in rows:
                yield from self._lines(row, marked=True)

    def _spanning(self, text: str) -> str:
        # The asterisk: no page ends after it.
        return rf"\multicolumn{{{len(self._block)}}}{{l}}{{{escaped(text)}}} \\*"

    def _lines(self, row: Sequence[str], *, marked: bool) -> Iterator[str]:
        bold = [
            marked and self._marks[place] and row[place].startswith(_BOLD)
            for place, _ in self._block
        ]
        cells = [
            lines(row[place].strip("*") if one else row[place], wide)
            for (place, wide), one in zip(self._block, bold, strict=True)
        ]
        for found in zip_longest(*cells, fillvalue=""):
            shown = (
                rf"\textbf{{{escaped(text)}}}" if one and text else escaped(text)
                for text, one in zip(found, bold, strict=True)
            )
            yield " & ".join(shown) + r" \\"


def _floating(rows: _Rows, body: Sequence[str], caption: str) -> Iterator[str]:
    yield r"\begin{table}"
    yield r"\centering\footnotesize\setlength{\tabcolsep}{3pt}"
    yield rf"\caption{{{escaped(caption)}}}"
    yield rf"\begin{{tabular}}{{{rows.alignment}}}"
    yield r"\toprule"
    yield from rows.head()
    yield r"\midrule"
    yield from body
    yield r"\bottomrule"
    yield r"\end{tabular}"
    yield r"\end{table}"


def _long(title: str, blocks: Sequence[_Rows], body: Sequence[Sequence[str]]) -> Iterator[str]:
    yield r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\LTcapwidth}{\linewidth}"
    for number, (rows, shown) in enumerate(zip(blocks, body, strict=True)):
        head = [r"\toprule", *rows.head(), r"\midrule"]
        yield rf"\begin{{longtable}}{{{rows.alignment}}}"
        if number == 0:
            yield rf"\caption{{{escaped(title)}.}}\\"
        yield from head
        yield r"\endfirsthead"
        yield from head
        yield r"\endhead"
        yield r"\bottomrule"
        yield r"\endfoot"
        yield from shown
        yield r"\end{longtable}"
        if number:
            yield r"\addtocounter{table}{-1}"
