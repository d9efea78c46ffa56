# SPDX-License-Identifier: Apache-2.0
"""Publication of a store as a folder, unit by unit; unchanged units are kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from kgbench.errors import PublicationRefused
from kgbench.pages import snapshot
from kgbench.pages.snapshot import View
from kgbench.publish import (
    manifest,
    published_graph,
    recipe,
    robots,
    root_files,
)
from kgbench.publish.addresses import Addresses
from kgbench.publish.dependencies import Dependencies
from kgbench.publish.discovery import write_sitemap
from kgbench.publish.dumps import Packing, join
from kgbench.publish.folder import Folder, claim
from kgbench.publish.manifest import Dump, Manifest, Unit, Version
from kgbench.publish.page_renderer import PageRenderer
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.redaction_rules import prepare_rules
from kgbench.publish.result_documents import Progress, ResultDocuments
from kgbench.publish.run_pages import RunBuilder, Workers
from kgbench.publish.selection import (
    PublishedParts,
    RunPart,
    dialogues_in,
    refuse_in_the_clear,
    select_parts,
)
from kgbench.publish.settings import Settings
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.publish.worker_setup import OpenResources, WorkerSetup, write_site_graph
from kgbench.publish.workers import make_runs, workers
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.statements import from_stamp
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
    selected = select_parts(view, settings)
    refuse_in_the_clear(view, settings, selected.suites)
    rules, addresses = prepare_rules(
        view, settings.location, settings.base, settings.page_level, selected.runs_of_passes
    )
    dump_outgoing = QuadRedactor(view.database, addresses, rules._replace(level=settings.level))
    lock = claim(settings.out)
    try:
        return Publishing(settings, view, selected, progress, rules, addresses, dump_outgoing).run()
    finally:
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


@dataclass
class Publishing:
    """The publication of one store.

    ``rules`` apply to pages, and ``dump_outgoing`` gives the quads of dumps. ``versions`` are the
    earlier versions, for a folder without a manifest.
    """

    settings: Settings
    view: View
    parts: PublishedParts
    progress: Progress
    rules: RedactionRules
    addresses: Addresses
    dump_outgoing: QuadRedactor
    versions: tuple[Version, ...] = ()

    def __post_init__(self) -> None:
        self.outgoing = QuadRedactor(self.view.database, self.addresses, self.rules)
        self.canaries = robots.canaries(self.view, self.parts.suites)
        self.packing = Packing(
            self.settings.compression, self.settings.password, "; ".join(self.canaries)
        )

    def run(self) -> Report:
        """Publish everything."""
        folder = Folder(self.settings.out)
        try:
            earlier = manifest.read(folder.state)
            earlier.versions = earlier.versions or list(self.versions)
            earlier.forget_interrupted(folder)
            site_graph = published_graph.build_site_graph(self.view, self.outgoing, self.parts)
            documents = published_graph.documents(site_graph, self.outgoing, self.parts)
            places = frozenset(
                (*documents, *published_graph.executions(site_graph, self.addresses))
            )
            renderer = PageRenderer(
                site_graph, self.addresses, places, self.view.database, self.canaries
            )
            depending = Dependencies(
                view=self.view,
                parts=self.parts,
                outgoing=self.outgoing,
                dump_rules=self.dump_outgoing.rules,
                packing=self.packing,
                canaries=self.canaries,
                addresses=self.addresses,
                site_graph=site_graph,
            )
            units, stale = self._stale(folder, earlier, depending)
            runs = [run for run, _ in stale.values()]
            with self._workers(folder, renderer, runs) as (pool, sizes):
                units |= self._make(folder, earlier, renderer, pool=pool, stale=stale, sizes=sizes)
                units |= self._parts_without_dialogues(folder, earlier, renderer, pool, depending)
                units = dict(sorted(units.items()))
                dumps = self._joined(folder, earlier, units)
                date = from_stamp(max(depending.stamps, default="0"))
                versions = root_files.next_version(earlier.versions, units, dumps, date)
                results = ResultDocuments(
                    settings=self.settings,
                    view=self.view,
                    parts=self.parts,
                    progress=self.progress,
                    addresses=self.addresses,
                    outgoing=self.outgoing,
                    packing=self.packing,
                    canaries=self.canaries,
                    renderer=renderer,
                    documents=documents,
                    units=units,
                    versions=versions,
                    state=digest(canonical_json(depending.stamps)),
                )
                units["things"] = self._things(folder, earlier, results, pool, depending)
            return self._finish(folder, earlier, Manifest(self.settings.base, units, versions))
        finally:
            folder.close()

    # --- runs, catalogue and the rest -------------------------------------------------------

    def _stale(
        self, folder: Folder, earlier: Manifest, depending: Dependencies
    ) -> tuple[dict[str, Unit], dict[str, tuple[RunPart, str]]]:
        """Return the unchanged units of runs, and by name the changed runs with their new keys."""
        kept: dict[str, Unit] = {}
        stale = {}
        for part in self.parts.runs:
            key = depending.key_of_run(part)
            unit = earlier.keep(folder, part.name, key)
            if unit is None:
                stale[part.name] = part, key
            else:
                kept[part.name] = unit
        return kept, stale

    @contextmanager
    def _workers(
        self, folder: Folder, renderer: PageRenderer, stale: Iterable[RunPart]
    ) -> Iterator[tuple[Workers, dict[str, int]]]:
        """Start the workers; yield them with the numbers of dialogues in ``stale`` runs."""
        path = folder.work("shown.nq")
        of_runs = {self.outgoing.node(graph) for run in self.parts.runs for graph in run.graphs}
        write_site_graph(path, renderer.site_graph, of_runs)
        setup = WorkerSetup(
            snapshot=self.view.path,
            view_base=self.view.iris.base,
            site_graph=path,
            out=self.settings.out,
            addresses=self.addresses,
            documents=renderer.documents,
            parts=self.parts,
            graphs=self.parts.graphs,
            shared=(self.parts.catalogue, *(graph for graph, _ in self.parts.others)),
            rules=self.rules,
            dump_rules=self.dump_outgoing.rules,
            packing=self.packing,
            canaries=self.canaries,
        )
        sizes = {part.name: dialogues_in(self.view.database, part.graph) for part in stale}
        open_newest_snapshot = OpenResources(self.view, self.dump_outgoing.recorded)
        with workers(
            setup, self.settings.processes, sum(sizes.values()), open_newest_snapshot
        ) as pool:
            yield pool, sizes

    def _make(
        self,
        folder: Folder,
        earlier: Manifest,
        renderer: PageRenderer,
        *,
        pool: Workers,
        stale: Mapping[str, tuple[RunPart, str]],
        sizes: Mapping[str, int],
    ) -> dict[str, Unit]:
        """Make the units of ``stale`` runs; ``sizes`` are numbers of dialogues."""
        done, total = 0, sum(sizes.values())

        def report(dialogues: int) -> None:
            nonlocal done
            done += dialogues
            self.progress(done, total, "dialogues")

        making = self._run_builder(folder, renderer, pool)
        todo = [
            (part, sizes[name], key, earlier.units.get(name)) for name, (part, key) in stale.items()
        ]
        return make_runs(pool, making, todo, report)

    def _parts_without_dialogues(
        self,
        folder: Folder,
        earlier: Manifest,
        renderer: PageRenderer,
        pool: Workers,
        depending: Dependencies,
    ) -> dict[str, Unit]:
        """Make the units of the catalogue and of other graphs, unless nothing has changed."""
        parts = {"catalogue": published_graph.catalogue(self.dump_outgoing, self.parts)}
        others = [graph for graph, _ in self.parts.others]
        if others:
            parts["other"] = (q for graph in others for q in self.dump_outgoing.graph(graph))
        making = self._run_builder(folder, renderer, pool)
        key = depending.key_of_store()
        return {
            name: earlier.keep(folder, name, key)
            or making.other(name, subjects, key, earlier.units.get(name))
            for name, subjects in parts.items()
        }

    def _run_builder(self, folder: Folder, renderer: PageRenderer, pool: Workers) -> RunBuilder:
        return RunBuilder(
            folder,
            self.view.database,
            self.dump_outgoing,
            self.packing,
            pool,
            self.addresses.original,
            renderer,
        )

    def _joined(self, folder: Folder, earlier: Manifest, units: dict[str, Unit]) -> list[Dump]:
        """Return the dump of everything, followed by those of the parts."""
        of_parts = [dump for unit in units.values() for dump in unit.dumps]
        before = {dump.path: dump for v in earlier.versions[-1:] for dump in v.dumps}
        known = before.get(f"data/all.nq{self.packing.suffix}")
        return [join(folder, "data/all.nq", of_parts, self.packing, known), *of_parts]

    # --- things -----------------------------------------------------------------------------

    def _things(
        self,
        folder: Folder,
        earlier: Manifest,
        documents: ResultDocuments,
        pool: Workers,
        depending: Dependencies,
    ) -> Unit:
        key = depending.key_of_store(
            [unit.facts for unit in documents.units.values()],
            [dump.sha256 for dump in documents.versions[-1].dumps],
            repr(self.settings.metadata),
            self.settings.endpoint,
            self.settings.signer is not None,
        )
        if (unchanged := earlier.keep(folder, "things", key)) is not None:
            return unchanged
        before = set(folder.written)
        documents.write(folder, pool)
        before -= {dump.path for dump in documents.versions[-1].dumps}
        return Unit(key, {path: s for path, s in folder.written.items() if path not in before})

    # --- the end ----------------------------------------------------------------------------

    def _finish(self, folder: Folder, earlier: Manifest, new_manifest: Manifest) -> Report:
        ours = earlier.files() | folder.journalled()
        signer = self.settings.signer
        if signer is not None:
            signer.sign(folder, new_manifest)
        manifest.write(folder, new_manifest)
        version = new_manifest.versions[-1]
        folder.write(
            recipe.FILE,
            recipe.serialise(self.settings, self.addresses.store, new_manifest.versions),
        )
        signature_files = [] if signer is None else [KEYS, SIGNATURE]
        write_sitemap(folder, self.settings.base, signature_files)
        sums = sorted(folder.written.items())
        folder.write("SHA256SUMS", "".join(f"{checksum}  {path}\n" for path, checksum in sums))
        if signer is not None:
            signer.seal(folder, new_manifest)
        removed = ours - set(folder.written)
        for path in sorted(removed):
            folder.remove(path)
        folder.finish()
        return Report(
            out=str(self.settings.out),
            base=self.settings.base,
            version=version.number,
            runs=version.runs,
            dialogues=version.dialogues,
            triples=version.triples,
            files=len(folder.written),
            changed=folder.changed,
            removed=len(removed),
            notes=self.settings.metadata.missing,
        )
