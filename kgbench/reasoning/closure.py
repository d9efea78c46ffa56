# SPDX-License-Identifier: Apache-2.0
"""The closure of a small ontology under the rules of OWL 2 RL (:mod:`kgbench.reasoning.rules`).

Each new triple fires the rules once (semi-naive evaluation: Abiteboul, Hull and Vianu, Foundations
of Databases, 1995, chapter 13). Reasoning ends at the first inconsistency, because everything
follows from it. The number of steps is limited, because ontologies may be hostile: ``sameAs``
between some hundred names, or keys of a thousand parts, would take hours.

The rules do not detect an unsatisfiable class, but they find an inconsistency as soon as it has an
instance. To test whether an ontology is coherent, each class therefore gets an instance of its own,
and each property a link of its own. These share no nodes, so that one closure tests all of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.reasoning.rules import LIST_PREDICATES, RULES, Atom, Rule, of_list, term
from kgbench.vocab import OWL, RDF, XSD

MOST_STEPS: Final = 500_000
MOST_TRIPLES: Final = 5_000
MOST_LISTED: Final = 50
"""The most members of a list."""
_OF_RULE: Final = 10  # cost in steps of each premise of a rule made for a list
_FIRST, _REST, _NIL = (f"<{RDF[name]}>" for name in ("first", "rest", "nil"))
_TYPE: Final = term("a")
_WHOLE_NUMBERS: Final = {XSD[name] for name in ("integer", "nonNegativeInteger", "int")}

Bindings = dict[str, str]


class TooMuchWork(ValueError):
    """The closure of an ontology would take too many steps or triples."""


class Budget:
    """A number of steps that several closures may share.

    A step is the comparison of a triple with a premise of a rule.
    """

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Use up steps; raise :class:`TooMuchWork` if none are left."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork("what follows from the axioms takes too many steps to find")


class _Trigger(NamedTuple):
    """A premise that a new triple may match, with the other premises in evaluation order."""

    atom: Atom
    others: tuple[Atom, ...]
    rule: Rule


class Closure:
    """The closure of triples, up to the first inconsistency or until ``goal`` follows.

    ``clash`` is the name of the rule that found an inconsistency with the triples that match its
    premises, or ``None``. Raises :class:`TooMuchWork` if the budget is used up.
    """

    def __init__(
        self,
        triples: Iterable[ox.Triple],
        goal: ox.Triple | None = None,
        budget: Budget | None = None,
    ) -> None:
        self._budget = Budget() if budget is None else budget
        self._goal = None if goal is None else _atom(goal)
        self._known: set[Atom] = set()
        self._index: dict[tuple[int, str, str], list[Atom]] = defaultdict(list)
        self._new: deque[Atom] = deque()
        self.clash: tuple[str, tuple[Atom, ...]] | None = None
        self._triggers: dict[str, list[_Trigger]] = {}
        self._any_predicate: list[_Trigger] = []
        atoms = [_atom(triple) for triple in triples]
        rules = list(_of_lists(atoms, self._budget))
        self._own, _ = _sort(rules)
        self._terms = {term_ for rule in rules if rule.head for term_ in rule.head}
        self._run([*atoms, *(rule.head for rule in rules if rule.head and not rule.body)])

    @property
    def consistent(self) -> bool:
        """Whether no rule finds an inconsistency."""
        return self.clash is None

    def entails(self, triple: ox.Triple) -> bool:
        """Return whether a triple follows; from an inconsistency, everything does."""
        return self.clash is not None or _atom(triple) in self._known

    @property
    def triples(self) -> frozenset[Atom]:
        """The triples of the closure, with terms as N-Triples writes them."""
        return frozenset(self._known)

    def entails_with(self, facts: Iterable[ox.Triple], goal: ox.Triple | None) -> bool:
        """Return whether a triple, or if ``goal`` is ``None`` an inconsistency, follows with facts.

        Only what these add is derived, and the closure stays as it is. Facts have no lists, and a
        closure that is continued has no goal. Raises :class:`TooMuchWork` if its budget is used up.
        """
        before = dict(vars(self))
        self._goal = None if goal is None else _atom(goal)
        self._known, self._new = set(self._known), deque()
        self._index = defaultdict(list, {key: [*found] for key, found in self._index.items()})
        try:
            if self.consistent:
                self._run([_atom(fact) for fact in facts])
            return not self.consistent if goal is None else self.entails(goal)
        finally:
            vars(self).update(before)

    def _run(self, atoms: list[Atom]) -> None:
        # A rule that new terms make active has a premise with one of them: it fires with new atoms.
        self._terms = self._terms.union(*atoms)
        table, self._any_predicate = _sorted(_active(self._terms))
        own = self._own
        self._triggers = {key: [*table.get(key, ()), *own.get(key, ())] for key in {*table, *own}}
        for triple in atoms:
            self._add(triple)
        while self._new and self.clash is None and self._goal not in self._known:
            self._fire(self._new.popleft())

    def _add(self, triple: Atom) -> None:
        # RDF allows literals only as objects, though rules may conclude such triples.
        if triple in self._known or triple[0][0] == '"' or triple[1][0] == '"':
            return
        if len(self._known) >= MOST_TRIPLES:
            raise TooMuchWork(f"more than {MOST_TRIPLES} triples follow from the axioms")
        self._known.add(triple)
        self._new.append(triple)

    def _fire(self, triple: Atom) -> None:
        # Triples that are not indexed yet are joined later, when they fire themselves.
        subject, predicate, object_ = triple
        by = self._index
        by[0, subject, ""].append(triple)
        by[1, predicate, ""].append(triple)
        by[2, object_, ""].append(triple)
        by[3, subject, predicate].append(triple)
        by[4, predicate, object_].append(triple)
        for triggers in (self._triggers.get(predicate, ()), self._any_predicate):
            self._budget.spend(len(triggers))
            for trigger in triggers:
                bindings = _matched(trigger.atom, triple, {})
                if bindings is None:
                    continue
                for full in self._joined(trigger.others, bindings):
                    self._conclude(trigger.rule, full)
                    if self.clash is not None:
                        return

    def _conclude(self, rule: Rule, bindings: Bindings) -> None:
        if rule.head is None:
            self.clash = rule.name, tuple(_filled(atom, bindings) for atom in rule.body)
        else:
            self._add(_filled(rule.head, bindings))

    def _joined(self, atoms: tuple[Atom, ...], bindings: Bindings) -> Iterator[Bindings]:
        # Iterative, because chains and keys may have thousands of premises.
        stack = [(0, bindings)]
        while stack:
            index, bound = stack.pop()
            if index == len(atoms):
                yield bound
                continue
            atom = atoms[index]
            for triple in self._candidates(_filled(atom, bound)):
                self._budget.spend()
                more = _matched(atom, triple, bound)
                if more is not None:
                    stack.append((index + 1, more))

    def _candidates(self, pattern: Atom) -> list[Atom]:
        subject, predicate, object_ = pattern
        key = (1, predicate, "")
        if subject[0] != "?" and predicate[0] != "?":
            key = (3, subject, predicate)
        elif predicate[0] != "?" and object_[0] != "?":
            key = (4, predicate, object_)
        elif subject[0] != "?":
            key = (0, subject, "")
        elif object_[0] != "?":
            key = (2, object_, "")
        return self._index.get(key, [])


def entails(
    triples: Iterable[ox.Triple], goal: ox.Triple | None, budget: Budget | None = None
) -> bool:
    """Return whether a triple, or if ``goal`` is ``None`` an inconsistency, follows.

    Raises :class:`TooMuchWork` if the budget is used up.
    """
    closure = Closure(triples, goal, budget)
    return not closure.consistent if goal is None else closure.entails(goal)


def _atom(triple: ox.Triple) -> Atom:
    return str(triple.subject), str(triple.predicate), notation(triple.object)


def notation(value: object) -> str:
    """Return a term in the notation of the table, which writes 0 and 1 without datatype."""
    if isinstance(value, ox.Literal) and value.datatype.value in _WHOLE_NUMBERS:
        text = value.value.strip().lstrip("+").lstrip("0") or "0"
        if text in {"0", "1"}:
            return text
    return str(value)


def _filled(atom: Atom, bindings: Bindings) -> Atom:
    subject, predicate, object_ = atom
    return (
        bindings.get(subject, subject),
        bindings.get(predicate, predicate),
        bindings.get(object_, object_),
    )


def _matched(atom: Atom, triple: Atom, bound: Bindings) -> Bindings | None:
    """Extend bindings so that an atom matches a triple; ``None`` if that is impossible."""
    extended = bound
    for pattern, term_ in zip(atom, triple, strict=True):
        if pattern[0] != "?":
            if pattern != term_:
                return None
        elif (known := extended.get(pattern)) is None:
            if extended is bound:
                extended = dict(bound)
            extended[pattern] = term_
        elif known != term_:
            return None
    return extended


def _active(terms: set[str]) -> tuple[int, ...]:
    """Return the indexes of the rules of the table that may fire for triples with ``terms``."""
    known, active = set(terms), list[int]()
    remaining = list(enumerate(_CONSTANTS))
    while True:
        fits = [(index, constants) for index, constants in remaining if constants[0] <= known]
        if not fits:
            return tuple(sorted(active))
        active += [index for index, _ in fits]
        known.update(*(constants[1] for _, constants in fits))
        remaining = [entry for entry in remaining if entry not in fits]


def _constants(atoms: Iterable[Atom]) -> frozenset[str]:
    return frozenset(term_ for atom in atoms for term_ in atom if term_[0] != "?")


_CONSTANTS: Final = [
    (_constants(rule.body), _constants([] if rule.head is None else [rule.head])) for rule in RULES
]


@lru_cache(maxsize=256)
def _sorted(indexes: tuple[int, ...]) -> tuple[dict[str, list[_Trigger]], list[_Trigger]]:
    return _sort(RULES[index] for index in indexes)


def _sort(rules: Iterable[Rule]) -> tuple[dict[str, list[_Trigger]], list[_Trigger]]:
    """Index the premises of rules by predicate; those with a variable predicate are separate."""
    triggers: dict[str, list[_Trigger]] = {}
    loose: list[_Trigger] = []
    for rule in rules:
        for index, atom in enumerate(rule.body):
            others = _ordered(atom, rule.body[:index] + rule.body[index + 1 :])
            bucket = loose if atom[1][0] == "?" else triggers.setdefault(atom[1], [])
            bucket.append(_Trigger(atom, others, rule))
    return triggers, loose


def _ordered(first: Atom, others: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Order the other premises so that those with the most bound terms come first."""
    bound, remaining, result = set(first), list(others), list[Atom]()
    while remaining:
        best = max(remaining, key=lambda atom: sum(t[0] != "?" or t in bound for t in atom))
        remaining.remove(best)
        result.append(best)
        bound |= set(best)
    return tuple(result)


