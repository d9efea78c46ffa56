# SPDX-License-Identifier: Apache-2.0
"""Questions about a world with an empty answer, and questions that it cannot answer.

Both are phrased like the questions of :mod:`kgbench.worlds.questions`, so that the words do not
reveal the kind. *Empty*: everything that the question names is in the graph, and each condition is
met by something, but nothing meets all of them; the correct query has no rows, or counts 0.
*Unanswerable*: one condition is about a thing or a property that the graph does not have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, Final

from kgbench.api import Instance, World
from kgbench.worlds.clauses import (
    Clause,
    ClauseContext,
    Form,
    Question,
    at_least,
    prefixed_name,
    wrong_conditions,
)
from kgbench.worlds.model import absent_properties
from kgbench.worlds.naming import word
from kgbench.worlds.questions import QuestionSheet

ANSWERED, EMPTY, UNANSWERABLE = "answered", "empty", "unanswerable"
UNKNOWN_THING, UNKNOWN_PROPERTY = "unknown-thing", "unknown-property"

_NOTHING: Final[tuple[list[tuple[str, ...]], ...]] = ([], [("0",)])
# Forms whose result is empty, or 0, if nothing meets the conditions.
_FORMS: Final = frozenset(("names", "count", "grouped", "above", "sorted"))

_Recipe = tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]


class EmptySheet(QuestionSheet):
    """A sequence of questions of one level with an empty answer."""

    SEEDED: ClassVar = EMPTY

    def _recipe(self) -> _Recipe:
        recipe, forms = super()._recipe()
        return recipe, tuple(form for form in forms if form in _FORMS)

    def _candidates(self, feature: str, context: ClauseContext) -> Iterator[Clause]:
        if self._level == 1:  # with a single condition, no other one could exclude its matches
            return _unmet(context)
        things = context.graph.instances[context.witness.kind]
        witness = context.chance.one(things)
        context = context._replace(witness=witness, things=lambda: things)
        # A misread condition is often met by nothing, too.
        candidates = super()._candidates(feature, context)
        return (part._replace(mistakes=(), misread_as=()) for part in candidates)

    def _sound(self, question: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        rows = self._rows(question.query)
        omissions = ((kind, others, form) for others in wrong_conditions(parts))
        return rows in _NOTHING and self._all_differ(rows, omissions)

    def _key(self, drawn: Question) -> str:
        return drawn.words


class UnanswerableSheet(QuestionSheet):
    """A sequence of questions of one level with a condition on something missing from the graph.

    They have no query. Their only feature is :data:`UNKNOWN_THING` or :data:`UNKNOWN_PROPERTY`.
    """

    SEEDED: ClassVar = UNANSWERABLE

    def __init__(self, world: World, level: int) -> None:
        super().__init__(world, level)
        self._labels = {thing.label for thing in self._graph.things}
        self._missing_feature = ""

    def _drawn(self) -> Question | None:
        question = super()._drawn()
        return (
            None
            if question is None
            else question._replace(query="", features=(self._missing_feature,))
        )

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        parts = super()._clauses(kind, witness, features)
        if parts is None:
            return None
        context = ClauseContext(self._graph, witness, frozenset(), list, self._chance, len(parts))
        unknown_thing = self._chance.between(0, 1) == 1
        self._missing_feature = UNKNOWN_THING if unknown_thing else UNKNOWN_PROPERTY
        part = (
            self._unknown_thing(kind, context)
            if unknown_thing
            else _unknown_property(kind, context)
        )
        parts[self._chance.between(0, len(parts) - 1)] = part
        return None if len({clause.property_iri for clause in parts}) < len(parts) else parts

    def _select_others(self, kind: str, parts: Sequence[Clause]) -> bool:
        return True

    def _unknown_thing(self, kind: str, context: ClauseContext) -> Clause:
        prop = context.chance.one([link for link in self._graph.model.has(kind) if link.links])
        label = f"{word(context.chance)} {word(context.chance)}"
        while label in self._labels:
            label += f" {word(context.chance)}"
        return Clause(f"that {prop.phrase} {label}", "", prop.iri)

    def _sound(self, question: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        return True

    def _key(self, drawn: Question) -> str:
        return drawn.words


def _unmet(context: ClauseContext) -> Iterator[Clause]:
    """Require a link to a random thing of the range, which may have no such link."""
    for prop in context.properties(links=True):
        if not prop.transitive:
            target = context.chance.one(context.graph.instances_of(prop.range))
            pattern = f'?x {prefixed_name(context.graph, prop.iri)}/rdfs:label "{target.label}" .'
            yield Clause(f"that {prop.phrase} {target.label}", pattern, prop.iri)


def _unknown_property(kind: str, context: ClauseContext) -> Clause:
    """Require a link or a value of a property that the graph does not have."""
    above = set(context.graph.model.above(kind))
    prop = context.chance.one(
        [missing for missing in absent_properties() if missing.domain in above]
    )
    if prop.links:
        label = context.chance.one(context.graph.instances_of(prop.range)).label
        return Clause(f"that {prop.phrase} {label}", "", prop.iri)
    limit = context.chance.between(prop.low, prop.high)
    return Clause(f"whose {prop.label} is {at_least(prop, limit)}", "", prop.iri)


SHEETS: Final[dict[str, type[QuestionSheet]]] = {
    ANSWERED: QuestionSheet,
    EMPTY: EmptySheet,
    UNANSWERABLE: UnanswerableSheet,
}
