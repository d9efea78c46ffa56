# SPDX-License-Identifier: Apache-2.0
"""``docs/benchmarks.md``: each goal has an existing benchmark, and each benchmark is listed."""

import re
import shlex

import pytest

from bench.__main__ import names
from kgbench.rdf import queries
from tests import documented

PAGE = documented.page("benchmarks.md")
GOALS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.partition("## Goals against measurements")[2]
    .partition("\n## ")[0]
    .splitlines()
    if line.startswith("| ") and not line.startswith("| work")
]


@pytest.mark.parametrize("row", GOALS, ids=lambda row: row[0])
def test_each_goal_has_a_measurement_and_its_benchmark(row):
    """A row has the goal, the measurement, whether it was reached, and the benchmark."""
    work, _, goal, measured, reached, benchmark = row

    assert work
    assert goal
    assert re.search(r"\d", measured)
    assert reached in {"yes", "nearly", "no"}
    assert benchmark.strip("`") in names()


def test_every_benchmark_is_told_of():
    """The page names every benchmark."""
    assert {name for name in names() if f"`{name}`" not in PAGE} == set()


def test_the_commands_of_the_page_can_be_given():
    """The options of the benchmarks and the queries of their store exist."""
    (block,) = [body for mark, body in documented.blocks(PAGE) if mark == "sh"]
    lines = [shlex.split(line, comments=True) for line in block.splitlines()]
    handed = [word.removeprefix("BENCH=") for line in lines for word in line if "BENCH=" in word]
    named = [word for text in handed for word in text.partition(" --")[0].split()]

    assert named
    assert set(named) <= set(names())
    asked = {line[2] for line in lines if line[:2] == ["kgbench", "query"]}
    assert asked
    assert asked <= set(queries.names())
