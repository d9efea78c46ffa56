# SPDX-License-Identifier: Apache-2.0
"""Ontologies drawn from a seed: derivations of facts, and axioms beside them.

A derivation is made backwards. It begins with a fact that is to follow; each step replaces an open
fact by an axiom with the facts that it needs, and those that are open in the end are stated. So the
axioms of a derivation entail its fact.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.worlds.axioms import FACTS, KINDS, Axiom, axiom, signature
from kgbench.worlds.naming import Chance
from kgbench.worlds.vocabularies import Vocabulary

LEVELS: Final = 5


class Recipe(NamedTuple):
    """What ontologies of a level are made of.

    ``steps`` are axioms other than facts in a derivation, ``noise`` axioms that are beside all
    derivations, ``clashes`` how many inconsistencies an ontology for a repair has, ``sentences``
    how many of an ontology to be written.
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
    """An ontology in the making.

    Functions that draw names raise :class:`~kgbench.worlds.vocabularies.NoMoreNames`.
    """

    def __init__(self, vocabulary: Vocabulary, recipe: Recipe, chance: Chance) -> None:
        self.fresh = vocabulary.fresh
        self.chance = chance
        self._recipe = recipe
        self._simple: set[str] = set()

    def goal(self) -> Axiom:
        """Return a fact about new names: a class of an individual, or a link."""
        one = self.fresh("i")
        if self.chance.between(1, 3) == 1:
            return axiom("link", one, self.fresh("p"), self.fresh("i"))
        return axiom("type", one, self.fresh("c"))

    def derivation(self, goal: Axiom, steps: int, *, first: str | None = None) -> Derivation:
        """Axioms that entail ``goal``, ``steps`` of them no facts; ``first`` is the last step."""
        found: list[Axiom] = []
        opened = [goal]
        for number in range(steps):
            # The newest twice as often as any other, so that derivations are deep.
            place = len(opened) - 1 if self.chance.between(0, 2) else self._place(opened)
            kinds = self._kinds(opened[place])
            if not kinds:
                place, kinds = next(
                    ((at, k) for at, one in enumerate(opened) if (k := self._kinds(one))), (0, [])
                )
            if not kinds:
                break
            kind = first if first is not None and number == 0 else self.chance.one(kinds)
            made, needed = _BACKWARDS[kind](self, opened.pop(place).terms)
            found += made
            opened += needed
        return Derivation(goal, tuple(dict.fromkeys([*found, *opened])))

    def noise(self, axioms: Sequence[Axiom], number: int) -> list[Axiom]:
        """Axioms and facts about the same names and some new ones."""
        known = signature(axioms)
        found: list[Axiom] = []
        kinds = sorted(self._recipe.kinds)
        for place in range(number):
            kind = self.chance.one(["type", "link"] if place % 3 == 2 else kinds)  # noqa: PLR2004
            found.append(axiom(kind, *(self._any(sort, known) for sort in KINDS[kind].terms)))
        return [one for one in found if len(set(one.terms)) == len(one.terms)]

    def only_simple(self, name: str) -> None:
        """Take a property for one that is never made of others by chains or transitivity."""
        self._simple.add(name)

    def is_simple(self, name: str) -> bool:
        """Return whether a property is such."""
        return name in self._simple

    def below(self, name: str) -> str:
        """Return a new property to be below ``name``."""
        found = self.fresh("p")
        if name in self._simple:
            self._simple.add(found)
        return found

    def _any(self, sort: str, known: Mapping[str, list[str]]) -> str:
        among = known[sort]
        if not among or (sort != "i" and self.chance.between(0, 3) == 0):
            return self.fresh(sort)
        return self.chance.one(among)

    def _place(self, opened: Sequence[Axiom]) -> int:
        return self.chance.between(0, len(opened) - 1)

    def _kinds(self, goal: Axiom) -> list[str]:
        """Return the kinds of axioms that a fact may follow from."""
        kinds = [one for one in _CONCLUDING[goal.kind] if one in self._recipe.kinds]
        if "functional" in self._recipe.kinds and goal.kind != "same":
            kinds.append(_IDENTITY)
        if goal.kind == "link" and goal.terms[1] in self._simple:
            return [one for one in kinds if one not in {"transitive", "chain"}]
        return kinds


_IDENTITY: Final = "identity"
Step = tuple[list[Axiom], list[Axiom]]
"""Axioms, and the facts that they need."""
_CONCLUDING: Final[Mapping[str, tuple[str, ...]]] = {
    "type": (
        *("subclass", "equivalent", "domain", "range", "intersection"),
        *("union", "some", "with", "all"),
    ),
    "link": ("subproperty", "inverse", "symmetric", "transitive", "chain", "value"),
    "same": ("functional", "inverse-functional", "most"),
    "different": (),
}


def _type(one: str, kind: str) -> Axiom:
    return axiom("type", one, kind)


def _link(one: str, by: str, other: str) -> Axiom:
    return axiom("link", one, by, other)


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
    whole, by, owner = draft.fresh("c"), draft.fresh("p"), draft.fresh("i")
    return [axiom("all", whole, by, of)], [_type(owner, whole), _link(owner, by, one)]


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
    # Otherwise the next step may turn it round again.
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
    whole = draft.fresh("c")
    return [axiom("value", whole, by, other)], [_type(one, whole)]


def _functional(draft: Draft, terms: Sequence[str]) -> Step:
    one, other = terms
    by, owner = draft.fresh("p"), draft.fresh("i")
    draft.only_simple(by)
    return [axiom("functional", by)], [_link(owner, by, one), _link(owner, by, other)]


def _identity(draft: Draft, terms: Sequence[str]) -> Step:
    # Said of another name for the same thing.
    *rest, one = reversed(terms) if len(terms) == 2 else terms  # noqa: PLR2004 - a class
    other = draft.fresh("i")
    made, needed = _functional(draft, [one, other])
    said = _type(other, rest[0]) if len(rest) == 1 else _link(rest[0], rest[1], other)
    return made, [*needed, said]


def _inverse_functional(draft: Draft, terms: Sequence[str]) -> Step:
    one, other = terms
    by, value = draft.fresh("p"), draft.fresh("i")
    draft.only_simple(by)
    return [axiom("inverse-functional", by)], [_link(one, by, value), _link(other, by, value)]


def _most(draft: Draft, terms: Sequence[str]) -> Step:
    one, other = terms
    whole, by, owner = draft.fresh("c"), draft.fresh("p"), draft.fresh("i")
    draft.only_simple(by)
    return (
        [axiom("most", whole, by)],
        [_type(owner, whole), _link(owner, by, one), _link(owner, by, other)],
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
    """Return the axioms that are no facts."""
    return [one for one in axioms if one.kind not in FACTS]
