# SPDX-License-Identifier: Apache-2.0
"""Publication of a store as a folder: redaction, pages, metadata, checksums, signature."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kgbench.errors import PublicationRefused
from kgbench.pages import snapshot
from kgbench.pages.snapshot import View
from kgbench.publish import discovery, manifest, redact
from kgbench.publish.documents import Documents
from kgbench.publish.dumps import Packing, join
from kgbench.publish.folder import Folder, claim
from kgbench.publish.redact import Redaction
from kgbench.publish.redaction_rules import prepare_rules
from kgbench.publish.selection import (
    refuse_in_the_clear,
    refuse_undescribed,
    select_parts,
)
from kgbench.publish.settings import Settings
from kgbench.publish.site_files import SiteFiles
from kgbench.publish.workers import Progress
from kgbench.store import SnapshotReader, open_reader


class Report(NamedTuple):
    """The outcome of a publication: numbers, and notes for its publisher."""

    out: str
    base: str
    version: int
    runs: int
    dialogues: int
    triples: int
    files: int
    changed: int
    removed: int
    notes: tuple[str, ...]


def publish(settings: Settings, progress: Progress) -> Report:
    """Publish a store according to ``settings``; ``progress`` is called with (done, total, what).

    Raises :class:`~kgbench.errors.PublicationRefused`, before anything is written, if the folder is
    not a published folder, or if texts of a protected suite would be published in the clear.
    """
    view = open_newest_snapshot(settings.location)
    parts = select_parts(view, settings)
    refuse_undescribed(settings)
    refuse_in_the_clear(view, settings, parts.suites)
    page_rules, addresses = prepare_rules(
        view, settings.location, settings.base, settings.page_level, parts.runs_of_passes
    )
    canaries = discovery.canaries(view, parts.suites)
    packing = Packing(settings.compression, settings.password, "; ".join(canaries))
    redaction = Redaction(
        snapshot=view.path,
        parts=parts,
        addresses=addresses,
        rules=page_rules._replace(level=settings.level),
        page_rules=page_rules,
        packing=packing,
        out=settings.out,
    )
    lock = claim(settings.out)
    folder = Folder(settings.out)
    try:
        earlier = manifest.read(folder.state)
        earlier.forget_interrupted(folder)
        units, loaded = redact.redact(
            redaction, view, folder, earlier, processes=settings.processes, progress=progress
        )
        dumps = [dump for unit in units.values() for dump in unit.dumps]
        before = {dump.path: dump for v in earlier.versions[-1:] for dump in v.dumps}
        known = before.get(f"data/all.nq{packing.suffix}")
        whole = join(folder, "data/all.nq", dumps, packing, known)
        with redact.published_store(loaded, settings.base) as published:
            files = SiteFiles(
                settings=settings,
                view=published,
                where=Documents(view.iris.base, settings.base),
                canaries=canaries,
                packing=packing,
                progress=progress,
            )
            version = files.write(folder, earlier, units, whole)
            removed = files.finish(folder, earlier)
        return Report(
            out=str(settings.out),
            base=settings.base,
            version=version.number,
            runs=version.runs,
            dialogues=version.dialogues,
            triples=version.triples,
            files=len(folder.written),
            changed=folder.changed,
            removed=removed,
            notes=settings.metadata.missing,
        )
    finally:
        folder.close()
        lock.close()


def open_newest_snapshot(location: str) -> View:
    """Open the newest snapshot of the store in a folder.

    Raises :class:`~kgbench.errors.PublicationRefused` for a store on a server.
    """
    with open_reader(location) as reader:
        if not isinstance(reader, SnapshotReader):
            raise PublicationRefused(
                f"the store {location} is on a server, but publish reads a folder: copy the store "
                "first (kgbench store copy)"
            )
        base = reader.iris.base
    return snapshot.open_newest(Path(location) / "snapshots", base)
