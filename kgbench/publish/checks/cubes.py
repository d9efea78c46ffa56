# SPDX-License-Identifier: Apache-2.0
"""The integrity constraints of the Data Cube recommendation, in time linear in the cubes.

Constraints 12 and 17 compare observations with each other. The recommendation writes this as a join
of all pairs; here a query lists the dimensions of each observation, and a dictionary finds equal
ones. Both presuppose constraint 11 (each observation has all dimensions, each once): for cubes that
violate it, the queries of the recommendation compare the dimensions that pairs share.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pyoxigraph as ox

from kgbench import resources
from kgbench.publish.checks import constraints
from kgbench.publish.checks.constraints import Constraint
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
    """Return the cubes among ``quads``, normalised as in the recommendation.

    These are the graphs with cubes, and the statements of other graphs about their properties.
    """
    pattern = quads.quads_for_pattern
    graphs = {
        quad.graph_name for kind_of_cube in _MARKS for quad in pattern(None, _TYPE, kind_of_cube)
    }
    store = ox.Store()
    for graph in graphs:
        store.extend(_without_graph(quad) for quad in pattern(None, None, None, graph))
    properties = {quad.subject for kind in _PROPERTIES for quad in pattern(None, _TYPE, kind)}
    for node in properties:
        store.extend(_without_graph(quad) for quad in pattern(node, None, None))
    normalise(store)
    return store


def normalise(store: ox.Store) -> None:
    """Add to ``store`` what its cubes leave implicit."""
    store.update(resources.text(*constraints.FOLDER, "normalise-cubes.ru"))


def check(store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of all constraints in normalised cubes."""
    for name, constraint in constraints.group("cubes").items():
        yield from faults(name, constraint, store, file_of)


def faults(name: str, constraint: Constraint, store: ox.Store, file_of: _FileOf) -> Iterator[Fault]:
    """Yield violations of one constraint."""
    if name in _GROUPED:
        find = _duplicates if name == "ic-12" else _incomplete
        for node, value in find(store.query(constraint.text)):
            yield constraint.fault(node, value, file_of(node))
    elif name in _HIERARCHIES:
        for row in _solutions(store.query(constraints.query("hierarchies"))):
            if (row["inverse"].value == "true") is _HIERARCHIES[name]:
                text = constraint.text.replace("$property", str(row["property"]))
                for violation in _solutions(store.query(text)):
                    yield constraint.fault(
                        violation["node"], violation["found"], file_of(violation["node"])
                    )
    else:
        yield from constraint.faults(store, file_of)


def _duplicates(rows: Any) -> Iterator[tuple[Any, Any]]:
    """Yield observations with the same dimensions as an earlier one, with that one."""
    first: dict[Any, Any] = {}
    for (_, node), key in _coordinates(rows).items():
        earlier = first.setdefault(key, node)
        if earlier != node:
            yield node, earlier


def _incomplete(rows: Any) -> Iterator[tuple[Any, Any]]:
    """Yield an observation of each group that lacks some measures, with the numbers."""
    listed = list(_solutions(rows))
    measures = {row["set"]: row["measures"] for row in listed if row["measures"] is not None}
    groups: dict[Any, list[Any]] = defaultdict(list)
    for (data_set, node), key in _coordinates(listed).items():
        groups[data_set, key].append(node)
    for (data_set, _), nodes in groups.items():
        measure_count = measures.get(data_set)
        if measure_count is not None and len(nodes) != int(measure_count.value):
            yield nodes[0], ox.Literal(f"{len(nodes)} observations, {measure_count.value} measures")


def _coordinates(rows: Any) -> dict[tuple[Any, Any], Any]:
    """Return the dimensions and values of each observation of each data set, as one key."""
    coordinates: dict[tuple[Any, Any], set[Any]] = defaultdict(set)
    for row in _solutions(rows):
        values = coordinates[row["set"], row["node"]]
        if row["dimension"] is not None:
            values.add((row["dimension"], row["value"]))
    return {key: (key[0], frozenset(values)) for key, values in coordinates.items()}


def _solutions(rows: Any) -> Iterator[Any]:
    return iter(rows)


def _without_graph(quad: ox.Quad) -> ox.Quad:
    return ox.Quad(quad.subject, quad.predicate, quad.object)
