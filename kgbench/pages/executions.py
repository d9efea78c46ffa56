# SPDX-License-Identifier: Apache-2.0
"""The page of a task execution: the dialogues of a model on a task in a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyoxigraph as ox

from kgbench.analysis import dialogue_search
from kgbench.errors import QueryError
from kgbench.pages import neighbours, score_tables, things
from kgbench.pages.measures import measures
from kgbench.pages.snapshot import View
from kgbench.record import accounts, reading
from kgbench.scores import catalogue
from kgbench.scores.selection import select
from kgbench.vocab import DCTERMS, KGB

_MOST = 1_000  # dialogues on one page


def execution_page(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    """Return the content of a task execution's page; at most 1,000 dialogues, by iteration."""
    about = {
        name: things.text(view, iri, predicate) or ""
        for name, predicate in (
            ("model", KGB.model),
            ("task", KGB.task),
            ("run", DCTERMS.isPartOf),
        )
    }
    nodes = neighbours.first_of_execution(view.database, ox.NamedNode(iri), _MOST)
    shown = [node.value for node in nodes]
    judged = _judged(view, shown, **about)
    return {
        **about,
        "main": measures(view, about["task"]).main,
        "rows": [_row(view, dialogue, judged) for dialogue in shown],
        "left": _number(view, **about) - len(shown) if len(shown) == _MOST else 0,
    }


def _number(view: View, *, model: str, task: str, run: str) -> int:
    """Return the number of dialogues of a model on a task in a run (IRIs)."""
    of_run = accounts.progress(view, [reading.find_run(view, run).graph])[run]
    return of_run.get((model, task), Counter()).total()


def _judged(
    view: View, shown: Sequence[str], *, model: str, task: str, run: str
) -> dict[str, dialogue_search.JudgedDialogue]:
    """Return the judged dialogues by IRI, of those that are ``shown``."""
    models, tasks = catalogue.models(view), catalogue.tasks(view)
    if model not in models or task not in tasks:
        return {}
    globs = {
        "tasks": score_tables.exact_glob(tasks[task].label),
        "models": score_tables.exact_glob(models.name(model)),
    }
    try:
        selection = select(view, run=run, **globs)
    except QueryError:  # nothing is judged yet
        return {}
    dialogues = dialogue_search.judged_dialogues(view, selection, shown)
    return {view.iris.base + dialogue.dialogue: dialogue for dialogue in dialogues}


def _row(view: View, iri: str, judged: dict[str, dialogue_search.JudgedDialogue]) -> dict[str, Any]:
    case = things.text(view, iri, KGB.case) or ""
    dialogue = judged.get(iri)
    return {
        "link": iri,
        "iteration": things.text(view, iri, KGB.iteration) or "?",
        "case": case,
        "case_label": things.label(view, case),
        "answers": 0 if dialogue is None else dialogue.answers,
        "outcome": "not judged" if dialogue is None else dialogue.outcome,
        "score": None if dialogue is None or dialogue.scored is None else dialogue.scored.value,
    }
