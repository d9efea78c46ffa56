# SPDX-License-Identifier: Apache-2.0
r"""Tables in LaTeX that fit on pages: wide tables in blocks of columns, long ones over pages.

Columns are laid out as on a terminal (:mod:`kgbench.analysis.terminal`), for the text width of the
class ``article``, 345 points. A table that fits on one page floats as a ``table``; any other is a
``longtable``. A cell with several lines becomes several rows, so that pages may break within it.
The result needs the packages booktabs and longtable, and runs with pdfTeX, LuaTeX and XeTeX.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest

from kgbench.analysis.terminal import Block, Grid, lay_out, lines
from kgbench.characters import one_line

WIDTH = 76
"""The characters in a line, by the width of digits in ``footnotesize``."""
_PAGE = 45  # lines of a floating table; a page has 57 lines in this size
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
    "-": "-{}",  # two hyphens would become a dash
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
    layout = lay_out(grid, WIDTH)
    blocks = [_Rows(grid, block, marks, grouped=layout.grouped) for block in layout.blocks]
    caption = " ".join([title + ".", *notes])
    body = [list(block.body()) for block in blocks]
    short = len(body) == 1 and len(body[0]) + len(caption) // WIDTH < _PAGE
    lines_ = list(_floating(blocks[0], body[0], caption) if short else _long(title, blocks, body))
    if not short:
        lines_ += [*(rf"\noindent {escaped(note)}\par" for note in notes), r"\endgroup"]
    if any(r"\kgbenchcharacter" in line for line in lines_):
        lines_.insert(0, _UNICODE)
    return "\n".join([*lines_, ""])


def escaped(text: str) -> str:
    """Return one line of text with all characters escaped that are special to LaTeX."""
    return "".join(map(_character, one_line(text)))


def _character(character: str) -> str:
    if character in _CHARACTERS:
        return _CHARACTERS[character]
    if character.isascii() or character in _PLAIN:
        return character
    return rf"\kgbenchcharacter{{{ord(character)}}}"


class _Rows:
    """The rows of one block of columns in LaTeX."""

    def __init__(self, grid: Grid, block: Block, marks: Sequence[bool], *, grouped: bool) -> None:
        self._grid, self._block, self._marks, self._grouped = grid, block, marks, grouped
        self.alignment = "".join("l" if grid.texts[index] else "r" for index, _ in block)

    def head(self) -> Iterator[str]:
        """Yield the rows of headings."""
        if self._grouped:
            yield self._spanning(self._grid.heads[0])
        yield from self._lines(self._grid.heads, marked=False)

    def body(self) -> Iterator[str]:
        """Yield the rows of the body."""
        grouped = self._grouped
        for name, rows in groupby(self._grid.rows, key=lambda row: row[0] if grouped else ""):
            if grouped:
                yield self._spanning(name)
            for row in rows:
                yield from self._lines(row, marked=True)

    def _spanning(self, text: str) -> str:
        # The asterisk prevents a page break after the row.
        return rf"\multicolumn{{{len(self._block)}}}{{l}}{{{escaped(text)}}} \\*"

    def _lines(self, row: Sequence[str], *, marked: bool) -> Iterator[str]:
        bold = [
            marked and self._marks[index] and row[index].startswith(_BOLD)
            for index, _ in self._block
        ]
        cells = [
            lines(row[index].strip("*") if is_bold else row[index], wide)
            for (index, wide), is_bold in zip(self._block, bold, strict=True)
        ]
        for texts in zip_longest(*cells, fillvalue=""):
            formatted = (
                rf"\textbf{{{escaped(text)}}}" if is_bold and text else escaped(text)
                for text, is_bold in zip(texts, bold, strict=True)
            )
            yield " & ".join(formatted) + r" \\"


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
    for number, (rows, rows_of_block) in enumerate(zip(blocks, body, strict=True)):
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
        yield from rows_of_block
        yield r"\end{longtable}"
        if number:
            yield r"\addtocounter{table}{-1}"
