# SPDX-License-Identifier: Apache-2.0
"""Dialogues, calls, tokens and cost of runs, read from the store, with working time and ends.

Totals are computed from the store alone, never carried over in memory or files, so that they are
right after any number of interruptions.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.model import Usage as TokenUsage
from kgbench.rdf import moment, queries
from kgbench.rdf.quads import Quads
from kgbench.record import reading
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import DCTERMS, KGB, PROV, RDF

_NAMED = 500  # dialogues that a query names
_MILLION = Decimal(1_000_000)
_TYPE, _SESSION = ox.NamedNode(RDF.type), ox.NamedNode(KGB.Session)
_PART_OF = ox.NamedNode(DCTERMS.isPartOf)
_STARTED, _ENDED = ox.NamedNode(PROV.startedAtTime), ox.NamedNode(PROV.endedAtTime)


@dataclass(slots=True)
class Usage:
    """Totals of calls in a run. ``uncounted`` answers came without token counts.

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
        return Usage(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Usage) -> Usage:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Usage(*(mine - theirs for mine, theirs in pairs))

    def count(
        self,
        calls: int,
        *,
        failed: bool,
        batched: bool,
        tokens: TokenUsage,
    ) -> None:
        """Add calls that all have the same numbers of ``tokens``."""
        if failed:
            self.failures += calls
            return
        self.answers += calls
        self.uncounted += 0 if tokens.counted else calls
        read, written = calls * (tokens.input or 0), calls * (tokens.output or 0)
        cached = calls * (tokens.cached or 0)
        self.input += read
        self.output += written
        self.cached += cached
        self.reasoning += calls * (tokens.reasoning or 0)
        if batched:
            self.batch_input += read
            self.batch_output += written
            self.batch_cached += cached


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
    totals: dict[str, Usage] = defaultdict(Usage)
    for (model, _), used in _usage(store, graph).items():
        totals[model] += used
    return dict(totals)


def uncounted_characters(store: Store, graph: str) -> dict[str, int]:
    """Return the characters of answers without token counts in a run's graph, by model (IRI)."""
    rows = store.query(fill("uncounted-answers.rq", graph=graph))
    return {row["model"].value: int(row["characters"].value) for row in rows}


def usage_by_task(store: Store, graph: str) -> dict[tuple[str, str], Usage]:
    """Sum up the usage of the answered calls in a run's graph, by task and model (IRIs).

    Invalidated dialogues are left out.
    """
    totals = _usage(store, graph)
    invalid = sorted(reading.invalid(store, graph))
    for at in range(0, len(invalid), _NAMED):
        for cell, used in _usage(store, graph, invalid[at : at + _NAMED]).items():
            totals[cell] -= used
    return {(task, model): used for (model, task), used in totals.items() if used.answers}


def progress(
    store: Store, graphs: Sequence[str]
) -> defaultdict[str, dict[tuple[str, str], Counter[str]]]:
    """Return the numbers of dialogues in graphs of runs, by run and by model and task (IRIs).

    States are ``complete``, ``open`` and ``invalid``.
    """
    states: defaultdict[str, dict[tuple[str, str], Counter[str]]] = defaultdict(dict)
    for row in queries.run(store, "run-progress", runGraph=graphs):
        about = row["model"].value, row["task"].value
        of_cell = states[row["run"].value].setdefault(about, Counter())
        of_cell[row["state"].value] += int(row["count"].value)
    return states


def _usage(
    store: Store, graph: str, dialogues: Sequence[str] | None = None
) -> dict[tuple[str, str], Usage]:
    """Return the usage of each model on each task (IRIs), in all dialogues or some (IRIs)."""
    found: dict[tuple[str, str], Usage] = defaultdict(Usage)
    for row in queries.run(store, "run-usage", runGraph=graph, dialogue=dialogues):
        columns = ("inputTokens", "outputTokens", "cachedTokens", "reasoningTokens")
        found[row["model"].value, row["task"].value].count(
            int(row["count"].value),
            failed=row["failed"].value == "true",
            batched=row["batched"].value == "true",
            tokens=TokenUsage(*(_number(row[name]) for name in columns)),
        )
    return found


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


