# SPDX-License-Identifier: Apache-2.0
"""Judging a query on variants of its graph as well, to see that it is right for a reason.

An answer whose result equals that of the reference query on the graph of the case is executed on
variants of this graph as well, and so is the reference query. It is right if the two agree on all
of them. What becomes of each answer is one of :class:`VariantOutcome`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Final, cast

from kgbench.errors import EvaluationError
from kgbench.execution import ties
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.query_terms import Written, reads_graph, renamed, written
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, TaskModule, Verdict
from kgbench.policies.blank_nodes import compare_changes
from kgbench.policies.compare import Comparison, Reference, compare
from kgbench.policies.policy import ON_VARIANTS, policies
from kgbench.policies.terms import read as read_term
from kgbench.policies.values import by_value
from kgbench.rdf import canonical_json, digest
from kgbench.tasks import typed_answers
from kgbench.variants import mentions, triples
from kgbench.variants.generator import VERSION, Recipe, opaque_codes, variant
from kgbench.variants.kinds import VariantKind
from kgbench.variants.rules import NONE, Rules, planned

ASKED: Final = "onVariants"
"""The key of a case's data that holds the variants to judge on."""

COMPARED_BY: Final = "rows"
"""The policy that compares the results on each graph."""
_REMEMBERED: Final = 2_000  # results of reference queries
_MOST_CELLS: Final = 50_000  # of a result that is remembered


class VariantOutcome(StrEnum):
    """What the variants show about an answer.

    ``holds``: it equals the reference everywhere. ``tie``: it does, where the reference itself
    leaves a choice. ``untestable``: it does, but the reference is the same on all variants.
    ``constant``: it writes out the expected values. ``entity-hard-coded``: it names an instance
    that the question does not name. ``accident``: it fails on a variant for another reason.
    ``wrong``: it is not right on the published graph.
    """

    HOLDS = "holds"
    TIE = "tie"
    UNTESTABLE = "untestable"
    CONSTANT = "constant"
    ENTITY = "entity-hard-coded"
    ACCIDENT = "accident"
    WRONG = "wrong"


#: The outcomes of answers that are right on the published graph and not on all variants.
FAILING: Final = frozenset(
    (VariantOutcome.CONSTANT, VariantOutcome.ENTITY, VariantOutcome.ACCIDENT)
)


@dataclass(frozen=True, slots=True)
class Variants:
    """Which variants are asked for: ``count`` of each of ``kinds``.

    Their seeds are ``seed``, ``seed + 1`` ... ``named`` are the instances (IRIs) that stay in all
    of them.
    """

    count: int
    seed: int
    kinds: tuple[VariantKind, ...] = (VariantKind.SHUFFLED,)
    named: tuple[str, ...] = ()
    rules: Rules = NONE

    def recipes(self, properties: Sequence[str]) -> list[Recipe]:
        """The recipe of each; ``properties`` are IRIs that the reference query names."""
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


def limits(given: JudgeLimits, asked: Variants) -> JudgeLimits:
    """``given`` for answers that are executed on so many graphs as a trial takes at most."""
    return replace(
        given, seconds=given.seconds * (1 + asked.count * len(asked.kinds)), policy=COMPARED_BY
    )


def with_variants(case: Case, asked: Variants) -> Case:
    """``case`` with the variants that answers to it are to be judged on."""
    value = {
        "count": asked.count,
        "seed": asked.seed,
        "kinds": [kind.value for kind in asked.kinds],
        "named": list(asked.named),
        "rules": asdict(asked.rules),
    }
    data = {**case.data, ASKED: value}
    return replace(case, data=data, digest=digest(case.digest + canonical_json(value)))


def named_by(case: Case, module: TaskModule, rules: Rules) -> set[str]:
    """The IRIs of the instances that the question of ``case`` or its reference query names."""
    graph = triples.read(
        typed_answers.graph_of(case, cast("typed_answers.AnswersWithQueries", module))
    )
    wrote = written(case.data["refSparql"], typed_answers.prefixes_of(case, module))
    found = mentions.named(graph, wrote.iris, wrote.texts, case.data.get("question", ""), rules)
    return {term[1:-1] for term in found if term.startswith("<")}


