# SPDX-License-Identifier: Apache-2.0
"""Discovery by machines: metadata for other systems, typed links, site map, rules for servers.

The metadata are those of schema.org, DataCite 4.6 and Zenodo.

The signposting links (https://signposting.org/FAIR/) are in the head of the landing page. Servers
need rules for content negotiation; those for nginx, Apache and
w3id.org are in ``servers/``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

import pyoxigraph as ox

from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.publish.documents import DEPTHS, SINGLE
from kgbench.publish.dumps import media
from kgbench.publish.folder import Folder
from kgbench.publish.metadata import Publication
from kgbench.publish.pages import FORMATS
from kgbench.publish.settings import Agent
from kgbench.publish.signing import CLAIMS, KEYS, SIGNATURE
from kgbench.rdf.quads import by_subject
from kgbench.tasks import protection
from kgbench.vocab import KGB, RDF, SCHEMA, XSD

SITEMAP = "sitemap.xml"
_DESCRIPTIONS = (
    *((f"catalog.{suffix}", media) for suffix, media in FORMATS),
    *((f"void.{suffix}", media) for suffix, media in FORMATS),
    ("datacite.json", "application/vnd.datacite.datacite+json"),
)
Json = dict[str, Any]
_ORCID = re.compile(r"https?://orcid\.org/(\d{4}-\d{4}-\d{4}-\d{3}[\dX])/?")
_DOI = re.compile(r"https?://(?:dx\.)?doi\.org/(10\..+)")
_SPDX = re.compile(r"https?://spdx\.org/licenses/([A-Za-z0-9.+-]+?)(?:\.html)?")
_RESOURCE_TYPE = "Benchmark results"
_MOST_PAGES = 50_000  # limit for one file, see https://www.sitemaps.org/protocol.html
_TEMPLATES = Path(__file__).parent / "templates"
_TEXTS = (
    *("servers/apache.htaccess", "servers/nginx.conf", "servers/w3id.htaccess"),
    *("404.html", "robots.txt", "canary.txt"),
)
_TYPES = (
    *FORMATS,
    ("html", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain"),
    ("xml", "application/xml"),
    ("json", "application/json"),
    ("rq", "application/sparql-query"),
    ("zst", "application/zstd"),
    ("gz", "application/gzip"),
    ("zip", "application/zip"),
)


class Signpost(NamedTuple):
    """A typed link of the landing page; ``media`` is the media type of its target."""

    relation: str
    target: str
    media: str | None = None


def signposts(published: Publication) -> Iterator[Signpost]:
    """Yield the links of the landing page to identifier, authors, licence, metadata and content."""
    base = published.base
    yield Signpost("cite-as", published.dataset)
    yield Signpost("type", SCHEMA.AboutPage)
    yield Signpost("type", SCHEMA.Dataset)
    for creator in published.metadata.creators:
        if creator.iri is not None:
            yield Signpost("author", creator.iri)
    if published.metadata.licence is not None:
        yield Signpost("license", published.metadata.licence)
    for name, kind in _DESCRIPTIONS:
        yield Signpost("describedby", base + name, kind)
    for dump in published.now.dumps:
        yield Signpost("item", base + dump.path, published.packing.media)
    for companion in published.companions:
        yield Signpost("item", base + companion.file.path, media(companion.file.path))
    if published.signed:
        yield Signpost("describedby", base + SIGNATURE, media(SIGNATURE))
        yield Signpost("related", base + KEYS, media(KEYS))


def write_sitemap(folder: Folder, base: str, further: Iterable[str] = ()) -> None:
    """Write the site map of the folder in as many files as needed.

    It lists all pages, the documents at the root and of tables that have no page, and the files in
    ``further``, which are written later. Raises ``OSError`` if an old part of the site map cannot
    be removed.
    """
    listed = map(_listed, folder.written)
    pages = sorted({*(page for page in listed if page is not None), *further})
    parts = [pages[at : at + _MOST_PAGES] for at in range(0, len(pages), _MOST_PAGES)]
    if len(parts) == 1:
        folder.write(SITEMAP, _xml("urlset", "url", (base + page for page in pages)))
        parts = []
    names = [f"sitemap-{number}.xml" for number, _ in enumerate(parts, 1)]
    for name, part in zip(names, parts, strict=True):
        folder.write(name, _xml("urlset", "url", (base + page for page in part)))
    if names:
        folder.write(SITEMAP, _xml("sitemapindex", "sitemap", (base + name for name in names)))
    for path in folder.path.glob("sitemap-*.xml"):
        if path.name not in names:
            folder.remove(path.name)


def _listed(path: str) -> str | None:
    """Return the entry of a file in the site map; ``None`` if it has none."""
    if path == "index.html" or path.endswith("/index.html"):
        return path.removesuffix("index.html")
    folder, _, name = path.rpartition("/")
    documents = (f"{CLAIMS}.ttl", "catalog.ttl", "void.ttl")
    tables = folder == "leaderboard" and name.endswith(".ttl")
    return path if tables or path in documents else None


def _xml(root: str, element: str, addresses: Iterable[str]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *(f"<{element}><loc>{escape(address)}</loc></{element}>" for address in addresses),
        f"</{root}>",
    ]
    return "\n".join(lines) + "\n"


def kinds(documents: Iterable[str]) -> list[str]:
    """Return patterns of the paths of documents that describe several things by fragments."""
    names = {path.partition("/")[0] for path in documents} - {*SINGLE, "thing"}
    deep = [name + r"/[^/]+" * (DEPTHS[name] - 1) for name in sorted(names & DEPTHS.keys())]
    plain = "|".join(map(re.escape, sorted(names - DEPTHS.keys())))
    return [*deep, *([f"(?:{plain})"] if plain else [])]


def texts(base: str, kinds_: Iterable[str], canaries_: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield paths and texts of rules for web servers and crawlers, and of the list of canaries.

    ``kinds_`` are patterns of the documents that describe all things of a kind. Hosts without rules
    send ``404.html``, which does the same as the rules of servers. Crawlers read ``robots.txt``
    only at the root of a host: everything may be read, nothing used for training.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    # Configuration files, not markup; the only input is the base, which was checked.
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        keep_trailing_newline=True,
    )
    path = urlsplit(base).path or "/"
    dialogue = r"[0-9]+-[0-9a-z]+(?:\.[0-9]+)?"
    context: dict[str, Any] = {
        "base": base,
        "path": path,
        "pattern": re.escape(path).replace('"', '\\"'),
        "formats": FORMATS,
        "types": _TYPES,
        "kinds": list(kinds_),
        "dialogue": dialogue,
        "canaries": list(canaries_),
    }
    context["patterns"] = [
        f"^(run/[^/]+/[^/]+/[^/]+)/({dialogue})$",
        *(f"^({kind})/(.+)$" for kind in context["kinds"]),
    ]
    for name in _TEXTS:
        yield name, environment.get_template(name).render(context)


def canaries(view: View, suites: Iterable[str]) -> tuple[str, ...]:
    """Return the canaries of suites; kgbench's own if they have none."""
    declared = (term for suite in sorted(suites) for term in things.values(view, suite, KGB.canary))
    guids = [term.value for term in declared] or [protection.canary_guid()]
    return tuple(f"kgbench canary GUID {guid}" for guid in guids)


# --- metadata -----------------------------------------------------------------------------------


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
