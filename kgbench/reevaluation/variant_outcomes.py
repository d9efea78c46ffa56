# SPDX-License-Identifier: Apache-2.0
"""Outcomes of answers on variants by model, and detection of suspect reference queries.

The judge sees one answer at a time. If answers of several models to a question fail on the same
variant but agree with each other there, the reference query is probably wrong.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, Final, NamedTuple

from kgbench.execution.on_variants import FAILING, VariantOutcome
from kgbench.model import Json

SUSPECT: Final = "suspect-reference"
"""The outcome of answers that agree with each other on a variant but not with the reference."""


class AnswerOnVariants(NamedTuple):
    """One answer judged on variants: its dialogue, and the judge's infos about it.

    ``number`` variants of each of ``kinds`` were requested, the first with ``seed``. ``columns``
    are digests of the columns of the result, by variant on which the answer fails.
    """

    dialogue: str
    case: str
    model: str
    task: str
    outcome: str
    query: str
    seed: int
    kinds: tuple[str, ...]
    number: int
    variant: str | None = None
    reason: str | None = None
    width: int = 1
    columns: Mapping[str, Collection[str]] = {}


def answer_on_variants(
    dialogue: str, case: str, model: str, task: str, infos: Mapping[str, Any]
) -> AnswerOnVariants:
    """Read the judge's ``infos`` about an answer; ``model`` and ``task`` are labels."""
    witness = infos.get("witness") or {}
    asked = infos.get("variants") or {}
    return AnswerOnVariants(
        dialogue,
        case,
        model,
        task,
        infos.get("variantOutcome", VariantOutcome.WRONG),
        infos.get("sparql") or "",
        asked.get("seed", 0),
        tuple(asked.get("kinds", ())),
        asked.get("count", 0),
        witness.get("variant"),
        witness.get("reason"),
        infos.get("width", 1),
        infos.get("columns") or {},
    )


def suspects(answers: Iterable[AnswerOnVariants]) -> dict[str, list[tuple[str, str, str]]]:
    """Return the pairs of answers that make a reference suspect, by case.

    A pair is given by two dialogues and a variant. Both answers are right on the published graph,
    come from different models with different queries, and neither is a constant or names an entity;
    on the variant they share as many columns as expected.
    """
    by_case: dict[str, list[AnswerOnVariants]] = defaultdict(list)
    for answer in answers:
        if answer.outcome == VariantOutcome.ACCIDENT:
            by_case[answer.case].append(answer)
    pairs: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for case, of_case in by_case.items():
        for first, second in combinations(of_case, 2):
            if first.model == second.model or first.query.split() == second.query.split():
                continue
            shared = (v for v in first.columns if v in second.columns and _agree(first, second, v))
            if (variant := next(shared, None)) is not None:
                pairs[case].append((first.dialogue, second.dialogue, variant))
    return dict(pairs)


def mark_suspects(answers: Sequence[AnswerOnVariants]) -> list[AnswerOnVariants]:
    """Return ``answers``, with outcome :data:`SUSPECT` for those that agree against a reference."""
    agreeing = {
        dialogue
        for pairs in suspects(answers).values()
        for first, second, _ in pairs
        for dialogue in (first, second)
    }
    return [
        answer._replace(outcome=SUSPECT) if answer.dialogue in agreeing else answer
        for answer in answers
    ]


def counts(answers: Sequence[AnswerOnVariants]) -> dict[str, dict[str, int]]:
    """Return numbers of answers by model: exact on the published graph, failing, and by outcome."""
    counted: dict[str, dict[str, int]] = {}
    by_model: dict[str, Counter[str]] = defaultdict(Counter)
    for answer in mark_suspects(answers):
        by_model[answer.model][answer.outcome] += 1
    for model, outcomes in sorted(by_model.items()):
        exact = outcomes.total() - outcomes[VariantOutcome.WRONG]
        counted[model] = {
            "exact": exact,
            "failing": sum(outcomes[kind] for kind in FAILING),
            **{kind: outcomes[kind] for kind in (*_REPORTED, SUSPECT)},
        }
    return counted


def report(answers: Sequence[AnswerOnVariants]) -> dict[str, Json]:
    """Return the part of ``reevaluate --json`` about variants: counts by model, and witnesses."""
    witnesses = [
        {
            "dialogue": answer.dialogue,
            "model": answer.model,
            "task": answer.task,
            "outcome": str(answer.outcome),
            "variant": answer.variant,
            "reason": answer.reason,
            "command": command(answer),
        }
        for answer in mark_suspects(answers)
        if answer.outcome in {*FAILING, VariantOutcome.TIE, SUSPECT}
    ]
    return {"variants": counts(answers), "variant_witnesses": witnesses}


def command(answer: AnswerOnVariants) -> str:
    """Return the command that judges the dialogue of an answer on the same variants again."""
    run = answer.dialogue.split("/run/")[-1].split("/")[0]
    words = ["kgbench", "reevaluate", run, "--task", answer.task, "--model", answer.model]
    words += ["--variants", str(answer.number), "--seed", str(answer.seed)]
    for kind in answer.kinds:
        words += ["--kind", kind]
    return shlex.join(words)


def _agree(first: AnswerOnVariants, second: AnswerOnVariants, variant: str) -> bool:
    common = set(first.columns[variant]) & set(second.columns[variant])
    return len(common) >= max(first.width, 1)


_REPORTED: Final = tuple(str(kind) for kind in VariantOutcome if kind != VariantOutcome.WRONG)
