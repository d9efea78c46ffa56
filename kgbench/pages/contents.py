# SPDX-License-Identifier: Apache-2.0
"""What pages show, by kind: the overview, runs, models, tasks, and any thing at all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from kgbench.analysis import queries
from kgbench.analysis import scores as fetch
from kgbench.analysis.compass import compass_table
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Table
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import drawing, things
from kgbench.pages.conversation import conversation
from kgbench.pages.rendering import embedded
from kgbench.pages.snapshot import View
from kgbench.pages.tables import sheet
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS

HIDDEN = frozenset((KGB.caseData,))


def overview(view: View) -> dict[str, Any]:
    """Runs, models, tasks and how much of each there is."""
    runs = [_run_facts(view, iri) for iri in things.runs(view)]
    return {
        "runs": runs,
        "models": sorted(fetch.models(view).values(), key=lambda one: one.name.lower()),
        "tasks": sorted(fetch.tasks(view).values(), key=lambda one: one.name.lower()),
        "suites": queries.rows(view, "list-suites"),
        "dialogues": sum(run["complete"] + run["open"] for run in runs),
        "queries": [queries.load(name) for name in queries.names()],
    }


def _run_facts(view: View, iri: str) -> dict[str, Any]:
    counts = {"complete": 0, "open": 0, "invalid": 0}
    for *_, state, count in _progress(view, iri):
        counts[str(state)] = counts.get(str(state), 0) + int(count or 0)
    return {
        "iri": iri,
        "label": things.text(view, iri, RDFS.label) or iri,
        "started": things.text(view, iri, PROV.startedAtTime),
        "ended": things.text(view, iri, PROV.endedAtTime) or _last_session(view, iri),
        "suite": things.text(view, iri, KGB.suite),
        **counts,
    }


def _last_session(view: View, run: str) -> str | None:
    """When the last session of a run ended; ``None`` while one is under way."""
    parts = things.subjects(view, DCTERMS.isPartOf, run, 10_000)
    sessions = [one for one in parts if KGB.Session in things.kinds(view, one)]
    ends = [things.text(view, one, PROV.endedAtTime) for one in sessions]
    return None if None in ends else max((end for end in ends if end), default=None)


def _progress(view: View, run: str) -> list[tuple[str | None, ...]]:
    """How far a run is: run, model, task, state, count."""
    graphs = things.subjects(view, KGB.describes, run)
    return queries.rows(view, "run-progress", runGraph=graphs)


def _run(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    progress = _progress(view, iri)
    cells: dict[tuple[str, str], dict[str, int]] = {}
    for _, model, task, state, count in progress:
        cells.setdefault((str(model), str(task)), {})[str(state)] = int(count or 0)
    graphs = things.subjects(view, KGB.describes, iri)
    executions = {
        (things.text(view, one, KGB.model), things.text(view, one, KGB.task)): one
        for one in things.subjects(view, DCTERMS.isPartOf, iri, 10_000)
        if KGB.TaskExecution in things.kinds(view, one)
    }
    passes = [
        (one, things.text(view, one, KGB.passKind), things.text(view, one, PROV.startedAtTime))
        for one in things.subjects(view, PROV.wasInformedBy, iri)
    ]
    return {
        "facts": _run_facts(view, iri),
        "cells": sorted((m, t, found, executions.get((m, t))) for (m, t), found in cells.items()),
        "graphs": graphs,
        "passes": passes,
    }


def _model(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    found = []
    name = fetch.models(view)[iri].name
    for suite, label, chosen in selections(view):
        table = _only(_scores(view, chosen, models=_literally(name)), "model", name)
        if table is None or not table.rows:
            continue
        spokes = drawing.spokes(_axes(view, chosen, name))
        scored = sheet(table, names(view), suite, hide="model")
        found.append(
            {
                "suite": suite,
                "label": label or suite,
                "sheet": scored,
                "boxes": [drawing.box(record) for record in scored.records],
                "spokes": spokes,
                "polygon": drawing.polygon(spokes),
            }
        )
    return {"suites": found}


def _task(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    info = fetch.tasks(view)[iri]
    metrics = [one for one in fetch.metrics(view).values() if one.task_class == info.task_class]
    found = []
    for suite, label, chosen in selections(view):
        table = _only(_scores(view, chosen, tasks=_literally(info.label)), "task", info.name)
        if table is not None and table.rows:
            scored = sheet(table, names(view), suite, hide="task")
            boxes = [drawing.box(record) for record in scored.records]
            found.append({"suite": suite, "label": label, "sheet": scored, "boxes": boxes})
    cases = [
        one
        for one in things.subjects(view, KGB.taskClass, info.task_class, 1_000)
        if KGB.Case in things.kinds(view, one)
        and things.values(view, one, KGB.parameters) == things.values(view, iri, KGB.parameters)
    ]
    definition = "http://www.w3.org/2004/02/skos/core#definition"
    return {
        "info": info,
        "metrics": [(m, things.text(view, m.iri, definition)) for m in metrics],
        "definition": things.text(view, info.task_class, definition),
        "parameters": things.text(view, iri, KGB.parameters),
        "cases": sorted(cases),
        "suites": found,
    }


def selections(view: View) -> Iterator[tuple[str, str, Selection]]:
    """The suites that have scores: IRI, name, and the scores that count."""
    for suite, name, *_ in queries.rows(view, "list-suites"):
        with contextlib.suppress(QueryError):  # a suite may have dialogues and no pass yet
            yield str(suite), name or str(suite), select(view, suite)


def _scores(view: View, chosen: Selection, **globs: str) -> Table | None:
    try:
        return task_scores(view, chosen, **globs)
    except QueryError:  # a task without a main metric
        return None


def _axes(view: View, chosen: Selection, name: str) -> list[tuple[str, float | None]]:
    """The capabilities of a model by the declared compass; none where its tasks do not fit."""
    try:
        found = _only(compass_table(view, chosen), "model", name)
    except QueryError:
        return []
    records = [] if found is None else found.records()
    return [(str(record["label"]), _number(record["mean"])) for record in records]


def _only(table: Table | None, column: str, value: str) -> Table | None:
    if table is None:
        return None
    place = table.names.index(column)
    return replace(table, rows=tuple(row for row in table.rows if row[place] == value))


def _literally(name: str) -> str:
    """A glob that only ``name`` fits."""
    return "".join(f"[{c}]" if c in "*?[" else c for c in name)


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def names(view: View) -> dict[str, str]:
    """The IRIs of models and tasks by the names that tables show."""
    everything: tuple[Any, ...] = (*fetch.models(view).values(), *fetch.tasks(view).values())
    return {one.name: one.iri for one in everything}


_SPECIAL: tuple[tuple[str, str, Callable[..., dict[str, Any]]], ...] = (
    (KGB.Run, "run.html", _run),
    (KGB.Model, "model.html", _model),
    (KGB.Task, "task.html", _task),
    (KGB.Dialogue, "dialogue.html", conversation),
)


def template(kinds: set[str]) -> tuple[str, Callable[..., dict[str, Any]] | None]:
    """The template for a thing of these classes, and what makes its contents, if anything does.

    The latter is called with a view, the IRI, and ``reveal=`` whether reference answers are shown.
    """
    found = ((name, build) for kind, name, build in _SPECIAL if kind in kinds)
    return next(found, ("thing.html", None))


def statements(view: View, iri: str, *, reveal: bool, title: str | None = None) -> dict[str, Any]:
    """What every page of a thing shows: its title, classes, and all that is said of it."""
    described = things.describe(view, iri)
    quads = [q for q in described.quads if reveal or q.predicate.value not in HIDDEN]
    return {
        "iri": iri,
        "title": title or things.label(view, iri),
        "kinds": sorted(things.kinds(view, iri)),
        "reveal": reveal,
        "hidden": HIDDEN,
        "statements": grouped(described.outgoing),
        "nested": grouped(described.nested),
        "incoming": _pointing(described.incoming),
        "more": described.more,
        "embedded": embedded(quads),
    }


def grouped(quads: list[Any]) -> list[tuple[str, dict[str, list[Any]]]]:
    """Statements by subject, then by property."""
    found: dict[str, dict[str, list[Any]]] = {}
    for quad in quads:
        objects = found.setdefault(str(quad.subject.value), {})
        values = objects.setdefault(quad.predicate.value, [])
        if quad.object not in values:
            values.append(quad.object)
    return [(subject, dict(sorted(objects.items()))) for subject, objects in found.items()]


def _pointing(quads: list[Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for quad in quads:
        subjects = found.setdefault(quad.predicate.value, [])
        if quad.subject.value not in subjects:
            subjects.append(quad.subject.value)
    return dict(sorted(found.items()))
