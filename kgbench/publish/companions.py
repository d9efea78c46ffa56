# SPDX-License-Identifier: Apache-2.0
"""What is published beside the dumps: tables, claims and the change feed.

Each is a data set of its own in the catalogue and in VoID, with its files as distributions, so that
readers and harvesters find it without knowing how kgbench names files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyoxigraph as ox

from kgbench.publish.dumps import Packing, Writer
from kgbench.publish.executions import encoded
from kgbench.publish.folder import Folder, checksum
from kgbench.publish.manifest import Dump
from kgbench.rdf.statements import integer, node, said, text, typed
from kgbench.vocab import DCTERMS, VOID

_PLAIN = "ttl"


@dataclass(frozen=True, slots=True)
class Companion:
    """A data set beside the dumps: its IRI, what it is called, what it is, and its files.

    All ``files`` hold the same ``triples`` (their number). ``parts`` are the IRIs of what it holds,
    ``subject`` is the IRI of what it is about, and ``standard`` that of a specification;
    ``vocabularies`` are the namespaces of its terms.
    """

    iri: str
    title: str
    description: str
    files: tuple[Dump, ...]
    triples: int
    standard: str
    vocabularies: tuple[str, ...]
    parts: tuple[str, ...] = ()
    subject: str | None = None

    def void(self, base: str) -> list[ox.Quad]:
        """The data set in VoID, with the N-Triples as its dump."""
        subject = node(self.iri)
        dumps = [one.path for one in self.files if ".nt" in one.path]
        return [
            *typed(subject, VOID.Dataset),
            *said(
                subject,
                (DCTERMS["title"], text(self.title, "en")),
                (VOID.triples, integer(self.triples)),
                *((VOID.vocabulary, one) for one in self.vocabularies),
                *((VOID.dataDump, base + path) for path in dumps),
            ),
        ]


def written(
    folder: Folder, place: str, quads: Iterable[ox.Quad], packing: Packing | None = None
) -> tuple[tuple[Dump, ...], int]:
    """Write a document in all formats; its files, and the number of its triples.

    Of a large document, only the Turtle is written plainly: the others, which repeat IRIs, get the
    ``packing`` of dumps.
    """
    triples = list(dict.fromkeys(ox.Quad(q.subject, q.predicate, q.object) for q in quads))
    return tuple(_files(folder, place, encoded(triples), packing)), len(triples)


def _files(
    folder: Folder, place: str, data: Mapping[str, bytes], packing: Packing | None
) -> Iterator[Dump]:
    for suffix, content in data.items():
        path = f"{place}.{suffix}"
        if packing is None or suffix == _PLAIN:
            folder.write(path, content)
            sha256, size = checksum(folder.path / path)
            yield Dump(path, size, sha256, sha256)
        else:
            writer = Writer(folder, path, packing)
            writer.write(content)
            yield writer.finish(None)
