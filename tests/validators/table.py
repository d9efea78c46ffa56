# SPDX-License-Identifier: Apache-2.0
"""The table of validation results, and its place in ``docs/publish.md``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from tests.documented import DOCS
from tests.queries.engines.engines import Missing
from tests.validators.artefacts import Artefacts
from tests.validators.checks import CHECKS, Check
from tests.validators.known import KNOWN
from tests.validators.packages import PACKAGES

PAGE = DOCS / "publish.md"
CONFORMS, ABSENT = "conforms", "not installed"
#: Used on the page only: nobody has run the validator over that store yet.
NOT_RUN = "not run"
ALL: list[Check] = [*CHECKS, *PACKAGES]
_HEAD = (
    "| artefact | validator | version | quick start | published models |\n|---|---|---|---|---|\n"
)
_REASONS = "| artefact | finding | reason |\n|---|---|---|\n"
_RESULTS = re.compile(r"(?<=^### Results\n\n).*?(?=^### )", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """The findings of one validator in one artefact of a store: names with counts, or nothing."""

    names: tuple[tuple[str, int], ...] = ()
    absent: str = ""

    def __str__(self) -> str:
        if self.absent:
            return ABSENT
        if not self.names:
            return CONFORMS
        number = sum(count for _, count in self.names)
        told = ", ".join(f"{name} ({count})" for name, count in self.names)
        return f"{number} violation{'s' * (number > 1)}: {told}"

    def unexplained(self, artefact: str) -> list[str]:
        """Return the names of findings without a reason."""
        reasons = tuple(KNOWN.get(artefact, ()))
        return [name for name, _ in self.names if not reasons or not name.startswith(reasons)]


@dataclass(frozen=True)
class Row:
    """One line of the table: a result for each store."""

    artefact: str
    validator: str
    version: str
    results: tuple[str, ...]

    def __str__(self) -> str:
        columns = (self.artefact, self.validator, self.version, *self.results)
        return f"| {' | '.join(columns)} |"


def cell(check: Check, found: Artefacts) -> Cell:
    """Return the findings of a validator in the artefact of a store."""
    try:
        names = check.faults(found)
    except Missing as missing:
        return Cell(absent=str(missing))
    return Cell(tuple(sorted(Counter(names).items())))


def version(check: Check) -> str:
    """Return the version of a validator, or a dash if it is not installed."""
    try:
        return check.version()
    except Missing:
        return "-"


def cells(found: Artefacts) -> list[Cell]:
    """Return the findings of all validators in a store, in the order of the table."""
    return [cell(check, found) for check in ALL]


def rows(*stores: Sequence[Cell]) -> list[Row]:
    """Return the table of several stores."""
    return [
        Row(check.artefact, check.validator, version(check), tuple(str(one[k]) for one in stores))
        for k, check in enumerate(ALL)
    ]


def rendered(table: Sequence[Row]) -> str:
    """Return the table in Markdown, with the reasons for accepted findings."""
    text = _HEAD + "".join(f"{row}\n" for row in table) + "\n"
    reasons = [
        f"| {artefact} | {name} | {reason} |\n"
        for artefact, found in KNOWN.items()
        for name, reason in found.items()
    ]
    return text + (_REASONS + "".join(reasons) + "\n" if reasons else "")


def written(page: str, table: Sequence[Row]) -> str:
    """Return the page with this table."""
    assert _RESULTS.search(page), "the page has no section for results"
    return _RESULTS.sub(lambda _: rendered(table), page)


def shown(page: str) -> list[Row]:
    """Return the table on a page."""
    (text,) = _RESULTS.findall(page)
    lines = text.split("\n\n")[0].splitlines()[2:]
    columns = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return [Row(*one[:3], tuple(one[3:])) for one in columns]