def _of_lists(atoms: list[Atom], budget: Budget) -> Iterator[Rule]:
    """Yield the rules for the lists of an ontology; incomplete lists have none."""
    firsts = {subject: object_ for subject, predicate, object_ in atoms if predicate == _FIRST}
    rests = {subject: object_ for subject, predicate, object_ in atoms if predicate == _REST}
    kinds: dict[str, set[str]] = defaultdict(set)
    for subject, predicate, object_ in atoms:
        if predicate == _TYPE:
            kinds[subject].add(object_)
    for subject, predicate, object_ in atoms:
        if predicate not in LIST_PREDICATES:
            continue
        items = list(_listed(object_, firsts, rests))
        budget.spend(len(items))
        if len(items) > MOST_LISTED:
            raise TooMuchWork(f"a list in the axioms has more than {MOST_LISTED} members")
        for rule in of_list(subject, predicate, items, frozenset(kinds[subject])):
            budget.spend(_OF_RULE * (1 + len(rule.body)))
            yield rule


def _listed(node: str, firsts: dict[str, str], rests: dict[str, str]) -> Iterator[str]:
    """Yield the members of a list, at most one more than allowed; none if the list has no end."""
    items, visited = list[str](), set[str]()
    while node in firsts and node in rests and len(items) <= MOST_LISTED and node not in visited:
        visited.add(node)
        items.append(firsts[node])
        node = rests[node]
    return iter(items if node == _NIL or len(items) > MOST_LISTED else ())


