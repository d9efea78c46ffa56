# SPDX-License-Identifier: Apache-2.0
"""The verdicts of judges, grouped by the judged items."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kgbench.rdf import queries
from kgbench.record.evaluations import Item
from kgbench.record.judgements import Rubric, all_rubric_versions
from kgbench.scores import catalogue
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store

QUERIES = ("judge-passes", "judge-verdicts", "outcome-counts", "list-tasks", "list-models")
EXECUTION = "execution"
"""The name, in tables, of the verdict that executing an answer implies."""
ADJUDICATION = "adjudication"
"""The name, in tables, of verdicts of people that settle the verdicts of other people."""
_LOWER, _HIGHER = "first", "second"  # the answers of a pair, ordered by the IRIs of dialogues


@dataclass(frozen=True)
class JudgeVerdict:
    """One verdict: ``chosen`` and ``executed`` are names of options.

    ``executed`` is ``None`` where the verdict by execution is unknown. ``items`` and ``order`` (the
    options) are in the order in which they were shown. ``judge`` is the IRI of a model or a
    reviewer, or :data:`ADJUDICATION`. ``answer`` is the IRI of the judge's answer, or of the
    verdict if the judge is a person.
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
        """The case of the judged items, because verdicts about one case are not independent."""
        return self.items[0].case

    @property
    def source(self) -> str:
        """The IRI of the judge's dialogue, or of the verdict if the judge is a person."""
        dialogue, separator, _ = self.answer.rpartition("/answer")
        return dialogue.rpartition("/")[0] if separator else self.answer

    @property
    def undecided(self) -> bool:
        """Whether the verdict is "cannot tell"."""
        return self.chosen == self.rubric.undecided

    def value(self, name: str | None) -> float | None:
        """Return the value of the option ``name`` in the rubric."""
        return next((o.value for o in self.rubric.options if o.name == name), None)

    @cached_property
    def about(self) -> tuple[str, ...]:
        """The IRIs of the judged dialogues, independent of the order in which they were shown."""
        return tuple(sorted(item.dialogue for item in self.items))

    def unordered(self, name: str | None) -> str | None:
        """Translate an option about a pair to the order of :attr:`about`."""
        if len(self.items) == 1 or self.items[0].dialogue == self.about[0]:
            return name
        return {_LOWER: _HIGHER, _HIGHER: _LOWER}.get(name or "", name)


@dataclass(frozen=True)
class Judgement:
    """The verdicts on one item by one rubric.

    ``verdicts`` has all single verdicts, ``by_judge`` the settled verdict of each judge (judges
    that are undecided, or whose samples tie, are absent), and ``executed`` the verdict by
    execution.
    """

    rubric: Rubric
    verdicts: tuple[JudgeVerdict, ...]
    by_judge: Mapping[str, str]
    executed: str | None

    @property
    def first(self) -> JudgeVerdict:
        """One of the verdicts, for the properties that all of them share."""
        return self.verdicts[0]


def verdicts(store: Store, selection: Selection) -> list[JudgeVerdict]:
    """Read the verdicts of judges on the dialogues of a selection.

    Verdicts by a rubric that is not declared in this version are left out. A pair is selected if
    both of its models are.
    """
    passes = judge_passes(store, selection)
    rows = queries.rows(store, "judge-verdicts", passGraph=passes) if passes else []
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    return [
        verdict
        for verdict in _decided(rows)
        if all(
            item.task in tasks
            and tasks[item.task].fits(selection.tasks)
            and models.fits(item.model, selection.models)
            for item in verdict.items
        )
    ]


def judge_passes(store: Store, selection: Selection) -> list[str]:
    """Return the graphs of the passes of judges about the runs of a selection."""
    rows = queries.rows(store, "judge-passes", runGraph=list(selection.run_graphs))
    return sorted({str(graph) for graph, *_ in rows})


def judgements(decided: Iterable[JudgeVerdict]) -> list[Judgement]:
    """Group verdicts by rubric and item; see :class:`Judgement`.

    A pair that a judge saw in both orders is a tie if its verdicts contradict each other. Repeated
    samples are settled by the most frequent verdict, if there is one and it decides.
    """
    grouped: dict[tuple[str, tuple[str, ...]], list[JudgeVerdict]] = defaultdict(list)
    for verdict in decided:
        grouped[verdict.rubric.iri, verdict.about].append(verdict)
    return [
        Judgement(
            rubric=group[0].rubric,
            verdicts=tuple(group),
            by_judge=dict(_settled_verdicts(group)),
            executed=group[0].unordered(group[0].executed),
        )
        for _, group in sorted(grouped.items())
    ]


def _settled_verdicts(group: Sequence[JudgeVerdict]) -> Iterator[tuple[str, str]]:
    by_judge: dict[str, list[JudgeVerdict]] = defaultdict(list)
    for verdict in group:
        by_judge[verdict.judge].append(verdict)
    for judge, of_judge in sorted(by_judge.items()):
        votes = [str(verdict.unordered(verdict.chosen)) for verdict in of_judge]
        if len(of_judge[0].items) > 1 and len(set(votes)) > 1:
            yield judge, "tie"
            continue
        (option, number), *others = Counter(votes).most_common()
        if option != of_judge[0].rubric.undecided and number not in dict(others).values():
            yield judge, option


def _decided(rows: Iterable[tuple[str | None, ...]]) -> Iterator[JudgeVerdict]:
    rubrics = {rubric.iri: rubric for rubric in all_rubric_versions()}
    of_verdict: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    for row in rows:
        of_verdict[str(row[0])].append(tuple("" if cell is None else cell for cell in row))
    for parts in of_verdict.values():
        verdict, judge, rubric, chosen, executed, order, answer, settles, *_ = parts[0]
        if rubric not in rubrics:
            continue
        names = {option.iri: option.name for option in rubrics[rubric].options}
        yield JudgeVerdict(
            judge=ADJUDICATION if settles == "true" else judge,
            rubric=rubrics[rubric],
            chosen=names.get(chosen, rubrics[rubric].undecided),
            executed=names.get(executed),
            order=tuple(order.split()),
            items=tuple(
                Item(part[9], part[10], part[11], part[12], int(part[13])) for part in parts
            ),
            answer=answer or verdict,
        )
