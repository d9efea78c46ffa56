# SPDX-License-Identifier: Apache-2.0
"""A reader of declarations in Turtle files, and of the metrics that they declare.

Task classes, score sets, prices, data sets, queries and known names are declared in Turtle. Each
package has its own dataclasses for them, and uses :class:`Declared` to get the values.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox

from kgbench import resources
from kgbench.characters import without_bom
from kgbench.errors import QueryError, ResourceError, closest, nearest
from kgbench.model import Json, Metric
from kgbench.vocab import BASE, KGB, RDF, SCHEMA, SH, SKOS, XSD

T = TypeVar("T")
Node = ox.NamedNode | ox.BlankNode
DERIVED = {
    b"template": ("templates.rq",),
    b"labelPattern": ("labelled-tasks.rq",),
    b"mainMetric": ("task-classes.rq", "metric-aggregates.rq"),
    b"kgb:axis": ("collections.rq",),
}
"""Queries in the folder ontology that derive triples from declarations.

The key is a word that all relevant files contain. Each query sees what the ones before it derived.
"""

TEMPLATES = ("tasks", "templates.ttl")
"""The templates of metrics and parameters, which the queries see as well."""

_SHORT = frozenset((KGB.template, KGB.metricTemplate, KGB.labelPattern, KGB.firstVersion))

KINDS: dict[str, type] = {
    XSD.string: str,
    XSD.integer: int,
    XSD.double: float,
    XSD.boolean: bool,
}
"""The Python types of the datatypes that declared values can have."""


def quads(content: bytes, base: str = BASE) -> list[ox.Quad]:
    """Return the triples of a Turtle document, and those that :data:`DERIVED` derives from them.

    Triples that only serve the derivation are left out. Raises :class:`SyntaxError` if the document
    does not parse or names an unknown template.
    """
    document = without_bom(content)
    written = list(ox.parse(document, ox.RdfFormat.TURTLE, base_iri=base, rename_blank_nodes=True))
    triples = dict.fromkeys(written)
    names = [name for word, group in DERIVED.items() if word in content for name in group]
    if names:  # true for few files
        graph = ox.Store()
        graph.extend(written)
        graph.extend(_templates_of(written))
        for name in names:
            derived: Any = graph.query(resources.text("ontology", name))
            new = [ox.Quad(*triple) for triple in derived]
            graph.extend(new)
            triples |= dict.fromkeys(new)
    return [quad for quad in triples if quad.predicate.value not in _SHORT]


def _templates_of(written: Iterable[ox.Quad]) -> list[ox.Quad]:
    """Return the triples of the templates that ``written`` names, and of those that these name."""
    templates = _templates()
    found: dict[Any, list[ox.Quad]] = {}
    named = [q.object for q in written if q.predicate.value in {KGB.template, KGB.metricTemplate}]
    while named:
        name: Any = named.pop()
        if name not in templates:
            hint = nearest(name.value, (known.value for known in templates))
            raise SyntaxError(f"there is no template {name.value}: {hint}")
        if name not in found:
            found[name] = templates[name]
            named += (q.object for q in found[name] if q.object in templates)
    return [quad for triples in found.values() for quad in triples]


@cache
def _templates() -> dict[Any, list[ox.Quad]]:
    """Return the triples of each template."""
    triples: dict[Any, list[ox.Quad]] = {}
    for quad in ox.parse(resources.text(*TEMPLATES), ox.RdfFormat.TURTLE):
        triples.setdefault(quad.subject, []).append(quad)
    return triples


class Declared:
    """The declarations in one or more Turtle files.

    Every reading method raises :class:`~kgbench.errors.ResourceError`, which names the file, the
    resource and the property, if a value is missing, invalid or ambiguous.
    """

    def __init__(self, *files: Path, base: str = BASE) -> None:
        self.file = files[0]
        self.graph = ox.Store()
        for file in files:
            try:
                self.graph.extend(quads(file.read_bytes(), base))
            except OSError as error:
                reason = error.strerror or error
                raise ResourceError(f"the declarations {file} cannot be read: {reason}") from error
            except SyntaxError as error:
                raise ResourceError(f"the declarations {file} cannot be read: {error}") from error

    # Every loop over the engine's iterators is completed in these methods. If an error kept an
    # iterator in its traceback, another thread could free it, which pyoxigraph forbids.

    def instances(self, kind: str) -> list[Any]:
        """Return the resources of a class, in the order of their IRIs."""
        quads = self.graph.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(kind))
        return sorted((quad.subject for quad in quads), key=str)

    def only(self, kind: str) -> Any:
        """Return the only resource of a class."""
        nodes = self.instances(kind)
        if len(nodes) != 1:
            raise ResourceError(f"{self.file} must describe one {_name(kind)}, not {len(nodes)}")
        return nodes[0]

    def named(self, kind: str, name: str) -> Any:
        """Return the resource of a class with the notation ``name``.

        Raises :class:`~kgbench.errors.QueryError` with the known names and the nearest ones.
        """
        known: dict[str, list[Any]] = defaultdict(list)
        for node in self.instances(kind):
            known[self.required(node, SKOS.notation)].append(node)
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            hint = f" ({near})" if (near := closest(name, known)) else ""
            what = _name(kind)
            raise QueryError(f"{self.file} declares no {what} '{name}'; there are: {listed}{hint}")
        if len(known[name]) > 1:
            raise ResourceError(f"{self.file}: several resources are called '{name}'")
        return known[name][0]

    def subjects(self, predicate: str, value: Node | ox.Literal | None = None) -> list[Any]:
        """Return the resources with a property (and value), in the order of their IRIs."""
        quads = self.graph.quads_for_pattern(None, ox.NamedNode(predicate), value)
        return sorted({quad.subject for quad in quads}, key=str)

    def objects(self, node: Node, predicate: str) -> list[Any]:
        """Return the values of a property, sorted."""
        quads = self.graph.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return sorted((quad.object for quad in quads), key=str)

    def ordered(self, node: Node, predicate: str) -> list[Any]:
        """Return the values of a property in the order of their ``sh:order``."""
        return sorted(
            self.objects(node, predicate),
            key=lambda part: (self.read(part, SH.order, float) or 0.0, str(part)),
        )

    def parts(self, node: Node, predicate: str, name: str) -> dict[str, Any]:
        """Return the values of a property in the order of their ``sh:order``, by their ``name``.

        There is at least one, and their names (values of a property) are distinct, because they
        name rows and columns of tables.
        """
        by_name: dict[str, Any] = {}
        for part in self.ordered(node, predicate):
            called = self.required(part, name)
            if called in by_name:
                raise ResourceError(f"{self.file}: {node} has two <{predicate}> called '{called}'")
            by_name[called] = part
        if not by_name:
            raise self._lacks(node, predicate)
        return by_name

    def texts(self, node: Node, predicate: str) -> list[str]:
        """Return the lexical values of a property (IRIs as text), sorted."""
        return sorted(str(value.value) for value in self.objects(node, predicate))

    def text(self, node: Node, predicate: str) -> str | None:
        """Return the lexical value of a property with at most one value, or ``None``."""
        term = self._at_most_one(node, predicate)
        return None if term is None else str(term.value)

    def required(self, node: Node, predicate: str) -> str:
        """Return the lexical value of a property with exactly one value."""
        text = self.text(node, predicate)
        if text is None:
            raise self._lacks(node, predicate)
        return text

    def read(self, node: Node, predicate: str, kind: Callable[[str], T]) -> T | None:
        """Return the optional value of a property, converted by ``kind`` (may raise ValueError)."""
        text = self.text(node, predicate)
        try:
            return None if text is None else kind(text)
        except ValueError as error:
            raise ResourceError(
                f"{self.file}: the <{predicate}> of {node} cannot be '{text}': {error}"
            ) from error

    def required_as(self, node: Node, predicate: str, kind: Callable[[str], T]) -> T:
        """Return the required value of a property, converted by ``kind``; see :meth:`read`."""
        self.required(node, predicate)
        value = self.read(node, predicate, kind)
        assert value is not None
        return value

    def value(self, node: Node, predicate: str) -> Json:
        """Return the optional value of a property as a Python value; see :data:`KINDS`."""
        term = self._at_most_one(node, predicate)
        return None if term is None else _python(term)

    def required_value(self, node: Node, predicate: str) -> Json:
        """Return the required value of a property as a Python value."""
        value = self.value(node, predicate)
        if value is None:
            raise self._lacks(node, predicate)
        return value

    def values(self, node: Node, predicate: str) -> list[Json]:
        """Return the values of a property as Python values (IRIs as text), sorted by term."""
        return [_python(term) for term in self.objects(node, predicate)]

    def _at_most_one(self, node: Node, predicate: str) -> Any:
        values = self.objects(node, predicate)
        if len(values) > 1:
            raise ResourceError(f"{self.file}: {node} has several values of <{predicate}>")
        return values[0] if values else None

    def _lacks(self, node: Node, predicate: str) -> ResourceError:
        return ResourceError(f"{self.file}: {node} has no <{predicate}>")


def shipped(folder: str, *parts: str) -> Declared:
    """Return the declarations in a file of a top-level folder of kgbench, with a cache."""
    return _shipped(resources.path(folder, *parts))


@cache
def _shipped(path: Path) -> Declared:
    return Declared(path)


def _python(term: Any) -> Json:
    kind = KINDS.get(term.datatype.value, str) if isinstance(term, ox.Literal) else str
    return term.value == "true" if kind is bool else kind(term.value)


def _name(kind: str) -> str:
    return re.split("[#/]", kind)[-1]


# --- metrics -------------------------------------------------------------------------------------


def metrics_of(declared: Declared, node: ox.NamedNode) -> dict[str, Metric]:
    """Return the metrics of the resource ``node``, by short name."""
    metrics = (_metric(declared, metric) for metric in declared.objects(node, KGB.metric))
    return {metric.name: metric for metric in metrics}


def _metric(declared: Declared, node: ox.NamedNode) -> Metric:
    return Metric(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        version=declared.required(node, SCHEMA.version),
        higher_is_better=declared.required_value(node, KGB.higherIsBetter),
        minimum=declared.value(node, SCHEMA.minValue),
        maximum=declared.value(node, SCHEMA.maxValue),
        aggregation=declared.value(node, KGB.aggregation),
        base=declared.value(node, KGB.aggregationOf),
        same=declared.value(node, SKOS.exactMatch),
        agreement_of=declared.value(node, KGB.agreementOf),
    )
