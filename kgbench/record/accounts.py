# SPDX-License-Identifier: Apache-2.0
"""Usage of a run, read from its graph: calls, tokens, working time and prices.

Totals are computed from the graph alone, never carried over in memory or files, so that they are
right after any number of interruptions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from kgbench.rdf import moment, queries
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


@dataclass(slots=True)
class Usage:
    """Totals of one model in a run. ``uncounted`` answers came without token counts.

    ``batch_input``, ``batch_output`` and ``batch_cached`` are the parts of the totals that came in
    batches.
    """

    answers: int = 0
    failures: int = 0
    uncounted: int = 0
    input: int = 0
    output: int = 0
    cached: int = 0
    reasoning: int = 0
    batch_input: int = 0
    batch_output: int = 0
    batch_cached: int = 0

    def __add__(self, other: Usage) -> Usage:
        both = ((f.name, getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Usage(**{name: mine + theirs for name, mine, theirs in both})


class SessionPrice(NamedTuple):
    """A price used by a session: the model's IRI, USD per million tokens, date and source.

    ``batch`` is the factor for requests in batches.
    """

    model: str
    input: str
    output: str
    cached: str
    date: str
    source: str
    batch: str = "1"


def usage(store: Store, graph: str) -> dict[str, Usage]:
    """Sum up the usage of the calls in a run's graph, by model (IRI)."""
    totals: dict[str, Usage] = {}
    for row in queries.run(store, "run-usage", runGraph=graph):
        total = totals.setdefault(row["model"].value, Usage())
        if row["failed"].value == "true":
            total.failures += int(row["count"].value)
            continue
        total.reasoning += int(row["count"].value) * _number(row["reasoningTokens"])
        _count(total, row)
    return totals


def usage_by_task(store: Store, graph: str) -> dict[tuple[str, str], Usage]:
    """Sum up the usage of the answered calls in a run's graph, by task and model (IRIs)."""
    totals: dict[tuple[str, str], Usage] = {}
    for row in queries.run(store, "dialogue-usage", runGraph=graph):
        _count(totals.setdefault((row["task"].value, row["model"].value), Usage()), row)
    return totals


def _count(total: Usage, row: Any) -> None:
    """Add the calls of a row, which all have the same token counts."""
    count = int(row["count"].value)
    total.answers += count
    total.uncounted += count if row["inputTokens"] is None else 0
    read, written, cached = (
        count * _number(row[name]) for name in ("inputTokens", "outputTokens", "cachedTokens")
    )
    total.input += read
    total.output += written
    total.cached += cached
    if row["batched"].value == "true":
        total.batch_input += read
        total.batch_output += written
        total.batch_cached += cached


def prices(store: Store, graph: str) -> dict[str, SessionPrice]:
    """Return the price of each model (by IRI), from the last session that had one."""
    columns = ("model", "inputPrice", "outputPrice", "cachedPrice", "date", "source")
    rows = queries.run(store, "run-prices", runGraph=graph)
    paid = {}
    for row in rows:
        factor = "1" if row["batchFactor"] is None else row["batchFactor"].value
        paid[row["model"].value] = SessionPrice(*(row[name].value for name in columns))._replace(
            batch=factor
        )
    return paid


def working_seconds(store: Store, run: str, graph: str) -> float:
    """Return the seconds that sessions have worked on a run.

    A session that was killed counts until the end of its last stored call.
    """
    return sum((end - begin).total_seconds() for begin, end in _stretches(store, run, graph))


def failed_dialogues(store: Store, graph: str) -> dict[str, str]:
    """Return the error message of each open dialogue (IRI) whose last call failed."""
    rows = store.query(fill("waiting-dialogues.rq", graph=graph))
    return {r["dialogue"].value: r["why"].value for r in rows if r["dialogue"] is not None}


def _stretches(store: Store, run: str, graph: str) -> Iterator[tuple[datetime, datetime]]:
    rows = list(store.query(fill("session-times.rq", graph=graph, run=run)))
    begins = [datetime.fromisoformat(row["started"].value) for row in rows]
    later = [*begins[1:], *([begins[-1] + timedelta(days=36_500)] if begins else [])]
    for row, begin, until in zip(rows, begins, later, strict=True):
        if row["ended"] is not None:
            yield begin, datetime.fromisoformat(row["ended"].value)
            continue
        (last,) = store.query(fill("last-call.rq", graph=graph, until=moment(until)))
        if last["last"] is not None:
            yield begin, max(begin, datetime.fromisoformat(last["last"].value))


def _number(literal: Any) -> int:
    return 0 if literal is None else int(literal.value)