def judge(case: Case, answers: Sequence[str], executor: Executor, module: TaskModule) -> Verdict:
    """The verdict on the last of ``answers`` on the published graph and on its variants.

    Raises :class:`~kgbench.errors.EvaluationError` where the reference query cannot be executed.
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
    seen = [(recipe, trial.on_variant(recipe, query)) for recipe in trial.recipes]
    failed = [(recipe, each) for recipe, each in seen if each.compared.scores["exact"] < 1]
    tied = [(recipe, each) for recipe, each in seen if each.is_tied]
    changes = sum(trial.is_changed(published, each) for _, each in seen)
    kind = _outcome(trial, query, published, changes, failed=bool(failed), tied=bool(tied))
    infos = _infos(case, query, kind) | {
        "referenceChanges": changes,
        "width": max(len(published.reference.result.variables), 1),
        "failing": [_name(recipe) for recipe, _ in failed],
    }
    if shown := (failed or tied):
        recipe, each = shown[0]
        infos["witness"] = {"variant": _name(recipe), "reason": each.compared.reason}
        infos["columns"] = {_name(r): each.columns for r, each in shown}
    if any(each.answer.expired for _, each in seen):
        outcome = Outcome.TIMEOUT
    f1 = min([first.scores["f1"], *(each.compared.scores["f1"] for _, each in seen)])
    exact = not failed and kind is not VariantOutcome.CONSTANT
    return Verdict(_scores(f1, exact=exact), infos, outcome)


@dataclass(frozen=True, slots=True)
class _Result:
    """The results of both queries on one graph, and how they compare."""

    reference: Reference
    answer: QueryResult
    compared: Comparison
    is_tied: bool = False

    @property
    def columns(self) -> list[str]:
        """A digest of the values of each column of the answer, by which answers can be compared."""
        if self.answer.boolean is not None:
            return [str(self.answer.boolean).lower()]
        return [
            digest("\n".join(sorted({"" if cell is None else by_value(cell) for cell in column})))[
                :16
            ]
            for column in zip(*self.answer.rows, strict=True)
        ]


class _Trial:
    """One case, its graph and its variants."""

    def __init__(self, case: Case, executor: Executor, module: TaskModule) -> None:
        self.graph = typed_answers.graph_of(case, cast("typed_answers.AnswersWithQueries", module))
        self.prefixes = typed_answers.prefixes_of(case, module)
        self.gold: str = case.data["refSparql"]
        self.question: str = case.data.get("question") or ""
        self._policy = policies()[COMPARED_BY]
        self._case = case
        self._executor = executor
        self._writes = typed_answers.writes(module)
        variants = _read(case.data[ASKED])
        self.rules = variants.rules
        self.recipes = variants.recipes(sorted(self.reference_terms.iris))

    @property
    def reference_terms(self) -> Written:
        """What the reference query writes out."""
        return written(self.gold, self.prefixes)

    def on_published(self, query: str) -> _Result:
        """The results of both queries on the graph of the case."""
        return self._on(self.graph, self.gold, query)

    def on_variant(self, recipe: Recipe, query: str) -> _Result:
        """The results of both queries on a variant, under the names that it has for things."""
        graph = variant(self.graph, "turtle", recipe)
        gold = self.gold
        if recipe.kind is VariantKind.OPAQUE:
            codes = opaque_codes(triples.read(self.graph), recipe)
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
        """The values of an expected result; of triples that are written, all their terms."""
        rows = [row[1:] for row in expected.rows] if self._writes else expected.rows
        cells = {cell for row in rows for cell in row if cell is not None}
        return {cell for cell in cells if not (self._writes and cell.startswith("_:"))}

    def is_changed(self, published: _Result, other: _Result) -> bool:
        """Whether the reference has another result in ``other`` than on the published graph."""
        before, after = published.reference, other.reference.result
        found = (
            compare_changes(before.result, after)
            if self._writes
            else compare(self._policy, before, after)
        )
        return found.scores["exact"] < 1

    def _reference(self, graph: str, gold: str) -> Reference:
        ordered = bool(self._case.data.get("ordered"))
        key = (graph, gold, ordered, tuple(sorted(self.prefixes.items())))
        found = _references.get(key)
        if found is None:
            found = (
                Reference(self._executor.changes(gold, graph, self.prefixes))
                if self._writes
                else ties.reference(gold, graph, self.prefixes, self._executor, ordered=ordered)
            )
            if found.result.error is not None:
                raise EvaluationError(
                    f"the reference query of {self._case.iri} cannot be executed: "
                    f"{found.result.error}"
                )
            if len(found.result.rows) * len(found.result.variables) <= _MOST_CELLS:
                _references[key] = found
            if len(_references) > _REMEMBERED:
                _references.popitem(last=False)
        return found


_Key = tuple[str, str, bool, tuple[tuple[str, str], ...]]
# What reference queries gave, because many answers are judged by each.
_references: OrderedDict[_Key, Reference] = OrderedDict()


def _outcome(
    trial: _Trial, query: str, published: _Result, changes: int, *, failed: bool, tied: bool
) -> VariantOutcome:
    if not reads_graph(query) and reads_graph(trial.gold):
        return VariantOutcome.CONSTANT
    if failed:
        wrote = written(query, trial.prefixes)
        if _writes_out(wrote, trial.values(published.reference.result)):
            return VariantOutcome.CONSTANT
        return VariantOutcome.ENTITY if _foreign(trial, wrote) else VariantOutcome.ACCIDENT
    if not changes:
        return VariantOutcome.UNTESTABLE
    return VariantOutcome.TIE if tied else VariantOutcome.HOLDS


def _writes_out(wrote: Written, values: set[str]) -> bool:
    """Whether all expected values are written in a query."""
    texts = {by_value(f'"{text}"^^<{_DECIMAL}>') for text in wrote.texts} | wrote.texts
    return bool(values) and all(_is_written(cell, wrote.iris, texts) for cell in values)


def _is_written(cell: str, iris: frozenset[str], texts: set[str]) -> bool:
    term = read_term(cell)
    return (
        term.value in iris if term.kind == "uri" else {term.value, by_value(cell)} & texts != set()
    )


def _foreign(trial: _Trial, wrote: Written) -> bool:
    """Whether a query names an instance that neither the question nor the reference names."""
    graph = triples.read(trial.graph)
    theirs = trial.reference_terms
    names = mentions.names(graph, trial.rules)
    known = mentions.named(graph, theirs.iris, (), trial.question, trial.rules)
    known |= _called(names, theirs.texts)
    instances = planned(graph, trial.rules).profile.kinds.keys()
    return (
        not (({f"<{iri}>" for iri in wrote.iris} & instances) | _called(names, wrote.texts))
        <= known
    )


def _called(names: Mapping[str, frozenset[str]], texts: Iterable[str]) -> set[str]:
    """The instances that have one of ``texts`` as their whole name."""
    return set().union(*(names.get(triples.words(text), ()) for text in texts))


def _scores(f1: float, *, exact: bool) -> dict[str, float]:
    return {"exactOnVariants": float(exact), "f1OnVariants": f1}


def _infos(case: Case, query: str | None, outcome: VariantOutcome) -> dict[str, Json]:
    asked = case.data[ASKED]
    return {
        "policy": ON_VARIANTS,
        "sparql": query,
        "variantOutcome": outcome.value,
        "variants": {name: asked[name] for name in ("count", "seed", "kinds")},
        "generator": VERSION,
    }


def _name(recipe: Recipe) -> str:
    """A variant by kind and seed: ``shuffled-7``."""
    return f"{recipe.kind.value}-{recipe.seed}"


def _read(value: Json) -> Variants:
    """What :func:`with_variants` wrote, before or after a journey as JSON."""
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


_DECIMAL: Final = "http://www.w3.org/2001/XMLSchema#decimal"