def _number(literal: Any) -> int | None:
    return None if literal is None else int(literal.value)


def run_end(quads: Quads, run: ox.NamedNode) -> Any:
    """Return the end of a run as an ``xsd:dateTime``: that of the session that began last.

    A run without sessions was imported with its own end. ``None`` if no end is known, because the
    last session is in progress or was interrupted.
    """
    parts = {quad.subject for quad in quads.quads_for_pattern(None, _PART_OF, run)}
    sessions = [
        session for session in parts if any(quads.quads_for_pattern(session, _TYPE, _SESSION))
    ]
    if not sessions:
        return _time(quads, run, _ENDED)
    return _time(quads, max(sessions, key=lambda session: _began(quads, session)), _ENDED)


def _began(quads: Quads, node: Any) -> datetime:
    literal = _time(quads, node, _STARTED)
    return (
        datetime.min.replace(tzinfo=UTC)
        if literal is None
        else datetime.fromisoformat(literal.value)
    )


def _time(quads: Quads, node: Any, predicate: ox.NamedNode) -> Any:
    return next((quad.object for quad in quads.quads_for_pattern(node, predicate, None)), None)


@dataclass(frozen=True, slots=True)
class Price:
    """USD per million tokens read, written, and read from the provider's cache.

    ``date`` (ISO) is the day on which the price was valid, ``source`` the IRI of the price list.
    ``batch`` is the factor for requests in batches.
    """

    input: Decimal
    output: Decimal
    cached: Decimal
    date: str
    source: str
    batch: Decimal = Decimal(1)

    def in_batches(self) -> Price:
        """Return the price of requests in batches."""
        amounts = (self.input * self.batch, self.output * self.batch, self.cached * self.batch)
        return Price(*amounts, self.date, self.source, self.batch)

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """Return the USD for ``usage``, whose input includes cached tokens, if it has counts."""
        if usage.input is None or usage.output is None:
            return None
        cached = min(usage.cached or 0, usage.input)
        read = (usage.input - cached) * self.input + cached * self.cached
        return (read + usage.output * self.output) / _MILLION

    def recorded(self, model: str) -> SessionPrice:
        """Return the price as a session records it for a model (IRI)."""
        amounts = (str(self.input), str(self.output), str(self.cached))
        return SessionPrice(model, *amounts, self.date, self.source, str(self.batch))


def recorded_price(paid: SessionPrice) -> Price:
    """Return the price that a session recorded."""
    read, written, cached = map(Decimal, (paid.input, paid.output, paid.cached))
    return Price(read, written, cached, paid.date, paid.source, Decimal(paid.batch))


@dataclass(frozen=True, slots=True)
class Total:
    """The usage and cost of a model; ``cost`` (USD) is ``None`` if price or counts are unknown."""

    usage: Usage
    cost: Decimal | None


def total(usage: Usage, price: Price | None, *, free: bool = False) -> Total:
    """Return the cost of ``usage`` at ``price``; ``free`` models always cost nothing."""
    if free:
        return Total(usage, Decimal(0))
    return Total(usage, None if price is None or usage.uncounted else counted(usage, price))


def counted(usage: Usage, price: Price) -> Decimal:
    """Return the USD for the counts in ``usage``, with batches at the price of batches."""
    read, written = usage.input - usage.batch_input, usage.output - usage.batch_output
    live = price.cost(TokenUsage(read, written, usage.cached - usage.batch_cached))
    batched = TokenUsage(usage.batch_input, usage.batch_output, usage.batch_cached)
    return (live or Decimal(0)) + (price.in_batches().cost(batched) or Decimal(0))
