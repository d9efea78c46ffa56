# SPDX-License-Identifier: Apache-2.0
"""The queue of items of a run that people judge by a rubric, and their verdicts."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from kgbench import clock
from kgbench.analysis.verdicts import ADJUDICATION, Judgement, judgements, verdicts
from kgbench.api import Store, StoreError
from kgbench.plugins.judging import planning
from kgbench.rdf import canonical_json, digest
from kgbench.record import reviews as record
from kgbench.record.evaluations import Item
from kgbench.record.judgements import Rubric
from kgbench.record.reading import RunInfo
from kgbench.record.reviews import Review
from kgbench.scores.selection import select
from kgbench.software import this_software
from kgbench.store.iris import new_id
from kgbench.store.protocol import Block

DISAGREEMENTS, RANDOM = "disagreements", "random"
_DIGITS = 16  # of the digest that names an item in URLs without revealing its models


@dataclass(frozen=True, slots=True)
class Entry:
    """An item of the queue: its name in URLs, and its dialogues in display order."""

    name: str
    dialogues: planning.Group

    @property
    def about(self) -> tuple[str, ...]:
        """The dialogues, sorted by IRI."""
        return tuple(sorted(planning.dialogue_iris(self.dialogues)))


class ReviewQueue:
    """The items of a run that people judge, with all verdicts so far.

    Methods may be called from several threads. ``order`` is :data:`DISAGREEMENTS` or
    :data:`RANDOM`.
    """

    def __init__(
        self, store: Store, run: RunInfo, judging: planning.JudgingRequest, order: str
    ) -> None:
        self._store = store
        self._run = run
        self._judging = judging
        self._writing = threading.Lock()
        self.order = order
        self._exercises = planning.Exercises(store, run, judging.rubric, judging.seed)
        self.entries = _ordered(store, run, judging, order)
        self._by_name = {entry.name: entry for entry in self.entries}
        self._reviews: dict[tuple[str, ...], dict[str, Review]] = {}
        self._settled: dict[tuple[str, ...], Review] = {}
        for review in record.unrevised(record.reviews(store, run.iri)):
            self._keep(review)
        self._passes = record.review_passes(store, run.iri)
        self.reviewers = record.reviewers(store)
        self._names = {name.casefold() for name in self.reviewers}

    @property
    def rubric(self) -> Rubric:
        """The rubric of the review."""
        return self._judging.rubric

    def entry(self, name: str) -> Entry | None:
        """Return the item with this name in URLs, or ``None``."""
        return self._by_name.get(name)

    def claim(self, reviewer: str) -> None:
        """Reserve a pseudonym for a new reviewer.

        Raises :class:`~kgbench.errors.StoreError` if somebody has it, in upper or lower case.
        """
        with self._writing:
            if reviewer.casefold() in self._names:
                raise StoreError(
                    "This pseudonym is taken. If it is yours, use the browser in which you chose "
                    "it, or your personal link; else choose another."
                )
            self._names.add(reviewer.casefold())

    def next(self, reviewer: str, after: str | None = None) -> Entry | None:
        """Return the first item, behind ``after`` if given, that a reviewer can still decide."""
        waiting = iter(self.entries)
        if after is not None and after in self._by_name:
            for entry in waiting:
                if entry.name == after:
                    break
        return next(
            (
                entry
                for entry in waiting
                if self.review_by(entry, reviewer) is None
                and not self._has_settled(entry.about, reviewer)
            ),
            None,
        )

    def decided(self, reviewer: str) -> list[tuple[Entry, Review]]:
        """Return the items that a reviewer has decided, the latest first."""
        pairs = [(entry, self.review_by(entry, reviewer)) for entry in self.entries]
        reviewed = [(entry, review) for entry, review in pairs if review is not None]
        return sorted(reviewed, key=lambda pair: pair[1].decided, reverse=True)

    def review_by(self, entry: Entry, reviewer: str) -> Review | None:
        """Return a reviewer's current verdict on an item, or ``None``."""
        return self._reviews.get(entry.about, {}).get(reviewer)

    def disputed(self, reviewer: str | None = None) -> list[Entry]:
        """Return the items on which people disagree and that are not adjudicated since.

        With ``reviewer``, items that the reviewer has judged are left out.
        """
        return [
            entry
            for entry in self.entries
            if len(self._verdicts(entry.about)) > 1
            and not self._is_settled(entry.about)
            and (reviewer is None or self.review_by(entry, reviewer) is None)
        ]

    def check_adjudicator(self, entry: Entry, reviewer: str) -> None:
        """Raise :class:`~kgbench.errors.StoreError` unless a reviewer may settle an item.

        Whoever has judged the item is a party, and a settled item is that of its adjudicator.
        """
        about = entry.about
        if len(self._verdicts(about)) < 2:  # noqa: PLR2004 - two disagree
            raise StoreError("there is no disagreement on this item to settle")
        if self.review_by(entry, reviewer) is not None:
            raise StoreError("you have judged this item, so another reviewer must settle it")
        if self._is_settled(about) and not self._has_settled(about, reviewer):
            raise StoreError("another reviewer has settled this item")

    def opinions(self, entry: Entry) -> list[Review]:
        """Return the current verdicts on an item, in an order that reveals nothing."""
        reviews = self._reviews.get(entry.about, {}).values()
        return sorted(reviews, key=lambda review: digest(review.iri))

    def material(self, entry: Entry) -> planning.ShownExercise:
        """Return the texts of an item and its options in display order."""
        return self._exercises.of(entry.dialogues)

    def decide(
        self,
        entry: Entry,
        reviewer: str,
        option: str,
        reason: str,
        seconds: float | None,
        *,
        adjudicating: bool = False,
    ) -> Review | None:
        """Record a verdict; a second verdict of a reviewer on an item revises the first.

        Returns ``None`` if it repeats the current verdict. With ``adjudicating``, the verdict
        settles a disagreement. Raises :class:`~kgbench.errors.StoreError` for an option that the
        rubric does not have, for the adjudication of an item that is not for the reviewer to
        settle, and for a verdict on an item that the reviewer has settled.
        """
        data = self.material(entry).exercise.case.data
        if option not in data["options"]:
            raise StoreError(f"the rubric {self.rubric.name} has no verdict '{option[:60]}'")
        with self._writing:
            about = entry.about
            earlier = self._settled.get(about) if adjudicating else self.review_by(entry, reviewer)
            if adjudicating:
                self.check_adjudicator(entry, reviewer)
            elif self._has_settled(about, reviewer):
                raise StoreError("you have settled what others said about this item")
            if earlier is not None and earlier.reviewer != reviewer:
                earlier = (
                    None  # an adjudication by somebody else is not revised, but followed by another
                )
            chosen = data["options"][option]
            if earlier is not None and (earlier.chosen, earlier.reason) == (chosen, reason):
                return None
            executed = data["executed"]
            seeded = None if adjudicating else self._judging.seed
            review = Review(
                iri="",
                reviewer=reviewer,
                judged_run=self._run.iri,
                rubric=self.rubric.iri,
                chosen=chosen,
                order=tuple(data["order"]),
                items=tuple(Item(**item) for item in data["items"]),
                decided=clock.now(),
                executed=None if executed is None else data["options"][executed],
                seconds=seconds,
                reason=reason,
                queue=ADJUDICATION if adjudicating else self.order,
                seed=seeded,
                revises=None if earlier is None else earlier.iri,
                adjudicates=(
                    tuple(opinion.iri for opinion in self.opinions(entry)) if adjudicating else ()
                ),
            )
            review = replace(review, iri=record.review_iri(self._pass_of(reviewer)))
            record.write_reviews(self._store, [review])
            self._keep(review)
            return review

    def _pass_of(self, reviewer: str) -> str:
        """Return the evaluation pass of a reviewer, which begins with the first verdict."""
        if reviewer not in self._passes:
            pass_iri = self._store.iris.mint("pass", **{"pass": new_id()})
            self._store.write(opening(self._store, self._run, pass_iri, reviewer, clock.now()))
            self._passes[reviewer] = pass_iri
        return self._passes[reviewer]

    def _keep(self, review: Review) -> None:
        if review.rubric != self.rubric.iri:
            return
        if review.adjudicates:
            known = self._settled.get(review.about)
            if known is None or known.decided <= review.decided:
                self._settled[review.about] = review
        else:
            self._reviews.setdefault(review.about, {})[review.reviewer] = review

    def _verdicts(self, dialogues: tuple[str, ...]) -> set[str]:
        return {
            _unordered(review, dialogues) for review in self._reviews.get(dialogues, {}).values()
        }

    def _has_settled(self, dialogues: tuple[str, ...], reviewer: str) -> bool:
        settled = self._settled.get(dialogues)
        return settled is not None and settled.reviewer == reviewer

    def _is_settled(self, dialogues: tuple[str, ...]) -> bool:
        settled = self._settled.get(dialogues)
        standing = {review.iri for review in self._reviews.get(dialogues, {}).values()}
        return settled is not None and standing <= set(settled.adjudicates)


