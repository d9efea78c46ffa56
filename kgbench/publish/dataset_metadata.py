# SPDX-License-Identifier: Apache-2.0
"""Metadata of the data set for other systems: schema.org, DataCite 4.6 and Zenodo."""

from __future__ import annotations

import re
from typing import Any

import pyoxigraph as ox

from kgbench.publish.description import Agent
from kgbench.publish.file_reading import media
from kgbench.publish.metadata import Publication
from kgbench.rdf.quads import by_subject
from kgbench.vocab import RDF, SCHEMA, XSD

Json = dict[str, Any]
_ORCID = re.compile(r"https?://orcid\.org/(\d{4}-\d{4}-\d{4}-\d{3}[\dX])/?")
_DOI = re.compile(r"https?://(?:dx\.)?doi\.org/(10\..+)")
_SPDX = re.compile(r"https?://spdx\.org/licenses/([A-Za-z0-9.+-]+?)(?:\.html)?")
_RESOURCE_TYPE = "Benchmark results"


def schema_org(published: Publication) -> Json:
    """Return the schema.org metadata, which search engines for data sets read."""
    described = by_subject(published.schema_org())
    prefix = str(SCHEMA)

    def value(term: Any) -> Any:
        if isinstance(term, ox.NamedNode):
            return node(term.value) if term.value in described else term.value
        return term.value == "true" if term.datatype.value == XSD.boolean else term.value

    def node(iri: str) -> Json:
        properties = dict(described[iri])
        (kind,) = properties.pop(RDF.type)
        found: Json = {"@type": kind.value.removeprefix(prefix), "@id": iri}
        for name, terms in properties.items():
            values = [term.value if term.value == iri else value(term) for term in terms]
            found[name.removeprefix(prefix)] = values if len(values) > 1 else values[0]
        return found

    return {"@context": "https://schema.org/", **node(published.dataset)}


def datacite(published: Publication) -> Json:
    """Return DataCite 4.6 metadata for the registration of a DOI; the DOI itself is missing."""
    description, now = published.metadata, published.now
    metadata: Json = {
        "schemaVersion": "http://datacite.org/schema/kernel-4",
        "types": {"resourceTypeGeneral": "Dataset", "resourceType": _RESOURCE_TYPE},
        "url": published.base,
        "alternateIdentifiers": [
            {"alternateIdentifier": published.dataset, "alternateIdentifierType": "URL"}
        ],
        "creators": [_datacite_creator(creator) for creator in description.creators]
        or [{"name": ":unav"}],
        "titles": [{"title": description.title, "lang": "en"}],
        "publisher": {"name": published.publisher.name if published.publisher else ":unav"},
        "publicationYear": now.date[:4],
        "dates": [
            {"date": published.collected, "dateType": "Collected"},
            {"date": published.versions[0].date, "dateType": "Issued"},
            {"date": now.date, "dateType": "Updated"},
        ],
        "language": "en",
        "version": str(now.number),
        "subjects": [{"subject": word, "lang": "en"} for word in published.keywords],
        "descriptions": [
            {"description": description.description, "descriptionType": "Abstract", "lang": "en"},
            {"description": published.rights, "descriptionType": "Other", "lang": "en"},
        ],
        "sizes": [f"{dump.path}: {dump.bytes} B" for dump in now.dumps],
        "formats": sorted({media(dump.path) for dump in now.dumps}),
        "relatedIdentifiers": [_related(iri) for iri in description.sources],
    }
    if description.licence:
        spdx = _SPDX.fullmatch(description.licence)
        metadata["rightsList"] = [
            {
                "rightsUri": description.licence,
                **({"rightsIdentifier": spdx[1], "rightsIdentifierScheme": "SPDX"} if spdx else {}),
            }
        ]
    return metadata


def _datacite_creator(agent: Agent) -> Json:
    orcid = _ORCID.fullmatch(agent.iri or "")
    if orcid is None:
        return {"name": agent.name}
    identifier = {
        "nameIdentifier": f"https://orcid.org/{orcid[1]}",
        "nameIdentifierScheme": "ORCID",
        "schemeUri": "https://orcid.org",
    }
    return {"name": agent.name, "nameType": "Personal", "nameIdentifiers": [identifier]}


def _related(iri: str) -> Json:
    doi = _DOI.fullmatch(iri)
    return {
        "relatedIdentifier": doi[1] if doi else iri,
        "relatedIdentifierType": "DOI" if doi else "URL",
        "relationType": "IsDerivedFrom",
    }


def zenodo(published: Publication) -> Json:
    """Return the metadata of a deposit in the form of Zenodo's API and ``.zenodo.json``."""
    description = published.metadata
    metadata: Json = {
        "title": description.title,
        "upload_type": "dataset",
        "description": f"<p>{_html(description.description)}</p><p>{_html(published.rights)}</p>",
        "creators": [_zenodo_creator(creator) for creator in description.creators],
        "access_right": "open" if published.packing.password is None else "restricted",
        "keywords": list(published.keywords),
        "version": str(published.now.number),
        "publication_date": published.now.date[:10],
        "language": "eng",
        "related_identifiers": [
            {"identifier": published.base, "relation": "isIdenticalTo", "scheme": "url"},
            *(
                {"identifier": related["relatedIdentifier"], "relation": "isDerivedFrom"}
                for related in map(_related, description.sources)
            ),
        ],
    }
    spdx = _SPDX.fullmatch(description.licence or "")
    if spdx is not None:
        metadata["license"] = spdx[1].lower()
    return metadata


def _zenodo_creator(agent: Agent) -> Json:
    orcid = _ORCID.fullmatch(agent.iri or "")
    return {"name": agent.name, **({"orcid": orcid[1]} if orcid else {})}


def _html(text: str) -> str:
    from markupsafe import escape

    return str(escape(text))
