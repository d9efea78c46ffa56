# SPDX-License-Identifier: Apache-2.0
"""Contents of the pages of tasks, suites and task executions: definitions, cases and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.analysis import dialogue_search
from kgbench.errors import QueryError
from kgbench.pages import neighbours, rendering, score_tables, things
from kgbench.pages.score_tables import heat_map
from kgbench.pages.things import View
from kgbench.pages.verdicts import measures
from kgbench.record import accounts, reading
from kgbench.scores import catalogue
from kgbench.scores.catalogue import TaskInfo, display_names
from kgbench.scores.selection import select
from kgbench.store.fragments import dialogue_part
from kgbench.tables import Table
from kgbench.vocab import DCTERMS, KGB, PROV, RDFS, SKOS

_MOST_CASES = 5_000


class TaskLine(NamedTuple):
    """A task in the list of a suite; ``best`` is the highest mean, ``best_by`` its models."""

    iri: str
    name: str
    what: str
    definition: str
    cases: int
    models: int
    scores: int
    best: float | None
    best_by: str


def task_page(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    """Return the content of a task's page, with an example."""
    info = catalogue.tasks(view)[iri]
    display = display_names(view)
    suites = []
    for suite, label, chosen in score_tables.selections(view):
        table = score_tables.of_one(view, chosen, "task", iri, info.name)
        if table is not None and table.rows:
            suites.append(of_suite(table, display, suite, label))
    cases = cases_of(view, iri)
    return {
        **described(view, info),
        "cases": cases,
        "suites": suites,
        "example": _example(view, cases),
    }


def described(view: View, info: TaskInfo) -> dict[str, Any]:
    """Return the declaration of a task: definition, parameters, formats and metrics."""
    declared = measures(view, info.iri)
    metrics = sorted(
        declared.by_name.values(), key=lambda one: (one.name != declared.main, one.name)
    )
    formats = {
        name: sorted(item.value for item in things.values(view, info.task_class, predicate))
        for name, predicate in (("reads", KGB.reads), ("writes", KGB.writes))
    }
    return {
        "info": info,
        "what": things.text(view, info.task_class, RDFS.label) or "",
        "definition": things.text(view, info.task_class, SKOS.definition) or "",
        "parameters": things.text(view, info.iri, KGB.parameters),
        "metrics": [(one, things.text(view, one.iri, SKOS.definition) or "") for one in metrics],
        "main": declared.main,
        **formats,
    }


def of_suite(table: Table, display: Mapping[str, str], suite: str, label: str) -> dict[str, Any]:
    """Return the results of a task in a suite: models, the best first, and the complete table."""
    return {
        "suite": suite,
        "label": label,
        "results": score_tables.results(table, display),
        "table": table,
        "boxes": [rendering.box(record) for record in table],
    }


def suite_page(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    """Return the content of a suite's page: its tasks, numbers of cases, and results by model."""
    chosen = next(
        (selection for suite, _, selection in score_tables.selections(view) if suite == iri), None
    )
    table = None if chosen is None else score_tables.of_all(view, chosen)
    return of_tasks(view, iri, table, catalogue.tasks(view).values())


def of_tasks(
    view: View, suite: str, table: Table | None, tasks: Iterable[TaskInfo]
) -> dict[str, Any]:
    """Return the tasks of a suite that have cases in it or scores in ``table``."""
    display = display_names(view)
    lines = []
    for info in sorted(tasks, key=lambda item: item.name.lower()):
        cases = len(cases_of(view, info.iri, suite))
        rows = score_tables.only(table, "task", info.name)
        results = [] if rows is None else score_tables.results(rows, display)
        if not cases and not results:
            continue
        best = results[0]["mean"] if results else None
        lines.append(
            TaskLine(
                info.iri,
                info.name,
                things.text(view, info.task_class, RDFS.label) or "",
                things.text(view, info.task_class, SKOS.definition) or "",
                cases,
                models=len(results),
                scores=sum(item["n"] or 0 for item in results),
                best=best,
                best_by=_best_by(results),
            )
        )
    return {
        "name": things.text(view, suite, SKOS.notation) or suite,
        "label_of_suite": things.text(view, suite, RDFS.label) or "",
        "description": things.text(view, suite, DCTERMS.description) or "",
        "tasks": lines,
        "models": 0 if table is None else len(set(table.column("model"))),
        "heat": None if table is None else heat_map(table, [], display),
        "scope": {"suite": suite},
    }


def _best_by(results: list[dict[str, Any]]) -> str:
    """Return the model with the highest mean, or the number of models that share it."""
    best = results[0]["mean"] if results else None
    first = [result for result in results if best is not None and result["mean"] == best]
    return (
        f"{len(first)} models" if len(first) > 1 else "".join(result["shown"] for result in first)
    )


def cases_of(view: View, task: str, suite: str | None = None) -> list[str]:
    """Return the cases (IRIs) of a task, optionally only those of ``suite``."""
    task_class = things.text(view, task, KGB.taskClass)
    parameters = things.values(view, task, KGB.parameters)
    return sorted(
        case
        for case in things.subjects(view, KGB.taskClass, task_class or "", _MOST_CASES)
        if KGB.Case in things.kinds(view, case)
        and things.values(view, case, KGB.parameters) == parameters
        and suite in (None, things.text(view, case, KGB.suite))
    )


def _example(view: View, cases: list[str]) -> dict[str, str] | None:
    """Return the first prompt of the first case with a dialogue: case, dialogue, text.

    ``None`` if there is no dialogue, or if its prompt is withheld.
    """
    for case in cases:
        dialogue = neighbours.any_of_case(view.database, ox.NamedNode(case))
        if dialogue is not None:
            text = things.text(view, dialogue_part(dialogue, "0/prompt"), KGB.text)
            value = None if text is None else things.text(view, text, PROV.value)
            return {"case": case, "dialogue": dialogue, "prompt": value} if value else None
    return None


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
    globs: dict[str, Any] = {
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
