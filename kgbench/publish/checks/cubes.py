# SPDX-License-Identifier: Apache-2.0
"""The integrity constraints of the Data Cube recommendation, in time that grows with the cubes.

Constraints 12 and 17 compare observations with each other. The recommendation writes that as a
join of all pairs; here a query lists the dimensions of each observation, and observations that
agree meet in a dictionary. Both presuppose constraint 11 (each observation has all dimensions, each
once): for cubes that break it, the forms of the recommendation compare what pairs share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench import resources
from kgbench.publish.checks import declared
from kgbench.publish.checks.declared import Constraint
from kgbench.publish.checks.report import Fault
from kgbench.vocab import QB, RDF

_GROUPED = {"ic-12", "ic-17"}
_HIERARCHIES = {"ic-20": False, "ic-21": True}
_TYPE = ox.NamedNode(RDF.type)
_MARKS = [ox.NamedNode(QB[name]) for name in ("DataSet", "Observation", "DataStructureDefinition")]
_PROPERTIES = [
    ox.NamedNode(QB[name])
    for name in ("DimensionProperty", "MeasureProperty", "AttributeProperty", "CodedProperty")
]
_FileOf = Callable[[Any], str]


def cubes(quads: ox.Store) -> ox.Store:
    """The cubes among ``quads``, spelt out as the recommendation's normalisation has it.

    These are the graphs that hold some, and what other graphs say of their properties.
    """
    pattern = quads.quads_for_pattern
    graphs = {quad.graph_name for mark in _MARKS for quad in pattern(None, _TYPE, mark)}
    store = ox.Store()
    for graph in graphs:
        store.extend(_alone(quad) for quad in pattern(None, None, None, graph))
    properties = {quad.subject for kind in _PROPERTIES for quad in pattern(None, _TYPE, kind)}
    for one in properties:
        store.extend(_alone(quad) for quad in pattern(one, None, None))
    normalise(store)
    return store


def normalise(store: ox.Store) -> None:
    """Spell out in ``store`` what its cubes leave unsaid."""
    store.update(resources.text(*declared.FOLDER, "normalise-cubes.ru"))


def check(store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """What breaks the constraints in normalised cubes."""
    for name, constraint in declared.group("cubes").items():
        yield from faults(name, constraint, store, file_of)


def faults(name: str, constraint: Constraint, store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """What breaks one of the constraints."""
    if name in _GROUPED:
        find = _duplicates if name == "ic-12" else _incomplete
        for node, found in find(store.query(constraint.text)):
            yield constraint.fault(node, found, file_of(node))
    elif name in _HIERARCHIES:
        for row in _solutions(store.query(declared.query("hierarchies"))):
            if (row["inverse"].value == "true") is _HIERARCHIES[name]:
                text = constraint.text.replace("$property", str(row["property"]))
                for found in _solutions(store.query(text)):
                    yield constraint.fault(found["node"], found["found"], file_of(found["node"]))
    else:
        yield from constraint.faults(store, file_of)


def _duplicates(rows: Any) -> Iterator[tuple[Any, Any]]:
    """Observations that agree with an earlier one in all dimensions, with that one."""
    first: dict[Any, Any] = {}
    for (_, node), about in _coordinates(rows).items():
        earlier = first.setdefault(about, node)
        if earlier != node:
            yield node, earlier


def _incomplete(rows: Any) -> Iterator[tuple[Any, Any]]:
    """One observation of each group without exactly one for each measure, with the numbers."""
    listed = list(_solutions(rows))
    measures = {row["set"]: row["measures"] for row in listed if row["measures"] is not None}
    groups: dict[Any, list[Any]] = defaultdict(list)
    for (data_set, node), about in _coordinates(listed).items():
        groups[data_set, about].append(node)
    for (data_set, _), nodes in groups.items():
        wanted = measures.get(data_set)
        if wanted is not None and len(nodes) != int(wanted.value):
            yield nodes[0], ox.Literal(f"{len(nodes)} observations, {wanted.value} measures")


def _coordinates(rows: Any) -> dict[tuple[Any, Any], Any]:
    """The dimensions of each observation of each data set, with their values, as one key."""
    found: dict[tuple[Any, Any], set[Any]] = defaultdict(set)
    for row in _solutions(rows):
        about = found[row["set"], row["node"]]
        if row["dimension"] is not None:
            about.add((row["dimension"], row["value"]))
    return {where: (where[0], frozenset(about)) for where, about in found.items()}


def _solutions(rows: Any) -> Iterator[Any]:
    return iter(rows)


def _alone(quad: ox.Quad) -> ox.Quad:
    return ox.Quad(quad.subject, quad.predicate, quad.object)
