# SPDX-License-Identifier: Apache-2.0
"""The page of figures over levels of difficulty, drawn from the numbers in ``docs/difficulty.csv``.

``make difficulty`` measures these numbers anew.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from kgbench.analysis.difficulty import COLUMNS
from kgbench.model import Json
from kgbench.tables import Column, Kind, Table, Value

NUMBERS = Path(__file__).resolve().parents[1] / "difficulty.csv"

INTRODUCTION = """\
# Families by level of difficulty

Three baselines on all families of tasks about [generated worlds](../worlds.md): `baseline:oracle`
knows the answers, `baseline:noisy` damages eight of ten of them, and `baseline:silent` gives empty
answers. Each panel is a kind of task, and each point is the mean of the main score over {cases}
cases of a level. No level is difficult for a baseline: the oracle must have 1.0 at each, the silent
baseline 0, and the noisy baseline a value between, sometimes 0 by chance. These commands draw the
same figures of your own results:

```sh
kgbench analyze difficulty
kgbench plot difficulty
```

Families are the task classes whose tasks have a parameter `level`. `make difficulty` measures the
numbers of this page again.
"""


@cache
def table() -> Table:
    """Return the numbers of the page, as ``kgbench analyze difficulty`` gives them."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        rows = [
            tuple(_value(column, row[column.name]) for column in COLUMNS)
            for row in csv.DictReader(file)
        ]
    context: dict[str, Json] = {"estimand_label": "cases of this kind"}
    return Table("Scores by level of difficulty", COLUMNS, tuple(rows), context=context)


def _value(column: Column, text: str) -> Value:
    if not text:
        return None
    if column.kind is Kind.COUNT:
        return int(text)
    return float(text) if column.kind is Kind.SCORE else text


def families() -> list[str]:
    """Return the families of the page, in the order of their names."""
    return sorted(set(map(str, table().column("family"))))


def page() -> str:
    """Return the page: a figure for each family."""
    cases = max(int(str(number)) for number in table().column("n"))
    parts = [INTRODUCTION.format(cases=cases)]
    for family in families():
        words = f"Means of three baselines on {family}, by level of difficulty"
        parts.append(f"\n## {family}\n\n![{words}](difficulty-{family}.svg)\n")
    return "".join(parts)


def figures() -> Mapping[str, str]:
    """Return the figure of each family as SVG, by its path below ``docs/``."""
    from kgbench.plots.figures import Layout, save
    from kgbench.plots.size_curves import DIFFICULTY

    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for family in families():
            own = replace(table().where("family", family), title=family)
            figure, shown = DIFFICULTY.figure(own, {}, Layout())
            name = f"difficulty-{family}"
            path = next(
                path
                for path in save(
                    figure, Path(folder), name, formats=["svg"], tables=[shown], state=""
                )
                if path.suffix == ".svg"
            )
            found[f"reference/{name}.svg"] = path.read_text(encoding="utf-8")
    return found
