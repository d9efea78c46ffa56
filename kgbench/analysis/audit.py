# SPDX-License-Identifier: Apache-2.0
"""An audit of a published leaderboard of TEXT2SPARQL: what of it follows, and what it cannot see.

Read are the published scores and means, and the last pass by each comparison policy over each run
(``kgbench reevaluate --policy NAME``, ``--variants K``). Every finding names the rule and the place
that it is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kgbench.analysis import policies as by_policies
from kgbench.analysis import published_means as means
from kgbench.analysis import references
from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.execution.on_variants import VariantOutcome
from kgbench.model import Case, Outcome, Verdict
from kgbench.policies.policy import policy
from kgbench.record import reading
from kgbench.record.reading import Seen
from kgbench.reevaluation import policy_causes
from kgbench.reevaluation.comparison import UNEXPLAINED, same
from kgbench.reevaluation.variant_outcomes import command
from kgbench.store.protocol import Store

COLUMNS: Final = (
    *(Column("finding", "Finding"), Column("dataset", "Data set"), Column("model", "Model")),
    *(Column("about", "About"), Column("metric", "Score")),
    Column("published", "Published", Kind.SCORE),
    Column("here", "Here", Kind.SCORE),
    Column("explanation", "Explanation"),
)
_MAIN: Final = policy(means.POLICY).main
_NOT_EXECUTED: Final = (
    "no answer is judged by the policy: 'kgbench reevaluate --policy text2sparql-2025' does it"
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer: its data set and published scores, and what the policy of the challenge found."""

    dialogue: str
    dataset: str
    model: str
    case: Case
    published: Mapping[str, float]
    here: by_policies.Judged | None


def audit(store: Store, selection: Selection) -> Table:
    """The findings about each data set: means, result sets, cells, questions, constants, ranks.

    ``published`` and ``here`` are scores, numbers of cells or ranks, as ``about`` and ``metric``
    say. Cells are compared where a pass by the policy of the challenge has judged them.
    """
    answers = list(_answers(store, selection))
    models = fetch.models(store)
    published = means.published_means(store, selection)
    rows = [
        *_means(published),
        *_cells(answers, models),
        *_questions(answers),
        *_constants(store, selection, answers),
        *_ranks(store, selection, sorted({one.dataset for one in answers})),
    ]
    is_judged = any(one.here for one in answers)
    return Table(
        title=f"Audit of published scores ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*published.notes, *(() if is_judged or not answers else (_NOT_EXECUTED,))),
        queries=("policy-passes", "policy-verdicts", *means.QUERIES),
        context=selection.context,
    )


def _answers(store: Store, selection: Selection) -> Iterator[_Answer]:
    names = {m.iri: name for name, m in policy(means.POLICY).answer_metrics.items()}
    judged, _ = by_policies.read(store, selection)
    here = judged.get(means.POLICY, {})
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    about: dict[str, tuple[str, str]] = {}
    for row in fetch.score_rows(store, selection, names):
        scores[row.dialogue][names[row.metric]] = row.value
        about[row.dialogue] = row.model, row.case
    cases: dict[str, Case] = {}
    for dialogue, (model, iri) in sorted(about.items()):
        if iri not in cases:
            cases[iri] = reading.case(store, iri)
        case = cases[iri]
        dataset = str(case.parameters.get("dataset", ""))
        yield _Answer(dialogue, dataset, model, case, scores[dialogue], here.get(dialogue))


def _means(published: Table) -> Iterator[tuple[Value, ...]]:
    """Published means over all languages that are no plain means, with the ranks of both."""
    for row in published.records():
        if row["language"] == "" and row["equals"] not in {"mean", "either"}:
            said = f"published is: {row['equals']}"
            if row["rank_published"] is not None:
                said += f"; rank {row['rank_published']} as published, {row['rank_mean']} by means"
            yield (
                *("mean", row["dataset"], row["model"], "all languages", row["metric"]),
                *(row["published"], row["mean"], said),
            )


