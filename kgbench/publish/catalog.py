# SPDX-License-Identifier: Apache-2.0
"""The publication in DCAT 3: catalogue, data set with versions, distributions, endpoint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyoxigraph as ox

from kgbench import __version__
from kgbench.publish import registers
from kgbench.publish.companions import Companion
from kgbench.publish.description import Agent, DatasetDescription, contact_statements
from kgbench.publish.dumps import MEDIA, Packing, kind
from kgbench.publish.manifest import Dump, Version
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.rdf.statements import moment, node, number, statements_about, text, type_statements
from kgbench.vocab import (
    DCAT,
    DCTERMS,
    DQV,
    FOAF,
    IT6,
    KGB,
    PROV,
    RDFS,
    SCHEMA,
    SD,
    SKOS,
    SPDX,
    VOID,
    XSD,
)

_SHA256 = SPDX.checksumAlgorithm_sha256
_LEFT_OUT = {
    RedactionLevel.NONE: "Nothing is left out.",
    RedactionLevel.GOLD: "Reference answers are left out.",
    RedactionLevel.PROMPTS: "Prompts and reference answers are left out.",
    RedactionLevel.ANSWERS: "Prompts, answers and reference answers are left out.",
}


class Publication:
    """The content of the documents that describe a publication.

    ``measured`` are its metrics, ``things`` the description of its models, benchmarks and tasks,
    and ``collected`` is the start time of its first run. ``companions`` are data sets beside dumps.
    """

    def __init__(
        self,
        base: str,
        metadata: DatasetDescription,
        versions: list[Version],
        *,
        packing: Packing,
        level: RedactionLevel,
        endpoint: str | None,
        measured: Iterable[tuple[str, str]],
        canaries: Iterable[str],
        collected: str | None = None,
        things: Iterable[ox.Quad] = (),
        signed: bool = False,
    ) -> None:
        self.base = base
        self.metadata = metadata
        self.versions = versions
        self.packing = packing
        self.level = level
        self.endpoint = endpoint
        self.measured = list(measured)
        self.canaries = list(canaries)
        self.collected = collected or versions[0].date
        self.signed = signed
        self.companions: list[Companion] = []
        self._things = list(things)
        self._dumps = {dump.path for dump in self.now.dumps}
        self.dataset = node(base + "#dataset")

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
        return self.metadata.keywords or ("benchmark", "knowledge graph", "language model", "RDF")

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

    def catalog(self) -> list[ox.Quad]:
        """Return the description of catalogue, data set, distributions and endpoint."""
        catalog = node(self.base + "#catalog")
        quads = [
            *type_statements(catalog, DCAT.Catalog),
            *statements_about(
                catalog,
                (DCTERMS["title"], text(f"Catalogue: {self.metadata.title}", "en")),
                (DCTERMS.description, text("A data set of measurements.", "en")),
                (DCTERMS.license, self.metadata.licence),
                (DCTERMS.language, registers.ENGLISH),
                (DCTERMS.issued, moment(self.versions[0].date)),
                (DCTERMS.modified, moment(self.now.date)),
                (DCAT.dataset, self.dataset),
                (FOAF.homepage, self.base),
            ),
            *self._agents(catalog, limit=1),
            *self._dataset(),
            *self._redaction(),
            *self._things,
        ]
        for version in self.versions:
            quads += self._version(version)
        if self.endpoint is not None:
            quads += statements_about(catalog, (DCAT.service, node(self.base + "#endpoint")))
            quads += self._service()
        for dump in self.now.dumps:
            quads += self._distribution(self.dataset, dump)
        for companion in self.companions:
            quads += statements_about(catalog, (DCAT.dataset, companion.iri))
            quads += self._companion(companion)
        if self.signed:
            quads += self._signature()
        return [*quads, *registers.classes_of_references(quads)]

    def of_version(self, version: Version) -> list[ox.Quad]:
        """Return the description of one version with its dumps; only the last can be downloaded."""
        subject = node(self.version(version))
        position = self.versions.index(version)
        quads = [*self._version(version), *self._redaction()]
        if position:
            before = self.version(self.versions[position - 1])
            links = (DCAT.previousVersion, before), (PROV.wasRevisionOf, before)
            quads += statements_about(subject, *links)
        for dump in version.dumps:
            quads += self._distribution(subject, dump, is_old=version is not self.now)
        return [*quads, *registers.classes_of_references(quads)]

    def _version(self, version: Version) -> list[ox.Quad]:
        subject = node(self.version(version))
        return [
            *type_statements(subject, DCAT.Dataset, PROV.Entity),
            *statements_about(
                subject,
                (DCTERMS["title"], text(f"{self.metadata.title}, version {version.number}", "en")),
                (DCTERMS.description, text(self.description, "en")),
                (DCAT.version, text(str(version.number))),
                (DCTERMS.issued, moment(version.date)),
                (IT6.collectionDate, moment(self.collected)),
                (DCAT.isVersionOf, self.dataset),
                (DCTERMS.license, self.metadata.licence),
                (VOID.triples, number(version.triples)),
            ),
        ]

    def _dataset(self) -> list[ox.Quad]:
        metadata, current = self.metadata, self.now
        previous = self.version(self.versions[-2]) if len(self.versions) > 1 else None
        quads = [
            *type_statements(self.dataset, DCAT.Dataset, VOID.Dataset, PROV.Entity),
            *statements_about(
                self.dataset,
                (DCTERMS["title"], text(metadata.title, "en")),
                (DCTERMS.description, text(self.description, "en")),
                (DCTERMS.bibliographicCitation, text(self.citation)),
                (
                    DCTERMS.accessRights,
                    registers.PUBLIC if self.packing.password is None else registers.RESTRICTED,
                ),
                (DCTERMS.rights, self.base + "#rights"),
                (DCTERMS.accrualPeriodicity, registers.IRREGULAR),
                (DCTERMS.conformsTo, str(KGB)),
                (DCAT.hasCurrentVersion, self.version(current)),
                (DCAT.previousVersion, previous),
                (PROV.wasGeneratedBy, self.base + "#publication"),
                (FOAF.homepage, self.base),
            ),
            *self.common(self.dataset),
            *statements_about(node(self.base + "#rights"), (RDFS.label, text(self.rights, "en"))),
            *type_statements(node(self.base + "#publication"), PROV.Activity),
            *statements_about(
                node(self.base + "#publication"),
                (DCTERMS.description, text(f"Published with kgbench {__version__}.", "en")),
                (PROV.endedAtTime, moment(current.date)),
            ),
        ]
        # Not dcterms:source: DCAT-AP wants a described data set there, and a source may be a paper.
        for predicate in (DCTERMS.relation, PROV.wasDerivedFrom):
            sources = ((predicate, source) for source in metadata.sources)
            quads += statements_about(self.dataset, *sources)
        versions = ((DCAT.hasVersion, self.version(version)) for version in self.versions)
        quads += statements_about(self.dataset, *versions)
        measured = ((SCHEMA.variableMeasured, iri) for iri, _ in self.measured)
        quads += statements_about(self.dataset, *measured)
        if metadata.contact is not None:
            contact = node(self.base + "#contact")
            quads += statements_about(self.dataset, (DCAT.contactPoint, contact))
            quads += contact_statements(contact, metadata.contact)
        return quads

    def common(self, dataset: ox.NamedNode) -> list[ox.Quad]:
        """Return the properties that the data set and its companions share."""
        return [
            *statements_about(
                dataset,
                (DCTERMS.identifier, text(dataset.value)),
                (DCTERMS.license, self.metadata.licence),
                (DCTERMS.issued, moment(self.versions[0].date)),
                (DCTERMS.modified, moment(self.now.date)),
                (IT6.collectionDate, moment(self.collected)),
                (DCTERMS.language, registers.ENGLISH),
                (DCTERMS.type, registers.STATISTICAL),
                (DCAT.theme, registers.TECHNOLOGY),
                (DCAT.version, text(str(self.now.number))),
                (DCAT.landingPage, self.base),
                *((DCAT.keyword, text(keyword, "en")) for keyword in self.keywords),
            ),
            *self._agents(dataset),
        ]

    def _companion(self, companion: Companion) -> list[ox.Quad]:
        """Return the description of a data set beside the dumps."""
        subject = node(companion.iri)
        return [
            *type_statements(subject, DCAT.Dataset),
            *statements_about(
                subject,
                (DCTERMS["title"], text(companion.title, "en")),
                (DCTERMS.description, text(companion.description, "en")),
                (DCTERMS.accessRights, registers.PUBLIC),
                (DCTERMS.isPartOf, self.dataset),
                (DCTERMS.subject, companion.subject),
                (DCTERMS.conformsTo, companion.standard),
                *((DCTERMS.hasPart, part) for part in companion.parts),
                (PROV.wasDerivedFrom, self.version(self.now)),
            ),
            *statements_about(self.dataset, (DCTERMS.hasPart, subject)),
            *self.common(subject),
            *self._distribution(subject, companion.file),
        ]

    def _signature(self) -> list[ox.Quad]:
        """Return the description of the documents with the signature and its keys."""
        keys, signature = node(self.base + KEYS), node(self.base + SIGNATURE)
        return [
            # Not dcterms:isReferencedBy: MLDCAT-AP wants a scientific paper there.
            *statements_about(self.dataset, (DCTERMS.relation, signature)),
            *type_statements(signature, FOAF.Document),
            *statements_about(
                signature,
                (DCTERMS["title"], text("Signature of the publication", "en")),
                (DCTERMS["format"], registers.FORMATS["jsonld"]),
                (FOAF.primaryTopic, self.dataset),
                (DCTERMS.references, keys),
            ),
            *type_statements(keys, FOAF.Document),
            *statements_about(
                keys,
                (DCTERMS["title"], text("Keys of the signer", "en")),
                (DCTERMS["format"], registers.FORMATS["jsonld"]),
            ),
        ]

    def _agents(self, subject: Any, limit: int | None = None) -> list[ox.Quad]:
        publisher = self.publisher
        quads = []
        for predicate, agents in (
            (DCTERMS.creator, self.metadata.creators[:limit]),  # MLDCAT-AP: a catalogue has one
            (DCTERMS.publisher, () if publisher is None else (publisher,)),
        ):
            for agent in agents:
                quads += statements_about(subject, (predicate, self._agent(agent)))
                quads += type_statements(self._agent(agent), FOAF.Agent)
                quads += statements_about(self._agent(agent), (FOAF.name, text(agent.name)))
        return quads

    def _agent(self, agent: Agent) -> ox.NamedNode:
        everyone = [*self.metadata.creators, self.metadata.publisher]
        return node(agent.iri or f"{self.base}#agent-{everyone.index(agent)}")

    def _distribution(self, dataset: Any, dump: Dump, *, is_old: bool = False) -> list[ox.Quad]:
        url = self.base + dump.path
        # Earlier versions had the same address, so that each state of a file needs its own IRI.
        subject = node(f"{self.base}version/{self._number(dataset)}#{dump.path}" if is_old else url)
        document = "catalog.ttl"  # files beside the dumps belong to no version
        if is_old or dump.path in self._dumps:
            document = f"version/{self._number(dataset) if is_old else self.now.number}"
        checksum = node(f"{self.base}{document}#sha256-{dump.sha256}")
        form = kind(dump.path, self.packing)
        packed = dump.path.endswith(self.packing.suffix)
        return [
            *statements_about(dataset, (DCAT.distribution, subject)),
            *type_statements(subject, DCAT.Distribution),
            *statements_about(
                subject,
                (DCTERMS["title"], text(dump.path.rpartition("/")[2])),
                (DCAT.accessURL, self.base),
                (DCAT.downloadURL, None if is_old else url),
                (DCAT.mediaType, registers.IANA + MEDIA[form]),
                (DCTERMS["format"], registers.FORMATS[form]),
                (DCAT.compressFormat, self._packing_media("compress") if packed else None),
                (DCAT.packageFormat, self._packing_media("package") if packed else None),
                (DCAT.byteSize, number(dump.bytes)),
                (DCTERMS.license, self.metadata.licence),
                (SPDX.checksum, checksum),
                (DQV.hasQualityMeasurement, self.base + "#redaction"),
            ),
            *type_statements(checksum, SPDX.Checksum),
            *statements_about(
                checksum,
                (SPDX.algorithm, _SHA256),
                (SPDX.checksumValue, ox.Literal(dump.sha256, datatype=node(XSD.hexBinary))),
            ),
        ]

    def _redaction(self) -> list[ox.Quad]:
        """Return the quality measurement that all dumps share: how much is left out."""
        measured, quality = node(self.base + "#redaction"), node(self.base + "#redaction-quality")
        return [
            *type_statements(measured, DQV.QualityMeasurement),
            *statements_about(
                measured,
                (DCTERMS.type, quality),
                (DQV.computedOn, self.dataset),
                (DQV.value, text(self.level.name.lower())),
            ),
            *type_statements(quality, IT6.DataQuality),
            *statements_about(
                quality,
                (DCTERMS.identifier, text("redaction")),
                (DCTERMS["title"], text("What is left out", "en")),
                (SKOS.prefLabel, text("What is left out", "en")),
                (DCTERMS.description, text("none, gold, prompts or answers, each more.", "en")),
            ),
        ]

    def _number(self, version: Any) -> str:
        return str(version.value).rpartition("/")[2]

    def _packing_media(self, kind_of_packing: str) -> str | None:
        if (kind_of_packing == "package") is not (self.packing.password is not None):
            return None
        return registers.IANA + self.packing.media

    def _service(self) -> list[ox.Quad]:
        service, graphs = node(self.base + "#endpoint"), node(self.base + "#endpoint-dataset")
        assert self.endpoint is not None
        return [
            *type_statements(service, DCAT.DataService, SD.Service),
            *statements_about(
                service,
                (DCTERMS["title"], text(f"SPARQL endpoint: {self.metadata.title}", "en")),
                (DCAT.endpointURL, self.endpoint),
                (SD.endpoint, self.endpoint),
                (DCAT.servesDataset, self.dataset),
                (DCTERMS.conformsTo, "http://www.w3.org/TR/sparql11-protocol/"),
                (SD.supportedLanguage, SD.SPARQL11Query),
                (SD.defaultDataset, graphs),
            ),
            *type_statements(graphs, SD.Dataset),
            *statements_about(self.dataset, (VOID.sparqlEndpoint, self.endpoint)),
        ]
