# SPDX-License-Identifier: Apache-2.0
"""Tables on terminals of any width: no line is too long, and no content is missing."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kgbench.tables import Column, Kind, Table
from kgbench.tables.rendering import Grid, as_terminal, render, render_terminal

NAMES = st.text(st.sampled_from("ab-/ 語"), max_size=60).map(str.strip)
NUMBERS = st.integers(-999, 99_999).map(str)
HEADS = st.sampled_from(["n", "to", "from below", "Mean A"])


@st.composite
def grids(draw, most_names):
    """Draw tables whose first columns are names and whose other columns are numbers."""
    names, numbers = draw(st.integers(1, most_names)), draw(st.integers(0, 9))
    rows = draw(st.lists(st.tuples(*[NAMES] * names, *[NUMBERS] * numbers), max_size=5))
    heads = draw(st.tuples(*[HEADS] * (names + numbers)))
    return Grid(heads, rows, [True] * names + [False] * numbers)


@given(grids(2), st.integers(100, 200))
def test_no_line_is_longer_than_the_terminal(grid, width):
    """No line exceeds the width of the terminal, whatever the table contains."""
    assert max(cell_len(line) for line in render_terminal("", grid, width).splitlines()) <= width


@given(grids(5), st.one_of(st.none(), st.integers(1, 200)))
def test_nothing_is_cut_off(grid, width):
    """Every character of every cell is present; names may be repeated, numbers are not."""
    said = render_terminal("", grid, width)
    digits = [cell for row in grid.rows for cell in row if cell.lstrip("-").isdigit()]

    assert sorted(digits) == sorted(word for word in said.split() if word.lstrip("-").isdigit())
    for sign in "ab語":
        assert said.count(sign) >= sum(name.count(sign) for row in grid.rows for name in row)


WIDE = Table(
    "Scores",
    (
        *(Column(name, name.title()) for name in ("task", "model")),
        Column("mean", "Mean", Kind.SCORE),
        Column("low", "95 % from", Kind.SCORE),
        Column("high", "to", Kind.SCORE),
        Column("n", "Not judged", Kind.COUNT),
    ),
    (
        ("RdfFriendCount-turtle-1", "noisy", 0.5, 0.25, 0.75, 12),
        ("RdfFriendCount-turtle-1", "oracle", 1.0, 1.0, 1.0, 12),
    ),
)


def test_a_table_that_fits_is_one_block():
    """Headings stand on one line if there is room for them."""
    assert as_terminal(WIDE, 76) == as_terminal(WIDE)
    assert (
        as_terminal(WIDE)
        == """\
Scores

  Task                      Model     Mean   95 % from      to   Not judged
 ───────────────────────────────────────────────────────────────────────────
  RdfFriendCount-turtle-1   noisy    0.500       0.250   0.750           12
  RdfFriendCount-turtle-1   oracle   1.000       1.000   1.000           12

"""
    )


def test_columns_move_together_first():
    """A table that is slightly too wide loses space before its headings are broken."""
    assert (
        as_terminal(WIDE, 75)
        == """\
Scores

  Task                     Model    Mean  95 % from     to  Not judged
 ──────────────────────────────────────────────────────────────────────
  RdfFriendCount-turtle-1  noisy   0.500      0.250  0.750          12
  RdfFriendCount-turtle-1  oracle  1.000      1.000  1.000          12

"""
    )


def test_headings_take_several_lines_next():
    """Numbers stay beside their names as long as headings can be broken."""
    assert (
        as_terminal(WIDE, 70)
        == """\
Scores

                                              95 %              Not
  Task                      Model     Mean    from      to   judged
 ───────────────────────────────────────────────────────────────────
  RdfFriendCount-turtle-1   noisy    0.500   0.250   0.750       12
  RdfFriendCount-turtle-1   oracle   1.000   1.000   1.000       12

"""
    )


def test_numbers_stand_in_blocks_with_both_ends_of_an_interval():
    """Each block names its rows, and both ends of an interval stay in one block."""
    one = replace(WIDE, columns=WIDE.columns[1:], rows=tuple(row[1:] for row in WIDE.rows))

    assert (
        as_terminal(one, 34)
        == """\
Scores

                  95 %
  Model    Mean   from     to
 ─────────────────────────────
  noisy   0.500  0.250  0.750
  oracle  1.000  1.000  1.000

             Not
  Model   judged
 ────────────────
  noisy       12
  oracle      12

"""
    )


def test_many_columns_of_text_stand_in_blocks():
    """If even narrow columns of text do not fit, each block repeats the first."""
    names = tuple("abcdef")
    row = tuple(f"{name}-{'long' * 4}" for name in names)
    said = as_terminal(Table("1 row", tuple(Column(n, n) for n in names), (row,)), 60)

    assert said.count("a-longlonglonglong") > 1
    assert max(cell_len(line) for line in said.splitlines()) <= 60
    assert all(said.count(f"{name}-longlonglonglong") == 1 for name in names[1:])


def test_text_is_broken_between_the_parts_of_an_iri():
    """A table of text keeps its columns; long cells take several lines."""
    table = Table(
        "1 row",
        (Column("run", "run"), Column("answer", "answer")),
        (("https://example.org/run/friends", "a short answer with words"),),
    )

    assert (
        as_terminal(table, 48)
        == """\
1 row

  run                    answer
 ───────────────────────────────────────────────
  https://example.org/   a short answer with
  run/friends            words

"""
    )


@pytest.mark.parametrize(("columns", "width"), [("60", 60), (None, None)])
def test_the_width_comes_from_a_terminal_or_the_environment(columns, width, monkeypatch):
    """A file gets unbroken lines, unless COLUMNS sets a width."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)

    assert render(WIDE, "table") == as_terminal(WIDE, width)
