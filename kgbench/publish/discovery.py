# SPDX-License-Identifier: Apache-2.0
"""How machines find their way: FAIR Signposting, site map, and rules of servers.

Signposting (https://signposting.org/FAIR/) stands in the head of the landing page and, for whoever
reads none, as a link set (RFC 9264). Servers that negotiate content need rules; those for nginx,
Apache and w3id.org stand in ``servers/``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from kgbench.publish.catalog import Publication
from kgbench.publish.changes import PLACE as CHANGES
from kgbench.publish.claims import PLACE as CLAIMS
from kgbench.publish.dumps import MEDIA, kind
from kgbench.publish.folder import Folder
from kgbench.publish.presenting import FORMATS
from kgbench.publish.signing import KEYS, SIGNATURE, SIGNED

LINKSET = "linkset.json"
SITEMAP = "sitemap.xml"
_LINKSET_MEDIA = "application/linkset+json"
_DESCRIPTIONS = (
    *((f"catalog.{suffix}", media) for suffix, media in FORMATS),
    *((f"void.{suffix}", media) for suffix, media in FORMATS),
    ("datacite.json", "application/vnd.datacite.datacite+json"),
)
_MOST_PAGES = 50_000  # in one file, by https://www.sitemaps.org/protocol.html
_SERVERS = Path(__file__).parent / "templates" / "servers"
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
    """A typed link of the landing page; ``media`` is the type of what it leads to."""

    relation: str
    target: str
    media: str | None = None


def signposts(published: Publication) -> Iterator[Signpost]:
    """The links of the landing page to identifier, authors, licence, metadata and contents."""
    base = published.base
    yield Signpost("cite-as", published.dataset.value)
    yield Signpost("type", "https://schema.org/AboutPage")
    yield Signpost("type", "https://schema.org/Dataset")
    for creator in published.about.creators:
        if creator.iri is not None:
            yield Signpost("author", creator.iri)
    if published.about.licence is not None:
        yield Signpost("license", published.about.licence)
    for name, media in _DESCRIPTIONS:
        yield Signpost("describedby", base + name, media)
    for dump in published.now.dumps:
        yield Signpost("item", base + dump.path, published.packing.media)
    for companion in published.companions:
        for file in companion.files:
            packed = file.path.endswith(published.packing.suffix)
            media = published.packing.media if packed else MEDIA[kind(file.path, published.packing)]
            yield Signpost("item", base + file.path, media)
    yield Signpost("version-history", f"{base}{CHANGES}.ttl", MEDIA["ttl"])
    if published.signed:
        yield Signpost("describedby", base + SIGNATURE, MEDIA["jsonld"])
        yield Signpost("related", base + KEYS, MEDIA["jsonld"])
    yield Signpost("linkset", base + LINKSET, _LINKSET_MEDIA)


def linkset(published: Publication) -> str:
    """The link set: the links of the landing page, and those of its metadata and contents to it."""
    base = published.base
    here: dict[str, Any] = {"anchor": base}
    contexts = [here]
    for link in signposts(published):
        if link.relation == "linkset":
            continue
        target = {"href": link.target, **({"type": link.media} if link.media else {})}
        here.setdefault(link.relation, []).append(target)
        back = {"describedby": "describes", "item": "collection"}.get(link.relation)
        if back is not None:
            contexts.append({"anchor": link.target, back: [{"href": base, "type": "text/html"}]})
    if published.signed:
        claims = (one for companion in published.companions for one in companion.parts)
        contexts += [
            {"anchor": plain, "alternate": [{"href": proved, "type": MEDIA["jsonld"]}]}
            for plain, proved in (_signed(base, one.partition("#")[0]) for one in claims)
            if proved is not None
        ]
    return json.dumps({"linkset": contexts}, indent=1) + "\n"


def _signed(base: str, claim: str) -> tuple[str, str | None]:
    """The document of a claim, and the one with the same claim and a proof."""
    start = f"{base}{CLAIMS}/"
    if not claim.startswith(start):
        return claim, None
    return claim, f"{base}{SIGNED}/{claim.removeprefix(start).removesuffix('.ttl')}.jsonld"


def write_sitemap(
    folder: Folder, base: str, further: Iterable[str] = (), *, without: Container[str] = ()
) -> None:
    """The site map of the folder, and of files written ``further`` on, in as many files as needed.

    It lists all pages except those in ``without`` (paths), and the documents at the root and of
    tables that have none.

    Raises ``OSError`` where an earlier part that is no longer needed cannot be removed.
    """
    listed = (_listed(path) for path in folder.written if path not in without)
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
    """What the site map says of a file: the address of a page, or of a document for machines."""
    if path == "index.html" or path.endswith("/index.html"):
        return path.removesuffix("index.html")
    place, _, name = path.rpartition("/")
    documents = (f"{CHANGES}.ttl", f"{CLAIMS}.ttl", "catalog.ttl", "void.ttl")
    tables = place == "leaderboard" and name.endswith(".ttl")
    return path if tables or path in documents else None


def _xml(root: str, element: str, addresses: Iterable[str]) -> str:
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">',
        *(f"<{element}><loc>{escape(one)}</loc></{element}>" for one in addresses),
        f"</{root}>",
    ]
    return "\n".join(lines) + "\n"


def server_rules(base: str) -> Iterator[tuple[str, str]]:
    """The paths and texts of the rules of servers, for a publication at ``base``."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    path = urlsplit(base).path
    # Configuration files, not markup: what goes into them is the checked base.
    rules = Environment(
        loader=FileSystemLoader(_SERVERS),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        keep_trailing_newline=True,
    )
    context = {
        "base": base,
        "path": path,
        "pattern": re.escape(path).replace('"', '\\"'),
        "formats": FORMATS,
        "types": _TYPES,
    }
    for name in sorted(one.name for one in _SERVERS.iterdir()):
        yield f"servers/{name}", rules.get_template(name).render(context)
