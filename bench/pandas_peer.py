# SPDX-License-Identifier: Apache-2.0
"""What pandas takes for aggregates of the scores in a CSV file; runs where pandas is installed.

    python pandas_peer.py SCORES.csv

prints JSON: seconds (three each) to read the file, and to make each table from the frame in memory.
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
        chosen = frame[frame["main"]]
        cells = chosen.groupby(["model", "task"])["value"].mean()
        cells.groupby("model").mean().sort_values(ascending=False)

    def tasks() -> None:
        chosen = frame[frame["main"]].groupby(["model", "task"])["value"]
        chosen.agg(["count", "mean", "std", "min", "median", "max"])
        chosen.quantile([0.25, 0.75])

    def every() -> None:
        frame.groupby(["model", "task", "metric"])["value"].agg(["count", "mean", "std"])

    times = {work.__name__: timed(work) for work in (read, leaderboard, tasks, every)}
    print(json.dumps({"pandas": pd.__version__, "rows": len(frame), "seconds": times}))


def timed(work: Callable[[], None]) -> list[float]:
    """The seconds that ``work`` takes, three times."""
    found = []
    for _ in range(3):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return found


if __name__ == "__main__":
    main(sys.argv[1])
