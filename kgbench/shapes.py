# SPDX-License-Identifier: Apache-2.0
"""Validating graphs against the declared shapes (SHACL core, with pySHACL).

What the shapes cannot say by themselves, because it follows from the data, is added here: every
declared metric is a property of evaluations, at most one ``xsd:double`` within the range that the
metric declares, and evaluations are closed over these.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.vocab import BASE, DQV, KGB, PROV, RDF, SCHEMA, XSD, compact

if TYPE_CHECKING:
    import rdflib

SHAPE_FILES = {
    "results": (
        *("results.ttl", "aggregates.ttl", "analyses.ttl", "benchmarks.ttl", "catalogue.ttl"),
        *("tasks.ttl", "queries.ttl", "policies.ttl"),
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
# What others published is kept as they did, even where their own formula cannot give it.
_PUBLISHED = f'sh:path ( <{PROV.wasGeneratedBy}> <{KGB.passKind}> ) ; sh:hasValue "published"'


class Violation(NamedTuple):
    """One result of a validation: which node, which property, which value (``None``: not said).

    ``component`` is the SHACL constraint component that complains (``sh:MinCount...``).
    """

    focus: str
    path: str | None
    value: str | None
    message: str
    component: str = ""

    def __str__(self) -> str:
        place = self.focus if self.path is None else f"{self.focus} {self.path}"
        found = "" if self.value is None else f" (found: {self.value})"
        return f"{place}: {self.message}{found}"


def report(data: Iterable[ox.Quad | ox.Triple], which: str) -> list[str]:
    """What is wrong with ``data``, one sentence per violation; empty when it conforms.

    ``data`` (a store, a dataset, or any quads or triples) is validated as one graph, whatever
    named graphs it is in. ``which`` names the shapes, a key of :data:`SHAPE_FILES`.
    """
    return [str(violation) for violation in validate(rdflib_graph(data), which)]


def validate(data: rdflib.Graph, which: str) -> list[Violation]:
    """The violations in ``data``, sorted; see :func:`report`."""
    wanted = shapes_for(data, which)
    try:
        return _run(data, wanted, which)
    except (TypeError, DeprecationWarning):
        # Raised where sh:lessThanOrEquals meets values that have no order.
        return [_UNORDERED, *_run(data, _without_order(wanted), which)]


_UNORDERED = Violation(
    "(graph)",
    None,
    None,
    "two values that must be in order cannot be compared",
    "sh:LessThanOrEquals",
)


def _run(data: rdflib.Graph, wanted: rdflib.Graph, which: str) -> list[Violation]:
    import pyshacl
    import rdflib
    from pyshacl.errors import ReportableRuntimeError

    with warnings.catch_warnings():
        # rdflib would take two values without an order to be in order, and warn only.
        warnings.filterwarnings("ignore", category=UserWarning)  # of ill-typed values: reported
        warnings.filterwarnings("error", "NotImplemented should not", DeprecationWarning)
        try:
            conforms, results, _ = pyshacl.validate(data, shacl_graph=wanted)
        except ReportableRuntimeError as error:  # of a shape; of what a shape asks, it is returned
            conforms, results = False, error
    if conforms:
        return []
    if not isinstance(results, rdflib.Graph):
        raise ResourceError(f"the shapes '{which}' cannot be used: {results}")
    return sorted(set(_violations(results)), key=str)


def _without_order(wanted: rdflib.Graph) -> rdflib.Graph:
    from rdflib import SH

    copy = _copy(wanted)
    copy.remove((None, SH.lessThanOrEquals, None))
    return copy


def shapes_for(data: rdflib.Graph, which: str) -> rdflib.Graph:
    """The declared shapes ``which``; for results also those that the metrics in ``data`` imply."""
    declared = _declared(which)
    if which != "results":
        return declared
    metrics = _metric_ranges(data)
    if not metrics:
        return declared
    combined = _copy(declared)
    combined.parse(data=metric_shapes(metrics), format="turtle")
    return combined


def rdflib_graph(data: Iterable[ox.Quad | ox.Triple]) -> rdflib.Graph:
    """``data`` as one rdflib graph; literals keep their lexical forms."""
    import rdflib

    known: dict[Any, rdflib.term.Node] = {}

    def term(value: Any) -> rdflib.term.Node:
        found = known.get(value)
        if found is None:
            found = known[value] = _rdflib_term(value)
        return found

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
def _declared(which: str) -> rdflib.Graph:
    import rdflib

    graph = rdflib.Graph(bind_namespaces="none")
    for name in SHAPE_FILES[which]:
        graph.parse(data=resources.text("shapes", name), format="turtle")
    return graph


def _copy(graph: rdflib.Graph) -> rdflib.Graph:
    import rdflib

    copy = rdflib.Graph(bind_namespaces="none")
    for triple in graph:
        copy.add(triple)
    return copy


def _metric_ranges(data: rdflib.Graph) -> list[tuple[str, list[str]]]:
    """Every metric declared in ``data`` with its range as SHACL constraints, sorted."""
    import rdflib

    found = []
    for metric in data.subjects(rdflib.URIRef(RDF.type), rdflib.URIRef(DQV.Metric)):
        constraints = []
        for bound, constraint in (("minValue", "sh:minInclusive"), ("maxValue", "sh:maxInclusive")):
            value = data.value(metric, rdflib.URIRef(SCHEMA[bound]), any=True)
            if isinstance(value, rdflib.Literal) and isinstance(value.value, float):
                constraints.append(f"{constraint} {value.n3()}")
        found.append((str(metric), constraints))
    return sorted(found)


def metric_shapes(metrics: list[tuple[str, list[str]]]) -> str:
    """Turtle: shapes for each metric, and the evaluation shape closed over all of them.

    ``metrics`` are IRIs, each with the constraints of its range in Turtle, such as
    ``sh:minInclusive 0.0e0``; what others published may lie outside.
    """
    closed = " ".join(f"<{metric}>" for metric, _ in metrics)
    lines = [
        "@prefix sh: <http://www.w3.org/ns/shacl#> .",
        f"<{_EVALUATION_SHAPE}> sh:closed true ; sh:ignoredProperties ( {closed} ) .",
    ]
    for metric, constraints in metrics:
        about = " ; ".join(
            [
                f"sh:path <{metric}>",
                "sh:maxCount 1",
                f"sh:datatype <{XSD.double}>",
                f'sh:pattern "{_FINITE}"',
            ]
        )
        lines.append(
            f"<{metric}#shape> a sh:NodeShape ; sh:targetSubjectsOf <{metric}> ; "
            f"sh:class <{KGB.Evaluation}> ; sh:property [ {about} ] ."
        )
        if constraints:
            reach = " ; ".join([f"sh:path <{metric}>", *constraints])
            lines.append(
                f"<{metric}#range> a sh:NodeShape ; sh:targetSubjectsOf <{metric}> ; "
                f"sh:or ( [ sh:property [ {reach} ] ] [ sh:property [ {_PUBLISHED} ] ] ) ; "
                f'sh:message "A score lies beyond the range of <{metric}>." .'
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
            None if value is None else _shown(value),
            "; ".join(messages),
            compact(component),
        )


def _shown(value: rdflib.term.Node) -> str:
    text = value.n3() if hasattr(value, "n3") else str(value)
    return text if len(text) <= 200 else f"{text[:200]}..."  # noqa: PLR2004  enough to recognise it
