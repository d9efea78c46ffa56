# SPDX-License-Identifier: Apache-2.0
"""Publication of a store as a folder: redaction, pages, metadata, checksums, signature.

All files but the dumps are made from the published store alone, and unchanged units are kept.
``publish --check`` makes them again from the dumps and compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from kgbench.errors import PublicationRefused
from kgbench.model import Json
from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.publish import discovery, redact
from kgbench.publish.documents import Documents
from kgbench.publish.dumps import Packing, join
from kgbench.publish.execution_pages import ExecutionPages
from kgbench.publish.folder import Dump, Folder, Manifest, Unit, Version, claimed, read_manifest
from kgbench.publish.front import FrontFiles, main_metrics
from kgbench.publish.metadata import Publication
from kgbench.publish.pages import Renderer, Resources
from kgbench.publish.redact import PublishedView, Redaction, prepare_rules
from kgbench.publish.results import Figure, SuiteResults, figures, suite_results, write_companions
from kgbench.publish.selection import (
    PublishedParts,
    RunPart,
    dialogues_in,
    refuse_in_the_clear,
    refuse_undescribed,
    select_parts,
)
from kgbench.publish.settings import RECIPE, Settings, recipe
from kgbench.publish.signing import KEYS, SIGNATURE, SUMS
from kgbench.publish.workers import Pool, Progress, workers
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.quads import from_stamp
from kgbench.store import SnapshotReader, open_reader
from kgbench.vocab import DCTERMS, KGB, PROV

_MOST = 1_000_000
_AT_ONCE = 20  # documents that a worker writes between two reports of progress


@dataclass(frozen=True, slots=True)
class Setup:
    """What a process needs to make pages: the published store, its parts and its documents."""

    snapshot: str
    out: Path
    where: Documents
    parts: PublishedParts
    documents: Mapping[str, list[str]]
    dumps: Mapping[str, Dump]
    canaries: tuple[str, ...]

    def renderer(self, view: View) -> Renderer:
        """Return the renderer of pages for the published store."""
        return Renderer(view, self.where, self.documents, self.canaries)


class PageWorker:
    """Makes pages, tables and figures in one process."""

    def __init__(self, setup: Setup, journal: str) -> None:
        self._setup = setup
        self._journal = journal
        self._view = PublishedView(Path(setup.snapshot), setup.where.base)

    @cached_property
    def _renderer(self) -> Renderer:
        return self._setup.renderer(self._view)

    @cached_property
    def _executions(self) -> ExecutionPages:
        return ExecutionPages(self._view, self._renderer)

    @cached_property
    def _resources(self) -> Resources:
        inner = {thing: graph for graph, thing in self._setup.parts.others}
        return Resources(self._renderer, inner, self._setup.dumps)

    def run(self, part: RunPart, dialogues: int) -> Written:
        """Write the pages of a run."""
        with Folder(self._setup.out, self._journal) as folder:
            self._executions.write(folder, part, dialogues)
            return Written(folder.written, folder.changed)

    def resources(self, paths: Sequence[str]) -> Written:
        """Write documents."""
        with Folder(self._setup.out, self._journal) as folder:
            for path in paths:
                self._resources.write(folder, path)
            return Written(folder.written, folder.changed)

    def standing(self, suite: str) -> SuiteResults | None:
        """Return the results of a suite."""
        return suite_results(self._view, self._setup.parts, suite)

    def figures(self, results: SuiteResults, state: str) -> tuple[Written, list[Figure]]:
        """Draw the figures of a suite."""
        with Folder(self._setup.out, self._journal) as folder:
            drawn = list(figures(results, folder.work("figures").parent, state))
            for path in (path for figure in drawn for path in (figure.svg, figure.numbers)):
                folder.adopt(path, folder.work(path.rpartition("/")[2]))
            return Written(folder.written, folder.changed), drawn


class Written(NamedTuple):
    """Files that a worker wrote (SHA-256 by path), and how many of them were changed."""

    files: dict[str, str]
    changed: int

    def add_to(self, folder: Folder) -> dict[str, str]:
        """Count the files as written to the folder, and return them."""
        folder.written.update(self.files)
        folder.changed += self.changed
        return self.files


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
    view = _newest_snapshot(settings.location)
    parts = select_parts(view, settings)
    refuse_undescribed(settings)
    refuse_in_the_clear(view, settings, parts.suites)
    page_rules, addresses = prepare_rules(
        view, settings.location, settings.base, settings.page_level, parts.runs_of_passes
    )
    redaction = Redaction(
        snapshot=view.path,
        parts=parts,
        addresses=addresses,
        rules=page_rules._replace(level=settings.level),
        page_rules=page_rules,
        packing=_packing(settings, view, parts),
        out=settings.out,
    )
    with claimed(settings.out) as folder:
        earlier = read_manifest(folder)
        units, loaded = redact.redact(
            redaction, view, folder, earlier, processes=settings.processes, progress=progress
        )
        with redact.published_store(loaded, settings.base) as published:
            where = Documents(view.iris.base, settings.base)
            return write_site(
                settings,
                published,
                where,
                folder=folder,
                earlier=earlier,
                units=units,
                progress=progress,
            )


def _newest_snapshot(location: str) -> View:
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
    return things.open_newest(Path(location) / "snapshots", base)


def _packing(settings: Settings, view: View, parts: PublishedParts) -> Packing:
    canaries = discovery.canaries(view, parts.suites)
    return Packing(settings.compression, settings.password, "; ".join(canaries))


def write_site(
    settings: Settings,
    view: View,
    where: Documents,
    *,
    folder: Folder,
    earlier: Manifest,
    units: Mapping[str, Unit],
    progress: Progress,
) -> Report:
    """Write all files of a site but the dumps of its parts, which are in the folder already.

    ``view`` is the published store, ``units`` are its parts with their dumps, and ``earlier`` is
    the last publication.
    """
    parts = select_parts(view, replace(settings, runs=()))
    packing = _packing(settings, view, parts)
    of_parts = [dump for unit in units.values() for dump in unit.dumps]
    dumps = [join(folder, "data/all.nq", of_parts, packing, earlier), *of_parts]
    stamps = sorted(parts.stamps.get(graph, "") for graph in parts.graphs)
    sizes = {run.name: dialogues_in(view.database, run.graph) for run in parts.runs}
    versions = _with_next_version(
        earlier.versions,
        dumps,
        date=from_stamp(max(stamps, default="0")),
        runs=len(parts.runs),
        dialogues=sum(sizes.values()),
    )
    setup = Setup(
        snapshot=view.path,
        out=settings.out,
        where=where,
        parts=parts,
        documents=where.of(view, parts),
        dumps={run.run: units[run.name].dumps[0] for run in parts.runs if run.name in units},
        canaries=discovery.canaries(view, parts.suites),
    )
    current = Manifest(settings.base, dict(units), versions)
    keys = {run.name: _key_of_run(view, run, units[run.name].key) for run in parts.runs}
    kept = {name: earlier.keep(folder, f"pages-{name}", key) for name, key in keys.items()}
    stale = [run for run in parts.runs if kept[run.name] is None]
    total, done = sum(sizes[run.name] for run in stale), 0
    with workers(partial(PageWorker, setup), settings.processes, total) as pool:
        pending = {run.name: pool.submit(PageWorker.run, run, sizes[run.name]) for run in stale}
        for name, key in keys.items():
            unit = kept[name]
            if unit is None:
                unit = Unit(key, pending[name]().add_to(folder))
                done += sizes[name]
                progress(done, total, "dialogues")
            current.units[f"pages-{name}"] = unit
        state = digest(canonical_json(stamps))
        text = recipe(settings, where.store, versions)
        key = digest(canonical_json([text, [dump.sha256 for dump in dumps], state]))
        rest = earlier.keep(folder, "things", key)
        if rest is None:
            before = set(folder.written)
            published = Publication(
                base=settings.base,
                metadata=settings.metadata,
                versions=versions,
                packing=packing,
                level=settings.level,
                endpoint=settings.endpoint,
                measured=main_metrics(view),
                canaries=setup.canaries,
                collected=_collected(view, parts) or versions[0].date,
                signed=settings.signed,
            )
            renderer = setup.renderer(view)
            _write_things(folder, pool, setup, renderer, published, state=state, progress=progress)
            rest = Unit(key, {p: sha for p, sha in folder.written.items() if p not in before})
        current.units["things"] = rest
    removed = _finish(settings, text, folder, earlier, current)
    return Report(
        out=str(settings.out),
        base=settings.base,
        version=versions[-1].number,
        runs=versions[-1].runs,
        dialogues=versions[-1].dialogues,
        triples=versions[-1].triples,
        files=len(folder.written),
        changed=folder.changed,
        removed=removed,
        notes=settings.metadata.missing,
    )


def _with_next_version(
    versions: Sequence[Version], dumps: Sequence[Dump], *, date: str, runs: int, dialogues: int
) -> list[Version]:
    """Return the versions of the data set, with a new one if the content of dumps has changed.

    The first of the ``dumps`` is that of everything.
    """
    content = digest(canonical_json(sorted((d.path, d.content) for d in dumps)))
    if versions and versions[-1].digest == content:
        return list(versions)
    new_version = Version(
        number=versions[-1].number + 1 if versions else 1,
        date=max(date, versions[-1].date) if versions else date,
        digest=content,
        runs=runs,
        dialogues=dialogues,
        triples=dumps[0].triples,
        dumps=tuple(sorted(dumps, key=lambda fact: fact.path)),
    )
    return [*versions, new_version]


def _key_of_run(view: View, part: RunPart, key: str) -> str:
    """Return the key of a run's pages, which also name its models and tasks.

    ``key`` is that of its dump.
    """
    named = {
        term.value
        for execution in things.subjects(view, DCTERMS.isPartOf, part.run, _MOST)
        for predicate in (KGB.model, KGB.task)
        for term in things.values(view, execution, predicate)
    }
    labels: list[Json] = [[iri, things.label(view, iri)] for iri in sorted(named)]
    return digest(canonical_json([key, labels]))


def _collected(view: View, parts: PublishedParts) -> str | None:
    """Return the start time of the first run, if any has one."""
    began = (things.text(view, run.run, PROV.startedAtTime) for run in parts.runs)
    return min(filter(None, began), default=None)


def _write_things(
    folder: Folder,
    pool: Pool[PageWorker],
    setup: Setup,
    renderer: Renderer,
    published: Publication,
    *,
    state: str,
    progress: Progress,
) -> None:
    """Write everything but dumps and the pages of runs."""
    paths, total = list(setup.documents), len(setup.documents)
    progress(0, total, "scores")
    standings = [pool.submit(PageWorker.standing, suite) for suite in sorted(setup.parts.suites)]
    pages = [
        pool.submit(PageWorker.resources, paths[start : start + _AT_ONCE])
        for start in range(0, total, _AT_ONCE)
    ]
    results = [found for pending in standings if (found := pending()) is not None]
    drawings = [(found.suite, pool.submit(PageWorker.figures, found, state)) for found in results]
    for number, page in enumerate(pages, 1):
        page().add_to(folder)
        progress(min(number * _AT_ONCE, total), total, "pages")
    published.companions = write_companions(folder, results, published, renderer.query_path)
    drawn = {}
    for suite, drawing in drawings:
        written, drawn[suite] = drawing()
        written.add_to(folder)
    FrontFiles(folder, renderer, published, results, drawn).write()


def _finish(
    settings: Settings, text: str, folder: Folder, earlier: Manifest, current: Manifest
) -> int:
    """Write manifest, recipe (``text``), site map, checksums and signature.

    Returns how many obsolete files were removed.
    """
    ours = earlier.files() | folder.journalled()
    if settings.signer is not None:
        settings.signer.sign(folder, current)
    current.units = dict(sorted(current.units.items()))
    current.write(folder)
    folder.write(RECIPE, text)
    signed = [KEYS, SIGNATURE] if settings.signed else []
    discovery.write_sitemap(folder, settings.base, signed)
    sums = sorted(folder.written.items())
    folder.write(SUMS, "".join(f"{checksum}  {path}\n" for path, checksum in sums))
    if settings.signer is not None:
        settings.signer.seal(folder, current)
    removed = ours - set(folder.written)
    for path in sorted(removed):
        folder.remove(path)
    folder.finish()
    return len(removed)
