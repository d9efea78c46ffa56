# SPDX-License-Identifier: Apache-2.0
"""Evaluation passes that judge on variants of graphs, and what they find by model.

The judge sees one answer at a time. If answers of several models to a question fail on the same
variant but agree with each other there, the reference query is probably wrong.
"""

from __future__ import annotations

import shlex
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, Final, NamedTuple, cast

from kgbench.errors import EvaluationError
from kgbench.execution.on_variants import (
    FAILING,
    VariantOutcome,
    Variants,
    named_instances,
    with_variants,
)
from kgbench.model import Case, Dialogue, Json
from kgbench.rdf.declared import shipped
from kgbench.record import reading, schema
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import Recorder
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue, typed_answers
from kgbench.variants import rules
from kgbench.variants.generator import VERSION
from kgbench.variants.rules import NO_RULES, Rules
from kgbench.vocab import KGB

_RULES: Final = ("ontology", "variants.ttl")
_REPORTED: Final = tuple(str(kind) for kind in VariantOutcome if kind != VariantOutcome.WRONG)

SUSPECT: Final = "suspect-reference"
"""The outcome of answers that agree with each other on a variant but not with the reference."""


class AnswerOnVariants(NamedTuple):
    """One answer judged on variants: its dialogue, and the judge's infos about it.

    ``number`` variants of each of ``kinds`` were requested, the first with ``seed``. ``columns``
    are digests of the columns of the result, by variant on which the answer fails. ``label`` is
    that of the model, which other models may have as well, but not ``model``, its name in tables.
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
    label: str = ""


def answer_on_variants(
    dialogue: str, case: str, model: tuple[str, str], task: str, infos: Mapping[str, Any]
) -> AnswerOnVariants:
    """Read the judge's ``infos`` about an answer; ``model`` is a name with its label."""
    witness = infos.get("witness") or {}
    asked = infos.get("variants") or {}
    return AnswerOnVariants(
        dialogue,
        case,
        model[0],
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
        model[1],
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
    words = ["kgbench", "reevaluate", run, "--task", answer.task, "--model", answer.label]
    words += ["--variants", str(answer.number), "--seed", str(answer.seed)]
    for kind in answer.kinds:
        words += ["--kind", kind]
    return shlex.join(words)


def _agree(first: AnswerOnVariants, second: AnswerOnVariants, variant: str) -> bool:
    common = set(first.columns[variant]) & set(second.columns[variant])
    return len(common) >= max(first.width, 1)


class VariantPass:
    """The variants on which the answers of a run are judged.

    All cases of the run about one graph share its variants; instances that any case names are kept.
    """

    def __init__(self, store: Store, run: RunInfo, variants: Variants) -> None:
        self._store = store
        self._run = run
        self._variants = variants
        self._named: dict[tuple[str, str], frozenset[str]] = {}

    def with_variants(
        self, dialogues: Sequence[tuple[Dialogue, Case]]
    ) -> list[tuple[Dialogue, Case]]:
        """Return ``dialogues`` with the variants to judge on in the data of each case."""
        prepared: dict[tuple[str, str], Case] = {}
        for _, case in dialogues:
            key = (case.iri, case.digest)
            if key not in prepared:
                prepared[key] = self._with_variants(case)
        return [(dialogue, prepared[case.iri, case.digest]) for dialogue, case in dialogues]

    def described(self, recorder: Recorder) -> Block:
        """Return the description of the variants of the pass, each as an entity."""
        lines: list[str] = []
        for recipe in self._variants.recipes(()):
            kind, seed = recipe.kind.value, recipe.seed
            variant = variant_iri(recorder.evaluation_pass, f"{kind}-{seed}")
            lines += schema.of("GraphVariant").triples(
                variant, kind=kind, seed=seed, generator=VERSION
            )
            lines += recorder.pass_facts(variants=[variant]).triples
        return Block(recorder.pass_graph, lines)

    def _with_variants(self, case: Case) -> Case:
        rules_found = rules_of(case.task_class)
        named = self._named_with(case, rules_found)
        variants = Variants(
            self._variants.count,
            self._variants.seed,
            self._variants.kinds,
            tuple(sorted(named)),
            rules_found,
        )
        return with_variants(case, variants)

    def _named_with(self, case: Case, rules_found: Rules) -> frozenset[str]:
        """Return the IRIs named by all cases of the run with the same graph."""
        graph = _graph(case)
        key = (case.task_class, graph)
        if key not in self._named:
            named: set[str] = set()
            for other in self._cases(case.task_class):
                if variants_obstacle(other) is None and _graph(other) == graph:
                    named |= named_instances(other, catalogue.module(other.task_class), rules_found)
            self._named[key] = frozenset(named)
        return self._named[key]

    def _cases(self, task_class: str) -> list[Case]:
        """Return all cases of a task class with dialogues in the run, selected or not."""
        iris = set()
        for execution in reading.executions(self._store, self._run.graph):
            task = catalogue.as_successor_task(reading.task(self._store, execution.task))
            if task.task_class == task_class:
                dialogues = reading.execution_dialogues(
                    self._store, self._run.graph, execution, self._run.iri
                )
                iris |= {dialogue.case for dialogue in dialogues}
        return [catalogue.as_successor_case(reading.case(self._store, iri)) for iri in sorted(iris)]


def variants_obstacle(case: Case) -> str | None:
    """Return the reason why answers to ``case`` cannot be judged on variants, or ``None``."""
    if not case.data.get("refSparql"):
        return f"cases of {case.task_class} without a reference query"
    try:
        _graph(case)
    except EvaluationError:
        return f"cases of {case.task_class} whose graph is not at hand"
    return None


def variant_iri(evaluation_pass: str, name: str) -> str:
    """Return the IRI of a variant of a pass; ``name`` is ``KIND-SEED``."""
    return f"{evaluation_pass}/variant/{name}"


@cache
def rules_of(task_class: str) -> Rules:
    """Return the declared rules for the graphs of a task class, or :data:`NO_RULES`."""
    source = shipped(*_RULES)
    for node in source.instances(KGB.VariantRules):
        if task_class in source.texts(node, KGB.taskClassName):
            return rules.read(source, node)
    return NO_RULES


def _graph(case: Case) -> str:
    module = cast("typed_answers.AnswersWithQueries", catalogue.module(case.task_class))
    return typed_answers.graph_of(case, module)
