# SPDX-License-Identifier: Apache-2.0
"""Verdicts of people from files (CSV, or RDF with named graphs) into a store.

What a file says is checked against the store, whose dialogues it must be about, and against the
declared rubrics. Reading a file twice changes nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

import pyoxigraph as ox

from kgbench.errors import StoreError, TaskError
from kgbench.judges.dialogues import Judged, judgeable
from kgbench.judges.planning import implied
from kgbench.judges.rubrics import Rubric, every_rubric, rubric
from kgbench.nearest import nearest
from kgbench.rdf import canonical_json, storable
from kgbench.record import reading
from kgbench.record import reviews as record
from kgbench.record.dialogues import dialogues
from kgbench.record.reading import RunInfo
from kgbench.record.reviews import Item, Review
from kgbench.run_selection import Selection
from kgbench.software import this_software
from kgbench.store.iris import id_from
from kgbench.store.protocol import Block, Store

COLUMNS: Final = (
    *("verdict", "reviewer", "rubric", "dialogue", "other", "order", "chosen", "executed"),
    *("decided", "seconds", "why", "queue", "seed", "revises", "adjudicates"),
)
"""The columns of CSV; ``other`` is the second dialogue of a pair."""
REQUIRED: Final = ("reviewer", "rubric", "dialogue", "chosen", "decided")
"""The columns that a table of one's own needs; the others may be empty or absent."""
LARGEST: Final = 64 << 20
"""The most bytes of a file."""
_LONGEST_CELL = 100_000
_QUEUES = ("disagreements", "random", "adjudication")


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import has added: new verdicts, and those that the store had before."""

    added: int
    known: int
    reviewers: tuple[str, ...]


def from_csv(store: Store, text: str) -> list[Review]:
    """The verdicts of a table; the names of its columns are in its first line.

    Raises :class:`~kgbench.errors.StoreError`, which names the line, for what cannot be read.
    """
    table = csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), strict=True)
    found = []
    try:
        fields = [name.strip() for name in table.fieldnames or ()]
        table.fieldnames = fields
        if missing := [name for name in REQUIRED if name not in fields]:
            needed = ", ".join(REQUIRED)
            raise StoreError(f"the table has no column '{missing[0]}'; it needs {needed}")
        for name in fields:
            if name not in COLUMNS:
                hint = nearest(name, COLUMNS)
                raise StoreError(f"the table has an unknown column '{name[:60]}': {hint}")
        rows = _Rows(store)
        for row in table:
            if None in row or None in row.values():
                raise StoreError(f"line {table.line_num} has another number of cells than line 1")
            try:
                found.append(rows.review({name: row.get(name, "").strip() for name in COLUMNS}))
            except (TaskError, ValueError, StoreError) as error:
                raise StoreError(f"line {table.line_num}: {error}") from None
    except csv.Error as error:
        raise StoreError(f"line {table.line_num} cannot be read as CSV: {error}") from None
    if not found:
        raise StoreError("the table has no row")
    return found


def from_rdf(data: bytes, form: ox.RdfFormat) -> list[Review]:
    """The verdicts in a document in a format with named graphs.

    Raises :class:`~kgbench.errors.StoreError` where it does not parse or has none.
    """
    held = ox.Store()
    try:
        held.extend(ox.parse(data, form, rename_blank_nodes=True))
        found = record.reviews_in(held)
    except (SyntaxError, ValueError) as error:
        raise StoreError(f"the document cannot be read: {str(error)[:500]}") from None
    if not found:
        raise StoreError("the document has no verdicts of people in named graphs")
    return found


def imported(store: Store, found: Sequence[Review]) -> Imported:
    """Record verdicts that the store does not have, in one atomic write.

    Raises :class:`~kgbench.errors.StoreError` where one is not about dialogues of a run in the
    store, does not fit its rubric, or clashes with a verdict in the store; then nothing is written.
    """
    known = {one.iri: one for one in record.reviews(store)}
    runs = {run.iri: run for run in reading.runs(store)}
    checked = list(_checked(store, found, runs))
    names = {one.iri for one in checked} | known.keys()
    owners = {one.pass_iri: (one.reviewer, one.judged_run) for one in known.values()}
    there = set(owners)
    fresh: dict[str, Review] = {}
    blocks: list[Block] = []
    for one in checked:
        for other in filter(None, (one.revises, *one.adjudicates)):
            if other not in names:
                raise StoreError(f"<{one.iri}> needs the verdict <{other}>: import it, too")
        earlier = known.get(one.iri) or fresh.get(one.iri)
        if earlier is not None:
            if earlier != one:
                raise StoreError(f"<{one.iri}> clashes: there is another verdict of this name")
            continue
        whose = (one.reviewer, one.judged_run)
        if owners.setdefault(one.pass_iri, whose) != whose:
            raise StoreError(f"<{one.iri}> is in a pass of another reviewer or about another run")
        if one.pass_iri not in there:
            there.add(one.pass_iri)
            blocks += _opening(store, runs[one.judged_run], one)
        fresh[one.iri] = one
        blocks.append(record.block(store.iris, one))
    if blocks:
        store.write(blocks)
    reviewers = tuple(sorted({one.reviewer for one in fresh.values()}))
    return Imported(len(fresh), len(checked) - len(fresh), reviewers)


def _opening(store: Store, run: RunInfo, first: Review) -> list[Block]:
    software = this_software()
    return [
        Block(store.iris.catalogue, software.entry(store.iris)),
        *record.opening(
            store.iris,
            first.pass_iri.rpartition("/")[2],
            judged=run.iri,
            label=run.label,
            reviewer=first.reviewer,
            started=first.decided,
            agent=software.iri(store.iris),
        ),
    ]


class _Rows:
    """Makes verdicts of the rows of a table; what a row leaves out is taken from the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rubrics = {one.iri: one for one in every_rubric()}
        self._rubrics |= {f"{one.name}/{one.version}": one for one in every_rubric()}
        self._judged: dict[str, dict[str, Judged]] = {}

    def review(self, row: Mapping[str, str]) -> Review:
        """The verdict of a row; its items have no facts yet."""
        asked = self._rubrics.get(row["rubric"]) or rubric(row["rubric"])
        options = {option.name: option.iri for option in asked.options}
        shown = tuple(filter(None, (row["dialogue"], row["other"])))
        run = row["dialogue"].removeprefix(self._store.iris.mint("run", run="")).partition("/")[0]
        judged_run = self._store.iris.mint("run", run=run)
        executed = row["executed"]
        if not row["verdict"] and not executed:
            executed = self._implied(asked, judged_run, shown) or ""
        for name in filter(None, (row["chosen"], executed)):
            if name not in options:
                raise StoreError(
                    f"the rubric {asked.name} has no verdict '{name[:60]}': "
                    f"{nearest(name, options)}"
                )
        if not row["decided"]:
            raise StoreError("say when it was decided, such as 2026-11-23T10:00:00Z")
        found = Review(
            iri=row["verdict"],
            reviewer=record.checked_pseudonym(row["reviewer"]),
            judged_run=judged_run,
            rubric=asked.iri,
            chosen=options.get(row["chosen"], ""),
            order=tuple(row["order"].split()) or tuple(options),
            items=tuple(Item(name, "", "", "", 0) for name in shown),
            decided=datetime.fromisoformat(row["decided"]),
            executed=options[executed] if executed else None,
            seconds=float(row["seconds"]) if row["seconds"] else None,
            why=storable(row["why"]).value,
            queue=row["queue"] or None,
            seed=int(row["seed"]) if row["seed"] else None,
            revises=row["revises"] or None,
            adjudicates=tuple(sorted(row["adjudicates"].split())),
        )
        return found if found.iri else replace(found, iri=self._named(found, row))

    def _named(self, review: Review, row: Mapping[str, str]) -> str:
        """An IRI that the same row has whenever it is read."""
        of_pass = id_from(f"review-table/{review.judged_run}/{review.reviewer}")
        of_verdict = id_from(f"review-row/{canonical_json(dict(row))}")
        return f"{self._store.iris.mint('pass', **{'pass': of_pass})}/verdict/{of_verdict}"

    def _implied(self, asked: Rubric, run: str, shown: Sequence[str]) -> str | None:
        """What executing the answers implies; ``None`` where they are not in the store."""
        if run not in self._judged:
            info = next((one for one in reading.runs(self._store) if one.iri == run), None)
            found = [] if info is None else judgeable(self._store, info, Selection())
            self._judged[run] = {one.dialogue: one for one in found}
        of_run = self._judged[run]
        known = all(name in of_run for name in shown)
        return implied(asked, tuple(of_run[name] for name in shown)) if known else None


