# SPDX-License-Identifier: Apache-2.0
"""The files of a site, made from the published store alone; unchanged units are kept.

``publish --check`` makes them again from the dumps and compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.publish import companions, manifest, recipe
from kgbench.publish.discovery import write_sitemap
from kgbench.publish.documents import Documents
from kgbench.publish.dumps import Packing
from kgbench.publish.execution_pages import ExecutionPages
from kgbench.publish.folder import Folder
from kgbench.publish.front import FrontFiles, main_metrics
from kgbench.publish.manifest import Dump, Manifest, Unit, Version
from kgbench.publish.metadata import Publication
from kgbench.publish.pages import Renderer, Resources
from kgbench.publish.redact import PublishedView
from kgbench.publish.results import Figure, SuiteResults, figures, suite_results
from kgbench.publish.selection import PublishedParts, RunPart, dialogues_in, select_parts
from kgbench.publish.settings import Settings
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.publish.workers import Pool, Progress, workers
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.statements import from_stamp
from kgbench.vocab import DCTERMS, KGB, PROV

_MOST = 1_000_000
_PART_OF, _DECLARED = DCTERMS.isPartOf, ox.NamedNode(KGB.declaredDigest)
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


class PageWorker:
    """Makes pages, tables and figures in one process."""

    def __init__(self, setup: Setup, journal: str) -> None:
        self._setup = setup
        self._journal = journal
        self._view = PublishedView(Path(setup.snapshot), setup.where.base)

    @cached_property
    def _renderer(self) -> Renderer:
        setup = self._setup
        return Renderer(self._view, setup.where, setup.documents, setup.canaries)

    @cached_property
    def _executions(self) -> ExecutionPages:
        return ExecutionPages(self._view, self._renderer)

    @cached_property
    def _resources(self) -> Resources:
        inner = {thing: graph for graph, thing in self._setup.parts.others}
        return Resources(self._renderer, inner, self._setup.dumps)

    def run(self, part: RunPart, dialogues: int) -> tuple[dict[str, str], int]:
        """Write the pages of a run; return its files, and how many were changed."""
        folder = Folder(self._setup.out, self._journal)
        try:
            self._executions.write(folder, part, dialogues)
            return folder.written, folder.changed
        finally:
            folder.close()

    def resources(self, paths: Sequence[str]) -> tuple[dict[str, str], int]:
        """Write documents; return their files, and how many were changed."""
        folder = Folder(self._setup.out, self._journal)
        try:
            for path in paths:
                self._resources.write(folder, path)
            return folder.written, folder.changed
        finally:
            folder.close()

    def standing(self, suite: str) -> SuiteResults | None:
        """Return the results of a suite."""
        return suite_results(self._view, self._setup.parts, suite)

    def figures(self, results: SuiteResults, state: str) -> list[Figure]:
        """Draw the figures of a suite into work files."""
        folder = Folder(self._setup.out, self._journal)
        try:
            return list(figures(results, folder.work("figures").parent, state))
        finally:
            folder.close()


@dataclass
class SiteFiles:
    """Writes the files of one site, except for its dumps.

    ``view`` is the published store.
    """

    settings: Settings
    view: View
    where: Documents
    canaries: tuple[str, ...]
    packing: Packing
    progress: Progress
    manifest: Manifest = field(default_factory=Manifest)

    def write(
        self, folder: Folder, earlier: Manifest, units: Mapping[str, Unit], whole: Dump
    ) -> Version:
        """Write all pages and metadata; return the current version of the data set.

        ``units`` are the redacted parts with their dumps, which ``whole`` joins.
        """
        of_parts = [dump for unit in units.values() for dump in unit.dumps]
        dumps = [whole, *of_parts]
        parts = self.parts
        stamps = sorted(parts.stamps.get(graph, "") for graph in parts.graphs)
        sizes = {run.name: dialogues_in(self.view.database, run.graph) for run in parts.runs}
        versions = _next_version(
            earlier.versions,
            dumps,
            date=from_stamp(max(stamps, default="0")),
            runs=len(parts.runs),
            dialogues=sum(sizes.values()),
        )
        documents = self.where.of(self.view, parts)
        setup = Setup(
            snapshot=self.view.path,
            out=self.settings.out,
            where=self.where,
            parts=parts,
            documents=documents,
            dumps={run.run: units[run.name].dumps[0] for run in parts.runs if run.name in units},
            canaries=self.canaries,
        )
        keys = {run.name: self._key_of_run(run, units[run.name]) for run in parts.runs}
        kept = {
            run.name: earlier.keep(folder, f"pages-{run.name}", keys[run.name])
            for run in parts.runs
        }
        stale = [run for run in parts.runs if kept[run.name] is None]
        everything = dict(units)
        total = sum(sizes[run.name] for run in stale)
        with workers(partial(PageWorker, setup), self.settings.processes, total) as pool:
            pages = self._write_runs(folder, pool, stale, sizes)
            for run in parts.runs:
                unit = kept[run.name] or Unit(keys[run.name], pages[run.name])
                everything[f"pages-{run.name}"] = unit
            state = digest(canonical_json(stamps))
            key = self._key(
                [dump.sha256 for dump in dumps], [asdict(version) for version in versions], state
            )
            things_kept = earlier.keep(folder, "things", key)
            if things_kept is None:
                files = self._write_things(
                    folder, pool, versions=versions, documents=documents, state=state
                )
                things_kept = Unit(key, files)
            everything["things"] = things_kept
        self.manifest = Manifest(self.settings.base, dict(sorted(everything.items())), versions)
        return versions[-1]

    @cached_property
    def parts(self) -> PublishedParts:
        """The parts of the published store."""
        return select_parts(self.view, replace(self.settings, runs=()))

    def finish(self, folder: Folder, earlier: Manifest) -> int:
        """Write manifest, recipe, site map, checksums and signature; return how many files went."""
        ours = earlier.files() | folder.journalled()
        signer = self.settings.signer
        if signer is not None:
            signer.sign(folder, self.manifest)
        manifest.write(folder, self.manifest)
        text = recipe.serialise(self.settings, self.where.store, self.manifest.versions)
        folder.write(recipe.FILE, text)
        write_sitemap(folder, self.settings.base, [KEYS, SIGNATURE] if self.settings.signed else [])
        sums = sorted(folder.written.items())
        folder.write("SHA256SUMS", "".join(f"{checksum}  {path}\n" for path, checksum in sums))
        if signer is not None:
            signer.seal(folder, self.manifest)
        removed = ours - set(folder.written)
        for path in sorted(removed):
            folder.remove(path)
        folder.finish()
        return len(removed)

    # --- keys -----------------------------------------------------------------------------------

    def _key(self, *facts: Json) -> str:
        """Return the key of a unit that depends on settings, code and ``facts``."""
        settings = self.settings
        common: list[Json] = [
            self.where.store,
            settings.base,
            list(self.canaries),
            repr(settings.metadata),
            settings.endpoint,
            settings.level.name,
            settings.signed,
            self.packing.suffix,
            recipe.software(),
        ]
        return digest(canonical_json([common, list(facts)]))

    def _key_of_run(self, part: RunPart, unit: Unit) -> str:
        """Return the key of a run's pages, which also name its models, tasks and metrics."""
        view = self.view
        executions = things.subjects(view, _PART_OF, part.run, _MOST)
        named = {
            term.value
            for execution in executions
            for predicate in (KGB.model, KGB.task)
            for term in things.values(view, execution, predicate)
        }
        labels: list[Json] = [[iri, things.label(view, iri)] for iri in sorted(named)]
        passes: Json = [pass_ for pass_, _ in part.passes]
        return self._key([unit.dumps[0].content, passes], labels, self._of_all_runs)

    @cached_property
    def _of_all_runs(self) -> Json:
        """What changes the pages of all runs: declarations, and invalidations of dialogues."""
        declared = self.view.database.quads_for_pattern(None, _DECLARED, None)
        invalidations: list[Json] = [
            [thing, self.parts.stamps.get(graph, "")]
            for graph, thing in self.parts.others
            if KGB.Invalidation in things.kinds(self.view, thing)
        ]
        return [sorted(str(quad.object) for quad in declared), invalidations]

    # --- pages ----------------------------------------------------------------------------------

    def _write_runs(
        self,
        folder: Folder,
        pool: Pool[PageWorker],
        stale: Sequence[RunPart],
        sizes: Mapping[str, int],
    ) -> dict[str, dict[str, str]]:
        """Write the pages of ``stale`` runs; return their files by the names of runs."""
        total, done, written = sum(sizes[run.name] for run in stale), 0, {}
        pending = {run.name: pool.submit(PageWorker.run, run, sizes[run.name]) for run in stale}
        for name, result in pending.items():
            written[name] = _collect(folder, result())
            done += sizes[name]
            self.progress(done, total, "dialogues")
        return written

    def _write_things(
        self,
        folder: Folder,
        pool: Pool[PageWorker],
        *,
        versions: list[Version],
        documents: Mapping[str, list[str]],
        state: str,
    ) -> dict[str, str]:
        """Write everything but dumps and the pages of runs; return the files."""
        before = set(folder.written)
        paths, total = list(documents), len(documents)
        self.progress(0, total, "scores")
        standings = [pool.submit(PageWorker.standing, suite) for suite in sorted(self.parts.suites)]
        pages = [
            pool.submit(PageWorker.resources, paths[start : start + _AT_ONCE])
            for start in range(0, total, _AT_ONCE)
        ]
        results = [found for pending in standings if (found := pending()) is not None]
        drawings = [
            (found.suite, pool.submit(PageWorker.figures, found, state)) for found in results
        ]
        for number, pending in enumerate(pages, 1):
            _collect(folder, pending())
            self.progress(min(number * _AT_ONCE, total), total, "pages")
        renderer = Renderer(self.view, self.where, documents, self.canaries)
        publication = self._publication(versions)
        publication.companions = companions.write(folder, results, publication, renderer.query_path)
        drawn = {suite: _move_figures(folder, pending()) for suite, pending in drawings}
        FrontFiles(folder, renderer, publication, results, drawn).write()
        return {path: sha for path, sha in folder.written.items() if path not in before}

    def _publication(self, versions: list[Version]) -> Publication:
        began = (things.text(self.view, run.run, PROV.startedAtTime) for run in self.parts.runs)
        return Publication(
            base=self.settings.base,
            metadata=self.settings.metadata,
            versions=versions,
            packing=self.packing,
            level=self.settings.level,
            endpoint=self.settings.endpoint,
            measured=main_metrics(self.view),
            canaries=self.canaries,
            collected=min(filter(None, began), default=versions[0].date),
            signed=self.settings.signed,
        )


def _collect(folder: Folder, written: tuple[dict[str, str], int]) -> dict[str, str]:
    """Count the files of a worker as written, and return them."""
    files, changed = written
    folder.keep(files)
    folder.changed += changed
    return files


def _move_figures(folder: Folder, drawn: list[Figure]) -> list[Figure]:
    """Move the figures of a suite from the work folder to their paths."""
    for figure in drawn:
        for path in (figure.svg, figure.numbers):
            folder.adopt(path, folder.work(path.rpartition("/")[2]))
    return drawn


def _next_version(
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
