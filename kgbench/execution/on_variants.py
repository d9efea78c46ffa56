# SPDX-License-Identifier: Apache-2.0
"""Judging of queries on variants of their graph, to find answers that are right by accident.

If the result of an answer equals that of the reference query on the graph of the case, both queries
are also executed on variants of the graph. The answer is right if they agree on all of them. Each
answer gets a :class:`VariantOutcome`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Final, cast

from kgbench.errors import EvaluationError
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.query_terms import QueryTerms, reads_graph, renamed, terms_of
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, TaskModule, Verdict
from kgbench.policies import ties
from kgbench.policies.blank_nodes import compare_changes
from kgbench.policies.compare import Comparison, Reference, compare
from kgbench.policies.policy import ON_VARIANTS, policies
from kgbench.policies.values import by_value
from kgbench.policies.values import parse_term as read_term
from kgbench.rdf import canonical_json, digest
from kgbench.tasks import typed_answers
from kgbench.variants import VariantKind, graphs
from kgbench.variants.generator import VERSION, Recipe, opaque_codes, variant
from kgbench.variants.rules import (
    NO_RULES,
    Rules,
    instances_in_question,
    make_plan,
    names_to_instances,
)
from kgbench.vocab import XSD

VARIANTS_KEY: Final = "onVariants"
"""The key of a case's data with the variants to judge on."""

COMPARED_BY: Final = "rows"
"""The policy that compares results on each graph."""
_REMEMBERED: Final = 2_000  # cached results of reference queries
_MOST_CELLS: Final = 50_000  # cells of the largest result that is cached


class VariantOutcome(StrEnum):
    """The outcome of judging an answer on variants.

    ``holds``: the answer equals the reference everywhere. ``tie``: it does, and the reference
    itself leaves a choice of rows. ``untestable``: it does, but the reference has the same result
    on all variants. ``constant``: it contains the expected values as constants.
    ``entity-hard-coded``: it names an instance that the question does not name. ``accident``: it
    fails on a variant for another reason. ``wrong``: it is not right on the published graph.
    """

    HOLDS = "holds"
    TIE = "tie"
    UNTESTABLE = "untestable"
    CONSTANT = "constant"
    ENTITY = "entity-hard-coded"
    ACCIDENT = "accident"
    WRONG = "wrong"


#: The outcomes of answers that are right on the published graph but not on all variants.
FAILING: Final = frozenset(
    (VariantOutcome.CONSTANT, VariantOutcome.ENTITY, VariantOutcome.ACCIDENT)
)


@dataclass(frozen=True, slots=True)
class Variants:
    """A selection of variants: ``count`` of each of ``kinds``, with seeds from ``seed`` on.

    ``named`` are the instances (IRIs) that stay in all of them.
    """

    count: int
    seed: int
    kinds: tuple[VariantKind, ...] = (VariantKind.SHUFFLED,)
    named: tuple[str, ...] = ()
    rules: Rules = NO_RULES

    def recipes(self, properties: Sequence[str]) -> list[Recipe]:
        """Return the recipe of each variant; ``properties`` are IRIs in the reference query."""
        return [
            Recipe(
                kind,
                self.seed + k,
                tuple(sorted(properties if kind is VariantKind.EMPTIED else self.named)),
                self.rules,
            )
            for kind in self.kinds
            for k in range(self.count)
        ]


def limits(base: JudgeLimits, variants: Variants) -> JudgeLimits:
    """Return limits with the time for executing answers on all variants, too."""
    return replace(
        base, seconds=base.seconds * (1 + variants.count * len(variants.kinds)), policy=COMPARED_BY
    )


def with_variants(case: Case, variants: Variants) -> Case:
    """Return ``case`` with the variants to judge its answers on."""
    value = {
        "count": variants.count,
        "seed": variants.seed,
        "kinds": [kind.value for kind in variants.kinds],
        "named": list(variants.named),
        "rules": asdict(variants.rules),
    }
    data = {**case.data, VARIANTS_KEY: value}
    return replace(case, data=data, digest=digest(case.digest + canonical_json(value)))


def named_instances(case: Case, module: TaskModule, rules: Rules) -> set[str]:
    """Return the IRIs of the instances that the question or the reference query names."""
    graph = graphs.read(
        typed_answers.graph_of(case, cast("typed_answers.AnswersWithQueries", module))
    )
    terms = terms_of(case.data["refSparql"], typed_answers.prefixes_of(case, module))
    mentioned = instances_in_question(
        graph, terms.iris, terms.texts, case.data.get("question", ""), rules
    )
    return {term[1:-1] for term in mentioned if term.startswith("<")}


