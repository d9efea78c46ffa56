# SPDX-License-Identifier: Apache-2.0
"""The closure of a small ontology under the rules of OWL 2 RL (:mod:`kgbench.reasoning.rules`).

Rules fire once for each new triple (semi-naive evaluation: Abiteboul, Hull and Vianu, Foundations
of Databases, 1995, chapter 13). Reasoning ends with the first inconsistency, because everything
follows from it, and has a limit of steps, because ontologies may be hostile: ``sameAs`` between
some hundred names, or keys of a thousand parts, would take hours.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.reasoning.rules import LIST_PREDICATES, RULES, Atom, Rule, of_list, term
from kgbench.vocab import RDF, XSD

MOST_STEPS: Final = 500_000
MOST_TRIPLES: Final = 5_000
MOST_LISTED: Final = 50
"""How many members a list may have."""
_OF_RULE: Final = 10  # steps that a premise of a rule of a list costs
_FIRST, _REST, _NIL = (f"<{RDF[name]}>" for name in ("first", "rest", "nil"))
_TYPE: Final = term("a")
_WHOLE_NUMBERS: Final = {XSD[name] for name in ("integer", "nonNegativeInteger", "int")}

Bindings = dict[str, str]


class TooMuchWork(ValueError):
    """An ontology whose closure would take too many steps or triples."""


class Budget:
    """How many steps are left; several closures may share one.

    A step is a triple that a premise of a rule is compared with.
    """

    def __init__(self, steps: int = MOST_STEPS) -> None:
        self.left = steps

    def spend(self, steps: int = 1) -> None:
        """Take steps. Raises :class:`TooMuchWork` after the last."""
        self.left -= steps
        if self.left < 0:
            raise TooMuchWork("what follows from the axioms takes too many steps to find")


class _Trigger(NamedTuple):
    """A premise that a new triple may fit, with the others in the order of their evaluation."""

    atom: Atom
    others: tuple[Atom, ...]
    rule: Rule


class Closure:
    """What follows from triples; see the module.

    ``clash`` is the name of the rule that found an inconsistency, with the triples that are its
    premises, or ``None``. Raises :class:`TooMuchWork`.
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
        self._by: dict[tuple[int, str, str], list[Atom]] = defaultdict(list)
        self._new: deque[Atom] = deque()
        self.clash: tuple[str, tuple[Atom, ...]] | None = None
        self._triggers: dict[str, list[_Trigger]] = {}
        self._loose: list[_Trigger] = []
        self._run([_atom(one) for one in triples])

    @property
    def consistent(self) -> bool:
        """Whether no rule finds an inconsistency."""
        return self.clash is None

    def entails(self, triple: ox.Triple) -> bool:
        """Return whether a triple follows: from an inconsistency, everything does."""
        return self.clash is not None or _atom(triple) in self._known

    @property
    def triples(self) -> frozenset[Atom]:
        """The triples of the closure, with terms as N-Triples writes them."""
        return frozenset(self._known)

    def _run(self, given: list[Atom]) -> None:
        rules = list(_of_lists(given, self._budget))
        terms = {term_ for one in given for term_ in one}
        terms |= {term_ for rule in rules if rule.head for term_ in rule.head}
        table, loose = _sorted(_active(terms))
        own, _ = _sort(rules)
        self._triggers = {key: [*table.get(key, ()), *own.get(key, ())] for key in {*table, *own}}
        self._loose = loose
        for one in given:
            self._add(one)
        for rule in rules:
            if not rule.body:
                assert rule.head is not None
                self._add(rule.head)
        while self._new and self.clash is None and self._goal not in self._known:
            self._fire(self._new.popleft())

    def _add(self, triple: Atom) -> None:
        # A literal has no place before an object, whatever follows about it.
        if triple in self._known or triple[0][0] == '"' or triple[1][0] == '"':
            return
        if len(self._known) >= MOST_TRIPLES:
            raise TooMuchWork(f"more than {MOST_TRIPLES} triples follow from the axioms")
        self._known.add(triple)
        self._new.append(triple)

    def _fire(self, triple: Atom) -> None:
        # What is not indexed yet is met later, by its own turn.
        subject, predicate, object_ = triple
        by = self._by
        by[0, subject, ""].append(triple)
        by[1, predicate, ""].append(triple)
        by[2, object_, ""].append(triple)
        by[3, subject, predicate].append(triple)
        by[4, predicate, object_].append(triple)
        for among in (self._triggers.get(predicate, ()), self._loose):
            self._budget.spend(len(among))
            for trigger in among:
                bindings = _matched(trigger.atom, triple, {})
                if bindings is None:
                    continue
                for full in self._joined(trigger.others, bindings):
                    self._conclude(trigger.rule, full)
                    if self.clash is not None:
                        return

    def _conclude(self, rule: Rule, bindings: Bindings) -> None:
        if rule.head is None:
            self.clash = rule.name, tuple(_filled(one, bindings) for one in rule.body)
        else:
            self._add(_filled(rule.head, bindings))

    def _joined(self, atoms: tuple[Atom, ...], bindings: Bindings) -> Iterator[Bindings]:
        # No recursion: chains and keys may have thousands of premises.
        stack = [(0, bindings)]
        while stack:
            at, bound = stack.pop()
            if at == len(atoms):
                yield bound
                continue
            atom = atoms[at]
            for triple in self._candidates(_filled(atom, bound)):
                self._budget.spend()
                more = _matched(atom, triple, bound)
                if more is not None:
                    stack.append((at + 1, more))

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
        return self._by.get(key, [])


