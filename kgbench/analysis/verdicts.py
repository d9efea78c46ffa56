# SPDX-License-Identifier: Apache-2.0
"""What judges decided, brought together by what they judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kgbench.analysis import counting
from kgbench.analysis import scores as fetch
from kgbench.analysis.rater_agreement import Ratings
from kgbench.analysis.selection import Selection
from kgbench.judges.aggregation import SAMPLES, Why, rule
from kgbench.judges.rubrics import Rubric, every_rubric
from kgbench.model import Outcome
from kgbench.rdf import queries
from kgbench.store.protocol import Store
from kgbench.tasks.judge_verdict import NAME

QUERIES = ("judge-passes", "judge-verdicts", *counting.OUTCOMES, "list-tasks", "list-models")
EXECUTION = "execution"
"""How tables call what executing an answer implies."""
ADJUDICATION = "adjudication"
"""How tables call the verdicts of people that settle those of other people."""
_LOWER, _HIGHER = "first", "second"  # of a pair, by the IRIs of its dialogues


class Item(NamedTuple):
    """A judged dialogue as a judge was shown it; by IRIs, ``characters`` the answer's length."""

    dialogue: str
    model: str
    task: str
    case: str
    characters: int


@dataclass(frozen=True)
class Decided:
    """One verdict: ``chosen`` and ``executed`` are names of options; the latter may be unknown.

    ``items`` are in the order in which they were shown, ``order`` are the options in theirs.
    ``judge`` is the IRI of a model or a reviewer, or :data:`ADJUDICATION`. ``answer`` is the IRI
    of the judge's answer; of a person, who gives none, that of the verdict.
    """

    judge: str
    rubric: Rubric
    chosen: str
    executed: str | None
    order: tuple[str, ...]
    items: tuple[Item, ...]
    answer: str

    @property
    def cluster(self) -> str:
        """The case of what was judged: verdicts about one case are not independent."""
        return self.items[0].case

    @property
    def source(self) -> str:
        """The IRI of the judge's dialogue; of a person, that of the verdict."""
        dialogue, found, _ = self.answer.rpartition("/answer")
        return dialogue.rpartition("/")[0] if found else self.answer

    @property
    def undecided(self) -> bool:
        """Whether the judge said that it cannot tell."""
        return self.chosen == self.rubric.undecided

    def value(self, name: str | None) -> float | None:
        """The value that the rubric gives the option called ``name``."""
        return next((o.value for o in self.rubric.options if o.name == name), None)

    @cached_property
    def about(self) -> tuple[str, ...]:
        """What the verdict is about, whatever the order in which it was shown."""
        return tuple(sorted(item.dialogue for item in self.items))

    def unordered(self, name: str | None) -> str | None:
        """An option about a pair as if it had been shown in the order of :attr:`about`."""
        if len(self.items) == 1 or self.items[0].dialogue == self.about[0]:
            return name
        return {_LOWER: _HIGHER, _HIGHER: _LOWER}.get(name or "", name)


@dataclass(frozen=True)
class Judgement:
    """What is known of one item by one rubric: the verdict of each judge, and of execution.

    A judge without a verdict (undecided, or its samples tie) is absent. ``given`` are all verdicts.
    """

    rubric: Rubric
    given: tuple[Decided, ...]
    by_judge: Mapping[str, str]
    executed: str | None

    @property
    def first(self) -> Decided:
        """One of the verdicts, for what they have in common."""
        return self.given[0]


def verdicts(store: Store, selection: Selection) -> list[Decided]:
    """The verdicts of judges on the dialogues of a selection.

    A verdict by a rubric that is not declared here is left out. A pair is selected where both of
    its models are.
    """
    passes = judge_passes(store, selection)
    rows = queries.rows(store, "judge-verdicts", passGraph=passes) if passes else []
    tasks, models = fetch.tasks(store), fetch.models(store)
    return [
        one
        for one in _decided(rows)
        if all(
            item.task in tasks
            and tasks[item.task].fits(selection.tasks)
            and models.fits(item.model, selection.models)
            for item in one.items
        )
    ]


def is_person(judge: str) -> bool:
    """Whether a judge (as in :class:`Decided`) is a person, or the adjudication of people."""
    return judge == ADJUDICATION or "/reviewer/" in judge


