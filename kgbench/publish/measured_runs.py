# SPDX-License-Identifier: Apache-2.0
"""What each run reached and used, as it is published: names cleaned, queries filled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from kgbench.errors import QueryError
from kgbench.pages import runs
from kgbench.pages.run_results import RunResults, measured, presented
from kgbench.pages.runs import PROGRESS
from kgbench.pages.snapshot import Memory, View
from kgbench.publish.addresses import Addresses
from kgbench.publish.asked import Recording, filled
from kgbench.publish.standing import Measuring, filled_links
from kgbench.rdf import queries
from kgbench.record import reading


class MeasuredRun(NamedTuple):
    """A run for its template, and the texts of the queries behind that, by their paths."""

    context: dict[str, Any]
    texts: dict[str, str]


class MeasuredRuns:
    """Measures published runs one by one in the store, by the scores that count there.

    ``site_graph`` is what is published besides dialogues; it knows what people call models.
    """

    def __init__(
        self, view: View, site_graph: Memory, addresses: Addresses, measuring: Measuring
    ) -> None:
        self._view = view
        self._site_graph = site_graph
        self._addresses = addresses
        self._measuring = measuring

    def of_run(self, iri: str, counted: Mapping[str, int]) -> MeasuredRun:
        """The results of a run (published IRI).

        ``counted`` are its dialogues that are ``complete`` and ``open``.
        """
        run = reading.find_run(self._view, self._addresses.original(iri))
        try:
            chosen = self._measuring.selected(run.suite, run.iri)
        except QueryError:  # dialogues, and no pass yet
            chosen = None
        asked: dict[str, Recording] = defaultdict(partial(Recording, self._measuring.catalogue))
        found = measured(lambda part: asked[part].store(), run, chosen)
        progress = queries.bind(queries.load("run-progress"), runGraph=[run.graph])
        behind = {part: one.queries for part, one in asked.items()} | {PROGRESS: {progress: None}}
        texts: dict[str, str] = {}
        links = {}
        for part, one in behind.items():
            files = filled(one, self._addresses.published)
            texts |= {path: text for path, (_, text) in files.items()}
            links[part] = filled_links({path: name for path, (name, _) in files.items()})
        context = presented(self._published(found), self._site_graph, run.suite, links)
        planned = runs.planned(self._view, run, counted)
        return MeasuredRun({**context, "planned": planned}, texts)

    def _published(self, found: RunResults) -> RunResults:
        """The same with names and IRIs as they are published."""
        clean, base = self._measuring.cleaned, self._view.iris.base
        published = self._addresses.published
        used = {
            **found.used,
            "unpriced": [clean(name) for name in found.used["unpriced"]],
            "models": {clean(name): one for name, one in found.used["models"].items()},
        }
        return replace(
            found,
            used=used,
            board=found.board and self._measuring.clean_table(found.board),
            tasks=found.tasks and self._measuring.clean_table(found.tasks),
            answers={published(m): n for m, n in found.answers.items()},
            worst=[
                one._replace(
                    part=clean(one.part),
                    model=clean(one.model),
                    dialogue=published(base + one.dialogue).removeprefix(
                        self._site_graph.iris.base
                    ),
                )
                for one in found.worst
            ],
        )
