# SPDX-License-Identifier: Apache-2.0
"""Reading and evaluation of SHACL property paths."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

import pyoxigraph as ox

from kgbench.errors import ResourceError
from kgbench.validation.data import Data, Term
from kgbench.vocab import RDF, SH, compact

Path: TypeAlias = Callable[[Data, Term], list[Term]]
"""A function from a node of the data to the distinct values of a path."""

_FIRST, _REST, _NIL = (ox.NamedNode(RDF[name]) for name in ("first", "rest", "nil"))
_INVERSE, _ALTERNATIVE = ox.NamedNode(SH.inversePath), ox.NamedNode(SH.alternativePath)
_QUANTIFIERS = {
    ox.NamedNode(SH.zeroOrMorePath): "*",
    ox.NamedNode(SH.oneOrMorePath): "+",
    ox.NamedNode(SH.zeroOrOnePath): "?",
}


def list_members(shapes: Data, head: Term) -> list[Term]:
    """Return the members of an RDF list.

    Raises :class:`~kgbench.errors.ResourceError` if the list is ill-formed.
    """
    result: list[Term] = []
    seen: set[Term] = set()
    while head != _NIL:
        members, rest = shapes.values(head, _FIRST), shapes.values(head, _REST)
        if len(members) != 1 or len(rest) != 1 or head in seen:
            raise ResourceError(f"the shapes hold a list that is not one, at {head}")
        result.append(members[0])
        seen.add(head)
        head = rest[0]
    return result


def path(shapes: Data, node: Term) -> tuple[Path, str]:
    """Return the path that a node of a shapes graph describes, and its text for messages.

    Raises :class:`~kgbench.errors.ResourceError` if the path is ill-formed.
    """
    if isinstance(node, ox.NamedNode):
        return _property(node), compact(node.value)
    if shapes.values(node, _FIRST):
        steps = [path(shapes, step) for step in list_members(shapes, node)]
        return _sequence([step for step, _ in steps]), "/".join(name for _, name in steps)
    for inverted in shapes.values(node, _INVERSE):
        if isinstance(inverted, ox.NamedNode):
            return _inverse(inverted), f"^{compact(inverted.value)}"
    for choices in shapes.values(node, _ALTERNATIVE):
        alternatives = [path(shapes, choice) for choice in list_members(shapes, choices)]
        return _alternative([way for way, _ in alternatives]), "|".join(
            name for _, name in alternatives
        )
    for predicate, quantifier in _QUANTIFIERS.items():
        for inner in shapes.values(node, predicate):
            step, name = path(shapes, inner)
            return _repeated(step, quantifier), f"({name}){quantifier}"
    raise ResourceError(f"the shapes hold a path that cannot be followed, at {node}")


def _property(predicate: ox.NamedNode) -> Path:
    return lambda data, node: data.values(node, predicate)


def _inverse(predicate: ox.NamedNode) -> Path:
    return lambda data, node: data.sources(node, predicate)


def _sequence(steps: list[Path]) -> Path:
    def follow(data: Data, node: Term) -> list[Term]:
        nodes: Iterable[Term] = [node]
        for step in steps:
            nodes = {value: None for current in nodes for value in step(data, current)}
        return list(nodes)

    return follow


def _alternative(ways: list[Path]) -> Path:
    return lambda data, node: list({value: None for way in ways for value in way(data, node)})


def _repeated(step: Path, quantifier: str) -> Path:
    """Return the path that repeats ``step`` as often as ``*``, ``+`` or ``?`` allows."""

    def follow(data: Data, node: Term) -> list[Term]:
        result: dict[Term, None] = {} if quantifier == "+" else {node: None}
        nodes = [node]
        while nodes:
            fresh = {v: None for current in nodes for v in step(data, current) if v not in result}
            result.update(fresh)
            nodes = [] if quantifier == "?" else list(fresh)
        return list(result)

    return follow
