# SPDX-License-Identifier: Apache-2.0
"""The change feed of a publication: its versions as a Linked Data Event Stream (LDES).

Each version is an immutable member. Clients of the stream learn of a new version, and of the
checksums of its dumps, from one small document.
"""

from __future__ import annotations

import pyoxigraph as ox

from kgbench.publish.catalog import Publication
from kgbench.publish.companions import Companion
from kgbench.publish.folder import Folder
from kgbench.publish.large_documents import as_lines, write_document
from kgbench.rdf.statements import moment, node, statements_about, text, type_statements
from kgbench.vocab import DCAT, DCTERMS, KGB, LDES, PROV, TREE

PLACE = "changes"
_LDES = "https://w3id.org/ldes/specification"


def write(folder: Folder, publication: Publication) -> Companion:
    """Write the change feed; return it as a companion data set."""
    files, triples = write_document(folder, PLACE, as_lines(changes(publication)))
    return Companion(
        iri=f"{publication.base}{PLACE}.ttl#stream",
        title=_title(publication),
        description="The versions of the data set as a Linked Data Event Stream, each with its "
        "date and the checksums of its dumps.",
        files=files,
        triples=triples,
        standard=_LDES,
        vocabularies=(LDES, TREE, DCAT, DCTERMS, PROV),
    )


def _title(publication: Publication) -> str:
    return f"Versions: {publication.metadata.title}"


def changes(publication: Publication) -> list[ox.Quad]:
    """Return the stream ``BASE + "changes.ttl#stream"``, its single page, and its members."""
    page = node(f"{publication.base}{PLACE}.ttl")
    stream = node(f"{page.value}#stream")
    quads = [
        *type_statements(stream, LDES.EventStream),
        *statements_about(
            stream,
            (DCTERMS["title"], text(_title(publication), "en")),
            (LDES.timestampPath, DCTERMS.issued),
            (LDES.versionOfPath, DCAT.isVersionOf),
            (TREE.view, page),
        ),
        *type_statements(page, TREE.Node),
    ]
    for number, version in enumerate(publication.versions):
        member = publication.version(version)
        before = publication.version(publication.versions[number - 1]) if number else None
        quads += statements_about(stream, (TREE.member, member))
        quads += statements_about(
            node(member),
            (DCTERMS.issued, moment(version.date)),
            (DCAT.isVersionOf, publication.dataset),
            (DCAT.version, text(str(version.number))),
            (DCAT.previousVersion, before),
        )
        for dump in version.dumps:
            file = node(f"{member}#sha256-{dump.sha256}")
            quads += statements_about(node(member), (PROV.hadMember, file))
            quads += statements_about(
                file, (DCTERMS["title"], text(dump.path)), (KGB.fileDigest, text(dump.sha256))
            )
    return quads
