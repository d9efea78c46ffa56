# SPDX-License-Identifier: Apache-2.0
"""Documents that depend on all runs: tables, figures, pages of things, and the landing page.

Worker processes compute the results of suites and of single runs, and draw figures, while this
process writes documents. Everything is computed by queries of the whole store, not from single
dialogues.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.publish import claims, cubes, root_files
from kgbench.publish.addresses import Addresses
from kgbench.publish.catalog import Publication
from kgbench.publish.drawings import Figure
from kgbench.publish.dumps import Packing
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Unit, Version
from kgbench.publish.measured_runs import MeasuredRun
from kgbench.publish.mldcat import mldcat_description
from kgbench.publish.page_renderer import PageRenderer
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.resource_pages import Resources
from kgbench.publish.selection import PublishedParts, RunPart
from kgbench.publish.settings import Settings
from kgbench.publish.suite_results import ResultsBuilder, SuiteResults, names
from kgbench.vocab import PROV

Progress = Callable[[int, int, str], None]


class ResultWorkers(Protocol):
    """A place where results of suites and runs, and figures, are made."""

    def submit_standing(self, suite: str) -> Callable[[], SuiteResults | None]:
        """Start computing the results of a suite (IRI); the result waits for it."""
        ...

    def submit_result(self, run: str, counted: Mapping[str, int]) -> Callable[[], MeasuredRun]:
        """Start computing the results of a run (published IRI); the result waits for it."""
        ...

    def submit_figures(self, standing: SuiteResults, state: str) -> Callable[[], list[Figure]]:
        """Start drawing the figures of a suite; the result waits for it."""
        ...


@dataclass
class ResultDocuments:
    """Writes the documents about the results of all runs.

    ``documents`` has the IRIs of things by document path, ``units`` the finished units; ``state``
    is the digest of the data.
    """

    settings: Settings
    view: View
    parts: PublishedParts
    progress: Progress
    addresses: Addresses
    outgoing: QuadRedactor
    packing: Packing
    canaries: tuple[str, ...]
    renderer: PageRenderer
    documents: Mapping[str, list[str]]
    units: Mapping[str, Unit]
    versions: list[Version]
    state: str

    def write(self, folder: Folder, pool: ResultWorkers) -> None:
        """Write all documents; ``pool`` computes independent results."""
        facts_of_units = [unit.facts for unit in self.units.values()]
        counts = {
            iri: numbers
            for facts in facts_of_units
            for iri, numbers in facts.get("executions", {}).items()
        }
        total = len(self.documents)
        self.progress(0, total, "scores")
        pending_standings = [pool.submit_standing(suite) for suite in sorted(self.parts.suites)]
        run_results = self._start_run_results(pool)
        standings: list[SuiteResults] = []
        for pending in pending_standings:
            standing = pending()
            if standing is not None:
                standings.append(standing)
                self.progress(0, total, f"scores of {standing.name}")
        measuring = ResultsBuilder(self.view, self.parts, self.addresses, self.outgoing)
        pending_figures = [
            (standing, pool.submit_figures(standing, self.state)) for standing in standings
        ]
        iris_by_name = names(self.view, measuring)
        publication = self._publication()
        publication.companions = [
            *cubes.write(folder, standings, publication, measuring.published),
            *filter(None, [claims.write(folder, standings, publication.base, measuring.published)]),
        ]

        def results(run: str) -> dict[str, Any]:
            run_result = run_results.pop(run)()
            for path, text in run_result.texts.items():
                folder.write(path, text)
            return run_result.context

        resources = Resources(
            self.renderer,
            standings=standings,
            names=iris_by_name,
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
            self.progress(number + 1, total, "pages")
        figures_by_suite = {
            standing.suite: _move_figures(folder, figures())
            for standing, figures in pending_figures
        }
        front_files = root_files.RootFiles(
            folder,
            self.renderer,
            publication,
            standings,
            figures_by_suite,
            iris_by_name,
            self.units,
        )
        texts = {path: text for standing in standings for path, text in standing.texts.items()}
        front_files.write(texts)

    def _start_run_results(self, pool: ResultWorkers) -> dict[str, Callable[[], MeasuredRun]]:
        """Start computing the results of all runs; return functions that wait, by published IRI."""
        pending = {}
        for run in self.parts.runs:
            pairs = self.units[run.name].facts["executions"].values()
            complete, total, invalid = (sum(p[at] for p in pairs) for at in range(3))
            counted = {"complete": complete, "open": total - complete, "invalid": invalid}
            iri = self.outgoing.node(run.run).value
            pending[iri] = pool.submit_result(iri, counted)
        return pending

    def _publication(self) -> Publication:
        site_graph = self.renderer.site_graph
        return Publication(
            self.settings.base,
            self.settings.metadata,
            self.versions,
            packing=self.packing,
            level=self.settings.level,
            endpoint=self.settings.endpoint,
            measured=root_files.main_metrics(site_graph),
            canaries=self.canaries,
            collected=min(filter(None, map(self._began, self.parts.runs)), default=None),
            things=mldcat_description(site_graph, self.addresses),
            signed=self.settings.signer is not None,
        )

    def _began(self, run: RunPart) -> str | None:
        return things.text(self.view, run.run, PROV.startedAtTime)


def _move_figures(folder: Folder, drawn: list[Figure]) -> list[Figure]:
    """Move the figures of a suite from the work folder to their paths."""
    for figure in drawn:
        for path in (figure.svg, figure.numbers):
            work_file = folder.work(path.rpartition("/")[2])
            folder.write(path, work_file.read_bytes())
            work_file.unlink()
    return drawn
