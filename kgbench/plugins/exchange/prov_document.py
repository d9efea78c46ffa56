# SPDX-License-Identifier: Apache-2.0
"""Exports a run or a dialogue as a PROV document, with the prov library.

All statements about an activity, entity or agent are included: relations of PROV-DM as relations,
others as attributes. Identifiers are the IRIs of the store; those below a run or a pass get a
prefix of their own.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pyoxigraph as ox

from kgbench.api import KGB, RDF, RDFS, XSD, OutgoingRun
from kgbench.characters import xml_text
from kgbench.vocab import DCTERMS, PROV, SCHEMA, SKOS

if TYPE_CHECKING:
    from prov.model import ProvDocument

FORMATS = ("provn", "json", "xml", "rdf")

_KINDS = {PROV.Activity: "activity", PROV.Entity: "entity", PROV.SoftwareAgent: "agent"}
_ENTITIES = (KGB.Case, KGB.Configuration)  # entities that are not typed as such
_RELATIONS: dict[str, Callable[..., Any]] = {
    PROV.wasGeneratedBy: lambda doc, s, o: doc.generation(s, o),
    PROV.used: lambda doc, s, o: doc.usage(s, o),
    PROV.wasDerivedFrom: lambda doc, s, o: doc.derivation(s, o),
    PROV.wasRevisionOf: lambda doc, s, o: doc.revision(s, o),
    PROV.wasAssociatedWith: lambda doc, s, o, plan=None: doc.association(s, o, plan),
    PROV.wasInformedBy: lambda doc, s, o: doc.communication(s, o),
    PROV.specializationOf: lambda doc, s, o: doc.specialization(s, o),
}
_NATIVE: dict[str, Callable[[str], Any]] = {
    XSD.double: float,
    XSD.integer: int,
    XSD.boolean: lambda text: text == "true",
    XSD.string: str,
}
_TIMES = (PROV.startedAtTime, PROV.endedAtTime)
_NAMESPACES = {
    "kgb": KGB,
    "dcterms": DCTERMS,
    "schema": SCHEMA,
    "skos": SKOS,
    "rdfs": RDFS,
    "rdf": RDF,
}


def document(run: OutgoingRun, syntax: str = "provn") -> ProvDocument:
    """Return the PROV document of a run, or of the exported dialogue, for a ``syntax``.

    For XML, characters that XML 1.0 excludes are escaped as in a Python string.
    """
    from prov.model import ProvDocument

    doc = ProvDocument()
    qualified = _Names(doc, run)
    properties = _statements(run)
    if syntax == "xml":
        properties = {
            iri: [(predicate, _in_xml(value)) for predicate, value in statements]
            for iri, statements in properties.items()
        }
    described = {iri for iri, kind in _elements(properties).items() if kind}
    for iri, kind in sorted(_elements(properties).items()):
        if kind:
            _element(doc, qualified, iri, kind, properties[iri], described)
    for iri in sorted(described):
        for predicate, value in properties[iri]:
            relation = _RELATIONS.get(predicate)
            if relation is not None and getattr(value, "value", "") in described:
                of_plan = predicate == PROV.wasAssociatedWith
                plan = _plan(properties, iri, value.value) if of_plan else None
                more = [] if plan is None else [qualified.name(plan)]
                relation(doc, qualified.name(iri), qualified.name(value.value), *more)
    return doc


def _in_xml(value: Any) -> Any:
    """Escape the characters of a literal that XML excludes; the prov library would fail on them."""
    if not isinstance(value, ox.Literal) or (text := xml_text(value.value)) == value.value:
        return value
    if value.language is not None:
        return ox.Literal(text, language=value.language, direction=value.direction)
    return ox.Literal(text, datatype=value.datatype)


def _plan(properties: Mapping[str, list[tuple[str, Any]]], activity: str, agent: str) -> str | None:
    for predicate, value in properties[activity]:
        if predicate == PROV.qualifiedAssociation:
            association = {name: value_.value for name, value_ in properties.get(value.value, ())}
            if association.get(PROV.agent) == agent:
                return association.get(PROV.hadPlan)
    return None


def serialised(doc: ProvDocument, syntax: str) -> bytes:
    """Serialise a document as PROV-N, PROV-JSON, PROV-XML or PROV-O (Turtle)."""
    if syntax == "provn":
        return (doc.get_provn() + "\n").encode("utf-8")
    more: dict[str, dict[str, Any]] = {"rdf": {"rdf_format": "turtle"}, "json": {"indent": 1}}
    if syntax == "xml":
        out = io.BytesIO()
        doc.serialize(out, format="xml")
        return out.getvalue()
    with warnings.catch_warnings():  # the prov library uses deprecated parts of rdflib
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        text = doc.serialize(format=syntax, **more.get(syntax, {}))
    assert text is not None
    return text.encode("utf-8")


class _Names:
    """Makes qualified names of IRIs, with a prefix for the run, each pass and other namespaces."""

    def __init__(self, doc: ProvDocument, run: OutgoingRun) -> None:
        self._document = doc
        self._known: list[tuple[str, Any]] = []
        for prefix, namespace in _NAMESPACES.items():
            self._add(prefix, namespace)
        self._add("store", run.base)
        self._add("run", f"{run.info.iri}/")
        for number, pass_ in enumerate(run.passes):
            self._add(f"pass{number}", f"{pass_.iri}/")

    def _add(self, prefix: str, namespace: str) -> Any:
        added = self._document.add_namespace(prefix, namespace)
        self._known.append((namespace, added))
        self._known.sort(key=lambda pair: -len(pair[0]))
        return added

    def name(self, iri: str) -> Any:
        """Return the qualified name of a resource, with the longest matching prefix."""
        for namespace, added in self._known:
            if iri.startswith(namespace) and len(iri) > len(namespace):
                return added[iri[len(namespace) :]]
        return self.property(iri)

    def property(self, iri: str) -> Any:
        """Return the qualified name of a property; the local part must be a valid XML name."""
        end = max(iri.rfind("/"), iri.rfind("#")) + 1
        for namespace, added in self._known:
            if iri[:end] == namespace:
                return added[iri[end:]]
        return self._add(f"ns{len(self._known)}", iri[:end])[iri[end:]]


def _statements(run: OutgoingRun) -> dict[str, list[tuple[str, Any]]]:
    properties: dict[str, list[tuple[str, Any]]] = {}
    for quad in (*run.statements.quads, *run.judged.quads, *run.catalogue.quads):
        if isinstance(quad.subject, ox.NamedNode):
            pair = (quad.predicate.value, quad.object)
            properties.setdefault(quad.subject.value, []).append(pair)
    wanted = _resources(run, properties)
    return {
        iri: sorted(statements, key=str) for iri, statements in properties.items() if iri in wanted
    }


def _resources(run: OutgoingRun, properties: dict[str, list[tuple[str, Any]]]) -> set[str]:
    """Return the resources of the document: the run or dialogue, its parts, and linked ones."""
    if run.dialogue is None:
        iris = {
            quad.subject.value
            for quad in (*run.statements.quads, *run.judged.quads)
            if isinstance(quad.subject, ox.NamedNode)
        }
    else:
        iris = {
            iri for iri in properties if iri == run.dialogue or iri.startswith(f"{run.dialogue}/")
        }
        iris.update(run.found.evaluations.get(run.dialogue, ()))
    waiting = set(iris)
    while waiting:  # texts, agents, cases, and the activities that contain the dialogue
        further = {
            value.value
            for iri in waiting
            for predicate, value in properties.get(iri, ())
            if isinstance(value, ox.NamedNode) and _leads_on(predicate)
        }
        waiting = {iri for iri in further if iri in properties} - iris
        iris |= waiting
    return iris


def _leads_on(predicate: str) -> bool:
    return predicate in _RELATIONS or predicate in (
        DCTERMS.isPartOf,
        KGB.text,
        KGB.extracted,
        KGB.reasoning,
        KGB.providerState,
    )


def _elements(properties: dict[str, list[tuple[str, Any]]]) -> dict[str, str]:
    """Return the PROV type of each resource: activity, entity, agent, or ``""``."""
    kind_of = {}
    for iri, statements in properties.items():
        types = {value.value for predicate, value in statements if predicate == RDF.type}
        kinds = [kind for type_, kind in _KINDS.items() if type_ in types]
        entity = "entity" if types & set(_ENTITIES) else ""
        kind_of[iri] = kinds[0] if kinds else entity
    return kind_of


def _element(  # noqa: PLR0917, C901 - the parts of an element
    doc: ProvDocument,
    names: _Names,
    iri: str,
    kind: str,
    statements: Iterable[tuple[str, Any]],
    described: set[str],
) -> None:
    from prov.constants import PROV as prov_names  # noqa: N811 - a namespace object

    attributes: list[tuple[Any, Any]] = []
    times: dict[str, Any] = {}
    for predicate, value in statements:
        if predicate in _TIMES:
            times[predicate] = datetime.fromisoformat(value.value)
        elif predicate == RDF.type:
            if value.value not in _KINDS:
                attributes.append(("prov:type", names.name(value.value)))
        elif predicate == RDFS.label:
            attributes.append(("prov:label", _value(names, value)))
        elif predicate == PROV.value:
            attributes.append(("prov:value", value.value))
        elif predicate == PROV.qualifiedAssociation:
            continue  # written as an association with a plan
        elif predicate not in _RELATIONS or value.value not in described:
            attributes.append((names.property(predicate), _value(names, value)))
    if kind == "activity":
        begun, ended = (times.get(term) for term in _TIMES)
        doc.activity(names.name(iri), begun, ended, attributes)
    elif kind == "agent":
        attributes.append(("prov:type", prov_names["SoftwareAgent"]))
        doc.agent(names.name(iri), attributes)
    else:
        doc.entity(names.name(iri), attributes)


def _value(names: _Names, value: Any) -> Any:
    from prov.model import Literal

    if isinstance(value, ox.NamedNode):
        return names.name(value.value)
    datatype = value.datatype.value
    if datatype in _NATIVE:
        return _NATIVE[datatype](value.value)
    if datatype == RDF.langString:
        return Literal(value.value, langtag=value.language)
    return Literal(value.value, datatype=names.property(datatype))
