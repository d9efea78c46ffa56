# SPDX-License-Identifier: Apache-2.0
"""Contents of the overview of a store, and of the pages of runs: times, progress and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyoxigraph as ox

from kgbench.analysis.outcomes import Ending
from kgbench.analysis.run_results import RunResults
from kgbench.analysis.run_totals import cost, duration, totals, usd
from kgbench.errors import QueryError
from kgbench.pages import things
from kgbench.pages.score_tables import board, heat_map
from kgbench.pages.things import View, day, moment, seconds_between
from kgbench.rdf import queries
from kgbench.record import accounts, reading
from kgbench.record.accounts import run_end
from kgbench.record.reading import RunInfo
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names, model_names
from kgbench.vocab import DCTERMS, KGB, PROV

_WORST = 10  # shown dialogues
_NAMED = 2  # models named in the name of a run


def facts(
    view: View,
    run: RunInfo,
    cells: Mapping[tuple[str, str], Counter[str]],
    kinds: Iterable[str],
    display_names: Mapping[str, str],
) -> dict[str, Any]:
    """Return the facts about a run in lists: name, times in words, and dialogues by state.

    ``kinds`` are the kinds of its passes, ``display_names`` those of models by IRI.
    """
    counts = sum(cells.values(), Counter[str]())
    models = list(dict.fromkeys(display_names.get(m, m) for m, _ in sorted(cells)))
    return {
        "iri": run.iri,
        "label": run.label,
        "name": display_name(run.label, kinds, models),
        "suite": run.suite,
        **run_times(view, run.iri),
        "models": models,
        **{state: counts[state] for state in ("complete", "open", "invalid")},
    }


def display_name(label: str, kinds: Iterable[str], models: Sequence[str]) -> str:
    """Return the display name of a run with this label and ``kinds`` of passes.

    Imported runs of published results are labelled by a file, so they are named after their models.

    >>> display_name("results_all_20x", ["published"], ["GPT 4o", "Haiku", "Flash"])
    'GPT 4o, Haiku and 1 more'
    >>> display_name("quick-start", ["live"], ["GPT 4o"])
    'quick-start'
    """
    if "published" not in kinds or not models:
        return label
    more = len(models) - _NAMED
    return ", ".join(models[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def run_times(view: View, run: str) -> dict[str, Any]:
    """Return when a run began and ended, as recorded and in words."""
    started = things.text(view, run, PROV.startedAtTime)
    end = run_end(view.database, ox.NamedNode(run))
    ended = None if end is None else str(end.value)
    seconds = seconds_between(started, ended)
    return {
        "started": started,
        "began": moment(started),
        "day": day(started),
        "ended": ended,
        "took": "in progress" if ended is None else "" if seconds is None else duration(seconds),
    }


def run_facts(view: View, iri: str) -> dict[str, Any]:
    """Return the :func:`facts` of a run (IRI)."""
    run = reading.find_run(view, iri)
    cells = accounts.progress(view, [run.graph])[iri]
    return facts(view, run, cells, pass_kinds(view).get(iri, ()), model_names(view))


def newest_first(runs: Iterable[RunInfo]) -> list[RunInfo]:
    """Sort runs by start time, the newest first; times without a zone are taken as UTC."""
    return sorted(runs, key=lambda run: run.started.isoformat(), reverse=True)


def pass_kinds(view: View) -> dict[str, set[str]]:
    """Return the kinds of evaluation passes over each run (IRI)."""
    by_run: dict[str, set[str]] = {}
    for _, _, kind, _, run, _, _ in queries.rows(view, "list-passes"):
        by_run.setdefault(str(run), set()).add(str(kind))
    return by_run


def run_page(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    """Return the content of a run's page."""
    run = reading.find_run(view, iri)
    cells = accounts.progress(view, [run.graph])[iri]
    display = model_names(view)
    of_run = facts(view, run, cells, pass_kinds(view).get(iri, ()), display)
    executions = {
        (things.text(view, part, KGB.model), things.text(view, part, KGB.task)): part
        for part in things.subjects(view, DCTERMS.isPartOf, iri, 10_000)
        if KGB.TaskExecution in things.kinds(view, part)
    }
    passes = [
        (
            pass_iri,
            things.text(view, pass_iri, KGB.passKind),
            things.text(view, pass_iri, PROV.startedAtTime),
        )
        for pass_iri in things.subjects(view, PROV.wasInformedBy, iri)
    ]
    return {
        "title": of_run["name"],
        "facts": of_run,
        "cells": sorted((m, t, dict(n), executions.get((m, t))) for (m, t), n in cells.items()),
        "graphs": [run.graph],
        "passes": [(pass_iri, kind, moment(started)) for pass_iri, kind, started in passes],
        "planned": planned(view, run, of_run),
        "run_id": run.id,
        **_results(view, run),
    }


