# SPDX-License-Identifier: Apache-2.0
"""Dialogues, calls and tokens of runs, read from the store, with working time and prices.

Totals are computed from the store alone, never carried over in memory or files, so that they are
right after any number of interruptions. Complete dialogues are counted while a run is written
(:mod:`kgbench.record.run_counts`); the others are read, or all of them where counts are missing.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

from kgbench.model import Call, Json
from kgbench.model import Usage as TokenUsage
from kgbench.rdf import moment, queries
from kgbench.record import reading, stored_counts
from kgbench.record.count_graphs import portions, which
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


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


class Account(NamedTuple):
    """The dialogues of a model on a task in a run, the ``complete`` ones, and their usage."""

    begun: int
    complete: int
    usage: Usage

    def plus(self, other: Account) -> Account:
        """Return the sum of both."""
        return Account(
            self.begun + other.begun, self.complete + other.complete, self.usage + other.usage
        )

    def minus(self, other: Account) -> Account:
        """Return this account without the dialogues of another one."""
        return Account(
            self.begun - other.begun, self.complete - other.complete, self.usage - other.usage
        )

    def as_row(self) -> list[Json]:
        """Return the numbers as they are stored, in the order of the fields."""
        return [self.begun, self.complete, *astuple(self.usage)]

    @classmethod
    def of_row(cls, row: Sequence[int]) -> Account:
        """Return the account of a stored row."""
        return cls(row[0], row[1], Usage(*row[2:]))


Accounts: TypeAlias = dict[tuple[str, str], Account]
"""Accounts by model and task (IRIs)."""


def usage_of(calls: Iterable[Call]) -> Usage:
    """Return the usage of calls, without those that reused an answer."""
    usage = Usage()
    for call in calls:
        if call.reused is None:
            tokens = TokenUsage() if call.reply is None else call.reply.usage
            failed, batched = call.failure is not None, call.batch is not None
            usage.count(1, failed=failed, batched=batched, tokens=tokens)
    return usage


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
    return {model: total for model, total in totals.items() if total != Usage()}


def uncounted_characters(store: Store, graph: str) -> dict[str, int]:
    """Return the characters of answers without token counts in a run's graph, by model (IRI)."""
    rows = store.query(fill("uncounted-answers.rq", graph=graph))
    return {row["model"].value: int(row["characters"].value) for row in rows}


def usage_by_task(store: Store, graph: str) -> dict[tuple[str, str], Usage]:
    """Sum up the usage of the answered calls in a run's graph, by task and model (IRIs).

    Invalidated dialogues are left out.
    """
    totals = _usage(store, graph)
    for portion in portions(sorted(reading.invalid(store, graph))):
        for cell, used in _read_usage(store, graph, portion).items():
            totals[cell] -= used
    return {(task, model): used for (model, task), used in totals.items() if used.answers}


def progress(store: Store, graphs: Sequence[str]) -> dict[str, dict[tuple[str, str], Counter[str]]]:
    """Return the numbers of dialogues in graphs of runs, by graph and by model and task (IRIs).

    States are ``complete``, ``open`` and ``invalid``.
    """
    states: dict[str, dict[tuple[str, str], Counter[str]]] = {graph: {} for graph in graphs}
    counted = _counted(store, graphs)
    for graph, accounts in stored(store, counted).items():
        cells = states[graph] = {
            cell: Counter(complete=account.complete, open=account.begun - account.complete)
            for cell, account in accounts.items()
        }
        for portion in portions(sorted(reading.invalid(store, graph))):
            for cell, (begun, complete) in _read_numbers(store, graph, portion).items():
                cells[cell].update(complete=-complete, open=complete - begun, invalid=begun)
    for graph in states.keys() - counted.keys():
        for row in queries.run(store, "run-progress", runGraph=graph):
            about = row["model"].value, row["task"].value
            of_cell = states[graph].setdefault(about, Counter())
            of_cell[row["state"].value] += int(row["count"].value)
    return states


def of_all(store: Store, graph: str) -> Accounts:
    """Return the accounts of all dialogues of a run, from the dialogues themselves."""
    return _accounts(_read_numbers(store, graph), _read_usage(store, graph))


