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
from tests.validators.packages import PACKAGES

PAGE = DOCS / "publish.md"
CONFORMS, ABSENT = "conforms", "not installed"
ALL: list[Check] = [*CHECKS, *PACKAGES]
_HEAD = (
    "| artefact | validator | version | quick start | published models |\n|---|---|---|---|---|\n"
)
_RESULTS = re.compile(r"(?<=^### Results\n\n).*?(?=^### )", re.DOTALL | re.MULTILINE)


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


def result(check: Check, found: Artefacts) -> str:
    """Return the findings of a validator in the artefact of a store: names with counts."""
    try:
        names = Counter(check.faults(found))
    except Missing:
        return ABSENT
    if not names:
        return CONFORMS
    told = ", ".join(f"{name} ({count})" for name, count in sorted(names.items()))
    return f"{names.total()} violation{'s' * (names.total() > 1)}: {told}"


def results(found: Artefacts) -> list[str]:
    """Return the findings of all validators in a store, in the order of the table."""
    return [result(check, found) for check in ALL]


def rows(*stores: Sequence[str]) -> list[Row]:
    """Return the table of several stores."""

    def version(check: Check) -> str:
        try:
            return check.version()
        except Missing:
            return "-"

    return [
        Row(check.artefact, check.validator, version(check), tuple(one[k] for one in stores))
        for k, check in enumerate(ALL)
    ]


def written(page: str, table: Sequence[Row]) -> str:
    """Return the page with this table."""
    assert _RESULTS.search(page), "the page has no section for results"
    text = _HEAD + "".join(f"{row}\n" for row in table) + "\n"
    return _RESULTS.sub(lambda _: text, page)


def shown(page: str) -> list[Row]:
    """Return the table on a page."""
    (text,) = _RESULTS.findall(page)
    lines = text.split("\n\n")[0].splitlines()[2:]
    columns = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return [Row(*one[:3], tuple(one[3:])) for one in columns]