# --- coherence -----------------------------------------------------------------------------------

SOMETHING: Final = "urn:x-kgbench-something:"
"""The prefix of the IRIs of added instances."""
_RDF_TYPE: Final = ox.NamedNode(RDF.type)
_CLASS, _OBJECT, _DATATYPE = (
    str(OWL[name]) for name in ("Class", "ObjectProperty", "DatatypeProperty")
)


def find_incoherence(
    triples: Iterable[ox.Triple], budget: Budget | None = None
) -> tuple[str, tuple[Atom, ...]] | None:
    """Find an incoherence; return the rule that detects it and its premises, or ``None``.

    Only declared classes and properties are tested. Raises
    :class:`TooMuchWork` if the budget is used up.
    """
    given = list(triples)
    return Closure([*given, *_members(given)], budget=budget).clash


def _members(triples: Iterable[ox.Triple]) -> Iterable[ox.Triple]:
    """Yield an instance of each class and a link by each property."""
    for index, triple in enumerate(triples):
        if triple.predicate != _RDF_TYPE or not isinstance(triple.subject, ox.NamedNode):
            continue
        kind = str(triple.object.value) if isinstance(triple.object, ox.NamedNode) else ""
        instance = ox.NamedNode(f"{SOMETHING}{index}")
        if kind == _CLASS:
            yield ox.Triple(instance, _RDF_TYPE, triple.subject)
        elif kind == _OBJECT:
            yield ox.Triple(instance, triple.subject, ox.NamedNode(f"{SOMETHING}{index}-value"))
        elif kind == _DATATYPE:
            yield ox.Triple(instance, triple.subject, ox.Literal(""))