def judge_passes(store: Store, selection: Selection) -> list[str]:
    """The graphs of the passes of judges about the runs of a selection."""
    rows = queries.rows(store, "judge-passes", runGraph=list(selection.run_graphs))
    return sorted({str(graph) for graph, *_ in rows})


def unreadable(store: Store, selection: Selection) -> dict[tuple[str, str], float]:
    """The share of answers that end with no verdict, by the names of rubrics and judges (IRIs)."""
    passes, tasks = judge_passes(store, selection), fetch.tasks(store)
    counts: dict[tuple[str, str], Counter[bool]] = defaultdict(Counter)
    for one, times in counting.outcomes(store, passes):
        rubric = tasks[one.task].label.removeprefix(f"{NAME}-")
        counts[rubric, one.model][one.outcome == Outcome.SCORED] += times
    return {key: count[False] / count.total() for key, count in counts.items() if count.total()}


def judgements(given: Iterable[Decided]) -> list[Judgement]:
    """The verdicts by rubric and item; see :class:`Judgement`.

    A pair that a judge saw in both orders is a tie where its verdicts contradict each other. Of
    repeated samples the verdict counts that most of them have.
    """
    grouped: dict[tuple[str, tuple[str, ...]], list[Decided]] = defaultdict(list)
    for one in given:
        grouped[one.rubric.iri, one.about].append(one)
    return [
        Judgement(
            rubric=group[0].rubric,
            given=tuple(group),
            by_judge=dict(_settled(group)),
            executed=group[0].unordered(group[0].executed),
        )
        for _, group in sorted(grouped.items())
    ]


def consistent(judgement: Judgement, judge: str) -> bool | None:
    """Whether a judge always said the same of an item; ``None`` where it was asked only once."""
    said = [one.unordered(one.chosen) for one in judgement.given if one.judge == judge]
    return None if len(said) < 2 else len(set(said)) == 1  # noqa: PLR2004 - nothing to compare


def ratings(found: Sequence[Judgement], raters: Sequence[str]) -> Ratings:
    """The verdicts of raters (judges by IRI, or :data:`EXECUTION`) on items of one rubric."""
    rubric = found[0].rubric
    categories = [option.name for option in rubric.options if not option.undecided]
    rows = [
        [one.executed if rater == EXECUTION else one.by_judge.get(rater) for rater in raters]
        for one in found
    ]
    return Ratings.of(rows, categories)


def own_verdict(judgement: Judgement, judge: str) -> str | None:
    """What one judge says of an item, "cannot tell" included; ``None`` where its samples tie."""
    if judge in judgement.by_judge:
        return judgement.by_judge[judge]
    votes = [str(one.unordered(one.chosen)) for one in judgement.given if one.judge == judge]
    settled = rule(SAMPLES).settled(votes, judgement.rubric)
    return judgement.rubric.undecided if settled.why is Why.CANNOT_TELL else None


def _settled(group: Sequence[Decided]) -> Iterator[tuple[str, str]]:
    by_judge: dict[str, list[Decided]] = defaultdict(list)
    for one in group:
        by_judge[one.judge].append(one)
    for judge, said in sorted(by_judge.items()):
        votes = [str(one.unordered(one.chosen)) for one in said]
        if len(said[0].items) > 1 and len(set(votes)) > 1:
            yield judge, "tie"
            continue
        settled = rule(SAMPLES).settled(votes, said[0].rubric)
        if settled.option is not None:
            yield judge, settled.option


def _decided(rows: Iterable[tuple[str | None, ...]]) -> Iterator[Decided]:
    known = {rubric.iri: rubric for rubric in every_rubric()}
    of_verdict: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        of_verdict[str(row[0])].append(tuple("" if cell is None else cell for cell in row))
    for parts in of_verdict.values():
        verdict, judge, rubric, chosen, executed, order, answer, settles, *_ = parts[0]
        if rubric not in known:
            continue
        names = {option.iri: option.name for option in known[rubric].options}
        yield Decided(
            judge=ADJUDICATION if settles == "true" else judge,
            rubric=known[rubric],
            chosen=names.get(chosen, known[rubric].undecided),
            executed=names.get(executed),
            order=tuple(order.split()),
            items=tuple(
                Item(part[9], part[10], part[11], part[12], int(part[13])) for part in parts
            ),
            answer=answer or verdict,
        )
