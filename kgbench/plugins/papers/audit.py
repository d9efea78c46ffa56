# SPDX-License-Identifier: Apache-2.0
"""An audit of a published TEXT2SPARQL leaderboard: its arithmetic and the gaps in its rule.

It reads the published scores and means, and the last pass of each comparison policy over each run
(``kgbench reevaluate --policy NAME``, ``--variants K``). Every finding names the rule, and the
cell or question it concerns.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import kgbench.api as kb
from kgbench.analysis import policies as by_policies
from kgbench.plugins.papers import published_means as means
from kgbench.record import reading
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation import causes
from kgbench.reevaluation.comparison import UNEXPLAINED, is_same_value
from kgbench.scores import catalogue
from kgbench.scores.reading import score_rows

COLUMNS: Final = (
    kb.Column("finding", "Finding"),
    kb.Column("dataset", "Data set"),
    kb.Column("model", "Model"),
    kb.Column("about", "About"),
    kb.Column("metric", "Score"),
    kb.Column("published", "Published", kb.Kind.SCORE),
    kb.Column("here", "Here", kb.Kind.SCORE),
    kb.Column("explanation", "Explanation"),
)
_MAIN: Final = kb.policy(means.POLICY).main
_NOT_EXECUTED: Final = (
    "no answer is judged by the policy: 'kgbench reevaluate --policy text2sparql-2025' does it"
)


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer: its data set, its published scores, and its scores by the challenge's policy.

    ``here`` is ``None`` where no pass of the policy has judged the answer.
    """

    dialogue: str
    dataset: str
    model: str
    case: kb.Case
    published: Mapping[str, float]
    here: by_policies.PolicyScores | None


@kb.analysis("audit", kb.Purpose.PAPERS, reads=("policy-passes",))
def audit(store: kb.Store, selection: kb.Selection) -> kb.Table:
    """Audit a published leaderboard: recompute it from its answers and test its scoring rule.

    >>> results = kgbench.open("kgbench-results")
    >>> len(results.audit())
    0
    """
    answers = list(_answers(store, selection))
    models = catalogue.models(store)
    published = means.published_means(store, selection)
    rows = [
        *_means(published),
        *_cells(answers, models),
        *_questions(answers),
    ]
    is_judged = any(answer.here for answer in answers)
    return kb.Table(
        title=f"Audit of published scores ({selection.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(*published.notes, *(() if is_judged or not answers else (_NOT_EXECUTED,))),
        queries=("policy-passes", "policy-verdicts", *means.QUERIES),
        context=selection.context,
    )


def _answers(store: kb.Store, selection: kb.Selection) -> Iterator[_Answer]:
    names = {m.iri: name for name, m in kb.policy(means.POLICY).answer_metrics.items()}
    judged, _ = by_policies.read_passes(store, selection)
    here = judged.get(means.POLICY, {})
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    origins: dict[str, tuple[str, str]] = {}
    for row in score_rows(store, selection, names):
        scores[row.dialogue][names[row.metric]] = row.value
        origins[row.dialogue] = row.model, row.case
    cases: dict[str, kb.Case] = {}
    for dialogue, (model, iri) in sorted(origins.items()):
        if iri not in cases:
            cases[iri] = reading.case(store, iri)
        case = cases[iri]
        dataset = str(case.parameters.get("dataset", ""))
        yield _Answer(dialogue, dataset, model, case, scores[dialogue], here.get(dialogue))


def _means(published: kb.Table) -> Iterator[tuple[kb.Value, ...]]:
    for row in published.records():
        if row["language"] == "" and row["equals"] not in {"mean", "either"}:
            explanation = f"published is: {row['equals']}"
            if row["rank_published"] is not None:
                explanation += (
                    f"; rank {row['rank_published']} as published, {row['rank_mean']} by means"
                )
            yield (
                "mean",
                row["dataset"],
                row["model"],
                "all languages",
                row["metric"],
                row["published"],
                row["mean"],
                explanation,
            )


def _cells(answers: Sequence[_Answer], models: catalogue.Models) -> Iterator[tuple[kb.Value, ...]]:
    """Yield the number of answers whose scores match the published ones, then each mismatch.

    A row for a mismatch has its cause.
    """
    of_system: dict[tuple[str, str], list[_Answer]] = defaultdict(list)
    for answer in answers:
        if answer.here is not None and answer.here.scores:
            of_system[answer.dataset, models.name(answer.model)].append(answer)
    for (dataset, model), judged in sorted(of_system.items()):
        differing = [answer for answer in judged if not _agrees(answer)]
        yield (
            "cells",
            dataset,
            model,
            "answers with all scores as published",
            "n",
            len(judged),
            len(judged) - len(differing),
            "",
        )
        for answer in differing:
            assert answer.here is not None
            values = answer.published.get(_MAIN), answer.here.scores.get(_MAIN)
            yield "cell", dataset, model, _question(answer.case), _MAIN, *values, _cause(answer)


def _agrees(answer: _Answer) -> bool:
    assert answer.here is not None
    return answer.published.keys() == answer.here.scores.keys() and all(
        is_same_value(value, answer.here.scores[name]) for name, value in answer.published.items()
    )


def _cause(answer: _Answer) -> str:
    """Explain from the judge's notes, without executing, why scores differ from the published."""
    assert answer.here is not None
    verdict = kb.Verdict(answer.here.scores, answer.here.infos, kb.Outcome.SCORED)
    before = {0: ScoredEvaluation("", dict(answer.published))}
    proven = causes.proven_cause(answer.case, [verdict], before, {})
    return proven or causes.likely_cause(answer.case, [verdict], before, {}) or UNEXPLAINED


def _questions(answers: Sequence[_Answer]) -> Iterator[tuple[kb.Value, ...]]:
    """Yield questions on which the challenge's rule cannot tell right answers from wrong ones."""
    affected: dict[tuple[str, str], set[str]] = defaultdict(set)
    totals: dict[str, set[str]] = defaultdict(set)
    for answer in answers:
        totals[answer.dataset].add(answer.case.iri)
        weights = answer.case.data.get("publishedResultSet")
        if weights is not None and (kind := _unseen(weights)):
            affected[answer.dataset, kind].add(_question(answer.case))
        if answer.case.data.get("ordered"):
            affected[answer.dataset, "order"].add(_question(answer.case))
    for (dataset, kind), questions in sorted(affected.items()):
        yield (
            "question",
            dataset,
            None,
            kind,
            "n",
            None,
            len(questions),
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


def _question(case: kb.Case) -> str:
    return case.uid or case.iri.rpartition("/")[2]
