# SPDX-License-Identifier: Apache-2.0
"""Pages and data of all things but dialogues: runs, models, tasks, cases, metrics, passes ..."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyoxigraph as ox

from kgbench.analysis import scores as fetch
from kgbench.pages import contents, things
from kgbench.publish.executions import write_data
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Unit
from kgbench.publish.presenting import Presenting
from kgbench.publish.standing import Standing, of_model, of_task
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS, SKOS

_MOST_CASES = 5_000


class Resources:
    """Writes documents about what is shown.

    ``counts`` are the dialogues of each execution (complete, all, invalid), ``units`` those made
    so far, ``inner`` the graphs whose things stand in the document of what they describe.
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
    ) -> None:
        self._presenting = presenting
        self._shown = presenting.shown
        self._standings = standings
        self._names = names
        self._by_iri = {iri: name for name, iri in names.items()}
        self._counts = counts
        self._units = units
        self._inner = inner
        self._tasks = fetch.tasks(self._shown)
        self._metrics = list(fetch.metrics(self._shown).values())
        self._cases: dict[tuple[str, str], list[str]] | None = None

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
            quads += self._shown.database.quads_for_pattern(None, None, None, ox.NamedNode(graph))
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
        return {
            "facts": {
                "label": text(self._shown, iri, RDFS.label) or iri,
                "started": text(self._shown, iri, PROV.startedAtTime),
                "ended": text(self._shown, iri, PROV.endedAtTime) or self._last_session(iri),
                "suite": text(self._shown, iri, KGB.suite),
                **totals,
            },
            "cells": sorted(cells, key=lambda one: (one[0], one[1])),
            "graphs": things.subjects(self._shown, KGB.describes, iri),
            "passes": [
                (
                    one,
                    text(self._shown, one, KGB.passKind),
                    text(self._shown, one, PROV.startedAtTime),
                )
                for one in things.subjects(self._shown, PROV.wasInformedBy, iri)
                if KGB.EvaluationPass in things.kinds(self._shown, one)
            ],
            "dumps": [] if unit is None else unit.dumps,
        }

    def _last_session(self, run: str) -> str | None:
        ends = [
            things.text(self._shown, one, PROV.endedAtTime)
            for one in things.subjects(self._shown, DCTERMS.isPartOf, run, 1_000_000)
            if KGB.Session in things.kinds(self._shown, one)
        ]
        return None if None in ends else max((end for end in ends if end), default=None)

    def _model(self, iri: str) -> dict[str, Any]:
        stored = self._presenting.addresses.original(iri)
        name = self._by_iri.get(iri) or self._by_iri.get(stored) or things.label(self._shown, iri)
        found = (of_model(one, name, stored, self._names) for one in self._standings)
        return {"suites": [one for one in found if one is not None], "title": name}

    def _task(self, iri: str) -> dict[str, Any]:
        info = self._tasks[iri]
        name = self._by_iri.get(iri, info.name)
        definition = SKOS.definition
        metrics = [one for one in self._metrics if one.task_class == info.task_class]
        found = (of_task(one, name, self._names) for one in self._standings)
        parameters = things.text(self._shown, iri, KGB.parameters)
        return {
            "info": info,
            "metrics": [(m, things.text(self._shown, m.iri, definition)) for m in metrics],
            "definition": things.text(self._shown, info.task_class, definition),
            "parameters": parameters,
            "cases": self._cases_of(info.task_class, parameters or ""),
            "suites": [one for one in found if one is not None],
        }

    def _cases_of(self, task_class: str, parameters: str) -> list[str]:
        if self._cases is None:
            self._cases = {}
            for case in things.instances(self._shown, KGB.Case, 1_000_000):
                key = tuple(
                    things.text(self._shown, case, p) or "" for p in (KGB.taskClass, KGB.parameters)
                )
                self._cases.setdefault((key[0], key[1]), []).append(case)
        return self._cases.get((task_class, parameters), [])[:_MOST_CASES]


def _of(database: ox.Store, iri: str) -> list[ox.Quad]:
    return list(database.quads_for_pattern(ox.NamedNode(iri), None, None))