def of_dialogues(store: Store, graph: str, dialogues: Sequence[str]) -> Accounts:
    """Return the accounts of some dialogues of a run (IRIs), from the dialogues themselves."""
    accounts: Accounts = {}
    for portion in portions(dialogues):
        numbers = _read_numbers(store, graph, portion)
        _add(accounts, _accounts(numbers, _read_usage(store, graph, portion)))
    return accounts


def stored(store: Store, graphs: Mapping[str, str]) -> dict[str, Accounts]:
    """Return the accounts of runs from counts and marked dialogues.

    ``graphs`` has the graph of counts for each graph of a run.
    """
    if not graphs:
        return {}
    while True:
        accounts: dict[str, Accounts] = {graph: {} for graph in graphs}
        marked = marked_dialogues(store, graphs.values())
        for counted, graph in graphs.items():
            dialogues = [one for of_list in marked[graph].values() for one in of_list]
            _add(accounts[counted], of_dialogues(store, counted, dialogues))
        lists = set()
        counted_by = {graph: counted for counted, graph in graphs.items()}
        text = fill("counted-dialogues.rq", graphs=_terms(graphs.values()))
        for row in store.query(text):
            lists.add(row["list"].value)
            models, tasks = json.loads(row["models"].value), json.loads(row["tasks"].value)
            counts = json.loads(row["counts"].value)
            cells = {(models[m], tasks[k]): Account.of_row(rest) for m, k, *rest in counts}
            _add(accounts[counted_by[row["graph"].value]], cells)
        if lists.isdisjoint(name for of_graph in marked.values() for name in of_graph):
            return accounts  # else counts were written in the meantime


def marked_dialogues(store: Store, graphs: Iterable[str]) -> dict[str, dict[str, list[str]]]:
    """Return the marked dialogues by graph of counts and by list (IRIs)."""
    found: dict[str, dict[str, list[str]]] = {graph: defaultdict(list) for graph in graphs}
    for row in store.query(fill("marked-dialogues.rq", graphs=_terms(found))):
        found[row["graph"].value][row["list"].value].append(row["dialogue"].value)
    return found


def _counted(store: Store, graphs: Sequence[str]) -> dict[str, str]:
    """Return the graphs of counts of the runs (by graph) whose counts are up to date."""
    return {of: graph for of, graph in stored_counts.graphs(store).items() if of in graphs}


def _usage(store: Store, graph: str) -> dict[tuple[str, str], Usage]:
    """Return the usage of each model on each task (IRIs).

    A store that records queries records the query of calls, which gives the same.
    """
    source = queries.unrecorded(store)
    counted = stored(source, _counted(source, [graph])).get(graph)
    if counted is None:
        return _read_usage(store, graph)
    queries.record(store, "run-usage", runGraph=graph)
    return {cell: account.usage for cell, account in counted.items()}


def _read_usage(
    store: Store, graph: str, dialogues: Sequence[str] | None = None
) -> dict[tuple[str, str], Usage]:
    """Return the usage of ``dialogues`` (IRIs), or of all, from their calls."""
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


def _read_numbers(
    store: Store, graph: str, dialogues: Iterable[str] = ()
) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the numbers of dialogues and of complete ones among ``dialogues`` (IRIs), or all."""
    text = fill("dialogue-states.rq", graph=graph, which=which("dialogue", dialogues))
    return {
        (row["model"].value, row["task"].value): (
            int(row["begun"].value),
            int(row["complete"].value),
        )
        for row in store.query(text)
    }


def _accounts(
    numbers: Mapping[tuple[str, str], tuple[int, int]], used: Mapping[tuple[str, str], Usage]
) -> Accounts:
    return {
        cell: Account(*begun_and_complete, used.get(cell, Usage()))
        for cell, begun_and_complete in numbers.items()
    }


def _add(accounts: Accounts, more: Accounts) -> None:
    for cell, account in more.items():
        accounts[cell] = accounts[cell].plus(account) if cell in accounts else account


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


def _terms(graphs: Iterable[str]) -> str:
    return " ".join(f"<{graph}>" for graph in graphs)
