# SPDX-License-Identifier: Apache-2.0
"""Checks of a publication: a checklist for a folder, or for single files of one.

:func:`check` reads only the published files, never the store, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.publish.checks import recomputation, shapes, withheld
from kgbench.publish.checks.links import Links
from kgbench.publish.checks.publication_files import MAX_BYTES, PublicationFiles
from kgbench.publish.checks.report import Entry, Fault, Report, Verdict
from kgbench.publish.checks.signatures import Signatures, checksums
from kgbench.signing.key_list import KeyEntry, standing
from kgbench.vocab import QB, RDF

__all__ = ["Entry", "Fault", "Report", "Verdict", "check"]


def check(
    *paths: Path,
    password: str | None = None,
    mldcat_shapes: Path | None = None,
    unprotected: Collection[str] = (),
    names: Iterable[str] | None = None,
    keys: Collection[str] = (),
    revoked: Collection[KeyEntry] = (),
    max_bytes: int = MAX_BYTES,
) -> Report:
    """Check a published folder, or RDF files of one.

    ``password`` opens encrypted dumps; without it they are not checked. ``mldcat_shapes`` is a file
    of shapes for the catalogue, which are checked before our own. ``unprotected`` are the notations
    of protected suites whose texts may be published. ``names`` are names of machines and users to
    search for; by default those of this machine. ``keys`` are public keys (Multikeys), one of which
    must have signed, and ``revoked`` are known to be revoked. Raises
    :class:`~kgbench.errors.ResourceError` if there is nothing to check, and
    :class:`~kgbench.errors.PublicationRefused` if the dumps unpack to more than ``max_bytes``.
    """
    with PublicationFiles(list(paths), password, max_bytes) as published:
        entries = list(_of_data(published, unprotected, names))
        if published.root is not None:
            entries += _of_folder(published, mldcat_shapes)
            signatures = Signatures(published, keys, revoked)
            if signatures.wanted:
                entry = Entry("signatures", "signatures fit", signatures.check())
                if signatures.signer is not None:
                    entry.note = standing(signatures.signer, vouched=bool(keys))
                entries.append(entry)
    return Report(", ".join(map(str, paths)), entries)


def _of_data(
    published: PublicationFiles, unprotected: Collection[str], names: Iterable[str] | None
) -> Iterator[Entry]:
    """Yield the entries about the statements of dumps."""
    quads, file_of = published.quads, published.file_of
    note = f"{len(quads)} quads"
    if published.unread:
        note += f"; encrypted, and not checked: {', '.join(published.unread)}"
    yield Entry("readable", "files can be read", published.problems, note)
    if not published.unread or len(quads) > 0:
        results = shapes.results(published.data, file_of)
        yield Entry("results", "results conform to their shapes", results)
        terms, provenance, cubes = (
            shapes.constrained(group, quads, file_of) for group in ("terms", "provenance", "cubes")
        )
        yield Entry("terms", "terms are declared, references have targets", terms)
        provenance = chain(provenance, shapes.texts(quads, file_of))
        yield Entry("provenance", "provenance is consistent", provenance)
        kind = ox.NamedNode(QB.Observation)
        number = sum(1 for _ in quads.quads_for_pattern(None, ox.NamedNode(RDF.type), kind))
        yield Entry("cubes", "tables are Data Cubes", cubes, f"{number} observations")
        clear = withheld.protected(published, unprotected)
        yield Entry("withheld", "protected suites are withheld", clear)
    private = withheld.private(published, names)
    yield Entry("privacy", "no keys, hosts, users or paths are revealed", private)


def _of_folder(published: PublicationFiles, mldcat_shapes: Path | None) -> Iterator[Entry]:
    """Yield the entries about the files of a folder."""
    yield Entry(
        "catalogue",
        "the catalogue conforms to MLDCAT-AP, DCAT and VoID",
        _catalogue(published, mldcat_shapes),
        "" if mldcat_shapes is None else f"MLDCAT-AP by {mldcat_shapes.name}",
    )
    title = "claims, keys and signatures conform to their shapes"
    yield Entry("companions", title, shapes.companions(published))
    yield Entry("files", "checksums are correct", checksums(published))
    encrypted = bool(published.unread) or published.password is not None
    again = () if encrypted else recomputation.check(published)
    entry = Entry("recomputed", "all files follow from the dumps", again)
    if encrypted:
        entry.note = "not checked: the dumps are encrypted"
    elif not entry.counts:
        entry.note = "made again by the same software"
    yield entry
    links = Links(published)
    entry = Entry("links", "links have targets", links.dead())
    entry.note = f"{links.followed} links"
    yield entry
    links.followed = 0
    entry = Entry("subjects", "IRIs of described things resolve to files", links.unresolved())
    entry.note = f"{links.followed} subjects"
    yield entry


def _catalogue(published: PublicationFiles, official: Path | None) -> Iterator[Fault]:
    store = published.catalogue

    def file_of(node: Any) -> str:
        return published.file_of(node, store)

    if len(store) == 0:
        message = "There is no catalogue."
        yield Fault("catalogue", "", "catalog.ttl", message, "Publish again.")
    elif published.base is None:
        message = "No catalogue with an IRI has a data set."
        yield Fault("catalogue", "", "catalog.ttl", message, "Add dcat:dataset to it.")
    if official is not None:
        yield from shapes.official(published.stated, official, file_of)
    yield from shapes.catalogue(published.stated, file_of)
