# SPDX-License-Identifier: Apache-2.0
"""Verdicts of people: a review is a run of its own, with one pass by one reviewer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kgbench.errors import StoreError
from kgbench.rdf import iri, queries
from kgbench.record import reading, schema
from kgbench.record.evaluations import Item, item_iris, item_triples
from kgbench.record.recorder import JUDGEMENTS, Recorder
from kgbench.store.iris import Iris, new_id
from kgbench.store.protocol import Block, Store

LONGEST_REASON: Final = 4_000
"""The maximal length of the reason for a verdict, in characters."""
PSEUDONYM: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,31}")
"""The syntax of reviewers' pseudonyms: part of an IRI, never an address or a full name."""


@dataclass(frozen=True, slots=True)
class Review:
    """One verdict of a person.

    ``rubric``, ``chosen`` and ``executed`` (what executing the answer implies) are IRIs, as are
    ``revises`` (the reviewer's earlier verdict that this one replaces) and ``adjudicates`` (the
    conflicting verdicts of people that this one settles). ``order`` are the options in the order
    shown, ``items`` the dialogues. ``seconds`` is the time from showing to deciding. ``queue`` is
    how the item was drawn: ``disagreements``, ``random`` or ``adjudication``; ``seed`` is its seed.
    """

    iri: str
    reviewer: str
    judged_run: str
    rubric: str
    chosen: str
    order: tuple[str, ...]
    items: tuple[Item, ...]
    decided: datetime
    executed: str | None = None
    seconds: float | None = None
    reason: str = ""
    queue: str | None = None
    seed: int | None = None
    revises: str | None = None
    adjudicates: tuple[str, ...] = ()

    @property
    def about(self) -> tuple[str, ...]:
        """The dialogues (IRIs) that the verdict is about, sorted."""
        return tuple(sorted(item.dialogue for item in self.items))

    @property
    def pass_iri(self) -> str:
        """The pass of the verdict."""
        return self.iri.rpartition("/verdict/")[0]


def checked_pseudonym(name: str) -> str:
    """Return ``name`` if it is a valid pseudonym.

    Raises :class:`~kgbench.errors.StoreError` otherwise.
    """
    if not PSEUDONYM.fullmatch(name):
        raise StoreError(
            f"'{name[:60]}' is not a valid pseudonym: use 1 to 32 letters, digits, - and _, "
            "such as 'owl-7'"
        )
    return name


def review_iri(pass_iri: str) -> str:
    """Mint an IRI for a verdict in a pass."""
    return f"{pass_iri}/verdict/{new_id()}"


def review_blocks(
    iris: Iris,
    review: str,
    *,
    judged: str,
    label: str,
    reviewer: str,
    started: datetime,
    agent: str,
) -> list[Block]:
    """Return the run and pass of the review with the id ``review`` of the run ``judged`` (IRI)."""
    recorder = Recorder(iris, review, review)
    suite = iris.mint("suite", suite=JUDGEMENTS)
    person = reviewer_iri(iris, reviewer)
    return [
        *recorder.run_blocks(
            label=f"review of {label[:120]} by {reviewer}",
            suite=suite,
            started=started,
            agent=agent,
        ),
        *recorder.pass_blocks(kind=reading.REVIEW, started=started, agent=agent),
        recorder.pass_facts(judged=[judged], reviewer=person),
        Block(iris.catalogue, reviewer_entry(iris, reviewer)),
    ]


def reviewer_entry(iris: Iris, reviewer: str) -> list[str]:
    """Return the catalogue entry of a reviewer, who may have passes over many runs."""
    return schema.of("Reviewer").triples(reviewer_iri(iris, reviewer), label=reviewer)


def reviewer_iri(iris: Iris, reviewer: str) -> str:
    """Return the IRI of a reviewer by pseudonym."""
    return iris.mint("reviewer", reviewer=checked_pseudonym(reviewer))


