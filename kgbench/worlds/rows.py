# SPDX-License-Identifier: Apache-2.0
"""Graphs as rows of terms: their smallest difference up to blank node labels, and their spellings.

The difference is found by exhaustive search. A pairing maps each blank node of the first graph to
at most one of the second. Triples of the first graph whose image is not in the second count as
removed; triples of the second graph that are not the image of any triple count as added. A pairing
with the fewest removed triples also has the fewest added ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance

Row = tuple[str, str, str]
Pairing = Mapping[str, str | None]
_STEPS: Final = 20_000


class Difference(NamedTuple):
    """Triples removed from a graph, and triples added to it.

    Terms are written as in N-Triples. Blank nodes of ``removed`` have the labels of the first
    graph, those of ``added`` the labels of the second.
    """

    removed: frozenset[Row]
    added: frozenset[Row]


def only_difference(
    first: frozenset[Row], second: frozenset[Row], max_removed: int
) -> Difference | None:
    """Return the unique smallest difference of two graphs; removes up to ``max_removed`` triples.

    ``None`` if there are two smallest differences, if all are larger, or if the search takes too
    many steps.
    """
    search = _searched(first, second, max_removed)
    return search.found if search is not None and search.unique else None


def is_isomorphic(first: frozenset[Row], second: frozenset[Row]) -> bool | None:
    """Return whether two graphs are isomorphic; ``None`` if the search takes too many steps.

    >>> is_isomorphic(frozenset({("_:a", "<p>", '"1"')}), frozenset({("_:x", "<p>", '"1"')}))
    True
    """
    if len(first) != len(second):
        return False
    search = _searched(first, second, 0)
    return None if search is None else search.found is not None


def is_rigid(rows: frozenset[Row]) -> bool:
    """Return whether the only automorphism of a graph is the identity.

    Also ``False`` if the search takes too many steps.

    >>> is_rigid(frozenset({("_:a", "<p>", '"1"'), ("_:b", "<p>", '"1"')}))
    False
    """
    search = _searched(rows, rows, 0)
    return search is not None and search.pairings == 1


def blank_nodes(row: Row) -> list[str]:
    """Return the blank nodes of a triple."""
    return [cell for cell in row if cell.startswith("_:")]


class _TooManySteps(Exception):
    """The search has used up its steps."""


def _searched(first: frozenset[Row], second: frozenset[Row], max_removed: int) -> _Search | None:
    """Run a search; return ``None`` if it takes too many steps."""
    search = _Search(first, second, max_removed)
    try:
        search.explore(0, sum(row not in second for row in first if not blank_nodes(row)))
    except _TooManySteps:
        return None
    return search


class _Search:
    """A search for the pairings that remove the fewest triples.

    ``pairings`` is the number of best pairings so far, ``unique`` whether all of them give the
    difference ``found``.
    """

    def __init__(self, first: frozenset[Row], second: frozenset[Row], max_removed: int) -> None:
        self._first, self._second = first, second
        self._max_removed = max_removed
        self._order = _order(first)
        positions = {node: position for position, node in enumerate(self._order)}
        self._rows: list[list[Row]] = [[] for _ in self._order]
        for row in sorted(first):
            if nodes := blank_nodes(row):
                self._rows[max(positions[node] for node in nodes)].append(row)
        self._others = sorted({node for row in second for node in blank_nodes(row)})
        self._pairing: dict[str, str | None] = {}
        self._steps_left = _STEPS
        self.found: Difference | None = None
        self.pairings = 0
        self.unique = False

    def explore(self, position: int, removed: int) -> None:
        """Try all partners for the blank nodes from ``position`` on."""
        self._steps_left -= 1
        if self._steps_left < 0:
            raise _TooManySteps
        # Two pairings that remove nothing settle the answer; more cannot change it.
        if removed > self._max_removed or (self._max_removed == 0 and self.pairings > 1):
            return
        if position == len(self._order):
            self._keep(removed)
            return
        node = self._order[position]
        used = set(self._pairing.values())
        costs: list[tuple[int, str | None]] = []
        for other in (*(entry for entry in self._others if entry not in used), None):
            self._pairing[node] = other
            lost = sum(
                replace_blank_nodes(row, self._pairing) not in self._second
                for row in self._rows[position]
            )
            costs.append((lost, other))
        for lost, other in sorted(costs, key=lambda entry: entry[0]):
            self._pairing[node] = other
            self.explore(position + 1, removed + lost)
        del self._pairing[node]

    def _keep(self, removed: int) -> None:
        images = {row: replace_blank_nodes(row, self._pairing) for row in self._first}
        lost = frozenset(row for row, image in images.items() if image not in self._second)
        difference = Difference(lost, self._second - frozenset(filter(None, images.values())))
        if self.found is None or removed < len(self.found.removed):
            self.found, self._max_removed, self.pairings = difference, removed, 1
            self.unique = True
        else:
            self.pairings += 1
            self.unique = self.unique and self.found == difference


def replace_blank_nodes(row: Row, pairing: Pairing) -> Row | None:
    """Replace the blank nodes of a triple by their partners; ``None`` if one has no partner."""
    cells = [pairing[cell] if cell.startswith("_:") else cell for cell in row]
    subject, predicate, value = cells
    if subject is None or predicate is None or value is None:
        return None
    return subject, predicate, value


def _order(rows: Iterable[Row]) -> Sequence[str]:
    """Order blank nodes for the search: neighbours together, most ground triples first."""
    ground_triples: dict[str, int] = {}
    linked: dict[str, set[str]] = {}
    for row in rows:
        nodes = blank_nodes(row)
        for node in nodes:
            ground_triples[node] = ground_triples.get(node, 0) + (len(nodes) == 1)
            linked.setdefault(node, set()).update(nodes)
    result: list[str] = []
    while remaining := ground_triples.keys() - set(result):
        near = {node for node in remaining if linked[node] & set(result)} or remaining
        result.append(max(near, key=lambda node: (ground_triples[node], node)))
    return result


FIRST, REST, NIL = (f"<{RDF[name]}>" for name in ("first", "rest", "nil"))
TYPE: Final = f"<{RDF.type}>"
_INTEGER: Final = f"^^<{XSD.integer}>"
_INDENT: Final = "    "


class Spelling(NamedTuple):
    """A way to write a graph: its prefixes, and whether whole numbers are unquoted (``bare``).

    Without prefixes, the graph is written as N-Triples.
    """

    prefixes: Mapping[str, str]
    bare: bool


USUAL: Final = Spelling(
    {"w": NAMESPACE, "r": RESOURCE, "rdf": str(RDF), "rdfs": str(RDFS), "xsd": str(XSD)}, bare=True
)
OTHERS: Final = (
    Spelling({"": NAMESPACE, "thing": RESOURCE, "s": str(RDFS), "d": str(XSD)}, bare=False),
    Spelling({"v": NAMESPACE, "r": RESOURCE, "w": str(RDFS)}, bare=True),
    Spelling({"x": str(XSD), "m": NAMESPACE}, bare=True),
)
LINES: Final = Spelling({}, bare=False)


def write_graph(
    rows: Iterable[Row], spelling: Spelling, folded: Collection[str], chance: Chance
) -> str:
    """Write a graph in random order, without a final line break.

    ``folded`` are the blank nodes that Turtle writes without labels: each is the object of exactly
    one triple (:func:`foldable_nodes`).
    """
    order = chance.shuffled(sorted(rows))
    if not spelling.prefixes:
        return "\n".join(f"{line(row)} ." for row in order)
    return _Turtle(order, spelling, folded).text()


def line(row: Row) -> str:
    """Write a triple in N-Triples syntax, without the full stop."""
    return " ".join(row)


def foldable_nodes(rows: Collection[Row]) -> list[str]:
    """Return the blank nodes that Turtle can write without labels.

    Each is the object of exactly one triple and is not part of a cycle.
    """
    users: dict[str, list[str]] = {}
    for subject, _, value in sorted(rows):
        if value.startswith("_:"):
            users.setdefault(value, []).append(subject)
    once = {node: subjects[0] for node, subjects in users.items() if len(subjects) == 1}
    return [node for node in sorted(once) if not _is_cyclic(node, once)]


def _is_cyclic(node: str, users: Mapping[str, str]) -> bool:
    visited, current = {node}, users.get(node)
    while current is not None:
        if current in visited:
            return True
        visited.add(current)
        current = users.get(current)
    return False


class _Turtle:
    def __init__(self, rows: Sequence[Row], spelling: Spelling, folded: Collection[str]) -> None:
        self._spelling = spelling
        self._folded = folded
        self._properties_by_subject: dict[str, dict[str, list[str]]] = {}
        for subject, predicate, value in rows:
            self._properties_by_subject.setdefault(subject, {}).setdefault(predicate, []).append(
                value
            )
        for row in rows:  # also write folded nodes that have no triples
            for node in blank_nodes(row):
                self._properties_by_subject.setdefault(node, {})

    def text(self) -> str:
        heads = [
            f"@prefix {name}: <{namespace}> ."
            for name, namespace in self._spelling.prefixes.items()
        ]
        paragraphs = [
            f"{self._term(subject)} {self._properties(subject, 1)} ."
            for subject, properties in self._properties_by_subject.items()
            if properties and subject not in self._folded
        ]
        return "\n".join(heads) + "\n\n" + "\n\n".join(paragraphs)

    def _properties(self, subject: str, depth: int) -> str:
        parts = [
            f"{'a' if predicate == TYPE else self._term(predicate)} "
            + " , ".join(self._value(value, depth) for value in values)
            for predicate, values in self._properties_by_subject[subject].items()
        ]
        return f" ;\n{_INDENT * depth}".join(parts)

    def _value(self, value: str, depth: int) -> str:
        if value not in self._folded:
            return self._term(value)
        members = self._members(value)
        if members is not None:
            return f"( {' '.join(self._value(member, depth + 1) for member in members)} )"
        if not self._properties_by_subject[value]:
            return "[]"
        return f"[ {self._properties(value, depth + 1)} ]"

    def _members(self, node: str) -> list[str] | None:
        """Return the members of a list whose nodes are all folded; ``None`` for other nodes."""
        result: list[str] = []
        while node != NIL:
            properties = self._properties_by_subject.get(node, {})
            if node not in self._folded or properties.keys() != {FIRST, REST}:
                return None
            if len(properties[FIRST]) != 1 or len(properties[REST]) != 1:
                return None
            result.append(properties[FIRST][0])
            node = properties[REST][0]
        return result

    def _term(self, term: str) -> str:
        if term.startswith("<"):
            for name, namespace in self._spelling.prefixes.items():
                local = term[1:-1].removeprefix(namespace)
                if local != term[1:-1] and local.replace("_", "").replace("-", "").isalnum():
                    return f"{name}:{local}"
        elif term.endswith(_INTEGER) and self._spelling.bare:
            return term.split('"')[1]
        elif "^^<" in term:
            text, _, datatype = term.partition("^^")
            return f"{text}^^{self._term(datatype)}"
        return term
