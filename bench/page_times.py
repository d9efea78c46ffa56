# SPDX-License-Identifier: Apache-2.0
"""How long pages take for one reader: the first time after a start, and again."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from bench.clients import ask, gets
from bench.harness import Result

AGAIN = 20  # times that each page is asked for
GOAL = "under 50 ms"


def measure(name: str, root: str, paths: Mapping[str, Sequence[str]]) -> list[Result]:
    """The time of the front page, and those of pages by kind, for one reader."""
    front = ask(root, gets(root, [""]), 1)
    found = [Result(f"{name}, front page, the first of all", front.longest, "ms")]
    for kind, some in paths.items():
        first = [ask(root, gets(root, [path]), 1).longest for path in some]
        again = ask(root, gets(root, [*some] * AGAIN), 1)
        what = f"{name}, pages: {kind}"
        note = f"{len(some)} pages, the slowest {max(first):.0f} ms"
        found += [
            Result(f"{what}, first time, median", statistics.median(first), "ms", "", GOAL, note),
            Result(f"{what}, again, p50", again.p50, "ms", "", GOAL),
            Result(f"{what}, again, p95", again.p95, "ms", "", GOAL),
        ]
    return found