def _checked(
    store: Store, found: Sequence[Review], runs: Mapping[str, RunInfo]
) -> Iterator[Review]:
    """The verdicts, with what the store says of their items."""
    rubrics = {one.iri: one for one in every_rubric()}
    prefix = store.iris.mint("pass", **{"pass": ""})
    for review in found:
        try:
            _check(review, rubrics.get(review.rubric), prefix)
        except StoreError as error:
            raise StoreError(f"the verdict <{review.iri}>: {error}") from None
        if review.judged_run not in runs:
            raise StoreError(f"the store has no run <{review.judged_run}>: import it first")
    names = list(dict.fromkeys(item.dialogue for one in found for item in one.items))
    items = {
        one.iri: (one.run, Item(one.iri, one.model, one.task, one.case, len(one.answers[-1])))
        for one in dialogues(store, names)
        if one.answers
    }
    for review in found:
        for item in review.items:
            if items.get(item.dialogue, ("", None))[0] != review.judged_run:
                raise StoreError(
                    f"the verdict <{review.iri}>: <{item.dialogue}> is no answered dialogue of "
                    f"<{review.judged_run}>"
                )
        yield replace(review, items=tuple(items[item.dialogue][1] for item in review.items))


def _check(review: Review, asked: Rubric | None, prefix: str) -> None:
    """Raise :class:`~kgbench.errors.StoreError` for a verdict that cannot be one."""
    record.checked_pseudonym(review.reviewer)
    if asked is None:
        raise StoreError(f"the rubric <{review.rubric}> is not declared here")
    options = {option.iri: option.name for option in asked.options}
    if review.chosen not in options or (review.executed or review.chosen) not in options:
        raise StoreError(f"<{review.chosen}> is no verdict of the rubric {asked.name}")
    order = set(review.order)
    if not order <= set(options.values()) or len(order) != len(review.order) or not order:
        raise StoreError(f"its order of options is not that of the rubric {asked.name}")
    expected = 2 if asked.kind == "compare" else 1
    if len(review.items) != expected or len(set(review.about)) != expected:
        raise StoreError(f"the rubric {asked.name} is about {expected} dialogue(s) each")
    if review.queue is not None and review.queue not in _QUEUES:
        raise StoreError(f"'{review.queue[:60]}' is no queue: {', '.join(_QUEUES)}")
    if len(review.why) > record.LONGEST_REASON:
        raise StoreError(f"its reason has more than {record.LONGEST_REASON:,} characters")
    if review.decided.tzinfo is None:
        raise StoreError("the time of the decision has no time zone")
    if not 0 <= (review.seconds or 0) < float("inf") or (review.seed or 0) < 0:
        raise StoreError("seconds and seed are not negative")
    name = review.pass_iri.removeprefix(prefix)
    if not review.pass_iri.startswith(prefix) or not name or set(name) & set('/<>"{}|^`\\ '):
        raise StoreError(f"its IRI is not of the form {prefix}ID/verdict/ID")
