# SPDX-License-Identifier: Apache-2.0
"""Publishing: a store becomes a folder, part by part; what has not changed stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.pages import snapshot, things
from kgbench.pages.snapshot import Memory, View
from kgbench.publish import front, manifest, moved, recipe, robots, shown
from kgbench.publish.addresses import Addresses
from kgbench.publish.discovery import write_sitemap
from kgbench.publish.dumps import Packing, join
from kgbench.publish.folder import Folder, claim
from kgbench.publish.learning import prepared
from kgbench.publish.manifest import Dump, Manifest, Unit, Version
from kgbench.publish.outgoing import Outgoing, Rules
from kgbench.publish.parts import Parts, RunPart, dialogues_in, parts, refuse_in_the_clear
from kgbench.publish.presenting import Presenting
from kgbench.publish.result_documents import Progress, ResultDocuments
from kgbench.publish.running import Making, Workers, code_digest
from kgbench.publish.settings import Settings
from kgbench.publish.setup import Opened, Setup
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.publish.workers import make_runs, workers
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.statements import from_stamp
from kgbench.store import SnapshotReader, open_reader
from kgbench.vocab import KGB

_DECLARED = ox.NamedNode(KGB.declaredDigest)


class Report(NamedTuple):
    """What was published: numbers, and what a reader of the report should know."""

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


def publish(settings: Settings, told: Progress) -> Report:
    """Publish a store as ``settings`` say; ``told`` hears (done, of, what).

    Raises :class:`~kgbench.errors.PublicationRefused` before anything is written where the folder
    is not ours, or texts of a protected suite would be published in the clear.
    """
    view = opened(settings.location)
    wanted = parts(view, settings)
    refuse_in_the_clear(view, settings, wanted.suites)
    rules, addresses = prepared(
        view, settings.location, settings.base, settings.shown_level, wanted.runs_of_passes
    )
    dumped = Outgoing(view.database, addresses, rules._replace(level=settings.level))
    lock = claim(settings.out)
    try:
        return Publishing(settings, view, wanted, told, rules, addresses, dumped).run()
    finally:
        lock.close()


def opened(location: str) -> View:
    """The newest snapshot of the store in a folder.

    Raises :class:`~kgbench.errors.PublicationRefused` for a store on a server.
    """
    with open_reader(location) as reader:
        if not isinstance(reader, SnapshotReader):
            raise PublicationRefused(
                f"the store {location} is kept by a server, and publish reads a folder: "
                "copy it first (kgbench store copy)"
            )
        base = reader.iris.base
    return snapshot.newest(Path(location) / "snapshots", base)


@dataclass
class Publishing:
    """One publication under way: ``rules`` are those of pages, ``for_dumps`` what dumps have.

    ``versions`` are those published before, where the folder does not say.
    """

    settings: Settings
    view: View
    parts: Parts
    told: Progress
    rules: Rules
    addresses: Addresses
    for_dumps: Outgoing
    versions: tuple[Version, ...] = ()

    def __post_init__(self) -> None:
        self.outgoing = Outgoing(self.view.database, self.addresses, self.rules)
        self.canaries = robots.canaries(self.view, self.parts.suites)
        self.packing = Packing(
            self.settings.compression, self.settings.password, "; ".join(self.canaries)
        )

    def run(self) -> Report:
        """All of it."""
        folder = Folder(self.settings.out)
        try:
            earlier = manifest.read(folder.state)
            earlier.versions = earlier.versions or list(self.versions)
            earlier.forget_interrupted(folder)
            made = shown.shown(self.view, self.outgoing, self.parts)
            documents = shown.documents(made, self.outgoing, self.parts)
            places = frozenset((*documents, *shown.executions(made, self.addresses)))
            presenting = Presenting(made, self.addresses, places, self.view.database, self.canaries)
            units, stale = self._stale(folder, earlier, presenting)
            runs = [run for run, _ in stale.values()]
            with self._workers(folder, presenting, runs) as (at_work, dialogues):
                units |= self._make(
                    folder, earlier, presenting, at_work=at_work, stale=stale, whole=dialogues
                )
                units = dict(sorted(units.items()))
                dumps = self._joined(folder, earlier, units)
                date = from_stamp(max(self._stamps(), default="0"))
                versions = front.next_version(earlier.versions, units, dumps, date)
                results = ResultDocuments(
                    settings=self.settings,
                    view=self.view,
                    parts=self.parts,
                    told=self.told,
                    addresses=self.addresses,
                    outgoing=self.outgoing,
                    packing=self.packing,
                    canaries=self.canaries,
                    presenting=presenting,
                    documents=documents,
                    units=units,
                    versions=versions,
                    state=digest(canonical_json(sorted(self._stamps()))),
                )
                units["things"] = self._things(folder, earlier, results, at_work)
            return self._finish(folder, earlier, Manifest(self.settings.base, units, versions))
        finally:
            folder.close()

    # --- runs, catalogue and the rest -------------------------------------------------------

    def _stale(
        self, folder: Folder, earlier: Manifest, presenting: Presenting
    ) -> tuple[dict[str, Unit], dict[str, tuple[RunPart, str]]]:
        """The units of runs that stay as they are, and by name the runs to make with their keys."""
        how = self._how()
        made = presenting.shown
        kept, stale = {}, {}
        for part in self.parts.runs:
            key = digest(
                canonical_json([how, self._named(made, part), list(part.stamps), self._invalid()])
            )
            if earlier.holds(folder, part.name, key):
                kept[part.name] = earlier.units[part.name]
                folder.keep(kept[part.name].files)
            else:
                stale[part.name] = part, key
        return kept, stale

    @contextmanager
    def _workers(
        self, folder: Folder, presenting: Presenting, stale: Iterable[RunPart]
    ) -> Iterator[tuple[Workers, int]]:
        """Where everything is made, and how many dialogues the ``stale`` runs have."""
        path = folder.work("shown.nq")
        presenting.shown.database.dump(str(path), ox.RdfFormat.N_QUADS)
        setup = Setup(
            snapshot=self.view.path,
            view_base=self.view.iris.base,
            shown=str(path),
            out=self.settings.out,
            addresses=self.addresses,
            documents=presenting.documents,
            parts=self.parts,
            graphs=self.parts.graphs,
            others=frozenset(self.outgoing.node(graph).value for graph, _ in self.parts.others),
            shared=(self.parts.catalogue, *(graph for graph, _ in self.parts.others)),
            rules=self.rules,
            dumped=self.for_dumps.rules,
            packing=self.packing,
            canaries=self.canaries,
        )
        whole = sum(dialogues_in(self.view.database, part.graph) for part in stale)
        opened = Opened(self.view, self.for_dumps.recorded)
        with workers(setup, self.settings.processes, whole, opened) as at_work:
            yield at_work, whole

    def _make(
        self,
        folder: Folder,
        earlier: Manifest,
        presenting: Presenting,
        *,
        at_work: Workers,
        stale: Mapping[str, tuple[RunPart, str]],
        whole: int,
    ) -> dict[str, Unit]:
        """The ``stale`` runs, with ``whole`` dialogues, and what is part of no run."""
        done = 0

        def hear(dialogues: int) -> None:
            nonlocal done
            done += dialogues
            self.told(done, whole, "dialogues")

        making = Making(
            folder,
            self.view.database,
            self.for_dumps,
            self.packing,
            at_work,
            self.addresses.original,
            presenting,
        )
        todo = [(part, key, earlier.units.get(name)) for name, (part, key) in stale.items()]
        units = make_runs(at_work, making, todo, hear)
        for name, subjects in self._without_dialogues():
            units[name] = making.other(name, subjects, "", earlier.units.get(name))
        return units

    def _without_dialogues(
        self,
    ) -> Iterator[tuple[str, Callable[[], Iterable[list[ox.Quad]]]]]:
        yield "catalogue", lambda: shown.catalogue(self.for_dumps, self.parts)
        others = [graph for graph, _ in self.parts.others]
        if others:
            yield "other", lambda: (q for g in others for q in self.for_dumps.graph(g))

    def _joined(self, folder: Folder, earlier: Manifest, units: dict[str, Unit]) -> list[Dump]:
        """The dumps of everything, and after them those of the parts."""
        of_parts = [dump for unit in units.values() for dump in unit.dumps]
        before = {dump.path: dump for v in earlier.versions[-1:] for dump in v.dumps}
        whole = []
        for form in ("nq", "trig"):
            ending = f".{form}{self.packing.suffix}"
            chosen = [dump for dump in of_parts if dump.path.endswith(ending)]
            known = before.get(f"data/all{ending}")
            whole.append(join(folder, f"data/all.{form}", chosen, self.packing, known))
        return [*whole, *of_parts]

    # --- things -----------------------------------------------------------------------------

    def _things(
        self, folder: Folder, earlier: Manifest, documents: ResultDocuments, at_work: Workers
    ) -> Unit:
        key = digest(
            canonical_json(
                [
                    self._how(),
                    shown.identity(documents.presenting.shown),
                    sorted(self._stamps()),
                    [unit.facts for unit in documents.units.values()],
                    [dump.sha256 for dump in documents.versions[-1].dumps],
                    repr(self.settings.about),
                    self.settings.endpoint,
                    self.settings.signer is not None,
                ]
            )
        )
        if earlier.holds(folder, "things", key):
            folder.keep(earlier.units["things"].files)
            return earlier.units["things"]
        before = set(folder.written)
        documents.write(folder, at_work)
        before -= {dump.path for dump in documents.versions[-1].dumps}
        return Unit(key, {path: s for path, s in folder.written.items() if path not in before})

    # --- the end ----------------------------------------------------------------------------

    def _finish(self, folder: Folder, earlier: Manifest, done: Manifest) -> Report:
        ours = earlier.files() | folder.journalled()
        done.units["moved"] = moved.write(folder, ours)
        signer = self.settings.signer
        if signer is not None:
            signer.sign(folder, done)
        manifest.write(folder, done)
        now = done.versions[-1]
        folder.write(
            recipe.FILE, recipe.written(self.settings, self.addresses.store, done.versions)
        )
        further = [] if signer is None else [KEYS, SIGNATURE]
        write_sitemap(folder, self.settings.base, further, without=done.units["moved"].files)
        sums = sorted(folder.written.items())
        folder.write("SHA256SUMS", "".join(f"{told}  {path}\n" for path, told in sums))
        if signer is not None:
            signer.seal(folder, done)
        gone = ours - set(folder.written)
        for path in sorted(gone):
            folder.remove(path)
        folder.finish()
        return Report(
            out=str(self.settings.out),
            base=self.settings.base,
            version=now.number,
            runs=now.runs,
            dialogues=now.dialogues,
            triples=now.triples,
            files=len(folder.written),
            changed=folder.changed,
            removed=len(gone),
            notes=self.settings.about.missing,
        )

    # --- what things depend on --------------------------------------------------------------

    def _how(self) -> str:
        """The digest of how things are published: settings, rules and code."""
        return digest(
            canonical_json(
                [
                    self.addresses.store,
                    self.addresses.base,
                    dict(self.addresses.renamed),
                    int(self.rules.level),
                    int(self.for_dumps.rules.level),
                    sorted(self.rules.scrubber.names),
                    self.rules.scrubber.secrets.identity(),
                    self.rules.commitments.tag("state", ""),
                    self.packing.suffix,
                    self.rules.commitments.tag("password", self.packing.password or ""),
                    list(self.canaries),
                    code_digest(),
                ]
            )
        )

    def _named(self, made: Memory, part: RunPart) -> list[str]:
        """What pages of a run say of things outside it: declared ones, its models, its tasks."""
        graph = self.outgoing.node(part.graph)
        found = {str(q) for q in made.database.quads_for_pattern(None, _DECLARED, None)}
        for predicate in (ox.NamedNode(KGB.model), ox.NamedNode(KGB.task)):
            for quad in made.database.quads_for_pattern(None, predicate, None, graph):
                thing: Any = quad.object
                found.add(f"{thing.value} {things.label(made, thing.value)}")
        return sorted(found)

    def _invalid(self) -> list[tuple[str, str]]:
        """What may change pages of runs from outside their graphs."""
        return [
            (thing, self.parts.stamps.get(graph, ""))
            for graph, thing in self.parts.others
            if KGB.Invalidation in things.kinds(self.view, thing)
        ]

    def _stamps(self) -> list[str]:
        graphs = self.parts.graphs
        return [stamp for graph, stamp in self.parts.stamps.items() if graph in graphs]
