# SPDX-License-Identifier: Apache-2.0
"""Human verdicts as files (CSV, or RDF with named graphs): their export and their import.

Imported verdicts must be about dialogues in the store and fit the declared rubrics. Importing a
file again changes nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from kgbench.api import Column, Kind, Store, StoreError, Table, TaskError, Value
from kgbench.errors import nearest
from kgbench.plugins.judging.dialogues import JudgeableDialogue, judgeable_dialogues
from kgbench.plugins.judging.planning import implied_verdict
from kgbench.plugins.judging.queue import opening
from kgbench.rdf import canonical_json, storable
from kgbench.record import reading
from kgbench.record import reviews as record
from kgbench.record.dialogues import dialogues
from kgbench.record.evaluations import Item
from kgbench.record.judgements import Rubric, all_rubric_versions, rubric
from kgbench.record.reading import RunInfo
from kgbench.record.reviews import Review
from kgbench.run_selection import Selection
from kgbench.store.iris import id_from
from kgbench.store.protocol import Block

COLUMNS: Final = (
    "verdict",
    "reviewer",
    "rubric",
    "dialogue",
    "other",
    "order",
    "chosen",
    "executed",
    "decided",
    "seconds",
    "why",
    "queue",
    "seed",
    "revises",
    "adjudicates",
)
"""The columns of CSV files; ``other`` is the second dialogue of a pair."""
REQUIRED: Final = ("reviewer", "rubric", "dialogue", "chosen", "decided")
"""The required columns; the others may be empty or absent."""
_QUEUES = ("disagreements", "random", "adjudication")
_KINDS = {"seconds": Kind.SCORE, "seed": Kind.COUNT}


# --- export --------------------------------------------------------------------------------


def table(reviews: Sequence[Review]) -> Table:
    """Return a table with one row per verdict, as :func:`from_csv` reads it.

    Rubrics are given as NAME/VERSION, options by name.
    """
    rubrics = {rubric.iri: f"{rubric.name}/{rubric.version}" for rubric in all_rubric_versions()}
    names = {
        option.iri: option.name for rubric in all_rubric_versions() for option in rubric.options
    }
    columns = tuple(
        Column(name, name.capitalize(), _KINDS.get(name, Kind.TEXT)) for name in COLUMNS
    )
    rows = tuple(
        _row(review, rubrics.get(review.rubric, review.rubric), names) for review in reviews
    )
    return Table("Verdicts of people", columns, rows, queries=("review-verdicts",))


def _row(review: Review, rubric: str, names: dict[str, str]) -> tuple[Value, ...]:
    first, *others = (item.dialogue for item in review.items)
    return (
        review.iri,
        review.reviewer,
        rubric,
        first,
        others[0] if others else None,
        " ".join(review.order),
        names.get(review.chosen, review.chosen),
        None if review.executed is None else names.get(review.executed, review.executed),
        review.decided.isoformat(),
        review.seconds,
        review.reason or None,
        review.queue,
        review.seed,
        review.revises,
        " ".join(review.adjudicates) or None,
    )


# --- import --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ImportCounts:
    """The outcome of an import: counts of new verdicts and of those the store already had."""

    added: int
    known: int
    reviewers: tuple[str, ...]


def from_csv(store: Store, text: str) -> list[Review]:
    """Read verdicts from a CSV table whose first line has the names of the columns.

    Raises :class:`~kgbench.errors.StoreError`, with the line, for a table that cannot be read.
    """
    table = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    reviews = []
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
                raise StoreError(f"line {table.line_num} does not have as many cells as line 1")
            try:
                reviews.append(rows.review({name: row.get(name, "").strip() for name in COLUMNS}))
            except (TaskError, ValueError, StoreError) as error:
                raise StoreError(f"line {table.line_num}: {error}") from None
    except csv.Error as error:
        raise StoreError(f"line {table.line_num} cannot be read as CSV: {error}") from None
    if not reviews:
        raise StoreError("the table has no rows")
    return reviews


def import_reviews(store: Store, reviews: Sequence[Review]) -> ImportCounts:
    """Record the verdicts that the store does not have yet, in one atomic write.

    Raises :class:`~kgbench.errors.StoreError`, before anything is written, for a verdict that is
    not about dialogues of a run in the store, does not fit its rubric, or clashes with another.
    """
    known = {review.iri: review for review in record.reviews(store)}
    runs = {run.iri: run for run in reading.runs(store)}
    checked = list(_checked(store, reviews, runs))
    by_iri = known | {review.iri: review for review in checked}
    owners = {review.pass_iri: (review.reviewer, review.judged_run) for review in known.values()}
    opened = set(owners)
    new: dict[str, Review] = {}
    blocks: list[Block] = []
    for review in checked:
        _check_others(review, by_iri)
        earlier = known.get(review.iri) or new.get(review.iri)
        if earlier is not None:
            if earlier != review:
                raise StoreError(f"<{review.iri}> clashes with another verdict of this IRI")
            continue
        owner = (review.reviewer, review.judged_run)
        if owners.setdefault(review.pass_iri, owner) != owner:
            raise StoreError(
                f"<{review.iri}> is in a pass of another reviewer or about another run"
            )
        if review.pass_iri not in opened:
            opened.add(review.pass_iri)
            blocks += opening(
                store,
                runs[review.judged_run],
                review.pass_iri,
                review.reviewer,
                review.decided,
            )
        new[review.iri] = review
        blocks.append(record.review_block(store.iris, review))
    if blocks:
        store.write(blocks)
    reviewers = tuple(sorted({review.reviewer for review in new.values()}))
    return ImportCounts(len(new), len(checked) - len(new), reviewers)


def _check_others(review: Review, by_iri: Mapping[str, Review]) -> None:
    """Raise :class:`~kgbench.errors.StoreError` for a verdict that misuses those of others."""
    for other in filter(None, (review.revises, *review.adjudicates)):
        if other not in by_iri:
            raise StoreError(f"<{review.iri}> needs the verdict <{other}>: import it, too")
    if review.revises and by_iri[review.revises].reviewer != review.reviewer:
        raise StoreError(f"<{review.iri}> revises the verdict of another reviewer")
    if review.reviewer in {by_iri[other].reviewer for other in review.adjudicates}:
        raise StoreError(f"<{review.iri}> settles a dispute about a verdict of its own reviewer")


class _Rows:
    """Converts rows of a table to verdicts; missing values are taken from the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rubrics = {declared.iri: declared for declared in all_rubric_versions()}
        self._rubrics |= {
            f"{declared.name}/{declared.version}": declared for declared in all_rubric_versions()
        }
        self._judged_by_run: dict[str, dict[str, JudgeableDialogue]] = {}

    def review(self, row: Mapping[str, str]) -> Review:
        """Convert a row to a verdict, whose items still lack model, task and case."""
        row_rubric = self._rubrics.get(row["rubric"]) or rubric(row["rubric"])
        options = {option.name: option.iri for option in row_rubric.options}
        dialogues = tuple(filter(None, (row["dialogue"], row["other"])))
        run = row["dialogue"].removeprefix(self._store.iris.mint("run", run="")).partition("/")[0]
        judged_run = self._store.iris.mint("run", run=run)
        executed = row["executed"]
        if not row["verdict"] and not executed:
            executed = self._implied(row_rubric, judged_run, dialogues) or ""
        for name in filter(None, (row["chosen"], executed)):
            if name not in options:
                raise StoreError(
                    f"the rubric {row_rubric.name} has no verdict '{name[:60]}': "
                    f"{nearest(name, options)}"
                )
        if not row["decided"]:
            raise StoreError("the time of the decision is missing, such as 2026-11-23T10:00:00Z")
        result = Review(
            iri=row["verdict"],
            reviewer=record.checked_pseudonym(row["reviewer"]),
            judged_run=judged_run,
            rubric=row_rubric.iri,
            chosen=options.get(row["chosen"], ""),
            order=tuple(row["order"].split()) or tuple(options),
            items=tuple(Item(name, "", "", "", 0) for name in dialogues),
            decided=datetime.fromisoformat(row["decided"]),
            executed=options[executed] if executed else None,
            seconds=float(row["seconds"]) if row["seconds"] else None,
            reason=storable(row["why"]).value,
            queue=row["queue"] or None,
            seed=int(row["seed"]) if row["seed"] else None,
            revises=row["revises"] or None,
            adjudicates=tuple(sorted(row["adjudicates"].split())),
        )
        return result if result.iri else replace(result, iri=self._minted_iri(result, row))

    def _minted_iri(self, review: Review, row: Mapping[str, str]) -> str:
        """Mint an IRI from the content of the row, the same for each import."""
        pass_id = id_from(f"review-table/{review.judged_run}/{review.reviewer}")
        verdict_id = id_from(f"review-row/{canonical_json(dict(row))}")
        return f"{self._store.iris.mint('pass', **{'pass': pass_id})}/verdict/{verdict_id}"

    def _implied(self, row_rubric: Rubric, run: str, dialogues: Sequence[str]) -> str | None:
        """Return the verdict that scores imply, or ``None`` if the store lacks a dialogue."""
        if run not in self._judged_by_run:
            runs = reading.runs(self._store)
            info = next((stored for stored in runs if stored.iri == run), None)
            run_dialogues = (
                [] if info is None else judgeable_dialogues(self._store, info, Selection())
            )
            self._judged_by_run[run] = {judged.dialogue: judged for judged in run_dialogues}
        of_run = self._judged_by_run[run]
        known = all(name in of_run for name in dialogues)
        return (
            implied_verdict(row_rubric, tuple(of_run[name] for name in dialogues))
            if known
            else None
        )


