# SPDX-License-Identifier: Apache-2.0
"""Axioms of OWL 2 RL as implications between facts about any individuals.

``o:A rdfs:subClassOf o:B`` becomes: if x is an A, then x is a B. An ontology entails an axiom if it
entails the conclusion of each of its implications from their facts, with new individuals in place
of the variables (the theorem on constants of first-order logic). The grammar is that of OWL 2
Profiles (second edition), section 4.2: on the left of an axiom other class expressions are allowed
than on the right.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain, combinations, count, product
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.reasoning.closure import MOST_LISTED, Budget, notation
from kgbench.vocab import OWL, RDF, RDFS

ANY: Final = "urn:x-kgbench-any:"
"""The prefix of the IRIs of new individuals."""
_DEEPEST: Final = 16  # nested class expressions
_VOCABULARIES: Final = (OWL, RDF, RDFS)
_TYPE, _SAME = ox.NamedNode(RDF.type), ox.NamedNode(OWL.sameAs)
_FIRST, _REST, _NIL = (ox.NamedNode(RDF[name]) for name in ("first", "rest", "nil"))
_THING, _NOTHING = ox.NamedNode(OWL.Thing), ox.NamedNode(OWL.Nothing)
#: Predicates of the vocabularies that say nothing about the subject of a triple.
_ANNOTATIONS: Final = frozenset(
    {"comment", "deprecated", "imports", "isDefinedBy", "label", "seeAlso", "versionInfo"}
)
#: Classes whose instances make axioms without implications.
_WITHOUT: Final = frozenset({"NegativePropertyAssertion", "ReflexiveProperty"})

Node = ox.NamedNode | ox.BlankNode
Term = Node | ox.Literal | ox.Triple
Facts = tuple[ox.Triple, ...]


class Implication(NamedTuple):
    """Facts and their conclusion; ``None`` stands for an inconsistency."""

    facts: Facts
    goal: ox.Triple | None


class NoImplications(ValueError):
    """An axiom is outside OWL 2 RL, or a key or a negative assertion."""


def axioms(
    triples: Iterable[ox.Triple], names: Collection[Term], budget: Budget
) -> Iterator[tuple[ox.Triple, Iterator[Implication]]]:
    """Yield each axiom: its triple, and its implications.

    Declarations, annotations and statements with a property that is neither among ``names`` nor
    declared are left out. So are definitions of classes that are not among ``names``; their
    expressions take their place. Reading the implications raises :class:`NoImplications` if they
    cannot be stated, and :class:`~kgbench.reasoning.closure.TooMuchWork` if the budget is used up.
    """
    reader = _Reader(triples, names, budget)
    for triple in reader.triples:
        if reader.says_something(triple):
            yield triple, reader.implications(triple)


def _name(term: object) -> str:
    """Return the local name of a term of the vocabularies, and an empty text for others."""
    iri = term.value if isinstance(term, ox.NamedNode) else ""
    return iri.partition("#")[2] if iri.startswith(_VOCABULARIES) else ""


class _Reader:
    """Axioms in triples, with the class expressions, properties and lists that they refer to."""

    def __init__(
        self, triples: Iterable[ox.Triple], names: Collection[Term], budget: Budget
    ) -> None:
        self.triples = list(dict.fromkeys(triples))
        self._budget = budget
        self._numbers = count()
        self._values: dict[Term, dict[str, list[Term]]] = defaultdict(lambda: defaultdict(list))
        for subject, predicate, value in self.triples:
            self._values[subject][_name(predicate)].append(value)
        declared = ox.NamedNode(OWL.ObjectProperty)
        self._properties = {
            *names,
            *(node for node, values in self._values.items() if declared in values["type"]),
        }
        self._definitions: dict[Term, Term] = {
            node: values["equivalentClass"][0]
            for node, values in self._values.items()
            if node not in names
            and isinstance(node, ox.NamedNode)
            and [type(value) for value in values["equivalentClass"]] == [ox.BlankNode]
        }

    def says_something(self, triple: ox.Triple) -> bool:
        """Return whether a triple is an axiom: no declaration, annotation or part of an axiom."""
        subject, predicate, value = triple
        name = _name(predicate)
        if not name:
            return predicate in self._properties
        if name == "type":
            kind = _name(value)
            return kind in {"", "Nothing"} or kind in _WITHOUT or kind in _TYPES
        if name == "equivalentClass" and subject in self._definitions:
            return False
        if isinstance(subject, ox.BlankNode) and (name == "inverseOf" or name not in _AXIOMS):
            return False
        return name not in _ANNOTATIONS and not (subject == value and name in _REFLEXIVE)

    def implications(self, triple: ox.Triple) -> Iterator[Implication]:
        """Yield the implications of an axiom."""
        subject, predicate, value = triple
        name = _name(predicate)
        if name == "type":
            known = _TYPES.get(_name(value))
            if _name(value) in _WITHOUT:
                raise NoImplications(f"{value} has no implications")
            yield from self.right(value, subject) if known is None else known(self, subject)
        elif name in _AXIOMS:
            yield from _AXIOMS[name](self, subject, value)
        elif name:
            raise NoImplications(f"{predicate} makes no axiom with implications")
        else:
            yield Implication((), triple)

    def new(self) -> ox.NamedNode:
        """Return a new individual."""
        return ox.NamedNode(f"{ANY}{next(self._numbers)}")

    def link(self, subject: Term, by: Term, value: Term) -> ox.Triple:
        """Return the triple of a link by a property or an inverse property."""
        for _ in range(_DEEPEST):
            if isinstance(by, ox.BlankNode):
                (by,) = self._only(by, "inverseOf")
                subject, value = value, subject
        return _triple(subject, by, value)

    def listed(self, node: Term) -> list[Term]:
        """Return the members that a node such as an AllDifferent lists."""
        names = ("members", "distinctMembers")
        return self.members(*self._only(node, *(n for n in names if self._values[node][n])))

    def members(self, node: Term) -> list[Term]:
        """Return the members of a list."""
        result: list[Term] = []
        while node != _NIL:
            if len(result) >= MOST_LISTED:
                raise NoImplications(f"a list has no end or more than {MOST_LISTED} members")
            first, node = self._only(node, "first", "rest")
            result.append(first)
        return result

    def _only(self, node: Term, *names: str) -> list[Term]:
        """Return the values of a node, one for each name."""
        values = [self._values[node][name] for name in names]
        if any(len(of) != 1 for of in values):
            raise NoImplications(f"{node} has not one value of each of {', '.join(names)}")
        return [value for (value,) in values]

    def form(self, node: Term, depth: int) -> tuple[str, list[Term]]:
        """Return the constructor of a class expression with its arguments."""
        self._budget.spend()
        node = self._definitions.get(node, node)
        if depth > _DEEPEST:
            raise NoImplications(f"class expressions are nested in more than {_DEEPEST} others")
        if isinstance(node, ox.NamedNode):
            return "class", [node]
        names = self._values[node].keys() - _AXIOMS.keys() - _ANNOTATIONS - {"type", ""}
        name = next(iter(names - {"onProperty", "onClass"}), "")
        if name not in _ARGUMENTS or names != {name, *_ARGUMENTS[name]}:
            raise NoImplications(f"{node} is no class expression of OWL 2 RL")
        arguments = self._only(node, *_ARGUMENTS[name], name)
        if name in {"intersectionOf", "unionOf", "oneOf"}:
            return name, self.members(arguments[0])
        return name, arguments

    def left(self, node: Term, member: Term, depth: int = 0) -> Iterator[Facts]:
        """Yield each alternative of facts that make an individual a member of a class."""
        name, arguments = self.form(node, depth)
        if name == "class":
            yield from _membership(member, arguments[0])
        elif name == "intersectionOf":
            for parts in product(*(self.left(part, member, depth + 1) for part in arguments)):
                self._budget.spend(len(parts))
                yield tuple(chain(*parts))
        elif name == "unionOf":
            for part in arguments:
                yield from self.left(part, member, depth + 1)
        elif name == "oneOf":
            yield from ((_triple(member, _SAME, individual),) for individual in arguments)
        elif name == "hasValue":
            yield (self.link(member, *arguments),)
        elif name == "someValuesFrom":
            value = self.new()
            link = self.link(member, arguments[0], value)
            for facts in self.left(arguments[1], value, depth + 1):
                yield (link, *facts)
        else:
            raise NoImplications(f"{name} is not allowed on the left of an axiom of OWL 2 RL")

    def right(self, node: Term, member: Term, depth: int = 0) -> Iterator[Implication]:
        """Yield what follows about an individual that is a member of a class."""
        name, arguments = self.form(node, depth)
        if name == "class":
            alternatives = _membership(member, arguments[0])
            goals = (None,) if not alternatives else alternatives[0]
            yield from (Implication((), goal) for goal in goals)
        elif name == "intersectionOf":
            for part in arguments:
                yield from self.right(part, member, depth + 1)
        elif name == "complementOf":
            for facts in self.left(arguments[0], member, depth + 1):
                yield Implication(facts, None)
        elif name == "hasValue":
            yield Implication((), self.link(member, *arguments))
        elif name == "allValuesFrom":
            value = self.new()
            link = self.link(member, arguments[0], value)
            for facts, goal in self.right(arguments[1], value, depth + 1):
                yield Implication((link, *facts), goal)
        elif name in {"maxCardinality", "maxQualifiedCardinality"}:
            by, *of, number = arguments
            yield from self._at_most(member, by, of[0] if of else _THING, number, depth)
        else:
            raise NoImplications(f"{name} is not allowed on the right of an axiom of OWL 2 RL")

    def _at_most(
        self, member: Term, by: Term, of: Term, number: Term, depth: int
    ) -> Iterator[Implication]:
        most = notation(number)
        if most not in {"0", "1"}:
            raise NoImplications(f"{most} is not allowed as a maximum in OWL 2 RL")
        values = [self.new() for _ in range(int(most) + 1)]
        links = [self.link(member, by, value) for value in values]
        goal = _triple(values[0], _SAME, values[1]) if most == "1" else None
        for parts in product(*(self.left(of, value, depth + 1) for value in values)):
            yield Implication((*links, *chain(*parts)), goal)

    def below(self, lower: Term, upper: Term) -> Iterator[Implication]:
        """Yield the implications of an axiom about a class and a wider one."""
        member = self.new()
        right = list(self.right(upper, member))
        for facts in self.left(lower, member):
            for more, goal in right:
                self._budget.spend(1 + len(facts))
                yield Implication((*facts, *more), goal)

    def together(self, *classes: Term) -> Iterator[Implication]:
        """Yield the implications of an axiom about classes that share no members."""
        member = self.new()
        for one, other in combinations(classes, 2):
            for facts in self.left(one, member):
                yield from (Implication((*facts, *more), None) for more in self.left(other, member))


def _membership(member: Term, cls: Term) -> list[Facts]:
    """Return the alternatives of facts for a membership in a named class."""
    if cls == _NOTHING:
        return []
    return [() if cls == _THING else (_triple(member, _TYPE, cls),)]


def _triple(subject: Term, predicate: Term, value: Term) -> ox.Triple:
    if not isinstance(subject, Node) or not isinstance(predicate, ox.NamedNode):
        raise NoImplications(f"{subject} {predicate} {value} is no statement about an individual")
    return ox.Triple(subject, predicate, value)


Said = Iterator[Implication]


def _equivalent(reader: _Reader, one: Term, other: Term) -> Said:
    yield from reader.below(one, other)
    yield from reader.below(other, one)


def _domain(reader: _Reader, by: Term, cls: Term) -> Said:
    x, y = reader.new(), reader.new()
    for facts, goal in reader.right(cls, x):
        yield Implication((reader.link(x, by, y), *facts), goal)


def _range(reader: _Reader, by: Term, cls: Term) -> Said:
    x, y = reader.new(), reader.new()
    for facts, goal in reader.right(cls, y):
        yield Implication((reader.link(x, by, y), *facts), goal)


def _subproperty(reader: _Reader, lower: Term, upper: Term) -> Said:
    x, y = reader.new(), reader.new()
    yield Implication((reader.link(x, lower, y),), reader.link(x, upper, y))


def _equivalent_properties(reader: _Reader, one: Term, other: Term) -> Said:
    yield from _subproperty(reader, one, other)
    yield from _subproperty(reader, other, one)


def _inverse(reader: _Reader, one: Term, other: Term) -> Said:
    x, y = reader.new(), reader.new()
    for by, back in ((one, other), (other, one)):
        yield Implication((reader.link(x, by, y),), reader.link(y, back, x))


def _chain(reader: _Reader, by: Term, listed: Term) -> Said:
    steps = reader.members(listed)
    nodes = [reader.new() for _ in range(len(steps) + 1)]
    links = tuple(map(reader.link, nodes, steps, nodes[1:]))
    yield Implication(links, reader.link(nodes[0], by, nodes[-1]))


def _disjoint_properties(reader: _Reader, *properties: Term) -> Said:
    x, y = reader.new(), reader.new()
    for one, other in combinations(properties, 2):
        yield Implication((reader.link(x, one, y), reader.link(x, other, y)), None)


def _different(_: _Reader, *individuals: Term) -> Said:
    for one, other in combinations(individuals, 2):
        yield Implication((_triple(one, _SAME, other),), None)


def _symmetric(reader: _Reader, by: Term) -> Said:
    x, y = reader.new(), reader.new()
    yield Implication((reader.link(x, by, y),), reader.link(y, by, x))


def _asymmetric(reader: _Reader, by: Term) -> Said:
    x, y = reader.new(), reader.new()
    yield Implication((reader.link(x, by, y), reader.link(y, by, x)), None)


def _irreflexive(reader: _Reader, by: Term) -> Said:
    x = reader.new()
    yield Implication((reader.link(x, by, x),), None)


def _transitive(reader: _Reader, by: Term) -> Said:
    x, y, z = reader.new(), reader.new(), reader.new()
    yield Implication((reader.link(x, by, y), reader.link(y, by, z)), reader.link(x, by, z))


def _functional(reader: _Reader, by: Term) -> Said:
    x, y, z = reader.new(), reader.new(), reader.new()
    yield Implication((reader.link(x, by, y), reader.link(x, by, z)), _triple(y, _SAME, z))


def _inverse_functional(reader: _Reader, by: Term) -> Said:
    x, y, z = reader.new(), reader.new(), reader.new()
    yield Implication((reader.link(y, by, x), reader.link(z, by, x)), _triple(y, _SAME, z))


_AXIOMS: Final[Mapping[str, Callable[[_Reader, Term, Term], Said]]] = {
    "subClassOf": _Reader.below,
    "equivalentClass": _equivalent,
    "disjointWith": _Reader.together,
    "domain": _domain,
    "range": _range,
    "subPropertyOf": _subproperty,
    "equivalentProperty": _equivalent_properties,
    "inverseOf": _inverse,
    "propertyChainAxiom": _chain,
    "propertyDisjointWith": _disjoint_properties,
    "differentFrom": _different,
    "sameAs": lambda _, one, other: iter([Implication((), _triple(one, _SAME, other))]),
}
_TYPES: Final[Mapping[str, Callable[[_Reader, Term], Said]]] = {
    "SymmetricProperty": _symmetric,
    "AsymmetricProperty": _asymmetric,
    "IrreflexiveProperty": _irreflexive,
    "TransitiveProperty": _transitive,
    "FunctionalProperty": _functional,
    "InverseFunctionalProperty": _inverse_functional,
    "AllDisjointClasses": lambda reader, node: reader.together(*reader.listed(node)),
    "AllDisjointProperties": lambda reader, node: _disjoint_properties(
        reader, *reader.listed(node)
    ),
    "AllDifferent": lambda reader, node: _different(reader, *reader.listed(node)),
}
_REFLEXIVE: Final = frozenset(
    {"subClassOf", "equivalentClass", "subPropertyOf", "equivalentProperty", "sameAs"}
)
#: The other predicates of the constructors of class expressions, in the order of arguments.
_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "intersectionOf": (),
    "unionOf": (),
    "oneOf": (),
    "complementOf": (),
    "hasValue": ("onProperty",),
    "someValuesFrom": ("onProperty",),
    "allValuesFrom": ("onProperty",),
    "maxCardinality": ("onProperty",),
    "maxQualifiedCardinality": ("onProperty", "onClass"),
}
