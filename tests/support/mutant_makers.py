# SPDX-License-Identifier: Apache-2.0
"""Changes to a graph at one focus node, each of which violates one constraint.

A maker yields changes: triples to remove, triples to add, and the node at fault.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from rdflib import RDF, SH, XSD, BNode, Graph, Literal, URIRef
from rdflib.collection import Collection
from rdflib.paths import AlternativePath, InvPath, SequencePath
from rdflib.term import Node

from tests.support.shape_constraints import Constraint, path_of

Triple = tuple[Node, Node, Node]
_ODD_TEXTS = ("~ no match ~", " blank before", "https://example.org/a", "{}")
STRANGER = URIRef("https://example.org/stranger")

Change = tuple[tuple[Triple, ...], tuple[Triple, ...], Node]
Maker = Callable[[Graph, Graph, Constraint, Node], Iterator[Change]]


def _triples(shapes: Graph, data: Graph, focus: Node, path: Node | None) -> tuple[Triple, ...]:
    """Return the triples whose objects are the values of ``path``, a property or a sequence."""
    assert path is not None
    whole = path_of(shapes, path)
    if isinstance(whole, URIRef):
        return tuple(sorted(data.triples((focus, whole, None))))
    if isinstance(whole, AlternativePath):
        return tuple(triple for one in whole.args for triple in data.triples((focus, one, None)))
    if not isinstance(whole, SequencePath):
        return ()
    *before, last = whole.args
    holders = data.objects(focus, SequencePath(*before) if len(before) > 1 else before[0])
    return tuple(triple for holder in holders for triple in data.triples((holder, last, None)))


def _added(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node, value: Node
) -> Iterator[Change]:
    """Add a value at the end of a path of two steps that has none."""
    whole = path_of(shapes, constraint.path)
    if isinstance(whole, SequencePath) and len(whole.args) == 2:
        first, last = whole.args
        for holder in sorted(data.objects(focus, first))[:1]:
            inverse = isinstance(last, InvPath)
            new = (value, last.arg, holder) if inverse else (holder, last, value)
            yield (), (new,), focus


def _replaced(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node, *values: Node
) -> Iterator[Change]:
    for old in _triples(shapes, data, focus, constraint.path)[:1]:
        for value in values:
            yield (old,), ((*old[:2], value),), focus


def _removed(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    inverse = shapes.value(constraint.path, SH.inversePath)
    if inverse is not None:
        old = tuple(data.triples((None, inverse, focus)))
    else:
        old = _triples(shapes, data, focus, constraint.path)
    if old:
        yield old, (), focus


def _doubled(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    inverse = shapes.value(constraint.path, SH.inversePath)
    if inverse is not None:
        yield (), ((STRANGER, inverse, focus),), focus
        return
    old = _triples(shapes, data, focus, constraint.path)
    if not old and int(constraint.value) == 0:
        yield from _added(shapes, data, constraint, focus, STRANGER)
    elif old:
        missing = int(constraint.value) + 1 - len(old)
        new = tuple((*old[0][:2], _another(old[0][2], n)) for n in range(missing))
        yield (), new, focus


def _another(value: Node, number: int) -> Node:
    """Return another value of the same kind and datatype."""
    if not isinstance(value, Literal):
        return URIRef(f"{value}-other-{number}")
    if value.datatype == XSD.boolean:
        return Literal(not value.toPython())
    if value.datatype in (XSD.integer, XSD.double):
        return Literal(f"{value.toPython() + number + 1}", datatype=value.datatype)
    by_datatype = {
        XSD.dateTime: f"20{30 + number}{value[4:]}",
        XSD.base64Binary: "AAAA",
        RDF.JSON: f"[{number}]",
    }
    other = by_datatype.get(value.datatype)
    if other is not None:
        return Literal(other, datatype=value.datatype)
    return Literal(f"{value}{number}", lang=value.language)


def _retyped(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    wrong: list[Node] = [STRANGER]
    if constraint.value in (XSD.string, RDF.langString):
        wrong.append(Literal(7))
    else:
        wrong.append(Literal("no such value"))
    if constraint.value == XSD.double:
        wrong += [Literal(1), Literal("0.5", datatype=XSD.decimal)]
    if constraint.value in (XSD.integer, XSD.double, XSD.boolean, XSD.dateTime):
        wrong.append(Literal("no such value", datatype=constraint.value, normalize=False))
    if constraint.value == XSD.integer:
        wrong.append(Literal("1.0", datatype=XSD.double))
    yield from _replaced(shapes, data, constraint, focus, *wrong)


def _other_kind(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    wrong: list[Node] = [STRANGER if constraint.value == SH.Literal else Literal("a literal")]
    if constraint.value == SH.IRI:
        wrong.append(BNode("nameless"))
    yield from _replaced(shapes, data, constraint, focus, *wrong)


def _strange(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    inverse = shapes.value(constraint.path, SH.inversePath)
    if inverse is not None:
        old = tuple(data.triples((None, inverse, focus)))
        yield old, ((STRANGER, inverse, focus),), focus
        return
    yield from _replaced(shapes, data, constraint, focus, STRANGER)


def _not_listed(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    wrong = _another(next(iter(Collection(shapes, constraint.value))), 0)
    replace = _replaced if _triples(shapes, data, focus, constraint.path) else _added
    yield from replace(shapes, data, constraint, focus, wrong)


def _mismatched(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    pattern = re.compile(str(constraint.value))
    wrong = [next(Literal(text) for text in _ODD_TEXTS if pattern.search(text) is None)]
    old = _triples(shapes, data, focus, constraint.path)
    if old and isinstance(old[0][2], URIRef):
        wrong = [STRANGER if pattern.search(STRANGER) is None else URIRef("odd:iri")]
    elif old and old[0][2].datatype == XSD.double:
        wrong = [Literal(word, datatype=XSD.double) for word in ("NaN", "INF", "-INF")]
    yield from _replaced(shapes, data, constraint, focus, *wrong)


def _shortened(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield from _replaced(
        shapes, data, constraint, focus, Literal("x" * (int(constraint.value) - 1))
    )


def _lengthened(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    yield from _replaced(
        shapes, data, constraint, focus, Literal("x" * (int(constraint.value) + 1))
    )


def _at_the_bound(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    yield from _replaced(shapes, data, constraint, focus, constraint.value)


def _below(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield from _beyond(shapes, data, constraint, focus, -1)


def _above(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield from _beyond(shapes, data, constraint, focus, 1)


def _beyond(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node, sign: int
) -> Iterator[Change]:
    bound = constraint.value.toPython()
    old = _triples(shapes, data, focus, constraint.path)
    if not old:
        return
    datatype = old[0][2].datatype
    wrong = [Literal(str(bound + sign), datatype=datatype)]
    if datatype == XSD.double:
        wrong += [
            Literal(repr(math.nextafter(bound, sign * math.inf)), datatype=datatype),
            Literal("INF" if sign > 0 else "-INF", datatype=datatype),
        ]
    yield from _replaced(shapes, data, constraint, focus, *wrong)


def _without(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    values = _triples(shapes, data, focus, constraint.path)
    if old := tuple(triple for triple in values if triple[2] == constraint.value):
        yield old, (), focus


def _same_language(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    for _, path, value in _triples(shapes, data, focus, constraint.path):
        if value.language is not None:
            yield (), ((focus, path, Literal(f"{value}, again", lang=value.language)),), focus


def _unequal(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    old = tuple(data.triples((focus, constraint.value, None)))
    if old:
        yield old, ((focus, constraint.value, _another(old[0][2], 7)),), focus


def _reversed(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    limit = data.value(focus, constraint.value, any=True)
    if limit is not None:
        for old in _triples(shapes, data, focus, constraint.path):
            yield (old,), ((*old[:2], _another(limit, 9)),), focus


def _alternative(
    shapes: Graph, data: Graph, constraint: Constraint, focus: Node
) -> Iterator[Change]:
    yield from _replaced(shapes, data, constraint, focus, STRANGER)


def _renamed(data: Graph, focus: Node, name: URIRef | BNode) -> Change:
    """Return the change that renames the focus node everywhere."""
    old = set(data.triples((focus, None, None))) | set(data.triples((None, None, focus)))
    new = {tuple(name if part == focus else part for part in triple) for triple in old}
    return tuple(old), tuple(new), name  # type: ignore[arg-type]


def _misnamed(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield _renamed(data, focus, STRANGER)


def _nameless(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield _renamed(data, focus, BNode("nameless"))


def _talkative(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield (), ((focus, URIRef("https://w3id.org/kgbench/ns#mispelt"), Literal("x")),), focus


def _classless(shapes: Graph, data: Graph, constraint: Constraint, focus: Node) -> Iterator[Change]:
    yield ((focus, RDF.type, constraint.value),), (), focus


MAKERS: dict[Node, Maker] = {
    SH.minCount: _removed,
    SH.maxCount: _doubled,
    SH.datatype: _retyped,
    SH.nodeKind: _other_kind,
    SH["class"]: _strange,
    SH.node: _strange,
    SH["in"]: _not_listed,
    SH.pattern: _mismatched,
    SH.minLength: _shortened,
    SH.maxLength: _lengthened,
    SH.minExclusive: _at_the_bound,
    SH.maxExclusive: _at_the_bound,
    SH.minInclusive: _below,
    SH.maxInclusive: _above,
    SH.hasValue: _without,
    SH.uniqueLang: _same_language,
    SH.equals: _unequal,
    SH.lessThanOrEquals: _reversed,
    SH["or"]: _alternative,
}
NODE_MAKERS: dict[Node, Maker] = {
    SH.nodeKind: _nameless,
    SH.pattern: _misnamed,
    SH["class"]: _classless,
    SH.closed: _talkative,
}
