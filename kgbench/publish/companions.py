# SPDX-License-Identifier: Apache-2.0
"""Companion data sets, published beside the dumps: tables and claims.

Each is a data set in the catalogue and in VoID, with its files as distributions, so that readers
and harvesters find it without knowing the file names of kgbench.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyoxigraph as ox

from kgbench.publish.manifest import Dump
from kgbench.rdf.statements import integer, node, statements_about, text, type_statements
from kgbench.vocab import DCTERMS, VOID


@dataclass(frozen=True, slots=True)
class Companion:
    """A data set beside the dumps.

    All ``files`` contain the same triples, and ``triples`` is their number. ``parts`` are the IRIs
    of its parts, ``subject`` is the IRI of its topic, and ``standard`` that of a specification;
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
        """Return the data set's description in VoID, with the N-Triples as its dump."""
        subject = node(self.iri)
        dumps = [file.path for file in self.files if ".nt" in file.path]
        return [
            *type_statements(subject, VOID.Dataset),
            *statements_about(
                subject,
                (DCTERMS["title"], text(self.title, "en")),
                (VOID.triples, integer(self.triples)),
                *((VOID.vocabulary, iri) for iri in self.vocabularies),
                *((VOID.dataDump, base + path) for path in dumps),
            ),
        ]
