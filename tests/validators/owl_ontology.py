# SPDX-License-Identifier: Apache-2.0
"""The ontology with the declarations that OWL tools need.

The vocabulary imports nothing, so terms of other vocabularies are declared here according to
their use. Statements outside of OWL 2 DL that have a reason (a note "Outside OWL 2 DL" of the
term, or, for datatypes that OWL 2 lacks, of the whole vocabulary) are left out.
"""

from __future__ import annotations

from pathlib import Path

import rdflib
from rdflib import OWL, RDF, RDFS, SKOS, XSD
from rdflib.term import Node

from kgbench.vocab import KGB

NOTE = "Outside OWL 2 DL"
#: Datatypes that are newer than OWL 2, or that no OWL tool supports.
DATATYPES = {RDF.JSON, RDF.langString, rdflib.URIRef("https://w3id.org/security#multibase")}
_RESERVED = (str(RDF), str(RDFS), str(OWL), str(XSD))
_AXIOMS = (RDFS.domain, RDFS.range, RDFS.subClassOf)
_PROPERTIES = (OWL.ObjectProperty, OWL.DatatypeProperty)


def readable(source: Path, out: Path) -> list[str]:
    """Write the ontology for OWL tools to ``out``; return the omissions without a reason."""
    graph = rdflib.Graph().parse(source)
    faults = _leave_out(graph)
    for prop in (*_AXIOMS, RDF.type):
        for value in {one for one in graph.objects(None, prop) if _foreign(one)}:
            graph.add((value, RDF.type, OWL.Class))
    for term, above in list(graph.subject_objects(RDFS.subPropertyOf)):
        if _foreign(above):
            for kind in _PROPERTIES:
                if (term, RDF.type, kind) in graph:
                    graph.add((above, RDF.type, kind))
    properties = {one for kind in _PROPERTIES for one in graph.subjects(RDF.type, kind)}
    for prop in set(graph.predicates()):
        if _foreign(prop) and prop not in properties:
            graph.add((prop, RDF.type, OWL.AnnotationProperty))
    graph.serialize(out, format="turtle")
    return faults


def _leave_out(graph: rdflib.Graph) -> list[str]:
    noted = {term for term, note in graph.subject_objects(SKOS.editorialNote) if NOTE in note}
    of_all = " ".join(graph.objects(rdflib.URIRef(str(KGB)), SKOS.editorialNote))
    faults = []
    for axiom in [
        one for prop in (*_AXIOMS, RDF.type) for one in graph.triples((None, prop, None))
    ]:
        term, prop, value = axiom
        if value in DATATYPES:
            name = "rdf:" + str(value).rpartition("#")[2]
            if str(value).startswith(str(RDF)) and name not in of_all:
                faults.append(f"{name} without a reason")
            graph.remove(axiom)
        elif prop in _AXIOMS and str(value).startswith(_RESERVED) and not _plain(value):
            if term not in noted:
                faults.append(f"{str(value).rpartition('#')[2]} without a reason")
            graph.remove(axiom)
    return faults


def _plain(value: Node) -> bool:
    """Return whether OWL 2 DL has a reserved term as class or datatype."""
    return str(value).startswith(str(XSD)) or value in (OWL.Thing, RDFS.Literal)


def _foreign(term: Node) -> bool:
    return isinstance(term, rdflib.URIRef) and not str(term).startswith((str(KGB), *_RESERVED))
