# SPDX-License-Identifier: Apache-2.0
"""Times of pandas for aggregates of the scores in a CSV file; needs pandas only.

    python pandas_peer.py SCORES.csv

prints JSON: the seconds (three each) of reading the file and of making each table from the frame.
"""

import json
import sys
import time
from collections.abc import Callable

import pandas as pd  # type: ignore[import-not-found, import-untyped, unused-ignore]


def main(path: str) -> None:
    """Read, aggregate and print the times."""
    frame = pd.DataFrame()

    def read() -> None:
        nonlocal frame
        frame = pd.read_csv(path)

    def leaderboard() -> None:
        selection = frame[frame["main"]]
        cells = selection.groupby(["model", "task"])["value"].mean()
        cells.groupby("model").mean().sort_values(ascending=False)

    def tasks() -> None:
        selection = frame[frame["main"]].groupby(["model", "task"])["value"]
        selection.agg(["count", "mean", "std", "min", "median", "max"])
        selection.quantile([0.25, 0.75])

    def every() -> None:
        frame.groupby(["model", "task", "metric"])["value"].agg(["count", "mean", "std"])

    times = {work.__name__: timed(work) for work in (read, leaderboard, tasks, every)}
    print(json.dumps({"pandas": pd.__version__, "rows": len(frame), "seconds": times}))


def timed(work: Callable[[], None]) -> list[float]:
    """Return the seconds of three calls of ``work``."""
    seconds = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - begin)
    return seconds


if __name__ == "__main__":
    main(sys.argv[1])
