# SPDX-License-Identifier: Apache-2.0
"""Ontologies drawn from a seed: derivations of facts, and unrelated axioms.

A derivation is built backwards. It starts with the fact that is to follow. Each step replaces an
open fact by an axiom and the facts that the axiom needs; facts still open at the end are stated.
Therefore the axioms of a derivation entail its fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.worlds.axioms import FACTS, KINDS, Axiom, axiom, signature
from kgbench.worlds.naming import Chance
from kgbench.worlds.vocabularies import Vocabulary

LEVELS: Final = 5


class Recipe(NamedTuple):
    """The sizes and the kinds of axioms of the ontologies of a level.

    ``steps`` is the number of axioms other than facts in a derivation, ``noise`` that of axioms
    outside all derivations, ``statements`` that of statements to be judged, ``clashes`` that of
    inconsistencies to be repaired, and ``sentences`` that of axioms to be written.
    """

    steps: int
    noise: int
    statements: int
    clashes: int
    sentences: int
    kinds: frozenset[str]


_FIRST: Final = frozenset({"subclass", "domain", "range", "subproperty", "disjoint"})
_SECOND: Final = _FIRST | {"equivalent", "inverse", "symmetric", "transitive", "intersection"}
_THIRD: Final = _SECOND | {"some", "chain", "union", "with", "value", "asymmetric"}
_FOURTH: Final = _THIRD | {"all", "functional", "inverse-functional", "irreflexive", "complement"}
_FIFTH: Final = _FOURTH | {"most", "disjoint-properties"}
RECIPES: Final = {
    1: Recipe(2, 6, 8, 1, 4, _FIRST),
    2: Recipe(3, 9, 10, 1, 6, _SECOND),
    3: Recipe(4, 13, 12, 2, 8, _THIRD),
    4: Recipe(5, 18, 14, 2, 10, _FOURTH),
    5: Recipe(7, 24, 16, 3, 14, _FIFTH),
}


class Derivation(NamedTuple):
    """A fact with axioms that entail it."""

    goal: Axiom
    axioms: tuple[Axiom, ...]


class Draft:
    """An ontology under construction.

    Functions that draw names raise :class:`~kgbench.worlds.vocabularies.NoMoreNames`.
    """

    def __init__(self, vocabulary: Vocabulary, recipe: Recipe, chance: Chance) -> None:
        self.fresh = vocabulary.fresh
        self.chance = chance
        self._recipe = recipe
        self._simple: set[str] = set()

    def goal(self) -> Axiom:
        """Draw a fact about new names: the class of an individual, or a link."""
        individual = self.fresh("i")
        if self.chance.between(1, 3) == 1:
            return axiom("link", individual, self.fresh("p"), self.fresh("i"))
        return axiom("type", individual, self.fresh("c"))

    def derivation(self, goal: Axiom, steps: int, *, first: str | None = None) -> Derivation:
        """Draw axioms that entail ``goal``, with ``steps`` axioms that are not facts.

        ``first`` is the kind of the axiom that concludes ``goal`` itself; by default it is drawn.
        """
        axioms: list[Axiom] = []
        open_facts = [goal]
        for number in range(steps):
            # Prefer the newest open fact, so that derivations become deep.
            index = (
                len(open_facts) - 1 if self.chance.between(0, 2) else self._random_index(open_facts)
            )
            kinds = self._kinds(open_facts[index])
            if not kinds:
                index, kinds = next(
                    (
                        (position, k)
                        for position, fact in enumerate(open_facts)
                        if (k := self._kinds(fact))
                    ),
                    (0, []),
                )
            if not kinds:
                break
            kind = first if first is not None and number == 0 else self.chance.one(kinds)
            new_axioms, needed = _BACKWARDS[kind](self, open_facts.pop(index).terms)
            axioms += new_axioms
            open_facts += needed
        return Derivation(goal, tuple(dict.fromkeys([*axioms, *open_facts])))

    def noise(self, axioms: Sequence[Axiom], number: int) -> list[Axiom]:
        """Draw axioms and facts about the names of ``axioms`` and some new names."""
        known = signature(axioms)
        result: list[Axiom] = []
        kinds = sorted(self._recipe.kinds)
        for index in range(number):
            kind = self.chance.one(["type", "link"] if index % 3 == 2 else kinds)  # noqa: PLR2004
            result.append(axiom(kind, *(self._any_name(sort, known) for sort in KINDS[kind].terms)))
        return [
            noise_axiom
            for noise_axiom in result
            if len(set(noise_axiom.terms)) == len(noise_axiom.terms)
        ]

    def only_simple(self, name: str) -> None:
        """Mark a property as simple: it may not be transitive or follow from a chain (OWL 2 DL)."""
        self._simple.add(name)

    def below(self, name: str) -> str:
        """Draw a new property to be a subproperty of ``name``; it is simple if ``name`` is."""
        subproperty = self.fresh("p")
        if name in self._simple:
            self._simple.add(subproperty)
        return subproperty

    def _any_name(self, sort: str, known: Mapping[str, list[str]]) -> str:
        candidates = known[sort]
        if not candidates or (sort != "i" and self.chance.between(0, 3) == 0):
            return self.fresh(sort)
        return self.chance.one(candidates)

    def _random_index(self, open_facts: Sequence[Axiom]) -> int:
        return self.chance.between(0, len(open_facts) - 1)

    def _kinds(self, goal: Axiom) -> list[str]:
        """Return the kinds of axioms from which a fact can follow at this level."""
        kinds = [kind for kind in _CONCLUDING[goal.kind] if kind in self._recipe.kinds]
        if "functional" in self._recipe.kinds and goal.kind != "same":
            kinds.append(_IDENTITY)
        if goal.kind == "link" and goal.terms[1] in self._simple:
            return [kind for kind in kinds if kind not in {"transitive", "chain"}]
        return kinds


_IDENTITY: Final = "identity"
Step = tuple[list[Axiom], list[Axiom]]
"""Axioms, and the facts that they need as premises."""
_CONCLUDING: Final[Mapping[str, tuple[str, ...]]] = {
    "type": (
        "subclass",
        "equivalent",
        "domain",
        "range",
        "intersection",
        "union",
        "some",
        "with",
        "all",
    ),
    "link": ("subproperty", "inverse", "symmetric", "transitive", "chain", "value"),
    "same": ("functional", "inverse-functional", "most"),
    "different": (),
}


def _type(individual: str, kind: str) -> Axiom:
    return axiom("type", individual, kind)


def _link(subject: str, prop: str, value: str) -> Axiom:
    return axiom("link", subject, prop, value)


def _subclass(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    below = draft.fresh("c")
    return [axiom("subclass", below, of)], [_type(one, below)]


def _equivalent(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    other = draft.fresh("c")
    return [axiom("equivalent", *draft.chance.shuffled([other, of]))], [_type(one, other)]


def _domain(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    by = draft.fresh("p")
    return [axiom("domain", by, of)], [_link(one, by, draft.fresh("i"))]


def _range(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    by = draft.fresh("p")
    return [axiom("range", by, of)], [_link(draft.fresh("i"), by, one)]


def _intersection(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    parts = [draft.fresh("c"), draft.fresh("c")]
    return [axiom("intersection", *parts, of)], [_type(one, part) for part in parts]


def _union(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    part, other = draft.fresh("c"), draft.fresh("c")
    return [axiom("union", *draft.chance.shuffled([part, other]), of)], [_type(one, part)]


def _some(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    by, filler, value = draft.fresh("p"), draft.fresh("c"), draft.fresh("i")
    return [axiom("some", by, filler, of)], [_link(one, by, value), _type(value, filler)]


def _with(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    by, value = draft.fresh("p"), draft.fresh("i")
    return [axiom("with", by, value, of)], [_link(one, by, value)]


def _all(draft: Draft, terms: Sequence[str]) -> Step:
    one, of = terms
    owner_class, by, owner = draft.fresh("c"), draft.fresh("p"), draft.fresh("i")
    return [axiom("all", owner_class, by, of)], [_type(owner, owner_class), _link(owner, by, one)]


def _subproperty(draft: Draft, terms: Sequence[str]) -> Step:
    one, by, other = terms
    below = draft.below(by)
    return [axiom("subproperty", below, by)], [_link(one, below, other)]


def _inverse(draft: Draft, terms: Sequence[str]) -> Step:
    one, by, other = terms
    back = draft.below(by)
    return [axiom("inverse", *draft.chance.shuffled([back, by]))], [_link(other, back, one)]


def _symmetric(draft: Draft, terms: Sequence[str]) -> Step:
    one, by, other = terms
    # A subproperty, because otherwise the next step could reverse the same link again.
    below = draft.below(by)
    return (
        [axiom("symmetric", below), axiom("subproperty", below, by)],
        [_link(other, below, one)],
    )


def _transitive(draft: Draft, terms: Sequence[str]) -> Step:
    one, by, other = terms
    between = draft.fresh("i")
    return [axiom("transitive", by)], [_link(one, by, between), _link(between, by, other)]


def _chain(draft: Draft, terms: Sequence[str]) -> Step:
    one, by, other = terms
    first, second, between = draft.fresh("p"), draft.fresh("p"), draft.fresh("i")
    return (
        [axiom("chain", first, second, by)],
        [_link(one, first, between), _link(between, second, other)],
    )


def _value(draft: Draft, terms: Sequence[str]) -> Step:
    one, by, other = terms
    owner_class = draft.fresh("c")
    return [axiom("value", owner_class, by, other)], [_type(one, owner_class)]


def _functional(draft: Draft, terms: Sequence[str]) -> Step:
    one, other = terms
    by, owner = draft.fresh("p"), draft.fresh("i")
    draft.only_simple(by)
    return [axiom("functional", by)], [_link(owner, by, one), _link(owner, by, other)]


def _identity(draft: Draft, terms: Sequence[str]) -> Step:
    # State the fact about another name of the same thing.
    *context, individual = reversed(terms) if len(terms) == 2 else terms  # noqa: PLR2004 - a class
    other = draft.fresh("i")
    axioms, needed = _functional(draft, [individual, other])
    fact = _type(other, context[0]) if len(context) == 1 else _link(context[0], context[1], other)
    return axioms, [*needed, fact]


def _inverse_functional(draft: Draft, terms: Sequence[str]) -> Step:
    one, other = terms
    by, value = draft.fresh("p"), draft.fresh("i")
    draft.only_simple(by)
    return [axiom("inverse-functional", by)], [_link(one, by, value), _link(other, by, value)]


def _most(draft: Draft, terms: Sequence[str]) -> Step:
    one, other = terms
    owner_class, by, owner = draft.fresh("c"), draft.fresh("p"), draft.fresh("i")
    draft.only_simple(by)
    return (
        [axiom("most", owner_class, by)],
        [_type(owner, owner_class), _link(owner, by, one), _link(owner, by, other)],
    )


_BACKWARDS: Final[Mapping[str, Callable[[Draft, Sequence[str]], Step]]] = {
    "subclass": _subclass,
    "equivalent": _equivalent,
    "domain": _domain,
    "range": _range,
    "intersection": _intersection,
    "union": _union,
    "some": _some,
    "with": _with,
    "all": _all,
    "subproperty": _subproperty,
    "inverse": _inverse,
    "symmetric": _symmetric,
    "transitive": _transitive,
    "chain": _chain,
    "value": _value,
    _IDENTITY: _identity,
    "functional": _functional,
    "inverse-functional": _inverse_functional,
    "most": _most,
}


def rules_of(axioms: Sequence[Axiom]) -> list[Axiom]:
    """Return the axioms that are not facts."""
    return [rule for rule in axioms if rule.kind not in FACTS]
