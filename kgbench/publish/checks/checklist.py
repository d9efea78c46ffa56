# SPDX-License-Identifier: Apache-2.0
"""The checklist: all checks in their order."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from kgbench.errors import KgbenchError
from kgbench.publish import recipe
from kgbench.publish.checks import (
    constraints,
    cubes,
    files,
    graphs,
    privacy,
    protected_texts,
    provenance,
    recomputation,
)
from kgbench.publish.checks.links import Links, SubjectIris
from kgbench.publish.checks.publication_files import MAX_BYTES, PublicationFiles
from kgbench.publish.checks.report import Entry, Fault, Report
from kgbench.publish.checks.signatures import Signatures
from kgbench.signing.key_list import KeyEntry, standing
from kgbench.vocab import QB


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
        report.entries.extend(_entries(published, mldcat_shapes, unprotected, names))
        signatures = Signatures(published, keys, revoked)
        if published.root is not None and signatures.wanted:
            entry = _entry("signatures", "signatures fit", signatures.check())
            if signatures.signer is not None:
                entry.note = standing(signatures.signer, vouched=bool(keys))
            report.entries.append(entry)
    return report


def _entries(
    published: PublicationFiles,
    mldcat_shapes: Path | None,
    unprotected: Collection[str],
    names: Iterable[str] | None,
) -> Iterator[Entry]:
    file_of = published.file_of
    yield _entry("readable", "files can be read", published.problems, _read_note(published))
    if not published.unread or len(published.quads) > 0:
        quads = published.quads
        yield _entry(
            "results", "results conform to their shapes", graphs.results(published.data, file_of)
        )
        yield _entry("terms", "terms are declared, references have targets", _terms(published))
        yield _entry("provenance", "provenance is consistent", provenance.check(quads, file_of))
        yield _cubes(published)
        yield _entry(
            "withheld",
            "protected suites are withheld",
            protected_texts.check(published, unprotected),
        )
    yield _entry(
        "privacy", "no keys, hosts, users or paths are revealed", privacy.check(published, names)
    )
    if published.root is None:
        return
    yield _catalogue(published, mldcat_shapes)
    yield _entry(
        "companions",
        "claims, keys and signatures conform to their shapes",
        graphs.companions(published),
    )
    yield _entry("files", "checksums are correct", files.check(published))
    yield _entry("dumps", "dumps agree with each other", files.agreement(published))
    yield _recomputed(published)
    links = Links(published)
    entry = _entry("links", "links have targets", links.check())
    entry.note = f"{links.followed} links"
    yield entry
    subjects = SubjectIris(published, links)
    entry = _entry("subjects", "IRIs of described things resolve to files", subjects.check())
    entry.note = f"{subjects.followed} subjects"
    yield entry
    yield _entry("marks", "canaries and rules for crawlers", protected_texts.marks(published))


def _entry(name: str, title: str, faults: Iterable[Fault], note: str = "") -> Entry:
    entry = Entry(name, title, note)
    entry.add(faults)
    return entry


def _read_note(published: PublicationFiles) -> str:
    note = f"{len(published.quads)} quads"
    if published.unread:
        note += f"; encrypted, and not checked: {', '.join(published.unread)}"
    return note


def _terms(published: PublicationFiles) -> Iterator[Fault]:
    for constraint in constraints.group("terms").values():
        yield from constraint.faults(published.quads, published.file_of)


def _cubes(published: PublicationFiles) -> Entry:
    store = cubes.cubes(published.quads)
    observations = _number(store, QB.Observation)
    entry = _entry("cubes", "tables are Data Cubes", cubes.check(store, published.file_of))
    entry.note = f"{observations} observations"
    return entry


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


def _number(store: Any, cls: str) -> int:
    import pyoxigraph as ox

    from kgbench.validation.data import TYPE

    return sum(1 for _ in store.quads_for_pattern(None, TYPE, ox.NamedNode(cls)))


def _catalogue(published: PublicationFiles, shapes: Path | None) -> Entry:
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
    if shapes is not None:
        entry.note = f"MLDCAT-AP by {shapes.name}"
        entry.add(graphs.official(published.stated, shapes, file_of))
    entry.add(graphs.catalogue(published.stated, file_of))
    return entry


__all__: Sequence[str] = ("check",)
