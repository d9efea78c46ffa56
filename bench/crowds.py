# SPDX-License-Identifier: Apache-2.0
"""Many connections at once: rates and times of look-ups and small aggregates, ratios to peers."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Iterable, Sequence

from bench.clients import Rate, Refused, ask, requests
from bench.harness import LEAST, Result
from bench.questions import aggregates

CONNECTIONS = (64, 256)
LOOKUPS = 1_500  # per repetition
AGGREGATES = 512
PATIENCE = 60.0  # seconds that a repetition may take


def measure(name: str, url: str, lookups: Sequence[str]) -> list[Result]:
    """Rates and times of one server under many connections, medians of three repetitions."""
    found: list[Result] = []
    counted = aggregates()
    for connections in CONNECTIONS:
        parts = [lookups[n * LOOKUPS : (n + 1) * LOOKUPS] for n in range(LEAST + 1)]
        found += _repeated(f"{name}, look-ups, {connections} connections", url, parts, connections)
        some = [list(itertools.islice(counted, AGGREGATES)) for _ in range(LEAST + 1)]
        what = f"{name}, small aggregates, {connections} connections"
        found += _repeated(what, url, some, connections)
    return found


def _repeated(
    what: str, url: str, parts: Sequence[Sequence[str]], connections: int
) -> list[Result]:
    """The first part warms up. One result says why there are none, where a request failed."""
    try:
        rates = [ask(url, requests(url, part), connections, patience=PATIENCE) for part in parts]
    except (TimeoutError, Refused, ConnectionError) as error:
        return [failed(what, error)]
    return results(what, median(rates[1:]), f"median of {len(rates) - 1}")


def failed(what: str, error: Exception) -> Result:
    """In the place of a rate, why there is none."""
    return Result(what, 0.0, "answers in time", note=str(error) or type(error).__name__)


def median(rates: Sequence[Rate]) -> Rate:
    """The median of each column."""
    return Rate(*map(statistics.median, zip(*rates, strict=True)))


def results(what: str, rate: Rate, note: str = "") -> list[Result]:
    """One rate as results."""
    return [
        Result(what, rate.per_second, "/s", note=note),
        Result(f"{what}, p50", rate.p50, "ms"),
        Result(f"{what}, p95", rate.p95, "ms"),
        Result(f"{what}, p99", rate.p99, "ms"),
        Result(f"{what}, longest", rate.longest, "ms"),
    ]


def ratios(found: Iterable[Result], ours: str) -> list[Result]:
    """Our rates, p50, p95 and p99 as multiples of those of each other server."""
    values = {(one.what, one.unit): one.value for one in found if one.unit in ("/s", "ms")}
    ratios = []
    for (what, unit), value in values.items():
        name, _, which = what.partition(", ")
        own = values.get((f"{ours}, {which}", unit))
        if name != ours and own and value and not which.endswith("longest"):
            ratios.append(Result(f"{ours}, {which}", own / value, "x", against=name))
    return ratios
