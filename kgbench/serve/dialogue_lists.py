# SPDX-License-Identifier: Apache-2.0
"""The paged list of dialogues, with the same search as ``kgbench dialogues``."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from kgbench.analysis import dialogue_search
from kgbench.characters import one_line
from kgbench.errors import QueryError
from kgbench.model import Outcome
from kgbench.pages import runs
from kgbench.pages.score_tables import bar
from kgbench.pages.things import View
from kgbench.rdf import queries
from kgbench.record.reading import runs as runs_of
from kgbench.scores.catalogue import display_names
from kgbench.scores.selection import ALL, FIRST, select

PAGE = 50  # dialogues of one page
_NAMES = {"pass_": "pass", "reverse": "order"}  # of parameters in URLs
_LONGEST = 500  # characters of one value
_MOST = 200_000  # dialogues that are read for a page
_WORST = 1_000  # dialogues that are listed of more
_BEGINNING = 90  # characters of an answer
OUTCOMES = tuple(outcome.value for outcome in Outcome)


@dataclass(frozen=True, slots=True)
class DialogueSearch:
    """Search parameters of a request; ``problem`` describes an invalid one.

    ``model`` and ``task`` are names or globs; ``run`` is an id, IRI or label, as on the command
    line.
    """

    model: str = ALL
    task: str = ALL
    outcome: str | None = None
    below: float | None = None
    search: str | None = None
    run: str | None = None
    pass_: str = FIRST
    sort: str = "score"
    reverse: bool = False
    page: int = 1
    problem: str | None = None

    @classmethod
    def read(cls, fields: Mapping[str, str]) -> DialogueSearch:
        """Read the parameters from the fields of a form; empty fields are ignored."""
        texts = {name: value.strip()[:_LONGEST] for name, value in fields.items() if value.strip()}
        search = cls(
            model=texts.get("model", ALL),
            task=texts.get("task", ALL),
            outcome=texts.get("outcome"),
            search=texts.get("search"),
            run=texts.get("run"),
            pass_=texts.get("pass", FIRST),
            reverse=texts.get("order") == "down",
        )
        if search.outcome is not None and search.outcome not in OUTCOMES:
            return replace(search, problem=f"there is no outcome '{search.outcome}'")
        if (sort := texts.get("sort", "score")) not in dialogue_search.SORTS:
            return replace(search, problem=f"dialogues cannot be sorted by '{sort}'")
        try:
            below = float(texts["below"]) if "below" in texts else None
            page = int(texts.get("page", "1"))
        except ValueError:
            return replace(search, sort=sort, problem="the score and the page must be numbers")
        if (below is not None and not math.isfinite(below)) or not 1 <= page <= 10**9:
            return replace(search, sort=sort, problem="the score and the page must be numbers")
        return replace(search, sort=sort, below=below, page=page)

    @property
    def of_all(self) -> bool:
        """Whether all dialogues of a suite are searched."""
        return self.model == self.task == ALL and self.run is None

    @property
    def is_for_worst(self) -> bool:
        """Whether the worst scores are wanted, of all outcomes, scores and texts."""
        return self.sort == "score" and not any(
            (self.reverse, self.outcome, self.search, self.below is not None)
        )

    def query(self, suite: str | None, **changed: Any) -> str:
        """Return a URL query for the same search, with some fields ``changed``."""
        new = replace(self, problem=None, **changed)
        given: dict[str, Any] = {} if suite is None else {"suite": suite}
        for field in fields(self):
            value = getattr(new, field.name)
            if value != field.default:
                given[_NAMES.get(field.name, field.name)] = "down" if value is True else value
        return urlencode(given)


def all_judged(
    view: View, suite: str | None, pass_: str
) -> list[dialogue_search.JudgedDialogue] | None:
    """Return all judged dialogues of a suite for the cache; ``None`` if they are too many."""
    selection = select(view, suite, pass_)
    if dialogue_search.count_dialogues(view, selection) > _MOST:
        return None
    return dialogue_search.judged_dialogues(view, selection)


def with_text(view: View, suite: str | None, pass_: str, text: str) -> set[str]:
    """Return the paths of the dialogues of a suite that have ``text`` in an answer."""
    return dialogue_search.with_text(view, select(view, suite, pass_), text)


def listed_dialogues(
    view: View,
    suite: str | None,
    wanted: Mapping[str, Any],
    judged: list[dialogue_search.JudgedDialogue] | None = None,
    among: set[str] | None = None,
) -> dict[str, Any]:
    """Return a page of the dialogues found by ``wanted`` (the fields of :class:`DialogueSearch`).

    ``judged`` are all judged dialogues of the suite, and ``among`` the paths of those with the
    searched text, if they are known already. If there are too many dialogues to read, the worst are
    listed, and ``total`` is the number of all; other searches then raise
    :class:`~kgbench.errors.QueryError`.
    """
    search = DialogueSearch(**wanted)
    selection = select(
        view, suite, search.pass_, run=search.run, tasks=search.task, models=search.model
    )
    number = 0 if judged is not None else dialogue_search.count_dialogues(view, selection)
    if number > _MOST:
        if not search.is_for_worst:
            raise QueryError(
                f"{number:,} dialogues are too many to search or sort: choose a model, a task, a "
                "run, or the worst scores"
            )
        judged = dialogue_search.worst_judged(view, selection, _WORST)
    if among is None and search.search is not None:
        among = dialogue_search.with_text(view, selection, search.search)
    dialogues = dialogue_search.choose(
        dialogue_search.judged_dialogues(view, selection) if judged is None else judged,
        outcome=search.outcome,
        below=search.below,
        among=among,
        sort=search.sort,
        reverse=search.reverse,
    )
    pages = max(1, math.ceil(len(dialogues) / PAGE))
    page = min(search.page, pages)
    names = display_names(view)
    shown = dialogues[(page - 1) * PAGE : page * PAGE]
    answers = _beginnings(view, [view.iris.base + item.dialogue for item in shown])
    return {
        "total": max(len(dialogues), number if number > _MOST else 0),
        "worst": len(dialogues) if number > _MOST else None,
        "pages": pages,
        "page": page,
        "rows": [
            {
                "iri": view.iris.base + item.dialogue,
                "task": item.task,
                "model": item.model,
                "shown": names.get(item.model, item.model),
                "iteration": item.iteration,
                "outcome": item.outcome,
                "score": None if item.scored is None else item.scored.value,
                "metric": None if item.scored is None else item.scored.metric,
                "bar": None if item.scored is None else bar(item.scored.value),
                "answer": answers.get(view.iris.base + item.dialogue),
            }
            for item in shown
        ],
        "counts": Counter(
            outcome for item in dialogues for outcome in item.outcome.split(", ")
        ).most_common(),
        "run": selection.run,
        "runs": [(run.id, run.label) for run in runs_of(view) if run.suite == selection.suite],
        "run_name": None if selection.run is None else _run_name(view, selection.run),
        "queries": [(name, {"suite": selection.suite}) for name in dialogue_search.QUERIES],
    }


def _beginnings(view: View, dialogues: list[str]) -> dict[str, str]:
    """Return the beginning of the last answer of each dialogue (IRI) that has a text."""
    last: dict[str, tuple[int, str]] = {}
    for row in queries.run(view, "dialogue-answers", dialogue=dialogues) if dialogues else ():
        if row["answerText"] is not None:
            answer = int(row["round"].value), row["answerText"].value
            last[row["dialogue"].value] = max(last.get(row["dialogue"].value, answer), answer)
    return {iri: one_line(" ".join(text[:_BEGINNING].split())) for iri, (_, text) in last.items()}


def _run_name(view: View, iri: str) -> str:
    return str(runs.run_facts(view, iri)["name"])