def opening(store: Store, run: RunInfo, pass_iri: str, reviewer: str, at: datetime) -> list[Block]:
    """Return the start of a reviewer's evaluation pass over a run, as blocks to write."""
    software = this_software()
    return [
        Block(store.iris.catalogue, software.entry(store.iris)),
        *record.review_blocks(
            store.iris,
            pass_iri.rpartition("/")[2],
            judged=run.iri,
            label=run.label,
            reviewer=reviewer,
            started=at,
            agent=software.iri(store.iris),
        ),
    ]


def _unordered(review: Review, dialogues: tuple[str, ...]) -> str:
    base, _, name = review.chosen.rpartition("/")
    if len(review.items) > 1 and review.items[0].dialogue != dialogues[0]:
        name = {"first": "second", "second": "first"}.get(name, name)
    return f"{base}/{name}"


def _ordered(
    store: Store, run: RunInfo, judging: planning.JudgingRequest, order: str
) -> list[Entry]:
    """Return the items in display order; the order of each pair is random."""
    disputed: Mapping[tuple[str, ...], int] = {}
    if order == DISAGREEMENTS:
        disputed = {
            judgement.first.about: _disagreeing(judgement)
            for judgement in judgements(verdicts(store, select(store, run=run.iri)))
            if judgement.rubric.iri == judging.rubric.iri
        }
    entries = []
    for group in planning.verdict_subjects(store, run, judging):
        shown = min(
            (group, group[::-1]), key=lambda order: planning.random_key(judging.seed, order)
        )
        about = tuple(sorted(planning.dialogue_iris(shown)))
        name = digest(canonical_json([judging.rubric.iri, *about]))[:_DIGITS]
        entries.append(
            (-disputed.get(about, 0), planning.random_key(judging.seed, shown), Entry(name, shown))
        )
    return [entry for *_, entry in sorted(entries, key=lambda item: item[:2])]


def _disagreeing(judgement: Judgement) -> int:
    """Return the number of pairs of raters (judges, execution) that disagree."""
    given = [
        judgement.executed,
        *(
            verdict
            for judge, verdict in judgement.by_judge.items()
            if judge != ADJUDICATION and "/reviewer/" not in judge
        ),
    ]
    known = [verdict for verdict in given if verdict is not None]
    return sum(a != b for k, a in enumerate(known) for b in known[:k])
