# SPDX-License-Identifier: Apache-2.0
"""The checklist: all checks in their order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import KgbenchError
from kgbench.publish import recipe
from kgbench.publish.checks import recomputation, shapes, withheld
from kgbench.publish.checks.links import Links, SubjectIris
from kgbench.publish.checks.publication_files import MAX_BYTES, PublicationFiles
from kgbench.publish.checks.report import Entry, Fault, Report
from kgbench.publish.checks.signatures import Signatures, checksums
from kgbench.signing.key_list import KeyEntry, standing
from kgbench.vocab import QB, RDF


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
    report = Report(", ".join(map(str, paths)))
    with PublicationFiles(list(paths), password, max_bytes) as published:
        report.entries.extend(_of_data(published, unprotected, names))
        if published.root is not None:
            report.entries.extend(_of_folder(published, mldcat_shapes))
            signatures = Signatures(published, keys, revoked)
            if signatures.wanted:
                entry = _entry("signatures", "signatures fit", signatures.check())
                if signatures.signer is not None:
                    entry.note = standing(signatures.signer, vouched=bool(keys))
                report.entries.append(entry)
    return report


def _of_data(
    published: PublicationFiles, unprotected: Collection[str], names: Iterable[str] | None
) -> Iterator[Entry]:
    """Yield the entries about the statements of dumps."""
    quads, file_of = published.quads, published.file_of
    yield _entry("readable", "files can be read", published.problems, _read_note(published))
    if not published.unread or len(quads) > 0:
        results = shapes.results(published.data, file_of)
        yield _entry("results", "results conform to their shapes", results)
        terms = shapes.constrained("terms", quads, file_of)
        yield _entry("terms", "terms are declared, references have targets", terms)
        provenance = _entry(
            "provenance",
            "provenance is consistent",
            shapes.constrained("provenance", quads, file_of),
        )
        provenance.add(shapes.texts(quads, file_of))
        yield provenance
        observations = quads.quads_for_pattern(
            None, ox.NamedNode(RDF.type), ox.NamedNode(QB.Observation)
        )
        cubes = shapes.constrained("cubes", quads, file_of)
        yield _entry(
            "cubes", "tables are Data Cubes", cubes, f"{sum(1 for _ in observations)} observations"
        )
        clear = withheld.protected(published, unprotected)
        yield _entry("withheld", "protected suites are withheld", clear)
    private = withheld.private(published, names)
    yield _entry("privacy", "no keys, hosts, users or paths are revealed", private)


def _of_folder(published: PublicationFiles, mldcat_shapes: Path | None) -> Iterator[Entry]:
    """Yield the entries about the files of a folder."""
    yield _catalogue(published, mldcat_shapes)
    yield _entry(
        "companions",
        "claims, keys and signatures conform to their shapes",
        shapes.companions(published),
    )
    yield _entry("files", "checksums are correct", checksums(published))
    yield _recomputed(published)
    links = Links(published)
    entry = _entry("links", "links have targets", links.check())
    entry.note = f"{links.followed} links"
    yield entry
    subjects = SubjectIris(published, links)
    entry = _entry("subjects", "IRIs of described things resolve to files", subjects.check())
    entry.note = f"{subjects.followed} subjects"
    yield entry


def _entry(name: str, title: str, faults: Iterable[Fault], note: str = "") -> Entry:
    entry = Entry(name, title, note)
    entry.add(faults)
    return entry


def _read_note(published: PublicationFiles) -> str:
    note = f"{len(published.quads)} quads"
    if published.unread:
        note += f"; encrypted, and not checked: {', '.join(published.unread)}"
    return note


def _recomputed(published: PublicationFiles) -> Entry:
    entry = Entry("recomputed", "all files follow from the dumps")
    if published.unread or published.password is not None:
        entry.note = "not checked: the dumps are encrypted"
        return entry
    try:
        with recomputation.rebuilt_publication(published) as (rebuilt, alike):
            entry.add(recomputation.check(published, rebuilt, alike=alike))
    except Exception as error:  # noqa: BLE001 - the code that publishes trusts what a store holds
        kind = "" if isinstance(error, KgbenchError) else f"{type(error).__name__}: "
        message = f"The documents cannot be made from the dumps: {kind}{error}."
        entry.add([Fault("recomputed", "", recipe.FILE, message, "Publish again.")])
        return entry
    entry.note = "made again by the same software"
    if not alike:
        entry.note = ""
        message = (
            "The publication was made with other software: pages and figures are not compared."
        )
        remedy = "Check it with the versions that publication.json names."
        entry.add([Fault("other-software", "", recipe.FILE, message, remedy, advice=True)])
    return entry


def _catalogue(published: PublicationFiles, official: Path | None) -> Entry:
    store = published.catalogue

    def file_of(node: Any) -> str:
        return published.file_of(node, store)

    entry = Entry("catalogue", "the catalogue conforms to MLDCAT-AP, DCAT and VoID")
    if len(store) == 0:
        message = "There is no catalogue."
        entry.add([Fault("catalogue", "", "catalog.ttl", message, "Publish again.")])
    elif published.base is None:
        message = "No catalogue with an IRI has a data set."
        entry.add([Fault("catalogue", "", "catalog.ttl", message, "Add dcat:dataset to it.")])
    if official is not None:
        entry.note = f"MLDCAT-AP by {official.name}"
        entry.add(shapes.official(published.stated, official, file_of))
    entry.add(shapes.catalogue(published.stated, file_of))
    return entry
