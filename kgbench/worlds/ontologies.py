# SPDX-License-Identifier: Apache-2.0
"""Ontologies drawn from a seed: names, derivations of facts, and unrelated axioms.

Natural names are words whose everyday meaning gives nothing away: the class hierarchy is random, so
every teapot may be a river. Opaque names are numbers.

A derivation is built backwards. It starts with the fact that is to follow. Each step replaces an
open fact by an axiom and the facts that the axiom needs; facts still open at the end are stated.
Therefore the axioms of a derivation entail its fact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.worlds.axioms import FACTS, KINDS, Axiom, axiom, in_short, signature
from kgbench.worlds.naming import Chance, labels, word

NATURAL, OPAQUE = "natural", "opaque"
_NOUNS: Final = """
    acorn anchor apricot atlas baker barrel basket beaver bell blanket bottle bridge broom bucket
    button candle carpet castle cherry clock comet compass coral cradle crystal dentist desert
    dolphin donkey dragon eagle engine falcon feather ferry fiddle forest fountain garden glacier
    goblet hammer harbour hedgehog island jacket judge kettle ladder lantern lizard meadow mirror
    monk needle novel oven owl parrot pebble piano pilot pirate planet pumpkin quarry rabbit ribbon
    river saddle sailor shepherd spider staircase statue storm tailor teapot temple tiger tower
    tractor tulip tunnel umbrella valley village violin volcano wagon walnut weaver window wizard
"""
_ROLES: Final = """
    adviser ally ancestor apprentice author blocker borrower buyer carrier client companion creditor
    critic cutter debtor deputy donor editor envoy escort follower founder godparent guardian guest
    guide heir helper host imitator inventor keeper landlord leader lender listener mentor messenger
    neighbour opponent organiser owner partner patron pursuer rescuer rival seller sender servant
    sponsor successor supplier supporter tenant tutor visitor ward witness
