# SPDX-License-Identifier: Apache-2.0
"""Result sets that were recorded, for cases whose queries ran on an endpoint.

The state of an endpoint cannot be had again, so such answers are judged by the results that were
noted when they were given, and new ones by what an endpoint finds that the user names. Results come
with the answers, not with the case: the case stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast

from kgbench.model import Case, Dialogue, Json, QueryResult
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.record.reading import Execution
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue

_KEPT = (
    *("answerSet", "answerSetWhole", "answerSetSize", "answerResultLength"),
    *("EvaluationException", "refused", "limit"),
)

#: The result of a query with the prefixes that it may take for granted.
Select = Callable[[str, Mapping[str, str]], QueryResult]
#: What was noted of results, by query.
Results = Mapping[str, Mapping[str, Json]]


class _NeedsResults(Protocol):
    def needs_recorded_results(self, case: Case) -> bool:
        """Whether nothing but a recorded result can say what a query about ``case`` finds."""
        ...

    def query(self, answer: str) -> str | None:
        """The query of an answer, if there is one."""
        ...

    def ask(self, case: Case, query: str, select: Select) -> Mapping[str, Json]:
        """What is noted of the result that ``select`` gives for ``query``."""
        ...


class Asking:
    """Has the queries of answers executed by an endpoint, and notes what it found.

    What was ``noted`` of a dialogue (by its IRI) is not asked for again: one that was interrupted
    goes on with the results that it had.
    """

    def __init__(self, select: Select, noted: Mapping[str, Results] | None = None) -> None:
        self._select = select
        self._noted = noted or {}

    def with_results(self, dialogue: str, case: Case, answers: Sequence[str]) -> Case:
        """``case`` with the results of the queries in ``answers``, where it needs them.

        Raises :class:`~kgbench.errors.EvaluationError` where the endpoint does not answer.
        """
        if not needs_results(case):
            return case
        module = cast("_NeedsResults", catalogue.module(case.task_class))
        known = self._noted.get(dialogue, {})
        queries = {query for answer in answers if (query := module.query(answer)) is not None}
        results = {
            query: known[query] if query in known else module.ask(case, query, self._select)
            for query in sorted(queries)
        }
        return _with(case, results)


def with_results(
    store: Store,
    recorded_pass: str,
    execution: Execution,
    todo: Sequence[tuple[Dialogue, Case]],
) -> list[tuple[Dialogue, Case]]:
    """``todo`` with the recorded results in the data of those cases that need them.

    ``recorded_pass`` is the graph of the pass in which the dialogues were first judged.
    """
    if not any(needs_results(case) for _, case in todo):
        return list(todo)
    noted = recorded(store, recorded_pass, execution)
    return [
        (dialogue, _with(case, noted.get(dialogue.iri, {})) if needs_results(case) else case)
        for dialogue, case in todo
    ]


def recorded(store: Store, recorded_pass: str, execution: Execution) -> dict[str, Results]:
    """The results that a pass noted about the answers of a task execution, by dialogue."""
    noted: dict[str, list[Mapping[str, Json]]] = {}
    for dialogue, infos in reading.execution_infos(store, recorded_pass, execution):
        noted.setdefault(dialogue, []).append(infos)
    return {dialogue: _by_query(infos) for dialogue, infos in noted.items()}


def needs_results(case: Case) -> bool:
    """Whether nothing but a recorded result can say what a query about ``case`` finds."""
    module = catalogue.module(case.task_class)
    if not hasattr(module, "needs_recorded_results"):
        return False
    return cast("_NeedsResults", module).needs_recorded_results(case)


def _by_query(noted: Iterable[Mapping[str, Json]]) -> Results:
    return {
        infos["sparql"]: {key: infos[key] for key in _KEPT if key in infos}
        for infos in noted
        if infos.get("sparql") is not None and "answerSet" in infos
    }


def _with(case: Case, results: Results) -> Case:
    data = {**case.data, "recordedResults": results}
    return replace(case, data=data, digest=digest(case.digest + canonical_json(results)))
