# SPDX-License-Identifier: Apache-2.0
"""The printed cells of published tables."""

from __future__ import annotations

import csv

from kgbench import resources


def printed_rows(name: str) -> list[dict[str, str]]:
    """Read the printed cells of a published table, by column.

    They are kept in ``queries/published/NAME.csv``; the result is empty where a paper prints no
    values. A cell that is not printed is an empty text.
    """
    file = resources.path("queries", "published").joinpath(f"{name}.csv")
    if not file.is_file():
        return []
    with file.open(encoding="utf-8", newline="") as text:
        return list(csv.DictReader(text))
