# SPDX-License-Identifier: Apache-2.0
"""Many connections: rates and times of look-ups and small aggregates, ratios to peers."""

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
TIMEOUT = 60.0  # maximal seconds of a repetition


def measure(name: str, url: str, lookups: Sequence[str]) -> list[Result]:
    """Return rates and times of one server under many connections, medians of three repetitions."""
    measured: list[Result] = []
    queries = aggregates()
    for connections in CONNECTIONS:
        parts = [lookups[n * LOOKUPS : (n + 1) * LOOKUPS] for n in range(LEAST + 1)]
        measured += _rates(f"{name}, look-ups, {connections} connections", url, parts, connections)
        batches = [list(itertools.islice(queries, AGGREGATES)) for _ in range(LEAST + 1)]
        what = f"{name}, small aggregates, {connections} connections"
        measured += _rates(what, url, batches, connections)
    return measured


def _rates(what: str, url: str, parts: Sequence[Sequence[str]], connections: int) -> list[Result]:
    """Return rates of all parts but the first, a warm-up, or the error of a failed request."""
    try:
        rates = [ask(url, requests(url, part), connections, timeout=TIMEOUT) for part in parts]
    except (TimeoutError, Refused, ConnectionError) as error:
        return [failed(what, error)]
    return results(what, median(rates[1:]), f"median of {len(rates) - 1}")


def failed(what: str, error: Exception) -> Result:
    """Return a result that has an error instead of a rate."""
    return Result(what, 0.0, "answers in time", note=str(error) or type(error).__name__)


def median(rates: Sequence[Rate]) -> Rate:
    """Return the median of each field."""
    return Rate(*map(statistics.median, zip(*rates, strict=True)))


def results(what: str, rate: Rate, note: str = "") -> list[Result]:
    """Return the fields of a rate as results."""
    return [
        Result(what, rate.per_second, "/s", note=note),
        Result(f"{what}, p50", rate.p50, "ms"),
        Result(f"{what}, p95", rate.p95, "ms"),
        Result(f"{what}, p99", rate.p99, "ms"),
        Result(f"{what}, longest", rate.longest, "ms"),
    ]


def ratios(measured: Iterable[Result], ours: str) -> list[Result]:
    """Our rates, p50, p95 and p99 as ratios to those of each other server."""
    values = {(each.what, each.unit): each.value for each in measured if each.unit in ("/s", "ms")}
    ratios = []
    for (what, unit), value in values.items():
        name, _, which = what.partition(", ")
        own = values.get((f"{ours}, {which}", unit))
        if name != ours and own and value and not which.endswith("longest"):
            ratios.append(Result(f"{ours}, {which}", own / value, "x", against=name))
    return ratios