def _checked(
    store: Store, reviews: Sequence[Review], runs: Mapping[str, RunInfo]
) -> Iterator[Review]:
    rubrics = {entry.iri: entry for entry in all_rubric_versions()}
    prefix = store.iris.mint("pass", **{"pass": ""})
    for review in reviews:
        try:
            _check(review, rubrics.get(review.rubric), prefix)
        except StoreError as error:
            raise StoreError(f"the verdict <{review.iri}>: {error}") from None
        if review.judged_run not in runs:
            raise StoreError(f"the store has no run <{review.judged_run}>: import it first")
    names = list(dict.fromkeys(item.dialogue for entry in reviews for item in entry.items))
    items = {
        entry.iri: (
            entry.run,
            Item(entry.iri, entry.model, entry.task, entry.case, len(entry.answers[-1])),
        )
        for entry in dialogues(store, names)
        if entry.answers
    }
    for review in reviews:
        for item in review.items:
            if items.get(item.dialogue, ("", None))[0] != review.judged_run:
                raise StoreError(
                    f"the verdict <{review.iri}>: <{item.dialogue}> is not an answered dialogue of "
                    f"<{review.judged_run}>"
                )
        yield replace(review, items=tuple(items[item.dialogue][1] for item in review.items))


def _check(review: Review, declared_rubric: Rubric | None, prefix: str) -> None:
    record.checked_pseudonym(review.reviewer)
    if declared_rubric is None:
        raise StoreError(f"the rubric <{review.rubric}> is not declared here")
    options = {option.iri: option.name for option in declared_rubric.options}
    if review.chosen not in options or (review.executed or review.chosen) not in options:
        raise StoreError(f"<{review.chosen}> is not a verdict of the rubric {declared_rubric.name}")
    order = set(review.order)
    if not order <= set(options.values()) or len(order) != len(review.order) or not order:
        raise StoreError(f"its order of options is not that of the rubric {declared_rubric.name}")
    expected = 2 if declared_rubric.kind == "compare" else 1
    if len(review.items) != expected or len(set(review.about)) != expected:
        raise StoreError(f"the rubric {declared_rubric.name} is about {expected} dialogue(s) each")
    if review.queue is not None and review.queue not in _QUEUES:
        raise StoreError(f"'{review.queue[:60]}' is not a queue: {', '.join(_QUEUES)}")
    if len(review.reason) > record.LONGEST_REASON:
        raise StoreError(f"its reason has more than {record.LONGEST_REASON:,} characters")
    if review.decided.tzinfo is None:
        raise StoreError("the time of the decision has no time zone")
    if not 0 <= (review.seconds or 0) < float("inf") or (review.seed or 0) < 0:
        raise StoreError("seconds and seed must not be negative")
    name = review.pass_iri.removeprefix(prefix)
    if not review.pass_iri.startswith(prefix) or not name or set(name) & set('/<>"{}|^`\\ '):
        raise StoreError(f"its IRI is not of the form {prefix}ID/verdict/ID")
