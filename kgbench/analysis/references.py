# SPDX-License-Identifier: Apache-2.0
"""Checks of the cases and reference queries of a benchmark by variants of their graphs.

It reads the last pass on variants over each run (``kgbench reevaluate --variants K``). Of a
dialogue with several answers, the last one counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from kgbench.analysis import policies
from kgbench.analysis.registry import Purpose, analysis
from kgbench.execution.on_variants import FAILING, VariantOutcome
from kgbench.policies.policy import ON_VARIANTS, policy
from kgbench.record import reading
from kgbench.reevaluation.variant_outcomes import (
    SUSPECT,
    AnswerOnVariants,
    answer_on_variants,
    command,
    counts,
    mark_suspects,
)
from kgbench.scores import catalogue
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Table, Value

_NONE = (
    "These dialogues have not been judged on variants yet: run "
    "'kgbench reevaluate --variants 10 --seed 1'."
)


_FINDINGS = {
    "suspect": SUSPECT,
    "disputed": VariantOutcome.ACCIDENT,
    "untestable": VariantOutcome.UNTESTABLE,
}
"""The findings about a reference, the gravest first, by the outcome of an answer that shows it."""


def on_variants(answers: Sequence[AnswerOnVariants]) -> Table:
    """Count the answers of each model by their outcomes on the graph and on its variants."""
    counts_of_models = counts(answers)
    names = list(next(iter(counts_of_models.values()), {}))
    return Table(
        "Answers on variants",
        (
            Column("model", "Model"),
            *(Column(name, name.replace("-", " ").capitalize(), Kind.COUNT) for name in names),
        ),
        tuple((model, *(row[name] for name in names)) for model, row in counts_of_models.items()),
        (),
    )


@analysis("references", Purpose.UNDERSTAND, reads=("policy-passes",))
def references(store: Store, selection: Selection) -> Table:
    """List cases whose reference query becomes doubtful on variants of the graph.

    A case is *suspect* if right answers of two models, by different queries, agree with each other
    but not with the reference on a variant; *untestable* if the reference has the same result on
    all variants; *disputed* if any answer fails for no known reason.

    >>> results = kgbench.open("kgbench-results")
    >>> results.references().names
    ('task', 'case', 'finding', 'exact', 'failing', 'variant', 'reason', 'command')
    """
    answers = read(store, selection)
    by_case: dict[str, list[AnswerOnVariants]] = defaultdict(list)
    for answer in mark_suspects(answers):
        by_case[answer.case].append(answer)
    rows = [
        row for case, of_case in by_case.items() if (row := _row(store, case, of_case)) is not None
    ]
    rows.sort(key=lambda row: ([*_FINDINGS].index(str(row[2])), str(row[1])))
    judged = f"{len(answers):,} answers to {len(by_case):,} cases were judged on variants."
    return Table(
        "References that variants call in question",
        (
            Column("task", "Task"),
            Column("case", "Case"),
            Column("finding", "Finding"),
            Column("exact", "Right on the graph", Kind.COUNT),
            Column("failing", "Failing on a variant", Kind.COUNT),
            Column("variant", "Variant"),
            Column("reason", "Reason"),
            Column("command", "Command"),
        ),
        tuple(rows),
        notes=(judged if answers else _NONE,),
        reason=None if answers else _NONE,
        queries=("policy-passes", "policy-verdicts", "score-rows"),
        context=selection.context,
    )


def _row(store: Store, case: str, answers: Sequence[AnswerOnVariants]) -> tuple[Value, ...] | None:
    outcomes = Counter(answer.outcome for answer in answers)
    exact = outcomes.total() - outcomes[VariantOutcome.WRONG]
    failing = sum(outcomes[kind] for kind in (*FAILING, SUSPECT))
    finding = next((name for name, outcome in _FINDINGS.items() if outcomes[outcome]), None)
    if finding is None:
        return None
    example = next(answer for answer in answers if answer.outcome == _FINDINGS[finding])
    return (
        example.task,
        reading.case(store, case).uid or case,
        finding,
        exact,
        failing,
        example.variant,
        example.reason,
        command(example),
    )


def read(store: Store, selection: Selection) -> list[AnswerOnVariants]:
    """Return the last answer of each selected dialogue in the last pass on variants of its run."""
    judged, dialogues = policies.read(store, selection, [policy(ON_VARIANTS)])
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    return [
        answer_on_variants(
            dialogue,
            dialogues[dialogue].case,
            models[dialogues[dialogue].model].id,
            tasks[dialogues[dialogue].task].label,
            answer.infos,
        )
        for dialogue, answer in judged.get(ON_VARIANTS, {}).items()
    ]
