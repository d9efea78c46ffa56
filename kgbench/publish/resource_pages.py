# SPDX-License-Identifier: Apache-2.0
"""Pages and data of everything but dialogues: runs, models, tasks, cases, metrics, passes ..."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from kgbench.analysis import scores as fetch
from kgbench.analysis.display_names import display_names, model_names
from kgbench.pages import contents, exercises, runs, things
from kgbench.pages.stored_analyses import analysis_page
from kgbench.pages.times import moment
from kgbench.publish.data_files import write_data
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Unit
from kgbench.publish.page_renderer import PageRenderer
from kgbench.publish.suite_results import SuiteResults, of_model, of_suite, of_task
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS

_STARTED = PROV.startedAtTime
Answers = Callable[[str | None, str | None], str | None]


class Resources:
    """Writes the documents about things in the site graph.

    ``counts`` are the numbers of dialogues of each execution (complete, all, invalid), ``units``
    the units that are finished. ``inner`` maps an analysis or invalidation to its graph, which is
    part of its document. ``results`` gives the results of a run (IRI) for its template.
    """

    def __init__(
        self,
        renderer: PageRenderer,
        *,
        standings: Sequence[SuiteResults],
        names: Mapping[str, str],
        counts: Mapping[str, tuple[int, int, int]],
        units: Mapping[str, Unit],
        inner: Mapping[str, str],
        results: Callable[[str], dict[str, Any]],
    ) -> None:
        self._renderer = renderer
        self._site_graph = renderer.site_graph
        self._standings = standings
        self._names = names
        self._by_iri = {iri: name for name, iri in names.items()}
        self._counts = counts
        self._units = units
        self._inner = inner
        self._results = results
        self._tasks = fetch.tasks(self._site_graph)
        # Read once: a query reads all models, and each of them has a page.
        self._display_names = display_names(self._site_graph)
        self._model_names = model_names(self._site_graph)

    def write(self, folder: Folder, document_path: str, iris: Sequence[str]) -> None:
        """Write page and data of the document at ``document_path`` about ``iris``."""
        if any(KGB.TaskExecution in things.kinds(self._site_graph, iri) for iri in iris):
            return  # it was written with its dialogues, also where statements name parts of them
        if len(iris) > 1 or "#" in iris[0]:
            main = f"{iris[0].partition('#')[0]}#"
            self._several(folder, document_path, main if main in iris else iris[0], iris)
            return
        iri = iris[0]
        kinds = things.kinds(self._site_graph, iri)
        builds: tuple[tuple[str, str, Callable[[str], dict[str, Any]]], ...] = (
            (KGB.Run, "run.html", self._run),
            (KGB.Model, "model.html", self._model),
            (KGB.Task, "task.html", self._task),
            (KGB.Suite, "suite.html", self._suite),
            (KGB.Analysis, "analysis.html", self._analysis),
        )
        matching = ((name, build) for kind, name, build in builds if kind in kinds)
        template, build = next(matching, ("thing.html", None))
        context = {} if build is None else build(iri)
        statements = contents.statements(
            self._site_graph, iri, reveal=False, title=context.get("title")
        )
        path = f"{document_path}/index.html"
        folder.write(path, self._renderer.page(template, path, {**statements, **context}))
        graph = self._inner.get(iri)
        quads = list(things.describe(self._site_graph, iri).quads)
        if graph is not None:
            inner = self._site_graph.database.quads_for_pattern(
                None, None, None, ox.NamedNode(graph)
            )
            quads += sorted(inner, key=str)
        write_data(folder, document_path, quads)

    def _several(self, folder: Folder, document_path: str, main: str, iris: Sequence[str]) -> None:
        """Write one document about several things, each at its fragment."""
        quads = [q for iri in iris for q in _of(self._site_graph.database, iri)]
        nested = [q for q in things.describe(self._site_graph, main).nested if q not in quads]
        context = {
            "iri": main,
            "title": things.label(self._site_graph, main),
            "kinds": sorted(things.kinds(self._site_graph, main)),
            "reveal": False,
            "hidden": contents.HIDDEN,
            "statements": contents.grouped(quads),
            "nested": contents.grouped(nested),
            "incoming": {},
            "limits": [],
        }
        path = f"{document_path}/index.html"
        folder.write(path, self._renderer.page("thing.html", path, context))
        write_data(folder, document_path, [*quads, *nested])

    def _run(self, iri: str) -> dict[str, Any]:
        text = things.text
        executions = [
            execution
            for execution in things.subjects(self._site_graph, DCTERMS.isPartOf, iri, 1_000_000)
            if KGB.TaskExecution in things.kinds(self._site_graph, execution)
        ]
        cells = []
        totals = {"complete": 0, "open": 0, "invalid": 0}
        for execution in executions:
            done, all_, invalid = self._counts.get(execution, (0, 0, 0))
            states = {"complete": done, "open": all_ - done, "invalid": invalid}
            totals = {name: totals[name] + states[name] for name in totals}
            model, task = (
                text(self._site_graph, execution, p) or "" for p in (KGB.model, KGB.task)
            )
            cells.append((model, task, states, execution))
        unit = self._units.get(f"run-{iri.rpartition('/')[2]}")
        passes = [
            (
                subject,
                text(self._site_graph, subject, KGB.passKind),
                moment(text(self._site_graph, subject, _STARTED)),
            )
            for subject in things.subjects(self._site_graph, PROV.wasInformedBy, iri)
            if KGB.EvaluationPass in things.kinds(self._site_graph, subject)
        ]
        label = text(self._site_graph, iri, RDFS.label) or iri
        display = self._model_names
        models = list(
            dict.fromkeys(display.get(model, model) for model, *_ in sorted(cells, key=str))
        )
        name = runs.display_name(label, [kind or "" for _, kind, _ in passes], models)
        return {
            "title": name,
            "facts": {
                "label": label,
                "name": name,
                "suite": text(self._site_graph, iri, KGB.suite),
                **runs.run_times(self._site_graph, iri),
                **totals,
            },
            "cells": sorted(cells, key=lambda cell: (cell[0], cell[1])),
            "graphs": things.subjects(self._site_graph, KGB.describes, iri),
            "passes": passes,
            "dumps": [] if unit is None else unit.dumps,
            "answers": self._answers(
                iri, {(model, task): execution for model, task, _, execution in cells}
            ),
            **self._results(iri),
        }

    def _answers(self, run: str, executions: Mapping[tuple[str, str], str]) -> Answers:
        """Return a function from names of model and task to the page of the run's dialogues."""
        path = f"{self._renderer.addresses.document_path(run)}/index.html"
        published = self._renderer.addresses.published

        def answers(model: str | None, task: str | None) -> str | None:
            iris = [published(self._names.get(name or "", "")) for name in (model, task)]
            execution = executions.get((iris[0], iris[1]))
            return None if execution is None else self._renderer.link(execution, path)

        return answers

    def _model(self, iri: str) -> dict[str, Any]:
        stored = self._renderer.addresses.original(iri)
        name = (
            self._by_iri.get(iri) or self._by_iri.get(stored) or things.label(self._site_graph, iri)
        )
        results = (of_model(result, name, stored, self._names) for result in self._standings)
        title = self._display_names.get(name, name)
        return {
            "suites": [result for result in results if result is not None],
            "title": title,
            "name": name,
        }

    def _task(self, iri: str) -> dict[str, Any]:
        info = self._tasks[iri]
        name = self._by_iri.get(iri, info.name)
        display = self._display_names
        results = (of_task(result, name, self._names, display) for result in self._standings)
        return {
            **exercises.described(self._site_graph, info),
            "cases": exercises.cases_of(self._site_graph, iri),
            "suites": [result for result in results if result is not None],
            "example": None,  # texts of cases are shown in dialogues, as far as settings allow
            "listed": [
                (self._model_names.get(model, model), execution)
                for execution in self._executions.get(iri, ())
                for model in (things.text(self._site_graph, execution, KGB.model) or "",)
            ],
        }

    @cached_property
    def _executions(self) -> Mapping[str | None, Sequence[str]]:
        """The executions of each task (IRIs), in order."""
        executions = defaultdict(list)
        for execution in sorted(self._counts):
            executions[things.text(self._site_graph, execution, KGB.task)].append(execution)
        return executions

    def _analysis(self, iri: str) -> dict[str, Any]:
        return analysis_page(self._site_graph, iri, reveal=False)

    def _suite(self, iri: str) -> dict[str, Any]:
        results = next((standing for standing in self._standings if standing.suite == iri), None)
        return of_suite(results, self._site_graph, iri)


def _of(database: ox.Store, iri: str) -> list[ox.Quad]:
    return list(database.quads_for_pattern(ox.NamedNode(iri), None, None))
