# SPDX-License-Identifier: Apache-2.0
"""The namespaces that kgbench reads and writes, the prefixes that it shows, and the outcomes.

A namespace makes IRIs by attribute or item: ``KGB.Dialogue`` is the string
``https://w3id.org/kgbench/ns#Dialogue``. Names that are methods of ``str`` (``title``, ``count``)
need the item form: ``DCTERMS["title"]``.

>>> KGB.Dialogue
'https://w3id.org/kgbench/ns#Dialogue'
>>> compact(PROV["Entity"])
'prov:Entity'
"""

from __future__ import annotations

from enum import StrEnum


class Namespace(str):  # noqa: SLOT000 - caches attributes in __dict__
    """An IRI prefix whose attributes and items are IRIs."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        iri = str(self) + name
        self.__dict__[name] = iri  # later look-ups skip __getattr__, which matters for bulk records
        return iri

    def __getitem__(self, name: object) -> str:
        return str(self) + str(name)


KGB = Namespace("https://w3id.org/kgbench/ns#")
OUTCOME = Namespace("https://w3id.org/kgbench/outcome/")
TOOL_OUTCOME = Namespace("https://w3id.org/kgbench/tool-outcome/")
RDF = Namespace("http://www.w3.org/1999/02/22-rdf-syntax-ns#")
RDFS = Namespace("http://www.w3.org/2000/01/rdf-schema#")
XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
OWL = Namespace("http://www.w3.org/2002/07/owl#")
PROV = Namespace("http://www.w3.org/ns/prov#")
DCTERMS = Namespace("http://purl.org/dc/terms/")
SKOS = Namespace("http://www.w3.org/2004/02/skos/core#")
DQV = Namespace("http://www.w3.org/ns/dqv#")
QB = Namespace("http://purl.org/linked-data/cube#")
SD = Namespace("http://www.w3.org/ns/sparql-service-description#")
SH = Namespace("http://www.w3.org/ns/shacl#")
SCHEMA = Namespace("https://schema.org/")
SPDX = Namespace("http://spdx.org/rdf/terms#")
DCAT = Namespace("http://www.w3.org/ns/dcat#")
VOID = Namespace("http://rdfs.org/ns/void#")
IT6 = Namespace("http://data.europa.eu/it6/")
MLS = Namespace("http://www.w3.org/ns/mls#")
LSQV = Namespace("http://lsq.aksw.org/vocab#")
FOAF = Namespace("http://xmlns.com/foaf/0.1/")
SEC = Namespace("https://w3id.org/security#")
NP = Namespace("http://www.nanopub.org/nschema#")
NPX = Namespace("http://purl.org/nanopub/x/")
CSVW = Namespace("http://www.w3.org/ns/csvw#")
VCARD = Namespace("http://www.w3.org/2006/vcard/ns#")
FORMATS = Namespace("http://www.w3.org/ns/formats/")

PREFIXES: dict[str, str] = {
    "kgb": KGB,
    "outcome": OUTCOME,
    "rdf": RDF,
    "rdfs": RDFS,
    "xsd": XSD,
    "owl": OWL,
    "prov": PROV,
    "dcterms": DCTERMS,
    "skos": SKOS,
    "dqv": DQV,
    "qb": QB,
    "sd": SD,
    "sh": SH,
    "schema": SCHEMA,
    "spdx": SPDX,
    "dcat": DCAT,
    "void": VOID,
    "it6": IT6,
    "mls": MLS,
    "lsqv": LSQV,
    "foaf": FOAF,
    "sec": SEC,
    "np": NP,
    "npx": NPX,
}

# The base IRI of everything declared (task classes, metrics, suites) and, unless configured
# otherwise, of everything recorded (runs, passes, dialogues).
BASE = "https://w3id.org/kgbench/"


def compact(iri: str) -> str:
    """Shorten ``iri`` by the longest matching prefix of :data:`PREFIXES`, if there is one."""
    longest = max(
        (item for item in PREFIXES.items() if iri.startswith(item[1])),
        key=lambda item: len(item[1]),
        default=None,
    )
    return iri if longest is None else f"{longest[0]}:{iri[len(longest[1]) :]}"


class Outcome(StrEnum):
    """The outcome of an answer, or of the attempt to get one (a SKOS scheme in the ontology)."""

    SCORED = "scored"
    UNPARSABLE = "unparsable"
    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTEXT_TOO_LONG = "context-too-long"
    PROVIDER_ERROR = "provider-error"
    EVALUATOR_ERROR = "evaluator-error"
    TIMEOUT = "timeout"