def _results(view: View, run: RunInfo) -> dict[str, Any]:
    """Return the results and costs of a run; without scores before its first pass."""
    names = display_names(view)
    of_run = {"runGraph": run.graph}
    context: dict[str, Any] = {
        "board": None,
        "heat": None,
        "outcomes": [],
        "worst": [],
        "spent": _spent(totals(view, run), names),
        "queries": {
            "outcomes": [
                (name, {"suite": run.suite, "run": run.iri})
                for name in ("outcome-counts", "reported-outcomes")
            ],
            "usage": [("run-usage", of_run), ("run-prices", of_run)],
            "progress": [("run-progress", of_run)],
        },
    }
    try:
        results = RunResults(view, run)
    except QueryError:
        return context
    order = [str(name) for name in results.table.column("model")]
    return {
        **context,
        "board": board(results.table, names),
        "heat": None if results.tasks is None else heat_map(results.tasks, order, names),
        "outcomes": outcomes(results.endings, names),
        "worst": [
            (
                view.iris.base + scored.dialogue,
                scored._replace(model=names.get(scored.model, scored.model)),
            )
            for scored in results.worst(_WORST)
        ],
    }


def outcomes(
    endings: Mapping[str, Mapping[Ending, int]], display_names: Mapping[str, str]
) -> list[tuple[str, int, list[tuple[str, int]]]]:
    """Return the number of answers of each model, in all and by ending in words."""
    # A check makes pages again from other rows, so equal counts need an order of their own.
    return sorted(
        (
            display_names.get(model, model),
            sum(counts.values()),
            sorted(((e.words, n) for e, n in counts.items()), key=lambda item: (-item[1], item[0])),
        )
        for model, counts in endings.items()
    )


def _spent(used: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return tokens, costs and working time, formatted where needed."""
    return {
        **used,
        "cost": cost(dict(used)).removeprefix("cost "),
        "duration": duration(used["seconds"]),
        "models": [
            (names.get(name, name), {**costs, "cost": _usd(costs["cost_usd"])})
            for name, costs in used["models"].items()
        ],
    }


def _usd(amount: str | None) -> str:
    return "unknown" if amount is None else usd(Decimal(amount))


def planned(view: View, run: RunInfo, of_run: Mapping[str, Any]) -> int:
    """Return the planned dialogues of the last session; without sessions, the existing dialogues.

    ``of_run`` has the numbers of ``complete`` and ``open`` dialogues.
    """
    sessions = queries.rows(view, "run-sessions", runGraph=run.graph)
    existing: int = of_run["complete"] + of_run["open"]
    return max(int(sessions[-1][4] or 0), existing) if sessions else existing


def overview(view: View) -> dict[str, Any]:
    """Return runs, models, tasks, suites, queries and the number of dialogues."""
    infos = newest_first(reading.runs(view))
    progress = accounts.progress(view, [item.graph for item in infos])
    kinds, shown, names = pass_kinds(view), model_names(view), display_names(view)
    of_runs = [
        facts(view, item, progress[item.iri], kinds.get(item.iri, ()), shown) for item in infos
    ]
    models = sorted(catalogue.models(view).values(), key=lambda item: item.name.lower())
    return {
        "runs": of_runs,
        "models": [(item.iri, item.name, names.get(item.name, item.name)) for item in models],
        "tasks": sorted(catalogue.tasks(view).values(), key=lambda item: item.name.lower()),
        "suites": suites(view),
        "dialogues": sum(run["complete"] + run["open"] for run in of_runs),
        "queries": [queries.load(name) for name in queries.names()],
    }


def suites(view: View) -> list[tuple[str, str, str]]:
    """Return IRI, name and label of each suite that has runs."""
    rows = queries.rows(view, "list-suites")
    return [
        (str(iri), name or str(iri), label or name or things.label(view, str(iri)))
        for iri, name, label, *_ in rows
    ]
