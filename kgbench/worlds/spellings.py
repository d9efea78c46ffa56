# SPDX-License-Identifier: Apache-2.0
"""One graph, written in several ways: other orders, prefixes, labels and abbreviations."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.matching import Row, blanks
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance

FIRST, REST, NIL = (f"<{RDF[name]}>" for name in ("first", "rest", "nil"))
TYPE: Final = f"<{RDF.type}>"
_WHOLE: Final = f"^^<{XSD.integer}>"
_INDENT: Final = "    "


class Spelling(NamedTuple):
    """A way to write a graph: prefixes with namespaces, and whether whole numbers go unquoted.

    Without prefixes the graph is written as N-Triples.
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


def written(
    rows: Iterable[Row], spelling: Spelling, folded: Collection[str], chance: Chance
) -> str:
    """Return a graph in an order of chance, without final line break.

    ``folded`` are blank nodes to be written without labels, where Turtle is written: each is the
    object of one triple (:func:`foldable`).
    """
    order = chance.shuffled(sorted(rows))
    if not spelling.prefixes:
        return "\n".join(f"{line(row)} ." for row in order)
    return _Turtle(order, spelling, folded).text()


def line(row: Row) -> str:
    """Return a triple as N-Triples has it, without the full stop."""
    return " ".join(row)


def foldable(rows: Collection[Row]) -> list[str]:
    """Return the blank nodes that Turtle can write without labels.

    Each is the object of one triple, and the subject of that is no part of what it says itself.
    """
    users: dict[str, list[str]] = {}
    for subject, _, value in sorted(rows):
        if value.startswith("_:"):
            users.setdefault(value, []).append(subject)
    once = {node: found[0] for node, found in users.items() if len(found) == 1}
    return [node for node in sorted(once) if not _circles(node, once)]


def _circles(node: str, users: Mapping[str, str]) -> bool:
    met, at = {node}, users.get(node)
    while at is not None:
        if at in met:
            return True
        met.add(at)
        at = users.get(at)
    return False


class _Turtle:
    def __init__(self, rows: Sequence[Row], spelling: Spelling, folded: Collection[str]) -> None:
        self._spelling = spelling
        self._folded = folded
        self._said: dict[str, dict[str, list[str]]] = {}
        for subject, predicate, value in rows:
            self._said.setdefault(subject, {}).setdefault(predicate, []).append(value)
        for row in rows:  # a folded node of which nothing is said is written, too
            for node in blanks(row):
                self._said.setdefault(node, {})

    def text(self) -> str:
        heads = [
            f"@prefix {name}: <{namespace}> ."
            for name, namespace in self._spelling.prefixes.items()
        ]
        paragraphs = [
            f"{self._term(subject)} {self._properties(subject, 1)} ."
            for subject, said in self._said.items()
            if said and subject not in self._folded
        ]
        return "\n".join(heads) + "\n\n" + "\n\n".join(paragraphs)

    def _properties(self, subject: str, depth: int) -> str:
        parts = [
            f"{'a' if predicate == TYPE else self._term(predicate)} "
            + " , ".join(self._value(value, depth) for value in values)
            for predicate, values in self._said[subject].items()
        ]
        return f" ;\n{_INDENT * depth}".join(parts)

    def _value(self, value: str, depth: int) -> str:
        if value not in self._folded:
            return self._term(value)
        members = self._members(value)
        if members is not None:
            return f"( {' '.join(self._value(one, depth + 1) for one in members)} )"
        if not self._said[value]:
            return "[]"
        return f"[ {self._properties(value, depth + 1)} ]"

    def _members(self, node: str) -> list[str] | None:
        """The members of a list whose cells are all folded; ``None`` for what is no such list."""
        found: list[str] = []
        while node != NIL:
            said = self._said.get(node, {})
            if node not in self._folded or said.keys() != {FIRST, REST}:
                return None
            if len(said[FIRST]) != 1 or len(said[REST]) != 1:
                return None
            found.append(said[FIRST][0])
            node = said[REST][0]
        return found

    def _term(self, term: str) -> str:
        if term.startswith("<"):
            for name, namespace in self._spelling.prefixes.items():
                local = term[1:-1].removeprefix(namespace)
                if local != term[1:-1] and local.replace("_", "").replace("-", "").isalnum():
                    return f"{name}:{local}"
        elif term.endswith(_WHOLE) and self._spelling.bare:
            return term.split('"')[1]
        elif "^^<" in term:
            text, _, datatype = term.partition("^^")
            return f"{text}^^{self._term(datatype)}"
        return term
