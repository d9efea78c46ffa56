# SPDX-License-Identifier: Apache-2.0
"""Different spellings of a graph: with other orders, prefixes and abbreviations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.matching import Row, blank_nodes
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance

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
