# SPDX-License-Identifier: Apache-2.0
"""Mutants of a conforming graph, generated from the shapes to which it conforms.

For every constraint of every named node shape, one focus node is changed so that this constraint is
violated: required properties are removed, single ones doubled, values retyped, moved out of range,
or removed from their class. A mutant names the constraint component that must report it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rdflib import SH, BNode, Graph, URIRef

from tests.support.mutant_makers import MAKERS, NODE_MAKERS, Triple
from tests.support.shape_constraints import Constraint, constraints, focus_nodes

COMPONENTS = {
    SH.minCount: SH.MinCountConstraintComponent,
    SH.maxCount: SH.MaxCountConstraintComponent,
    SH.datatype: SH.DatatypeConstraintComponent,
    SH.nodeKind: SH.NodeKindConstraintComponent,
    SH["class"]: SH.ClassConstraintComponent,
    SH["in"]: SH.InConstraintComponent,
    SH.pattern: SH.PatternConstraintComponent,
    SH.minLength: SH.MinLengthConstraintComponent,
    SH.maxLength: SH.MaxLengthConstraintComponent,
    SH.minExclusive: SH.MinExclusiveConstraintComponent,
    SH.minInclusive: SH.MinInclusiveConstraintComponent,
    SH.maxExclusive: SH.MaxExclusiveConstraintComponent,
    SH.maxInclusive: SH.MaxInclusiveConstraintComponent,
    SH.hasValue: SH.HasValueConstraintComponent,
    SH.uniqueLang: SH.UniqueLangConstraintComponent,
    SH.equals: SH.EqualsConstraintComponent,
    SH.lessThanOrEquals: SH.LessThanOrEqualsConstraintComponent,
    SH.node: SH.NodeConstraintComponent,
    SH["or"]: SH.OrConstraintComponent,
    SH.xone: SH.XoneConstraintComponent,
    SH.closed: SH.ClosedConstraintComponent,
}


class Mutant(NamedTuple):
    """A change to a conforming graph, the node at fault and the component that must report it."""

    name: str
    shape: URIRef
    focus: URIRef | BNode
    remove: tuple[Triple, ...]
    add: tuple[Triple, ...]
    component: URIRef


def mutants(shapes: Graph, data: Graph) -> Iterator[tuple[Constraint, list[Mutant]]]:
    """Yield each constraint with its mutants; the list is empty if none could be made."""
    for constraint in constraints(shapes):
        makers = NODE_MAKERS if constraint.path is None else MAKERS
        maker = makers.get(constraint.parameter)
        made: list[Mutant] = []
        nodes = focus_nodes(shapes, data, constraint.shape)
        for focus in nodes if maker is not None else ():
            assert maker is not None
            for number, (remove, add, node) in enumerate(maker(shapes, data, constraint, focus)):
                name = f"{constraint} #{number}"
                component = COMPONENTS[constraint.parameter]
                made.append(Mutant(name, constraint.shape, node, remove, add, component))
            if made:
                break  # one focus node that can violate the constraint is enough
        yield constraint, made
