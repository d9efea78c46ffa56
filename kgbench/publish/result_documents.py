# SPDX-License-Identifier: Apache-2.0
"""The documents that rest on all runs: tables, figures, pages of things, and the front page.

What one run reached and the figures are computed by worker processes, while this process writes
the tables. Nothing here is asked of a dialogue, but by queries of the whole store.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.publish import changes, claims, cubes, front
from kgbench.publish.addresses import Addresses
from kgbench.publish.catalog import Publication
from kgbench.publish.dumps import Packing
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Unit, Version
from kgbench.publish.measured_runs import MeasuredRun
from kgbench.publish.measured_things import measured_things
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.parts import Parts, RunPart
from kgbench.publish.presenting import Presenting
from kgbench.publish.resources import Resources
from kgbench.publish.settings import Settings
from kgbench.publish.standing import Drawn, Measuring, Standing, names
from kgbench.vocab import PROV

Progress = Callable[[int, int, str], None]


class ResultWorkers(Protocol):
    """Where the results of runs and figures are made."""

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        """Begin with what a run (published IRI) reached; the answer waits for it."""
        ...

    def submit_figures(self, standing: Standing, state: str) -> Callable[[], list[Drawn]]:
        """Begin with the figures of a suite; the answer waits for it."""
        ...


@dataclass
class ResultDocuments:
    """Writes the documents about what all runs reached.

    ``documents`` are the places of things with what stands there (IRIs), ``units`` the parts that
    were made, ``state`` is the digest of the data.
    """

    settings: Settings
    view: View
    parts: Parts
    progress: Progress
    addresses: Addresses
    outgoing: Outgoing
    packing: Packing
    canaries: tuple[str, ...]
    renderer: Presenting
    documents: Mapping[str, list[str]]
    units: Mapping[str, Unit]
    versions: list[Version]
    state: str
    _texts: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Folder, at_work: ResultWorkers) -> None:
        """All of them; ``at_work`` computes what does not depend on the rest."""
        content = [unit.facts for unit in self.units.values()]
        counts = {iri: one for facts in content for iri, one in facts.get("executions", {}).items()}
        reached = self._reached(at_work)
        whole = len(self.documents)
        measuring = Measuring(self.view, self.parts, self.addresses, self.outgoing)
        self.progress(0, whole, "scores")
        standings = list(measuring.standings(lambda what: self.progress(0, whole, what)))
        waiting = [(one, at_work.submit_figures(one, self.state)) for one in standings]
        named = names(self.view, measuring)
        publication = self._publication()
        publication.companions = [
            *cubes.write(folder, standings, self.view, publication, measuring.published),
            *filter(None, [claims.write(folder, standings, publication.base, measuring.published)]),
            changes.write(folder, publication),
        ]

        def results(run: str) -> dict[str, Any]:
            found = reached.pop(run)()
            self._texts |= found.texts
            return found.context

        resources = Resources(
            self.renderer,
            standings=standings,
            names=named,
            counts=counts,
            units=self.units,
            inner={
                self.outgoing.node(thing).value: self.outgoing.node(graph).value
                for graph, thing in self.parts.others
            },
            results=results,
        )
        for number, (path, iris) in enumerate(self.documents.items()):
            resources.write(folder, path, iris)
            self.progress(number + 1, whole, "pages")
        drawn = {found.suite: _adopted(folder, figures()) for found, figures in waiting}
        entry = front.Front(folder, self.renderer, publication, standings, drawn, named, self.units)
        entry.write(measuring.texts | self._texts)

    def _reached(self, at_work: ResultWorkers) -> dict[str, Callable[[], MeasuredRun]]:
        """What each run (published IRI) reached, as it is waited for."""
        found = {}
        for run in self.parts.runs:
            pairs = self.units[run.name].facts["executions"].values()
            complete, whole, invalid = (sum(p[at] for p in pairs) for at in range(3))
            counted = {"complete": complete, "open": whole - complete, "invalid": invalid}
            iri = self.outgoing.node(run.run).value
            found[iri] = at_work.submit_result(iri, counted)
        return found

    def _publication(self) -> Publication:
        site_graph = self.renderer.site_graph
        return Publication(
            self.settings.base,
            self.settings.about,
            self.versions,
            packing=self.packing,
            level=self.settings.level,
            endpoint=self.settings.endpoint,
            measured=front.measured(site_graph),
            canaries=self.canaries,
            collected=min(filter(None, map(self._began, self.parts.runs)), default=None),
            things=measured_things(site_graph, self.addresses),
            signed=self.settings.signer is not None,
        )

    def _began(self, run: RunPart) -> str | None:
        return things.text(self.view, run.run, PROV.startedAtTime)


def _adopted(folder: Folder, drawn: list[Drawn]) -> list[Drawn]:
    """The figures of a suite, moved from where they were made to their places."""
    for figure in drawn:
        for path in (figure.svg, figure.numbers):
            made = folder.work(path.rpartition("/")[2])
            folder.write(path, made.read_bytes())
            made.unlink()
    return drawn
