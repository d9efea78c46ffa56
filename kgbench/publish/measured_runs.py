# SPDX-License-Identifier: Apache-2.0
"""Results and resource usage of single runs in published form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from kgbench.analysis.selection import find_run
from kgbench.errors import QueryError
from kgbench.pages import runs
from kgbench.pages.run_results import RunResults, measured, presented
from kgbench.pages.runs import PROGRESS
from kgbench.pages.snapshot import MemoryView, View
from kgbench.publish.addresses import Addresses
from kgbench.publish.query_texts import QueryRecorder, query_files
from kgbench.publish.suite_results import ResultsBuilder, filled_links
from kgbench.rdf import queries


class MeasuredRun(NamedTuple):
    """The context of a run's template, and the texts of its queries by path."""

    context: dict[str, Any]
    texts: dict[str, str]


class MeasuredRuns:
    """Computes the results of published runs from the store, by the scores that are selected there.

    ``site_graph`` has the display names of models.
    """

    def __init__(
        self, view: View, site_graph: MemoryView, addresses: Addresses, measuring: ResultsBuilder
    ) -> None:
        self._view = view
        self._site_graph = site_graph
        self._addresses = addresses
        self._measuring = measuring

    def of_run(self, iri: str, counted: Mapping[str, int]) -> MeasuredRun:
        """Return the results of a run (published IRI).

        ``counted`` has the numbers of its dialogues that are ``complete`` and ``open``.
        """
        run = find_run(self._view, self._addresses.original(iri))
        try:
            chosen = self._measuring.selected(run.suite, run.iri)
        except QueryError:  # there are dialogues, but no pass yet
            chosen = None
        recordings: dict[str, QueryRecorder] = defaultdict(
            partial(QueryRecorder, self._measuring.catalogue)
        )
        results = measured(lambda part: recordings[part].store(), run, chosen)
        progress = queries.bind(queries.load("run-progress"), runGraph=[run.graph])
        queries_by_part = {part: recording.queries for part, recording in recordings.items()} | {
            PROGRESS: {progress: None}
        }
        texts: dict[str, str] = {}
        links = {}
        for part, recording in queries_by_part.items():
            files = query_files(recording, self._addresses.published)
            texts |= {path: text for path, (_, text) in files.items()}
            links[part] = filled_links({path: name for path, (name, _) in files.items()})
        context = presented(self._published(results), self._site_graph, run.suite, links)
        planned = runs.planned(self._view, run, counted)
        return MeasuredRun({**context, "planned": planned}, texts)

    def _published(self, results: RunResults) -> RunResults:
        """Return the results with names and IRIs in published form."""
        clean, base = self._measuring.cleaned, self._view.iris.base
        published = self._addresses.published
        totals = {
            **results.totals,
            "unpriced": [clean(name) for name in results.totals["unpriced"]],
            "models": {clean(name): row for name, row in results.totals["models"].items()},
        }
        return replace(
            results,
            totals=totals,
            board=results.board and self._measuring.clean_table(results.board),
            tasks=results.tasks and self._measuring.clean_table(results.tasks),
            answers={published(m): n for m, n in results.answers.items()},
            worst=[
                row._replace(
                    part=clean(row.part),
                    model=clean(row.model),
                    dialogue=published(base + row.dialogue).removeprefix(
                        self._site_graph.iris.base
                    ),
                )
                for row in results.worst
            ],
        )
