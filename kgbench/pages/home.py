# SPDX-License-Identifier: Apache-2.0
"""The overview page of a store: counts of everything, and the runs, the newest first."""

from __future__ import annotations

from typing import Any

from kgbench.pages import runs, things
from kgbench.pages.snapshot import View
from kgbench.rdf import queries
from kgbench.record import accounts, reading
from kgbench.scores import catalogue
from kgbench.scores.catalogue import display_names, model_names


def overview(view: View) -> dict[str, Any]:
    """Return runs, models, tasks, suites, queries and the number of dialogues."""
    infos = runs.newest_first(reading.runs(view))
    progress = accounts.progress(view, [item.graph for item in infos])
    kinds, shown, names = runs.pass_kinds(view), model_names(view), display_names(view)
    facts = [
        runs.facts(view, item, progress[item.iri], kinds.get(item.iri, ()), shown) for item in infos
    ]
    models = sorted(catalogue.models(view).values(), key=lambda item: item.name.lower())
    return {
        "runs": facts,
        "models": [(item.iri, item.name, names.get(item.name, item.name)) for item in models],
        "tasks": sorted(catalogue.tasks(view).values(), key=lambda item: item.name.lower()),
        "suites": suites(view),
        "dialogues": sum(run["complete"] + run["open"] for run in facts),
        "queries": [queries.load(name) for name in queries.names()],
    }


def suites(view: View) -> list[tuple[str, str, str]]:
    """Return IRI, name and label of each suite that has runs."""
    rows = queries.rows(view, "list-suites")
    return [
        (str(iri), name or str(iri), label or name or things.label(view, str(iri)))
        for iri, name, label, *_ in rows
    ]
