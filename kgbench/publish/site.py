# SPDX-License-Identifier: Apache-2.0
"""Publishing: a store becomes a folder, part by part; what has not changed stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.errors import PublicationRefused
from kgbench.pages import snapshot, things
from kgbench.pages.snapshot import Memory, View
from kgbench.publish import changes, claims, cubes, front, manifest, moved, recipe, robots, shown
from kgbench.publish.addresses import Addresses
from kgbench.publish.catalog import Publication
from kgbench.publish.discovery import write_sitemap
from kgbench.publish.dumps import Packing, join
from kgbench.publish.executions import Setup
from kgbench.publish.folder import Folder, claim
from kgbench.publish.learning import prepared
from kgbench.publish.manifest import Dump, Manifest, Unit, Version
from kgbench.publish.measured_runs import MeasuredRuns
from kgbench.publish.measured_things import measured_things
from kgbench.publish.outgoing import Outgoing, Rules
from kgbench.publish.parts import Parts, RunPart, dialogues_in, parts, refuse_in_the_clear
from kgbench.publish.presenting import Presenting
from kgbench.publish.resources import Resources
from kgbench.publish.running import Making, code_digest
from kgbench.publish.settings import Settings
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.publish.standing import Measuring, Standing, figures, names
from kgbench.publish.workers import make_runs, workers
from kgbench.rdf import canonical_json, digest
from kgbench.rdf.statements import from_stamp
from kgbench.store import SnapshotReader, open_reader
from kgbench.vocab import KGB, PROV

_DECLARED = ox.NamedNode(KGB.declaredDigest)
Progress = Callable[[int, int, str], None]


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
            units = self._parts(folder, earlier, presenting)
            dumps = self._joined(folder, earlier, units)
            date = from_stamp(max(self._stamps(), default="0"))
            versions = front.next_version(earlier.versions, units, dumps, date)
            units["things"] = self._things(
                folder,
                earlier=earlier,
                presenting=presenting,
                documents=documents,
                units=units,
                versions=versions,
            )
            return self._finish(folder, earlier, Manifest(self.settings.base, units, versions))
        finally:
            folder.close()

    # --- runs, catalogue and the rest -------------------------------------------------------

    def _parts(self, folder: Folder, earlier: Manifest, presenting: Presenting) -> dict[str, Unit]:
        how = self._how()
        made = presenting.shown
        keys = {
            part.name: digest(
                canonical_json([how, self._named(made, part), list(part.stamps), self._invalid()])
            )
            for part in self.parts.runs
        }
        stale = [
            part
            for part in self.parts.runs
            if not earlier.holds(folder, part.name, keys[part.name])
        ]
        units = {}
        for part in self.parts.runs:
            if part not in stale:
                units[part.name] = earlier.units[part.name]
                folder.keep(units[part.name].files)
        path = folder.work("shown.nq")
        made.database.dump(str(path), ox.RdfFormat.N_QUADS)
        setup = Setup(
            snapshot=self.view.path,
            shown=str(path),
            out=self.settings.out,
            addresses=self.addresses,
            documents=presenting.documents,
            graphs=self.parts.graphs,
            others=frozenset(self.outgoing.node(graph).value for graph, _ in self.parts.others),
            shared=(self.parts.catalogue, *(graph for graph, _ in self.parts.others)),
            rules=self.rules,
            dumped=self.for_dumps.rules,
            packing=self.packing,
            canaries=self.canaries,
        )
        whole = sum(dialogues_in(self.view.database, part.graph) for part in stale)
        done = 0

        def hear(dialogues: int) -> None:
            nonlocal done
            done += dialogues
            self.told(done, whole, "dialogues")

        with workers(setup, self.settings.processes, whole, self.for_dumps.recorded) as at_work:
            making = Making(
                folder,
                self.view.database,
                self.for_dumps,
                self.packing,
                at_work,
                self.addresses.original,
                presenting,
            )
            todo = [(part, keys[part.name], earlier.units.get(part.name)) for part in stale]
            units |= make_runs(at_work, making, todo, hear)
            for name, subjects in self._without_dialogues():
                units[name] = making.other(name, subjects, "", earlier.units.get(name))
        return dict(sorted(units.items()))

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
        self,
        folder: Folder,
        *,
        earlier: Manifest,
        presenting: Presenting,
        documents: dict[str, list[str]],
        units: dict[str, Unit],
        versions: list[manifest.Version],
    ) -> Unit:
        content = [unit.facts for unit in units.values()]
        key = digest(
            canonical_json(
                [
                    self._how(),
                    shown.identity(presenting.shown),
                    sorted(self._stamps()),
                    content,
                    [dump.sha256 for dump in versions[-1].dumps],
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
        whole = len(documents)
        measuring = Measuring(self.view, self.parts, self.addresses, self.outgoing)
        self.told(0, whole, "scores")
        standings = list(measuring.standings(lambda what: self.told(0, whole, what)))
        named = names(self.view, measuring)
        drawn = self._figures(folder, standings)
        counts = {iri: pair for one in content for iri, pair in one.get("executions", {}).items()}
        inner = {
            self.outgoing.node(thing).value: self.outgoing.node(graph).value
            for graph, thing in self.parts.others
        }
        resources = Resources(
            presenting,
            standings=standings,
            names=named,
            counts=counts,
            units=units,
            inner=inner,
            runs=MeasuredRuns(self.view, presenting.shown, self.addresses, measuring),
        )
        for number, (place, iris) in enumerate(documents.items()):
            resources.write(folder, place, iris)
            self.told(number + 1, whole, "pages")
        publication = Publication(
            self.settings.base,
            self.settings.about,
            versions,
            packing=self.packing,
            level=self.settings.level,
            endpoint=self.settings.endpoint,
            measured=front.measured(presenting.shown),
            canaries=self.canaries,
            collected=min(filter(None, map(self._began, self.parts.runs)), default=None),
            things=measured_things(presenting.shown, self.addresses),
            signed=self.settings.signer is not None,
        )
        publication.companions = [
            *cubes.write(folder, standings, self.view, publication, measuring.published),
            *filter(None, [claims.write(folder, standings, publication.base, measuring.published)]),
            changes.write(folder, publication),
        ]
        entry = front.Front(folder, presenting, publication, standings, drawn, named, units)
        entry.write(measuring.texts)
        before -= {dump.path for dump in versions[-1].dumps}
        return Unit(key, {path: s for path, s in folder.written.items() if path not in before})

    def _began(self, run: RunPart) -> str | None:
        return things.text(self.view, run.run, PROV.startedAtTime)

    def _figures(self, folder: Folder, standings: list[Standing]) -> front.Figures:
        state = digest(canonical_json(sorted(self._stamps())))
        drawn: dict[str, list[tuple[str, str, str, str]]] = {}
        work = folder.work("figures").parent
        for found in standings:
            for kind, title, svg, numbers in figures(found, work, self.addresses, state):
                for path in (svg, numbers):
                    made = work / path.rpartition("/")[2]
                    folder.write(path, made.read_bytes())
                    made.unlink()
                drawn.setdefault(found.suite, []).append((kind, title, svg, numbers))
        return drawn

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