def _cells(answers: Sequence[_Answer], models: fetch.Models) -> Iterator[tuple[Value, ...]]:
    """How many answers have their published scores again, and each that has not, with its cause."""
    of_system: dict[tuple[str, str], list[_Answer]] = defaultdict(list)
    for one in answers:
        if one.here is not None and one.here.scores:
            of_system[one.dataset, models.name(one.model)].append(one)
    for (dataset, model), judged in sorted(of_system.items()):
        differing = [one for one in judged if not _agrees(one)]
        yield (
            *("cells", dataset, model, "answers with all scores as published", "n"),
            *(len(judged), len(judged) - len(differing), ""),
        )
        for one in differing:
            assert one.here is not None
            values = one.published.get(_MAIN), one.here.scores.get(_MAIN)
            yield "cell", dataset, model, _question(one.case), _MAIN, *values, _cause(one)


def _agrees(one: _Answer) -> bool:
    assert one.here is not None
    return one.published.keys() == one.here.scores.keys() and all(
        same(value, one.here.scores[name]) for name, value in one.published.items()
    )


def _cause(one: _Answer) -> str:
    """Why an answer has other scores than published: from what was noted, without executing."""
    assert one.here is not None
    verdict = Verdict(one.here.scores, one.here.infos, Outcome.SCORED)
    before = {0: Seen("", dict(one.published))}
    shown = policy_causes.shown(one.case, [verdict], before, {})
    return shown or policy_causes.likely(one.case, [verdict], before, {}) or UNEXPLAINED


def _questions(answers: Sequence[_Answer]) -> Iterator[tuple[Value, ...]]:
    """Questions to which the rule of the challenge cannot tell a right answer from others."""
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    totals: dict[str, set[str]] = defaultdict(set)
    for one in answers:
        totals[one.dataset].add(one.case.iri)
        weights = one.case.data.get("publishedResultSet")
        if weights is not None and (kind := _unseen(weights)):
            found[one.dataset, kind].add(_question(one.case))
        if one.case.data.get("ordered"):
            found[one.dataset, "order"].add(_question(one.case))
    for (dataset, kind), questions in sorted(found.items()):
        yield (
            *("question", dataset, None, kind, "n", None, len(questions)),
            f"{_RULES[kind]}: {', '.join(sorted(questions))}",
        )


def _unseen(weights: Mapping[str, int]) -> str | None:
    if not weights:
        return "empty result"
    if set(weights) == {"true"}:
        return "ASK, true" if weights["true"] else "ASK, false"
    return None


_RULES: Final = {
    "empty result": "no answer can score where nothing is expected",
    "ASK, true": "any ASK scores 1, also one that says false",
    "ASK, false": "no answer can score where false is expected",
    "order": "all values have the same weight in nDCG, so a reversed list scores 1",
}


def _constants(
    store: Store, selection: Selection, answers: Sequence[_Answer]
) -> Iterator[tuple[Value, ...]]:
    """Answers that score and write their result down, as a pass on variants of graphs shows."""
    by_dialogue = {one.dialogue: one for one in answers}
    for seen in references.read(store, selection):
        one = by_dialogue.get(seen.dialogue)
        if one is not None and seen.outcome == VariantOutcome.CONSTANT:
            why = "the query reads no graph" if seen.variant is None else f"fails on {seen.variant}"
            yield (
                *("constant", one.dataset, seen.model, _question(one.case), "set_F"),
                *(one.published.get("set_F"), None, f"{why}; {command(seen)}"),
            )


def _ranks(
    store: Store, selection: Selection, datasets: Sequence[str]
) -> Iterator[tuple[Value, ...]]:
    """The mean and rank of each system under each policy that has judged all its answers."""
    for dataset in datasets:
        chosen = replace(selection, tasks=f"*-{dataset}-*")
        table = by_policies.ranks(store, chosen)
        for row in table.records():
            for name in row:
                if name.endswith("_rank") and row[name] is not None:
                    ruled = name.removesuffix("_rank")
                    said = f"rank {row[name]} under {ruled}"
                    yield "rank", dataset, row["model"], ruled, "mean", None, row[ruled], said


def _question(case: Case) -> str:
    return case.uid or case.iri.rpartition("/")[2]
