# SPDX-License-Identifier: Apache-2.0
"""Companion data sets, published beside the dumps: tables and claims.

Each is a data set in the catalogue and in VoID, with its file as distribution, so that readers and
harvesters find it without knowing the file names of kgbench.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump
from kgbench.rdf.statements import integer, node, statements_about, text, type_statements
from kgbench.vocab import DCTERMS, PREFIXES, VOID


@dataclass(frozen=True, slots=True)
class Companion:
    """A data set beside the dumps, in one ``file`` of Turtle with so many ``triples``.

    ``parts`` are the IRIs of its parts, ``subject`` is the IRI of its topic, and ``standard`` that
    of a specification; ``vocabularies`` are the namespaces of its terms.
    """

    iri: str
    title: str
    description: str
    file: Dump
    triples: int
    standard: str
    vocabularies: tuple[str, ...]
    parts: tuple[str, ...] = ()
    subject: str | None = None

    def void(self, base: str) -> list[ox.Quad]:
        """Return the data set's description in VoID."""
        subject = node(self.iri)
        return [
            *type_statements(subject, VOID.Dataset),
            *statements_about(
                subject,
                (DCTERMS["title"], text(self.title, "en")),
                (VOID.triples, integer(self.triples)),
                *((VOID.vocabulary, iri) for iri in self.vocabularies),
                (VOID.dataDump, base + self.file.path),
            ),
        ]


def write_document(folder: Folder, path: str, lines: Iterable[str]) -> tuple[Dump, int]:
    """Write a document, given as lines of N-Triples, as Turtle.

    Returns its file and the number of its triples. The lines are held in memory, some 200 bytes
    for each.
    """
    distinct = sorted(set(lines))
    triples = ox.parse("\n".join(distinct).encode(), ox.RdfFormat.N_TRIPLES)
    unfinished = folder.work("document.ttl")
    with unfinished.open("wb") as out:
        ox.serialize(
            (quad.triple for quad in triples), out, ox.RdfFormat.TURTLE, prefixes=dict(PREFIXES)
        )
    sha256, size = folder.adopt(path, unfinished)
    return Dump(path, size, sha256, sha256), len(distinct)


def as_lines(quads: Iterable[ox.Quad]) -> Iterator[str]:
    """Yield the triples of ``quads`` as lines of N-Triples."""
    return (f"{quad.triple} ." for quad in quads)
