# SPDX-License-Identifier: Apache-2.0
"""Validation of graphs against the declared shapes (SHACL core, with pySHACL).

Shapes that depend on the data are added here: every declared metric is a property of evaluations
with at most one ``xsd:double`` within the metric's declared range, and evaluations are closed over
these properties.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.vocab import BASE, DQV, KGB, RDF, SCHEMA, XSD, compact

if TYPE_CHECKING:
    import rdflib

SHAPE_FILES = {
    "results": (
        "results.ttl",
        "analyses.ttl",
        "benchmarks.ttl",
        "catalogue.ttl",
        "tasks.ttl",
        "queries.ttl",
        "policies.ttl",
    ),
    "queries": ("queries.ttl",),
    "tasks": ("tasks.ttl",),
    "datasets": ("datasets.ttl",),
    "published": ("published.ttl",),
    "companions": ("companions.ttl",),
    "stores": ("stores.ttl",),
}

_EVALUATION_SHAPE = f"{BASE}shapes/Evaluation"
_FINITE = "^[-+.0-9Ee]+$"  # no NaN, no INF: an undefined score is left out


class Violation(NamedTuple):
    """One validation result: the focus node, the property path, and the value, if reported.

    ``component`` is the violated SHACL constraint component (``sh:MinCount...``).
    """

    focus: str
    path: str | None
    value: str | None
    message: str
    component: str = ""

    def __str__(self) -> str:
        subject = self.focus if self.path is None else f"{self.focus} {self.path}"
        value = "" if self.value is None else f" (found: {self.value})"
        return f"{subject}: {self.message}{value}"


def report(data: Iterable[ox.Quad | ox.Triple], shape_set: str) -> list[str]:
    """Return the violations in ``data``, one sentence each; empty if it conforms.

    ``data`` (a store, a dataset, or any quads or triples) is validated as one graph; names of
    graphs are ignored. ``shape_set`` names the shapes, a key of :data:`SHAPE_FILES`.
    """
    return [str(violation) for violation in validate(rdflib_graph(data), shape_set)]


def validate(data: rdflib.Graph, shape_set: str) -> list[Violation]:
    """Return the violations in ``data``, sorted; see :func:`report`."""
    shapes = shapes_for(data, shape_set)
    try:
        return _run_pyshacl(data, shapes, shape_set)
    except (TypeError, DeprecationWarning):
        # Raised if sh:lessThanOrEquals compares values that have no order.
        return [_UNORDERED, *_run_pyshacl(data, _without_order(shapes), shape_set)]


_UNORDERED = Violation(
    "(graph)",
    None,
    None,
    "two values that must be in order cannot be compared",
    "sh:LessThanOrEquals",
)


def _run_pyshacl(data: rdflib.Graph, shapes: rdflib.Graph, shape_set: str) -> list[Violation]:
    import pyshacl
    import rdflib
    from pyshacl.errors import ReportableRuntimeError

    with warnings.catch_warnings():
        # rdflib treats two values without an order as ordered, and only warns: raise instead.
        warnings.filterwarnings("ignore", category=UserWarning)  # ill-typed values are reported
        warnings.filterwarnings("error", "NotImplemented should not", DeprecationWarning)
        try:
            conforms, results, _ = pyshacl.validate(data, shacl_graph=shapes)
        except ReportableRuntimeError as error:  # a bad shape; other errors are returned as results
            conforms, results = False, error
    if conforms:
        return []
    if not isinstance(results, rdflib.Graph):
        raise ResourceError(f"the shapes '{shape_set}' cannot be used: {results}")
    return sorted(set(_violations(results)), key=str)


def _without_order(shapes: rdflib.Graph) -> rdflib.Graph:
    from rdflib import SH

    copy = _copy(shapes)
    copy.remove((None, SH.lessThanOrEquals, None))
    return copy


def shapes_for(data: rdflib.Graph, shape_set: str) -> rdflib.Graph:
    """Return the declared shapes of ``shape_set``.

    For results, they include those of the metrics in ``data``.
    """
    declared = _declared(shape_set)
    if shape_set != "results":
        return declared
    metrics = _metric_ranges(data)
    if not metrics:
        return declared
    combined = _copy(declared)
    combined.parse(data=metric_shapes(metrics), format="turtle")
    return combined


def rdflib_graph(data: Iterable[ox.Quad | ox.Triple]) -> rdflib.Graph:
    """Return ``data`` as one rdflib graph; literals keep their lexical forms."""
    import rdflib

    nodes: dict[Any, rdflib.term.Node] = {}

    def term(value: Any) -> rdflib.term.Node:
        node = nodes.get(value)
        if node is None:
            node = nodes[value] = _rdflib_term(value)
        return node

    graph = rdflib.Graph(bind_namespaces="none")
    add = graph.store.add
    for item in data:
        add((term(item.subject), term(item.predicate), term(item.object)), context=graph)
    return graph


def _rdflib_term(value: Any) -> rdflib.term.Node:
    import rdflib

    if isinstance(value, ox.NamedNode):
        return rdflib.URIRef(value.value)
    if isinstance(value, ox.BlankNode):
        return rdflib.BNode(value.value)
    if value.language is not None:
        return rdflib.Literal(value.value, lang=value.language)
    datatype = value.datatype.value
    return rdflib.Literal(
        value.value,
        datatype=None if datatype == XSD.string else rdflib.URIRef(datatype),
        normalize=False,
    )


@cache
def _declared(shape_set: str) -> rdflib.Graph:
    import rdflib

    graph = rdflib.Graph(bind_namespaces="none")
    for name in SHAPE_FILES[shape_set]:
        graph.parse(data=resources.text("shapes", name), format="turtle")
    return graph


def _copy(graph: rdflib.Graph) -> rdflib.Graph:
    import rdflib

    copy = rdflib.Graph(bind_namespaces="none")
    for triple in graph:
        copy.add(triple)
    return copy


def _metric_ranges(data: rdflib.Graph) -> list[tuple[str, list[str]]]:
    """Return every metric declared in ``data`` with its range as SHACL constraints, sorted."""
    import rdflib

    ranges = []
    for metric in data.subjects(rdflib.URIRef(RDF.type), rdflib.URIRef(DQV.Metric)):
        constraints = []
        for bound, constraint in (("minValue", "sh:minInclusive"), ("maxValue", "sh:maxInclusive")):
            value = data.value(metric, rdflib.URIRef(SCHEMA[bound]), any=True)
            if isinstance(value, rdflib.Literal) and isinstance(value.value, float):
                constraints.append(f"{constraint} {value.n3()}")
        ranges.append((str(metric), constraints))
    return sorted(ranges)


def metric_shapes(metrics: list[tuple[str, list[str]]]) -> str:
    """Turtle with shapes for each metric, and the evaluation shape closed over all of them.

    ``metrics`` are IRIs, each with the constraints of its range in Turtle, such as
    ``sh:minInclusive 0.0e0``.
    """
    closed = " ".join(f"<{metric}>" for metric, _ in metrics)
    lines = [
        "@prefix sh: <http://www.w3.org/ns/shacl#> .",
        f"<{_EVALUATION_SHAPE}> sh:closed true ; sh:ignoredProperties ( {closed} ) .",
    ]
    for metric, constraints in metrics:
        property_constraints = " ; ".join(
            [
                f"sh:path <{metric}>",
                "sh:maxCount 1",
                f"sh:datatype <{XSD.double}>",
                f'sh:pattern "{_FINITE}"',
            ]
        )
        lines.append(
            f"<{metric}#shape> a sh:NodeShape ; sh:targetSubjectsOf <{metric}> ; "
            f"sh:class <{KGB.Evaluation}> ; sh:property [ {property_constraints} ] ."
        )
        if constraints:
            range_constraints = " ; ".join([f"sh:path <{metric}>", *constraints])
            lines.append(
                f"<{metric}#shape> sh:property [ {range_constraints} ; "
                f'sh:message "A score lies beyond the range of <{metric}>." ] .'
            )
    return "\n".join(lines)


def _violations(results: rdflib.Graph) -> Iterator[Violation]:
    import rdflib
    from rdflib import SH

    for node in results.subjects(rdflib.RDF.type, SH.ValidationResult):
        path = results.value(node, SH.resultPath)
        component = str(results.value(node, SH.sourceConstraintComponent))
        value = results.value(node, SH.value)
        messages = sorted(str(m) for m in results.objects(node, SH.resultMessage))
        yield Violation(
            compact(str(results.value(node, SH.focusNode))),
            compact(str(path)) if isinstance(path, rdflib.URIRef) else None,
            None if value is None else _abbreviated(value),
            "; ".join(messages),
            compact(component),
        )


def _abbreviated(value: rdflib.term.Node) -> str:
    text = value.n3() if hasattr(value, "n3") else str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."  # noqa: PLR2004  enough to recognise it
