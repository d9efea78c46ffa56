# SPDX-License-Identifier: Apache-2.0
"""The page about changed answers, made from the numbers in ``docs/changed-answers.csv``.

``make answer-rates`` measures these numbers anew.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

NUMBERS: Final = Path(__file__).resolve().parents[1] / "changed-answers.csv"
CHANGES: Final = ("drop", "widen", "narrow", "swap", "add")
LIMIT: Final = 0.01
_FEW: Final = 2  # that may keep the score, but no more than three in a hundred
INTRODUCTION: Final = """\
# Changed answers

A judge is as good as its ability to refuse almost right answers. Right answers of
[generated tasks](../worlds.md) are changed in small ways, by operators that belong to the language
of the answer and not to the family: a part is left out (*drop*), the answer says less or admits
more (*widen*), it says more or admits less (*narrow*), a part is replaced by another (*swap*), or
something is demanded or said in addition (*add*). Of each kind, {number} changed answers of each
level are judged, at most ten of a case, and fewer where the right answers of 60 cases have fewer
places for such a change. Changed answers that are equivalent do not count: another engine finds
the same graph, or the same results on 200 random graphs. Nor do changes without an effect by
specification: types that numbers of a source have anyway in mappings, and parts of frames below
properties with literals.

The table shows how many of the others keep the full score, of how many. `make answer-rates`
measures the numbers again; the wide tests compare them.
"""
REASONS: Final = """
## Above 1 %

At these levels more than one in a hundred changed answers keeps the full score (where fewer than
200 were judged: more than two, or than three in a hundred).

| family | change | level: kept, of | why |
|---|---|---|---|
"""


class Rate(NamedTuple):
    """How many changed answers of a level were tried, are equivalent, and keep the full score.

    ``level`` is 0 for families without levels. ``reason`` says why many keep it, else ``""``.
    """

    family: str
    level: int
    change: str
    tried: int
    equivalent: int
    kept: int
    reason: str

    @property
    def counted(self) -> int:
        """How many are not equivalent."""
        return self.tried - self.equivalent

    @property
    def is_high(self) -> bool:
        """Whether more keep the full score than may."""
        return self.kept > max(LIMIT * self.counted, min(_FEW, 3 * LIMIT * self.counted))


def rates() -> list[Rate]:
    """Return the recorded rates."""
    with NUMBERS.open(encoding="utf-8", newline="") as file:
        return [
            Rate(
                family=row["family"],
                level=int(row["level"]),
                change=row["change"],
                tried=int(row["tried"]),
                equivalent=int(row["equivalent"]),
                kept=int(row["kept"]),
                reason=row["reason"],
            )
            for row in csv.DictReader(file)
        ]


def write(found: Iterable[Rate]) -> None:
    """Record rates in place of all before."""
    with NUMBERS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Rate._fields)
        writer.writerows(found)


def page() -> str:
    """Return the page: a table of all families, and the reasons of high rates."""
    found = rates()
    families: dict[str, dict[str, list[Rate]]] = defaultdict(lambda: defaultdict(list))
    high: dict[tuple[str, str, str], list[Rate]] = defaultdict(list)
    for rate in found:
        families[rate.family][rate.change].append(rate)
        if rate.is_high:
            high[rate.family, rate.change, rate.reason].append(rate)
    lines = [
        INTRODUCTION.format(number=max(rate.tried for rate in found)),
        f"| family | {' | '.join(CHANGES)} |",
        "|---" * (len(CHANGES) + 1) + "|",
    ]
    for family, changes in families.items():
        cells = [
            f"{sum(rate.kept for rate in changes[change])} of "
            f"{sum(rate.counted for rate in changes[change])}"
            for change in CHANGES
        ]
        lines.append(f"| `{family}` | {' | '.join(cells)} |")
    lines.append(REASONS.rstrip("\n"))
    for (family, change, reason), levels in high.items():
        shares = "; ".join(
            (f"{rate.level}: " if rate.level else "") + f"{rate.kept}, {rate.counted}"
            for rate in levels
        )
        lines.append(f"| `{family}` | {change} | {shares} | {reason} |")
    return "\n".join(lines) + "\n"
