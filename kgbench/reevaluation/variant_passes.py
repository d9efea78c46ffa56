# SPDX-License-Identifier: Apache-2.0
"""Evaluation passes that judge on variants of graphs: the variants and their description."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import cast

from kgbench.errors import EvaluationError
from kgbench.execution.on_variants import Variants, named_instances, with_variants
from kgbench.model import Case, Dialogue, Verdict
from kgbench.rdf.declared import shipped
from kgbench.record import Recorder, reading, schema
from kgbench.record.reading import RunInfo
from kgbench.reevaluation.variant_outcomes import AnswerOnVariants, answer_on_variants
from kgbench.store.protocol import Block, Store
from kgbench.tasks import catalogue, successors, typed_answers
from kgbench.variants import rules
from kgbench.variants.generator import VERSION
from kgbench.variants.rules import NO_RULES, Rules
from kgbench.vocab import KGB

_RULES = ("ontology", "variants.ttl")


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

    def last_outcome(
        self, dialogue: Dialogue, model: str, task: str, verdicts: Sequence[Verdict]
    ) -> AnswerOnVariants:
        """Return the outcome of the last answer of a dialogue.

        ``model`` and ``task`` are labels.
        """
        return answer_on_variants(
            dialogue.iri,
            dialogue.case,
            model,
            task,
            verdicts[-1].infos,
        )

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
            task = successors.as_successor_task(reading.task(self._store, execution.task))
            if task.task_class == task_class:
                dialogues = reading.execution_dialogues(
                    self._store, self._run.graph, execution, self._run.iri
                )
                iris |= {dialogue.case for dialogue in dialogues}
        return [
            successors.as_successor_case(reading.case(self._store, iri)) for iri in sorted(iris)
        ]


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