def entails(
    triples: Iterable[ox.Triple], goal: ox.Triple | None, budget: Budget | None = None
) -> bool:
    """Whether a triple, or for ``None`` an inconsistency, follows. Raises :class:`TooMuchWork`."""
    closure = Closure(triples, goal, budget)
    return not closure.consistent if goal is None else closure.entails(goal)


def _atom(triple: ox.Triple) -> Atom:
    return str(triple.subject), str(triple.predicate), _object(triple.object)


def _object(value: object) -> str:
    """Return a term; whole numbers without leading zeros and datatype, as the table writes them."""
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
    """Return the bindings with those that make an atom a triple; ``None`` if nothing does."""
    found = bound
    for wanted, term_ in zip(atom, triple, strict=True):
        if wanted[0] != "?":
            if wanted != term_:
                return None
        elif (known := found.get(wanted)) is None:
            if found is bound:
                found = dict(bound)
            found[wanted] = term_
        elif known != term_:
            return None
    return found


def _active(terms: set[str]) -> tuple[int, ...]:
    """The rules of the table that may fire where triples consist of ``terms``, by their places."""
    known, active = set(terms), list[int]()
    left = list(enumerate(_CONSTANTS))
    while True:
        fits = [(place, of) for place, of in left if of[0] <= known]
        if not fits:
            return tuple(sorted(active))
        active += [place for place, _ in fits]
        known.update(*(of[1] for _, of in fits))
        left = [one for one in left if one not in fits]


def _constants(atoms: Iterable[Atom]) -> frozenset[str]:
    return frozenset(one for atom in atoms for one in atom if one[0] != "?")


_CONSTANTS: Final = [
    (_constants(rule.body), _constants([] if rule.head is None else [rule.head])) for rule in RULES
]


@lru_cache(maxsize=256)
def _sorted(places: tuple[int, ...]) -> tuple[dict[str, list[_Trigger]], list[_Trigger]]:
    return _sort(RULES[place] for place in places)


def _sort(rules: Iterable[Rule]) -> tuple[dict[str, list[_Trigger]], list[_Trigger]]:
    """Where new triples look premises up that they may fit: by predicate, and those without."""
    triggers: dict[str, list[_Trigger]] = {}
    loose: list[_Trigger] = []
    for rule in rules:
        for place, atom in enumerate(rule.body):
            others = _ordered(atom, rule.body[:place] + rule.body[place + 1 :])
            among = loose if atom[1][0] == "?" else triggers.setdefault(atom[1], [])
            among.append(_Trigger(atom, others, rule))
    return triggers, loose


def _ordered(first: Atom, others: tuple[Atom, ...]) -> tuple[Atom, ...]:
    """Return the other premises, those that have most of their terms bound first."""
    bound, left, found = set(first), list(others), list[Atom]()
    while left:
        best = max(left, key=lambda one: sum(t[0] != "?" or t in bound for t in one))
        left.remove(best)
        found.append(best)
        bound |= set(best)
    return tuple(found)


def _of_lists(given: list[Atom], budget: Budget) -> Iterator[Rule]:
    """Yield the rules that lists in an ontology give; a list that is not whole gives none."""
    firsts = {subject: object_ for subject, predicate, object_ in given if predicate == _FIRST}
    rests = {subject: object_ for subject, predicate, object_ in given if predicate == _REST}
    kinds: dict[str, set[str]] = defaultdict(set)
    for subject, predicate, object_ in given:
        if predicate == _TYPE:
            kinds[subject].add(object_)
    for subject, predicate, object_ in given:
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
    """Yield the members of a list, one more than are allowed at most; none where it has no end."""
    items, met = list[str](), set[str]()
    while node in firsts and node in rests and len(items) <= MOST_LISTED and node not in met:
        met.add(node)
        items.append(firsts[node])
        node = rests[node]
    return iter(items if node == _NIL or len(items) > MOST_LISTED else ())
