# SPDX-License-Identifier: Apache-2.0
"""Registers that catalogues refer to: IRIs of the EU, IANA and SPDX, and their classes.

SHACL engines do not fetch references. DCAT-AP 3 and MLDCAT-AP 3.1 require a class for every media
type, licence, language and address, so a catalogue states these classes itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyoxigraph as ox

from kgbench.rdf.statements import statements_about, text, type_statements
from kgbench.vocab import DCAT, DCTERMS, FOAF, RDFS, SKOS, SPDX

_EU = "http://publications.europa.eu/resource/authority/"
IANA = "https://www.iana.org/assignments/media-types/"
ENGLISH = f"{_EU}language/ENG"
PUBLIC = f"{_EU}access-right/PUBLIC"
RESTRICTED = f"{_EU}access-right/RESTRICTED"
STATISTICAL = f"{_EU}dataset-type/STATISTICAL"
TECHNOLOGY = f"{_EU}data-theme/TECH"
IRREGULAR = f"{_EU}frequency/IRREG"
TURTLE = f"{_EU}file-type/RDF_TURTLE"
#: File formats by the suffix of a dump.
FORMATS = {
    "nq": f"{_EU}file-type/RDF_N_QUADS",
    "ttl": TURTLE,
    "jsonld": f"{_EU}file-type/JSON_LD",
}
#: Licences of the EU register by their SPDX identifiers.
_LICENCES = {
    "CC0-1.0": "CC0",
    "CC-BY-4.0": "CC_BY_4_0",
    "CC-BY-SA-4.0": "CC_BYSA_4_0",
    "CC-BY-NC-4.0": "CC_BYNC_4_0",
    "CC-BY-ND-4.0": "CC_BYND_4_0",
}
_LABELS = {
    STATISTICAL: "Statistical data",
    TECHNOLOGY: "Science and technology",
    TURTLE: "RDF Turtle",
}
_RESOURCE = (DCAT.Resource, RDFS.Resource)
_CLASSES: dict[str, tuple[str, ...]] = {
    DCTERMS.accessRights: (DCTERMS.RightsStatement,),
    DCTERMS.accrualPeriodicity: (DCTERMS.Frequency,),
    DCTERMS.conformsTo: (DCTERMS.Standard,),
    DCTERMS["format"]: (DCTERMS.MediaTypeOrExtent,),
    DCTERMS.language: (DCTERMS.LinguisticSystem,),
    DCTERMS.license: (DCTERMS.LicenseDocument,),
    DCTERMS.relation: (RDFS.Resource,),
    DCTERMS.rights: (DCTERMS.RightsStatement,),
    DCTERMS.type: (SKOS.Concept,),
    DCAT.accessURL: _RESOURCE,
    DCAT.compressFormat: (DCTERMS.MediaType,),
    DCAT.downloadURL: _RESOURCE,
    DCAT.endpointURL: _RESOURCE,
    DCAT.landingPage: (FOAF.Document,),
    DCAT.mediaType: (DCTERMS.MediaType,),
    DCAT.packageFormat: (DCTERMS.MediaType,),
    DCAT.theme: (SKOS.Concept,),
    FOAF.homepage: (FOAF.Document,),
    SPDX.algorithm: (SPDX.ChecksumAlgorithm,),
}


def classes_of_references(quads: Iterable[ox.Quad]) -> Iterator[ox.Quad]:
    """Yield the classes of what ``quads`` refer to, labels of concepts, and EU IRIs of licences."""
    classes_by_node: dict[ox.NamedNode, set[str]] = {}
    for quad in quads:
        if isinstance(quad.object, ox.NamedNode):
            classes = _CLASSES.get(quad.predicate.value, ())
            classes_by_node.setdefault(quad.object, set()).update(classes)
    for subject, kinds in sorted(classes_by_node.items(), key=lambda pair: pair[0].value):
        yield from type_statements(subject, *sorted(kinds))
        if subject.value in _LABELS:
            yield from statements_about(
                subject, (SKOS.prefLabel, text(_LABELS[subject.value], "en"))
            )
        if DCTERMS.LicenseDocument in kinds:
            code = _LICENCES.get(subject.value.rpartition("/")[2])
            exact = None if code is None else f"{_EU}licence/{code}"
            yield from statements_about(subject, (SKOS.exactMatch, exact))
