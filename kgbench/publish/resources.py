# SPDX-License-Identifier: Apache-2.0
"""Pages and data of all things but dialogues: runs, models, tasks, cases, metrics, passes ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from kgbench.analysis import scores as fetch
from kgbench.analysis.display_names import display_names, model_names
from kgbench.pages import contents, exercises, runs, things
from kgbench.pages.stored_analyses import analysis_page
from kgbench.pages.words import moment
from kgbench.publish.executions import write_data
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Unit
from kgbench.publish.presenting import Presenting
from kgbench.publish.standing import Standing, of_model, of_suite, of_task
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS

_STARTED = PROV.startedAtTime
Answers = Callable[[str | None, str | None], str | None]


class Resources:
    """Writes documents about what is shown.

    ``counts`` are the dialogues of each execution (complete, all, invalid), ``units`` those made
    so far, ``inner`` the graphs whose things stand in the document of what they describe;
    ``results`` gives what a run (IRI) reached, for its template.
    """

    def __init__(
        self,
        presenting: Presenting,
        *,
        standings: Sequence[Standing],
        names: Mapping[str, str],
        counts: Mapping[str, tuple[int, int, int]],
        units: Mapping[str, Unit],
        inner: Mapping[str, str],
        results: Callable[[str], dict[str, Any]],
    ) -> None:
        self._presenting = presenting
        self._shown = presenting.shown
        self._standings = standings
        self._names = names
        self._by_iri = {iri: name for name, iri in names.items()}
        self._counts = counts
        self._units = units
        self._inner = inner
        self._results = results
        self._tasks = fetch.tasks(self._shown)

    def write(self, folder: Folder, place: str, iris: Sequence[str]) -> None:
        """The document at ``place``, about ``iris``: page and data."""
        if len(iris) > 1 or "#" in iris[0]:
            main = f"{iris[0].partition('#')[0]}#"
            self._several(folder, place, main if main in iris else iris[0], iris)
            return
        iri = iris[0]
        kinds = things.kinds(self._shown, iri)
        if KGB.TaskExecution in kinds:
            return  # written with its dialogues
        builds: tuple[tuple[str, str, Callable[[str], dict[str, Any]]], ...] = (
            (KGB.Run, "run.html", self._run),
            (KGB.Model, "model.html", self._model),
            (KGB.Task, "task.html", self._task),
            (KGB.Suite, "suite.html", self._suite),
            (KGB.Analysis, "analysis.html", self._analysis),
        )
        found = ((name, build) for kind, name, build in builds if kind in kinds)
        template, build = next(found, ("thing.html", None))
        context = {} if build is None else build(iri)
        said = contents.statements(self._shown, iri, reveal=False, title=context.get("title"))
        path = f"{place}/index.html"
        folder.write(path, self._presenting.page(template, path, {**said, **context}))
        graph = self._inner.get(iri)
        quads = list(things.describe(self._shown, iri).quads)
        if graph is not None:
            inner = self._shown.database.quads_for_pattern(None, None, None, ox.NamedNode(graph))
            quads += sorted(inner, key=str)
        write_data(folder, place, quads)

    def _several(self, folder: Folder, place: str, main: str, iris: Sequence[str]) -> None:
        """One document about several things, each at its fragment."""
        quads = [q for iri in iris for q in _of(self._shown.database, iri)]
        nested = [q for q in things.describe(self._shown, main).nested if q not in quads]
        context = {
            "iri": main,
            "title": things.label(self._shown, main),
            "kinds": sorted(things.kinds(self._shown, main)),
            "reveal": False,
            "hidden": contents.HIDDEN,
            "statements": contents.grouped(quads),
            "nested": contents.grouped(nested),
            "incoming": {},
            "more": False,
        }
        path = f"{place}/index.html"
        folder.write(path, self._presenting.page("thing.html", path, context))
        write_data(folder, place, [*quads, *nested])

    def _run(self, iri: str) -> dict[str, Any]:
        text = things.text
        executions = [
            one
            for one in things.subjects(self._shown, DCTERMS.isPartOf, iri, 1_000_000)
            if KGB.TaskExecution in things.kinds(self._shown, one)
        ]
        cells = []
        totals = {"complete": 0, "open": 0, "invalid": 0}
        for one in executions:
            done, all_, invalid = self._counts.get(one, (0, 0, 0))
            states = {"complete": done, "open": all_ - done, "invalid": invalid}
            totals = {name: totals[name] + states[name] for name in totals}
            model, task = (text(self._shown, one, p) or "" for p in (KGB.model, KGB.task))
            cells.append((model, task, states, one))
        unit = self._units.get(f"run-{iri.rpartition('/')[2]}")
        passes = [
            (one, text(self._shown, one, KGB.passKind), moment(text(self._shown, one, _STARTED)))
            for one in things.subjects(self._shown, PROV.wasInformedBy, iri)
            if KGB.EvaluationPass in things.kinds(self._shown, one)
        ]
        label = text(self._shown, iri, RDFS.label) or iri
        shown = model_names(self._shown)
        models = list(
            dict.fromkeys(shown.get(model, model) for model, *_ in sorted(cells, key=str))
        )
        name = runs.called(label, [kind or "" for _, kind, _ in passes], models)
        return {
            "title": name,
            "facts": {
                "label": label,
                "name": name,
                "suite": text(self._shown, iri, KGB.suite),
                **runs.when(self._shown, iri),
                **totals,
            },
            "cells": sorted(cells, key=lambda one: (one[0], one[1])),
            "graphs": things.subjects(self._shown, KGB.describes, iri),
            "passes": passes,
            "dumps": [] if unit is None else unit.dumps,
            "answers": self._answers(iri, {(model, task): one for model, task, _, one in cells}),
            **self._results(iri),
        }

    def _answers(self, run: str, executions: Mapping[tuple[str, str], str]) -> Answers:
        """Where the dialogues of a run by a model on a task (names) are listed."""
        path = f"{self._presenting.addresses.place(run)}/index.html"
        published = self._presenting.addresses.published

        def answers(model: str | None, task: str | None) -> str | None:
            iris = [published(self._names.get(name or "", "")) for name in (model, task)]
            execution = executions.get((iris[0], iris[1]))
            return None if execution is None else self._presenting.link(execution, path)

        return answers

    def _model(self, iri: str) -> dict[str, Any]:
        stored = self._presenting.addresses.original(iri)
        name = self._by_iri.get(iri) or self._by_iri.get(stored) or things.label(self._shown, iri)
        found = (of_model(one, name, stored, self._names) for one in self._standings)
        title = display_names(self._shown).get(name, name)
        return {"suites": [one for one in found if one is not None], "title": title, "name": name}

    def _task(self, iri: str) -> dict[str, Any]:
        info = self._tasks[iri]
        name = self._by_iri.get(iri, info.name)
        shown, called = display_names(self._shown), model_names(self._shown)
        found = (of_task(one, name, self._names, shown) for one in self._standings)
        return {
            **exercises.described(self._shown, info),
            "cases": exercises.cases_of(self._shown, iri),
            "suites": [one for one in found if one is not None],
            "example": None,  # texts of cases stand where the settings let them, in dialogues
            "listed": [
                (called.get(model := things.text(self._shown, one, KGB.model) or "", model), one)
                for one in sorted(self._counts)
                if things.text(self._shown, one, KGB.task) == iri
            ],
        }

    def _analysis(self, iri: str) -> dict[str, Any]:
        return analysis_page(self._shown, iri, reveal=False)

    def _suite(self, iri: str) -> dict[str, Any]:
        found = next((one for one in self._standings if one.suite == iri), None)
        return of_suite(found, self._shown, iri)


def _of(database: ox.Store, iri: str) -> list[ox.Quad]:
    return list(database.quads_for_pattern(ox.NamedNode(iri), None, None))