def review_triples(review: Review, iris: Iris) -> list[str]:
    """Return the triples of one verdict, for the graph of its pass."""
    name = iri(review.iri).strip("<>")
    lines = schema.of("Verdict").triples(
        name,
        review,
        evaluation_pass=review.pass_iri,
        reviewer=reviewer_iri(iris, review.reviewer),
        order=" ".join(review.order),
        judged=item_iris(name, review.items),
    )
    return lines + item_triples(name, review.items)


def write_reviews(store: Store, reviews: Sequence[Review]) -> None:
    """Write verdicts into their passes, which must exist, in one atomic write."""
    store.write([review_block(store.iris, review) for review in reviews])


def review_block(iris: Iris, review: Review) -> Block:
    """Return a verdict as a block of the graph of its pass, which must exist."""
    name = review.pass_iri.rpartition("/")[2]
    return Block(iris.mint("passGraph", **{"pass": name}), review_triples(review, iris))


def review_passes(store: Store, judged: str) -> dict[str, str]:
    """Return the latest pass of each reviewer over a run (IRI), by pseudonym."""
    rows = queries.rows(store, "review-passes", run=[judged])
    return {str(reviewer): str(pass_) for reviewer, pass_, _ in rows}


def reviewers(store: Store) -> list[str]:
    """Return the pseudonyms of all people with verdicts in the store, sorted."""
    return sorted({str(reviewer) for reviewer, _, _ in queries.rows(store, "review-passes")})


def reviews(store: Store, judged: str | None = None) -> list[Review]:
    """Return all verdicts of people, or those on the run ``judged`` (IRI), including revised ones.

    In the order of their times.
    """
    parameters = {} if judged is None else {"run": [judged]}
    return sorted(_reviews(queries.rows(store, "review-verdicts", **parameters)), key=_time)


def _time(review: Review) -> tuple[datetime, str]:
    return review.decided, review.iri


_COLUMNS = (
    "verdict",
    "reviewer",
    "run",
    "rubric",
    "chosen",
    "executed",
    "order",
    "decided",
    "seconds",
    "why",
    "queue",
    "seed",
    "revises",
    "adjudicates",
    "place",
    "dialogue",
    "model",
    "task",
    "case",
    "characters",
)


def _reviews(rows: Iterable[Sequence[str | None]]) -> Iterator[Review]:
    grouped: dict[str, list[Mapping[str, str | None]]] = {}
    for row in rows:
        named = dict(zip(_COLUMNS, row, strict=True))
        grouped.setdefault(str(named["verdict"]), []).append(named)
    for verdict, parts in grouped.items():
        first = parts[0]
        items = {int(str(part["place"])): _item(part) for part in parts}
        seconds, seed = first["seconds"], first["seed"]
        yield Review(
            iri=verdict,
            reviewer=str(first["reviewer"]),
            judged_run=str(first["run"]),
            rubric=str(first["rubric"]),
            chosen=str(first["chosen"]),
            order=tuple(str(first["order"]).split()),
            items=tuple(items[index] for index in sorted(items)),
            decided=datetime.fromisoformat(str(first["decided"])),
            executed=first["executed"],
            seconds=None if seconds is None else float(seconds),
            reason=first["why"] or "",
            queue=first["queue"],
            seed=None if seed is None else int(seed),
            revises=first["revises"],
            adjudicates=tuple(sorted({str(p["adjudicates"]) for p in parts if p["adjudicates"]})),
        )


def _item(part: Mapping[str, str | None]) -> Item:
    dialogue, model, task, case, characters = (str(part[name]) for name in _COLUMNS[-5:])
    return Item(dialogue, model, task, case, int(characters))


def unrevised(reviews_: Iterable[Review]) -> list[Review]:
    """Return the verdicts that no later one replaces."""
    listed = list(reviews_)
    revised = {review.revises for review in listed}
    return [review for review in listed if review.iri not in revised]