def judge(case: Case, answers: Sequence[str], executor: Executor, module: TaskModule) -> Verdict:
    """Judge the last of ``answers`` on the published graph and on its variants.

    Raises :class:`~kgbench.errors.EvaluationError` if the reference query cannot be executed.
    """
    query = cast("typed_answers.AnswersWithQueries", module).query(answers[-1])
    trial = _Trial(case, executor, module)
    if query is None:
        outcome = Outcome.UNPARSABLE if answers[-1].strip() else Outcome.EMPTY
        return Verdict(_scores(0.0, exact=False), _infos(case, None, VariantOutcome.WRONG), outcome)
    published = trial.on_published(query)
    first = published.compared
    outcome = Outcome.TIMEOUT if published.answer.expired else Outcome.SCORED
    if first.scores["exact"] < 1:
        infos = _infos(case, query, VariantOutcome.WRONG) | {"reason": first.reason}
        return Verdict(_scores(first.scores["f1"], exact=False), infos, outcome)
    results = [(recipe, trial.on_variant(recipe, query)) for recipe in trial.recipes]
    failed = [(recipe, result) for recipe, result in results if result.compared.scores["exact"] < 1]
    tied = [(recipe, result) for recipe, result in results if result.is_tied]
    changes = sum(trial.is_changed(published, result) for _, result in results)
    kind = _outcome(trial, query, published, changes, failed=bool(failed), tied=bool(tied))
    infos = _infos(case, query, kind) | {
        "referenceChanges": changes,
        "width": max(len(published.reference.result.variables), 1),
        "failing": [_name(recipe) for recipe, _ in failed],
    }
    if shown := (failed or tied):
        recipe, result = shown[0]
        infos["witness"] = {"variant": _name(recipe), "reason": result.compared.reason}
        infos["columns"] = {_name(r): result.columns for r, result in shown}
    if any(result.answer.expired for _, result in results):
        outcome = Outcome.TIMEOUT
    f1 = min([first.scores["f1"], *(result.compared.scores["f1"] for _, result in results)])
    exact = not failed and kind is not VariantOutcome.CONSTANT
    return Verdict(_scores(f1, exact=exact), infos, outcome)


@dataclass(frozen=True, slots=True)
class _Result:
    """The results of both queries on one graph, and their comparison."""

    reference: Reference
    answer: QueryResult
    compared: Comparison
    is_tied: bool = False

    @property
    def columns(self) -> list[str]:
        """Digests of the values of each column of the answer, to compare answers by."""
        if self.answer.boolean is not None:
            return [str(self.answer.boolean).lower()]
        return [
            digest("\n".join(sorted({"" if cell is None else by_value(cell) for cell in column})))[
                :16
            ]
            for column in zip(*self.answer.rows, strict=True)
        ]


class _Trial:
    """A case, its graph and its variants."""

    def __init__(self, case: Case, executor: Executor, module: TaskModule) -> None:
        self.graph = typed_answers.graph_of(case, cast("typed_answers.AnswersWithQueries", module))
        self.prefixes = typed_answers.prefixes_of(case, module)
        self.gold: str = case.data["refSparql"]
        self.question: str = case.data.get("question") or ""
        self._policy = policies()[COMPARED_BY]
        self._case = case
        self._executor = executor
        self._writes = typed_answers.writes_triples(module)
        variants = _read(case.data[VARIANTS_KEY])
        self.rules = variants.rules
        self.recipes = variants.recipes(sorted(self.reference_terms.iris))

    @property
    def reference_terms(self) -> QueryTerms:
        """The terms in the reference query."""
        return terms_of(self.gold, self.prefixes)

    def on_published(self, query: str) -> _Result:
        """Execute both queries on the graph of the case."""
        return self._on(self.graph, self.gold, query)

    def on_variant(self, recipe: Recipe, query: str) -> _Result:
        """Execute both queries on a variant, with its IRIs in place of renamed ones."""
        graph = variant(self.graph, "turtle", recipe)
        gold = self.gold
        if recipe.kind is VariantKind.OPAQUE:
            codes = opaque_codes(graphs.read(self.graph), recipe)
            gold, query = (renamed(text, self.prefixes, codes) for text in (gold, query))
        return self._on(graph, gold, query)

    def _on(self, graph: str, gold: str, query: str) -> _Result:
        reference = self._reference(graph, gold)
        if self._writes:
            answer = self._executor.changes(query, graph, self.prefixes)
            return _Result(reference, answer, compare_changes(reference.result, answer))
        answer = self._executor.results(query, graph, self.prefixes)
        compared = compare(self._policy, reference, answer)
        is_tied = (
            reference.groups is not None
            and compared.scores["exact"] == 1
            and compare(self._policy, replace(reference, groups=None), answer).scores["exact"] < 1
        )
        return _Result(reference, answer, compared, is_tied)

    def values(self, expected: QueryResult) -> set[str]:
        """Return the values of an expected result; for updates and CONSTRUCT, all their terms."""
        rows = [row[1:] for row in expected.rows] if self._writes else expected.rows
        cells = {cell for row in rows for cell in row if cell is not None}
        return {cell for cell in cells if not (self._writes and cell.startswith("_:"))}

    def is_changed(self, published: _Result, other: _Result) -> bool:
        """Return whether the reference result in ``other`` differs from the published one."""
        before, after = published.reference, other.reference.result
        comparison = (
            compare_changes(before.result, after)
            if self._writes
            else compare(self._policy, before, after)
        )
        return comparison.scores["exact"] < 1

    def _reference(self, graph: str, gold: str) -> Reference:
        ordered = bool(self._case.data.get("ordered"))
        key = (graph, gold, ordered, tuple(sorted(self.prefixes.items())))
        reference = _references.get(key)
        if reference is None:
            reference = (
                Reference(self._executor.changes(gold, graph, self.prefixes))
                if self._writes
                else ties.reference(gold, graph, self.prefixes, self._executor, ordered=ordered)
            )
            if reference.result.error is not None:
                raise EvaluationError(
                    f"the reference query of {self._case.iri} cannot be executed: "
                    f"{reference.result.error}"
                )
            if len(reference.result.rows) * len(reference.result.variables) <= _MOST_CELLS:
                _references[key] = reference
            if len(_references) > _REMEMBERED:
                _references.popitem(last=False)
        return reference