"""
_CLASSES, _PROPERTIES = tuple(_NOUNS.split()), tuple(_ROLES.split())


class NoMoreNames(LookupError):
    """All names of a sort are in use."""


class Vocabulary:
    """A supply of names, each drawn once.

    ``labels`` maps the names drawn so far to their labels.
    """

    def __init__(self, names: str, chance: Chance) -> None:
        self._opaque = names == OPAQUE
        self._chance = chance
        self._available = {"c": chance.shuffled(_CLASSES), "p": chance.shuffled(_PROPERTIES)}
        self._available["i"] = labels(len(_CLASSES), chance)
        self._numbers = {sort: chance.shuffled(range(1, 100)) for sort in self._available}
        self.labels: dict[str, str] = {}

    def fresh(self, sort: str) -> str:
        """Draw a new class (``c``), property (``p``) or individual (``i``).

        Raises :class:`NoMoreNames` if all names of the sort are in use.
        """
        if not self._available[sort]:
            raise NoMoreNames(sort)
        label = self._available[sort].pop()
        if not self._opaque:
            name = label.capitalize() if sort == "c" else label.replace(" ", "_")
        else:
            name = f"{sort}{self._numbers[sort].pop()}"
            label = self._invented(label) if sort != "i" else label
        self.labels[name] = label
        return name

    def _invented(self, label: str) -> str:
        """Draw an invented word that is not in use."""
        used = set(self.labels.values())
        while label in used or label in _CLASSES or label in _PROPERTIES:
            label = word(self._chance).lower()
        return label


def label_lines(labels_: Mapping[str, str]) -> list[str]:
    """Return each name with its label as lines of a Markdown list."""
    return [f"* `o:{name}`: {label}" for name, label in labels_.items()]


LEVELS: Final = 5
_SORTS: Final = {
    letter: sort
    for sort, letters in {"c": "cd", "p": "pqstb", "i": "ijk"}.items()
    for letter in letters
}


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

    Functions that draw names raise :class:`~kgbench.worlds.ontologies.NoMoreNames`.
    """

    def __init__(self, vocabulary: Vocabulary, recipe: Recipe, chance: Chance) -> None:
        self.fresh = vocabulary.fresh
        self.labels = vocabulary.labels
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
            index = len(open_facts) - 1
            if not self.chance.between(0, 2):
                index = self.chance.between(0, index)
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
            new_axioms, needed = self._step(kind, open_facts.pop(index))
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

    def named(self, letters: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
        """Draw a new name for each letter, and return them with those ``known``.

        The letter is that of its sort or the next one; ``s`` and ``t`` are properties that may not
        be transitive or follow from a chain (OWL 2 DL); ``b`` is a property below ``P``, for which
        the same holds if it holds for ``P``.
        """
        names = dict(known)
        for letter in letters:
            names[letter] = name = self.fresh(_SORTS[letter])
            if letter in "st" or (letter == "b" and names["P"] in self._simple):
                self._simple.add(name)
        return names

    def _step(self, kind: str, goal: Axiom) -> tuple[list[Axiom], list[Axiom]]:
        """Return axioms from which a fact follows, and the facts that they need as premises."""
        letters, axioms, needed = _BACKWARDS[kind]
        names = self.named(letters, dict(zip(_GOALS[goal.kind], goal.terms, strict=True)))
        first, *others = in_short(axioms, names)
        if kind in _EITHER_WAY:
            terms = (*self.chance.shuffled(first.terms[:2]), *first.terms[2:])
            first = axiom(kind, *terms)
        return [first, *others], in_short(needed, names)

    def _any_name(self, sort: str, known: Mapping[str, list[str]]) -> str:
        candidates = known[sort]
        if not candidates or (sort != "i" and self.chance.between(0, 3) == 0):
            return self.fresh(sort)
        return self.chance.one(candidates)

    def _kinds(self, goal: Axiom) -> list[str]:
        """Return the kinds of axioms from which a fact can follow at this level."""
        kinds = [kind for kind in _CONCLUDING[goal.kind] if kind in self._recipe.kinds]
        if "functional" in self._recipe.kinds and goal.kind != "same":
            kinds.append(f"{_IDENTITY} {goal.kind}")
        if goal.kind == "link" and goal.terms[1] in self._simple:
            return [kind for kind in kinds if kind not in {"transitive", "chain"}]
        return kinds


_IDENTITY: Final = "identity"
"""The kind of a step that states the fact about another name of the same thing."""
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
_GOALS: Final = {"type": "xC", "link": "xPy", "same": "xy"}
"""The letters of the terms of a fact that is to follow."""
_BACKWARDS: Final[Mapping[str, tuple[str, str, str]]] = {
    "subclass": ("c", "subclass c C", "x c"),
    "equivalent": ("c", "equivalent c C", "x c"),
    "domain": ("pi", "domain p C", "x p i"),
    "range": ("pi", "range p C", "i p x"),
    "intersection": ("cd", "intersection c d C", "x c, x d"),
    "union": ("cd", "union c d C", "x c"),
    "some": ("pci", "some p c C", "x p i, i c"),
    "with": ("pi", "with p i C", "x p i"),
    "all": ("cpi", "all c p C", "i c, i p x"),
    "subproperty": ("b", "subproperty b P", "x b y"),
    "inverse": ("b", "inverse b P", "y b x"),
    # A subproperty, because otherwise the next step could reverse the same link again.
    "symmetric": ("b", "symmetric b, subproperty b P", "y b x"),
    "transitive": ("i", "transitive P", "x P i, i P y"),
    "chain": ("pqi", "chain p q P", "x p i, i q y"),
    "value": ("c", "value c P y", "x c"),
    "functional": ("si", "functional s", "i s x, i s y"),
    "inverse-functional": ("si", "inverse-functional s", "x s i, y s i"),
    "most": ("csi", "most c s", "i c, i s x, i s y"),
    f"{_IDENTITY} type": ("jsi", "functional s", "i s x, i s j, j C"),
    f"{_IDENTITY} link": ("jsi", "functional s", "i s y, i s j, x P j"),
}
"""Steps by kind: letters of new names, axioms, and the facts that these need as premises."""
_EITHER_WAY: Final = frozenset({"equivalent", "inverse", "union"})
"""Kinds of axioms whose first two terms may be exchanged."""


def rules_of(axioms: Sequence[Axiom]) -> list[Axiom]:
    """Return the axioms that are not facts."""
    return [rule for rule in axioms if rule.kind not in FACTS]
