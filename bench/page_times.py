# SPDX-License-Identifier: Apache-2.0
"""Response times of pages for one client: first after a start, then repeated."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from bench.clients import ask, gets
from bench.harness import Result

AGAIN = 20  # requests of each page
GOAL = "under 50 ms"


def measure(name: str, root: str, paths: Mapping[str, Sequence[str]]) -> list[Result]:
    """Return the times of the front page and of pages by kind, for one client."""
    front = ask(root, gets(root, [""]), 1)
    results = [Result(f"{name}, front page, the first of all", front.longest, "ms")]
    for kind, pages in paths.items():
        first = [ask(root, gets(root, [path]), 1).longest for path in pages]
        again = ask(root, gets(root, [*pages] * AGAIN), 1)
        what = f"{name}, pages: {kind}"
        note = f"{len(pages)} pages, the slowest {max(first):.0f} ms"
        results += [
            Result(f"{what}, first time, median", statistics.median(first), "ms", "", GOAL, note),
            Result(f"{what}, again, p50", again.p50, "ms", "", GOAL),
            Result(f"{what}, again, p95", again.p95, "ms", "", GOAL),
        ]
    return results
