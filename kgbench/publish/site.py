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
from kgbench.publish import front, manifest, robots, shown
from kgbench.publish.addresses import Addresses
from kgbench.publish.catalog import Publication
from kgbench.publish.dumps import Packing, as_bytes, join
from kgbench.publish.executions import Setup
from kgbench.publish.folder import Folder, claim
from kgbench.publish.learning import renamed, telling
from kgbench.publish.manifest import Dump, Manifest, Unit
from kgbench.publish.outgoing import Outgoing, Rules
from kgbench.publish.parts import Parts, RunPart, parts
from kgbench.publish.presenting import Presenting
from kgbench.publish.resources import Resources
from kgbench.publish.running import Making, code_digest, workers
from kgbench.publish.scrubbing import Scrubber, here, hosts_and_people, secrets_here
from kgbench.publish.settings import Settings
from kgbench.publish.standing import Measuring, Standing, figures, names
from kgbench.publish.statements import from_stamp
from kgbench.rdf import canonical_json, digest
from kgbench.store import SnapshotReader, open_reader
from kgbench.vocab import KGB, PROV, RDF

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
    view = _opened(settings.location)
    wanted = parts(view, settings)
    lock = claim(settings.out)
    try:
        return _Publishing(settings, view, wanted, told).run()
    finally:
        lock.close()


def _opened(location: str) -> View:
    with open_reader(location) as reader:
        if not isinstance(reader, SnapshotReader):
            raise PublicationRefused(
                f"the store {location} is kept by a server, and publish reads a folder: "
                "copy it first (kgbench store copy)"
            )
        base = reader.iris.base
    return snapshot.newest(Path(location) / "snapshots", base)


@dataclass
class _Publishing:
    """One publication under way."""

    settings: Settings
    view: View
    parts: Parts
    told: Progress

    def __post_init__(self) -> None:
        self.scrubber = Scrubber(
            here() | hosts_and_people(telling(self.view.database)), secrets_here()
        )
        self.addresses = Addresses(
            self.view.iris.base, self.settings.base, renamed(self.view, self.scrubber)
        )
        self.rules = Rules(self.settings.shown_level, self.scrubber)
        self.dumped = Rules(self.settings.level, self.scrubber)
        database = self.view.database
        self.outgoing = Outgoing(database, self.addresses, self.rules)
        self.for_dumps = Outgoing(database, self.addresses, self.dumped)
        self.canaries = robots.canaries(self.view, self.parts.suites)
        self.packing = Packing(
            self.settings.compression, self.settings.password, "; ".join(self.canaries)
        )

    def run(self) -> Report:
        """All of it."""
        folder = Folder(self.settings.out)
        try:
            earlier = manifest.read(folder.state)
            _forget_what_was_interrupted(folder, earlier)
            made = shown.shown(self.view, self.outgoing, self.parts)
            documents = shown.documents(made, self.outgoing, self.parts)
            places = frozenset((*documents, *_executions(made, self.addresses)))
            units = self._parts(folder, earlier, made, places)
            presenting = Presenting(made, self.addresses, places, self.view.database, self.canaries)
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

    def _parts(
        self, folder: Folder, earlier: Manifest, made: Memory, places: frozenset[str]
    ) -> dict[str, Unit]:
        how = self._how()
        keys = {
            part.name: digest(
                canonical_json([how, self._named(made, part), list(part.stamps), self._invalid()])
            )
            for part in self.parts.runs
        }
        stale = [part for part in self.parts.runs if not _holds(folder, earlier, part.name, keys)]
        units = {}
        for part in self.parts.runs:
            if part not in stale:
                units[part.name] = earlier.units[part.name]
                folder.keep(units[part.name].files)
        path = folder.work("shown.nq")
        path.write_bytes(as_bytes(list(made.database), "nq"))
        setup = Setup(
            snapshot=self.view.path,
            shown=str(path),
            out=self.settings.out,
            addresses=self.addresses,
            documents=places,
            graphs=self.parts.graphs,
            others=frozenset(self.outgoing.node(graph).value for graph, _ in self.parts.others),
            rules=self.rules,
            dumped=self.dumped,
            canaries=self.canaries,
        )
        whole = sum(_count(self.view.database, part.graph) for part in stale)
        done = 0

        def hear(dialogues: int) -> None:
            nonlocal done
            done += dialogues
            self.told(done, whole, "dialogues")

        with workers(setup, self.settings.processes, whole) as at_work:
            making = Making(
                folder,
                self.view.database,
                self.for_dumps,
                self.packing,
                at_work,
                self.addresses.original,
            )
            for part in stale:
                units[part.name] = making.run(
                    part, keys[part.name], earlier.units.get(part.name), hear
                )
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
                    digest(canonical_json(sorted(map(str, presenting.shown.database)))),
                    sorted(self._stamps()),
                    content,
                    [dump.sha256 for dump in versions[-1].dumps],
                    repr(self.settings.about),
                    self.settings.endpoint,
                ]
            )
        )
        if _holds(folder, earlier, "things", {"things": key}):
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
            presenting, standings=standings, names=named, counts=counts, units=units, inner=inner
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
        )
        entry = front.Front(folder, presenting, publication, standings, drawn, named, units)
        entry.write(measuring.texts)
        dumps = {dump.path for dump in versions[-1].dumps}
        return Unit(key, tuple(p for p in folder.written if p not in before or p in dumps))

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
        gone = sorted(path for path in ours - set(folder.written))
        manifest.write(folder, done)
        for path in gone:
            folder.remove(path)
        folder.finish()
        now = done.versions[-1]
        notes = []
        if self.settings.about.licence is None:
            notes.append("no licence is given, so nobody may use the data: --licence CC-BY-4.0")
        if not self.settings.about.creators:
            notes.append("nobody is named as the creator: --creator 'Name <IRI>'")
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
            notes=tuple(notes),
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
                    int(self.dumped.level),
                    sorted(self.scrubber.names),
                    sorted(digest(one) for one in self.scrubber.secrets),
                    self.packing.suffix,
                    digest(self.packing.password or ""),
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


def _forget_what_was_interrupted(folder: Folder, earlier: Manifest) -> None:
    """Make again what a publication that did not end may have half changed."""
    touched = folder.journalled()
    for name, unit in list(earlier.units.items()):
        if touched.intersection(unit.files):
            earlier.units[name] = Unit("", unit.files, unit.dumps, unit.facts)


def _holds(folder: Folder, earlier: Manifest, name: str, keys: dict[str, str]) -> bool:
    """Whether a unit stands in the folder as it would be made."""
    unit = earlier.units.get(name)
    return (
        unit is not None
        and unit.key == keys[name]
        and all((folder.path / path).is_file() for path in unit.files)
    )


def _executions(made: Memory, addresses: Addresses) -> Iterator[str]:
    kind = ox.NamedNode(KGB.TaskExecution)
    for quad in made.database.quads_for_pattern(None, ox.NamedNode(RDF.type), kind):
        yield addresses.place(str(quad.subject).strip("<>"))


def _count(database: ox.Store, graph: str) -> int:
    pattern = (None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Dialogue), ox.NamedNode(graph))
    return sum(1 for _ in database.quads_for_pattern(*pattern))
