# SPDX-License-Identifier: Apache-2.0
"""Metadata of a publication in DCAT, MLDCAT-AP and VoID.

What is known of a publication (the publisher's description, versions, dumps and the data sets
beside them) becomes RDF, its facts, by a JSON-LD context. The queries in ``queries/publish/`` make
the documents from these facts and from the published store.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pyoxigraph as ox

from kgbench import __version__
from kgbench.pages.things import View
from kgbench.publish.dumps import Packing, media
from kgbench.publish.folder import Dump, Version
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.settings import Agent, DatasetDescription
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.rdf import queries
from kgbench.vocab import DCAT, PREFIXES, XSD

_LEFT_OUT = {
    RedactionLevel.NONE: "Nothing is left out.",
    RedactionLevel.GOLD: "Reference answers are left out.",
    RedactionLevel.PROMPTS: "Prompts and reference answers are left out.",
    RedactionLevel.ANSWERS: "Prompts, answers and reference answers are left out.",
}
_IRIS = (
    *("base", "before", "catalogue", "current", "dataset", "document", "endpoint", "firstCreator"),
    *("keys", "licence", "mailbox", "page", "part", "signature", "source", "standard"),
    *("subject", "url", "vocabulary"),
)
_CONTEXT: Final = {
    "@vocab": "urn:kgbench:publication:",
    "id": "@id",
    "type": "@type",
    **{name: {"@type": "@id"} for name in _IRIS},
    **{name: {"@language": "en"} for name in ("description", "keyword", "rights", "title")},
    **{name: {"@type": XSD.dateTime} for name in ("collected", "issued", "modified")},
}
_SIZE = ox.NamedNode(DCAT.byteSize)
_KEYWORDS = ("benchmark", "knowledge graph", "language model", "RDF")
Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Companion:
    """A data set beside the dumps, in one ``file`` of Turtle.

    ``parts`` are the IRIs of its parts, ``subject`` is the IRI of its topic, and ``standard`` that
    of a specification; ``vocabularies`` are the namespaces of its terms.
    """

    iri: str
    title: str
    description: str
    file: Dump
    standard: str
    vocabularies: tuple[str, ...]
    parts: tuple[str, ...] = ()
    subject: str | None = None

    def facts(self) -> dict[str, Any]:
        """Return its facts for the queries that make metadata, except for its file."""
        return {
            "id": self.iri,
            "title": self.title,
            "description": self.description,
            "standard": self.standard,
            "subject": self.subject,
            "triples": self.file.triples,
            "part": list(self.parts),
            "vocabulary": list(self.vocabularies),
        }


@dataclass
class Publication:
    """What is known of a publication beside its published store.

    ``measured`` are its metrics (IRIs and labels), and ``collected`` is the start time of its first
    run. ``companions`` are data sets beside the dumps.
    """

    base: str
    metadata: DatasetDescription
    versions: Sequence[Version]
    packing: Packing
    level: RedactionLevel
    endpoint: str | None
    measured: Sequence[tuple[str, str]]
    canaries: Sequence[str]
    collected: str
    signed: bool = False
    companions: list[Companion] = field(default_factory=list)

    @property
    def dataset(self) -> str:
        """The IRI of the data set."""
        return f"{self.base}#dataset"

    @property
    def now(self) -> Version:
        """The current version."""
        return self.versions[-1]

    @property
    def left_out(self) -> str:
        """A text that says what the data leave out."""
        encrypted = " The dumps are encrypted; pages carry no texts."
        return _LEFT_OUT[self.level] + (encrypted if self.packing.password is not None else "")

    @property
    def rights(self) -> str:
        """The text of ``left_out``, with the canaries."""
        return " ".join([self.left_out, *(f"{canary}." for canary in self.canaries)])

    @property
    def description(self) -> str:
        """The description of the data set, with the text of ``left_out``."""
        return f"{self.metadata.description} {self.left_out}"

    @property
    def keywords(self) -> tuple[str, ...]:
        """The keywords of the data set."""
        return self.metadata.keywords or _KEYWORDS

    @property
    def publisher(self) -> Agent | None:
        """The publisher; the first creator where none is named."""
        return self.metadata.publisher or next(iter(self.metadata.creators), None)

    @property
    def citation(self) -> str:
        """The citation of the data set: creators (year): title, version, publisher, IRI."""
        creators = "; ".join(creator.name for creator in self.metadata.creators) or "Anonymous"
        published = "" if self.publisher is None else f" {self.publisher.name}."
        return (
            f"{creators} ({self.now.date[:4]}): {self.metadata.title}. "
            f"Version {self.now.number}.{published} {self.version(self.now)}"
        )

    def version(self, published: Version) -> str:
        """Return the IRI of a version."""
        return f"{self.base}version/{published.number}"

    # --- documents ------------------------------------------------------------------------------

    def catalogue(self, view: View) -> list[ox.Quad]:
        """Return the catalogue; ``view`` is the published store."""
        things = queries.construct(view, "publish/mldcat", base=self.base)
        return _documented({"@graph": [self._facts(), *map(self._version, self.versions)]}, things)

    def of_version(self, version: Version) -> list[ox.Quad]:
        """Return the description of one version with its dumps; only the last can be downloaded."""
        old = version is not self.now
        files = [self._file(dump, self.version(version), old=old) for dump in version.dumps]
        return _documented({**self._version(version), **self._redaction(), "file": files})

    def statistics(self, view: View) -> list[ox.Quad]:
        """Return the description in VoID; ``view`` is the published store."""
        counted = queries.construct(
            view, "publish/statistics", document=f"{self.base}void.ttl", dataset=self.dataset
        )
        terms = {quad.object for quad in counted if isinstance(quad.object, ox.NamedNode)}
        used = [str(s) for s in PREFIXES.values() if any(t.value.startswith(s) for t in terms)]
        store = _loaded({**self._facts(), "vocabulary": used})
        return _sorted([*counted, *queries.construct(store, "publish/void")])

    def schema_org(self) -> list[ox.Quad]:
        """Return the description of the data set in schema.org."""
        return _sorted(queries.construct(_loaded(self._facts()), "publish/schema-org"))

    def about(self, predicates: Iterable[str]) -> list[tuple[str, Any]]:
        """Return what the catalogue says of the data set with some properties."""
        found = queries.construct(_loaded(self._facts()), "publish/dcat")
        return [
            (quad.predicate.value, quad.object)
            for quad in _sorted(found)
            if quad.subject == ox.NamedNode(self.dataset) and quad.predicate.value in predicates
        ]

    # --- facts ----------------------------------------------------------------------------------

    def _facts(self) -> Facts:
        """Return the facts about the data set, its dumps and its companions."""
        metadata = self.metadata
        creators = [self._agent(creator) for creator in metadata.creators]
        documents = {"signature": self.base + SIGNATURE, "keys": self.base + KEYS}
        return {
            "id": self.dataset,
            "type": "Dataset",
            **self._common(self.now),
            **self._redaction(),
            **(documents if self.signed else {}),
            "catalogue": f"{self.base}#catalog",
            "base": self.base,
            "title": metadata.title,
            "citation": self.citation,
            "rights": self.rights,
            "software": __version__,
            "encrypted": self.packing.password is not None,
            "endpoint": self.endpoint,
            "issued": self.versions[0].date,
            "modified": self.now.date,
            "current": self.version(self.now),
            "keyword": list(self.keywords),
            "creator": creators,
            "firstCreator": creators[0]["id"] if creators else None,  # MLDCAT-AP: has only one
            "publisher": None if self.publisher is None else self._agent(self.publisher),
            "contact": self._contact(),
            "source": list(metadata.sources),
            "measured": [{"id": iri, "name": name} for iri, name in self.measured],
            "version": [{"id": self.version(version)} for version in self.versions],
            "file": [self._file(dump, self.version(self.now)) for dump in self.now.dumps],
            "companion": [
                {**each.facts(), "file": self._file(each.file, f"{self.base}catalog.ttl")}
                for each in self.companions
            ],
        }

    def _common(self, version: Version) -> Facts:
        return {
            "number": str(version.number),
            "description": self.description,
            "collected": self.collected,
            "licence": self.metadata.licence,
        }

    def _version(self, version: Version) -> Facts:
        position = self.versions.index(version)
        return {
            "id": self.version(version),
            "type": "Version",
            **self._common(version),
            "title": f"{self.metadata.title}, version {version.number}",
            "dataset": self.dataset,
            "issued": version.date,
            "triples": version.triples,
            "before": self.version(self.versions[position - 1]) if position else None,
        }

    def _redaction(self) -> Facts:
        return {"level": self.level.name.lower(), "base": self.base, "dataset": self.dataset}

    def _file(self, dump: Dump, document: str, *, old: bool = False) -> Facts:
        """Return the facts about a file, whose checksum ``document`` has.

        Earlier versions had the same address, so each state of a file has its own IRI.
        """
        address = self.base + dump.path
        packed = dump.path.endswith(self.packing.suffix)
        packing = "compression" if self.packing.password is None else "archive"
        return {
            "id": f"{document}#{dump.path}" if old else address,
            "name": dump.path.rpartition("/")[2],
            "base": self.base,
            "url": None if old else address,
            "media": media(dump.path),
            **({packing: self.packing.media} if packed else {}),
            "bytes": dump.bytes,
            "sha256": dump.sha256,
            "document": document,
            "licence": self.metadata.licence,
        }

    def _contact(self) -> Facts | None:
        contact = self.metadata.contact
        if contact is None:
            return None
        address = "mailbox" if (contact.iri or "").startswith("mailto:") else "page"
        return {"id": f"{self.base}#contact", "name": contact.name, address: contact.iri}

    def _agent(self, agent: Agent) -> Facts:
        everyone = [*self.metadata.creators, self.metadata.publisher]
        return {
            "id": agent.iri or f"{self.base}#agent-{everyone.index(agent)}",
            "name": agent.name,
        }


def _documented(facts: Facts, things: Iterable[ox.Quad] = ()) -> list[ox.Quad]:
    """Return the catalogue of ``facts`` with ``things``, and the classes of what it refers to."""
    catalogue = ox.Store()
    catalogue.extend([*queries.construct(_loaded(facts), "publish/dcat"), *things])
    catalogue.extend(queries.construct(catalogue, "publish/references"))
    return _sorted(map(_retyped, catalogue))


def _retyped(quad: ox.Quad) -> ox.Quad:
    """Return a statement with the datatype that DCAT-AP requires of sizes.

    The engine of queries makes every whole number an ``xsd:integer``.
    """
    if quad.predicate != _SIZE:
        return quad
    value: Any = quad.object
    size = ox.Literal(value.value, datatype=ox.NamedNode(XSD.nonNegativeInteger))
    return ox.Quad(quad.subject, _SIZE, size)


def _loaded(facts: Facts) -> ox.Store:
    text = json.dumps({"@context": _CONTEXT, **facts}, ensure_ascii=False)
    store = ox.Store()
    store.load(text.encode("utf-8", "replace"), ox.RdfFormat.JSON_LD)
    return store


def _sorted(quads: Iterable[ox.Quad]) -> list[ox.Quad]:
    return sorted(set(quads), key=str)