_Key = tuple[str, str, bool, tuple[tuple[str, str], ...]]
# A cache of results of reference queries, because many answers are judged by each.
_references: OrderedDict[_Key, Reference] = OrderedDict()


def _outcome(
    trial: _Trial, query: str, published: _Result, changes: int, *, failed: bool, tied: bool
) -> VariantOutcome:
    if not reads_graph(query) and reads_graph(trial.gold):
        return VariantOutcome.CONSTANT
    if failed:
        terms = terms_of(query, trial.prefixes)
        if _writes_out(terms, trial.values(published.reference.result)):
            return VariantOutcome.CONSTANT
        return VariantOutcome.ENTITY if _foreign(trial, terms) else VariantOutcome.ACCIDENT
    if not changes:
        return VariantOutcome.UNTESTABLE
    return VariantOutcome.TIE if tied else VariantOutcome.HOLDS


def _writes_out(terms: QueryTerms, values: set[str]) -> bool:
    """Return whether a query contains all expected values as constants."""
    texts = {by_value(f'"{text}"^^<{XSD.decimal}>') for text in terms.texts} | terms.texts
    return bool(values) and all(_is_written(cell, terms.iris, texts) for cell in values)


def _is_written(cell: str, iris: frozenset[str], texts: set[str]) -> bool:
    term = read_term(cell)
    return (
        term.value in iris if term.kind == "uri" else {term.value, by_value(cell)} & texts != set()
    )


def _foreign(trial: _Trial, terms: QueryTerms) -> bool:
    """Return whether a query names an instance that is neither in question nor reference."""
    graph = graphs.read(trial.graph)
    theirs = trial.reference_terms
    names = names_to_instances(graph, trial.rules)
    known = instances_in_question(graph, theirs.iris, (), trial.question, trial.rules)
    known |= _called(names, theirs.texts)
    instances = make_plan(graph, trial.rules).profile.kinds.keys()
    return (
        not (({f"<{iri}>" for iri in terms.iris} & instances) | _called(names, terms.texts))
        <= known
    )


def _called(names: Mapping[str, frozenset[str]], texts: Iterable[str]) -> set[str]:
    """Return the instances whose name is one of ``texts``."""
    return set().union(*(names.get(graphs.words(text), ()) for text in texts))


def _scores(f1: float, *, exact: bool) -> dict[str, float]:
    return {"exactOnVariants": float(exact), "f1OnVariants": f1}


def _infos(case: Case, query: str | None, outcome: VariantOutcome) -> dict[str, Json]:
    asked = case.data[VARIANTS_KEY]
    return {
        "policy": ON_VARIANTS,
        "sparql": query,
        "variantOutcome": outcome.value,
        "variants": {name: asked[name] for name in ("count", "seed", "kinds")},
        "generator": VERSION,
    }


def _name(recipe: Recipe) -> str:
    """Return the name of a variant by kind and seed: ``shuffled-7``."""
    return f"{recipe.kind.value}-{recipe.seed}"


def _read(value: Json) -> Variants:
    """Parse the value that :func:`with_variants` wrote, also after a round trip through JSON."""
    rules = value["rules"]
    return Variants(
        value["count"],
        value["seed"],
        tuple(map(VariantKind, value["kinds"])),
        tuple(value["named"]),
        Rules(
            tuple(rules["kept"]),
            tuple(rules["moved"]),
            tuple(map(tuple, rules["together"])),
            tuple(rules["whole"]),
            rules["share"],
        ),
    )
