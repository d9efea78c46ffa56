# SPDX-License-Identifier: Apache-2.0
"""Recorded tasks and cases, and notes of earlier passes that are needed to judge an answer again.

The notes are the way an answer was parsed, if answers of a task were parsed in different ways, and
the result sets of queries that ran on an endpoint. An endpoint's past state is gone, so such
answers are judged by the results recorded with them, and new answers by an endpoint that the user
names.
The recorded results belong to an answer, not to its case, which stays unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast

from kgbench.execution.endpoint import Endpoint
from kgbench.model import Case, Dialogue, Json, QueryResult, Task
from kgbench.policies import ties
from kgbench.policies.policy import Policy
from kgbench.policies.results import to_json
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.record.reading import Execution
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, typed_answers

_KEPT = (
    "answerSet",
    "answerSetWhole",
    "answerSetSize",
    "answerResultLength",
    "EvaluationException",
    "refused",
    "limit",
    "result",
    "publishedResultSet",
)
_RESULTS = ("answerSet", "result", "publishedResultSet")  # each says what a query found

#: Runs a query with predefined prefixes.
Select = Callable[[str, Mapping[str, str]], QueryResult]
#: The recorded notes about results, by query.
Results = Mapping[str, Mapping[str, Json]]


_MOST_CASES = 4_096  # held in memory


class _NeedsResults(Protocol):
    def needs_recorded_results(self, case: Case) -> bool:
        """Return whether the results of queries about ``case`` are known from records only."""
        ...

    def query(self, answer: str) -> str | None:
        """Return the query in an answer, if there is one."""
        ...

    def ask(self, case: Case, query: str, select: Select) -> Mapping[str, Json]:
        """Return the notes about the result of ``query``, run by ``select``."""
        ...


class _NotesParsing(Protocol):
    def recorded_case(self, case: Case, infos: Sequence[Mapping[str, Json]]) -> Case:
        """Return ``case`` as it was when passes recorded ``infos`` about an answer."""
        ...


class EndpointResults:
    """Runs the queries of answers on an endpoint, and notes the results.

    Results already ``noted`` for a dialogue (IRI) are not queried again: an interrupted dialogue
    continues with the results that it had.
    """

    def __init__(self, select: Select, noted: Mapping[str, Results] | None = None) -> None:
        self._select = select
        self._noted = noted or {}

    def with_results(self, dialogue: str, case: Case, answers: Sequence[str]) -> Case:
        """Return ``case`` with the results of the queries in ``answers``, if it needs them.

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


class TypedEndpointResults:
    """Runs the queries that a policy compares on an endpoint, if a case's graph is not available.

    ``results`` runs a SELECT or an ASK query.
    """

    def __init__(self, policy: Policy, results: Select) -> None:
        self._policy = policy
        self._results = results
        self._references: dict[tuple[str, str], dict[str, Json]] = {}

    def with_results(self, dialogue: str, case: Case, answers: Sequence[str]) -> Case:  # noqa: ARG002 - as Asking
        """Return ``case`` with the endpoint's results of its reference query and the last answer.

        Raises :class:`~kgbench.errors.EvaluationError` where the endpoint does not answer.
        """
        module = catalogue.module(case.task_class)
        if typed_answers.has_graph(case, module):
            return case
        own = cast("typed_answers.AnswersWithQueries", module)
        prefixes = typed_answers.prefixes_of(case, module)
        query = own.query(answers[-1])
        data = {**case.data, **self._reference(case, prefixes)}
        if query is not None:
            result = self._results(query, prefixes)
            data["recordedResults"] = {query: {"result": to_json(result)}}
        results = {key: data[key] for key in ("refResult", "recordedResults") if key in data}
        return replace(case, data=data, digest=digest(case.digest + canonical_json(results)))

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:  # noqa: ARG002 - as Executor
        """Return the result of a query on the endpoint; ``graph`` is ignored."""
        return self._results(query, prefixes)

    def _reference(self, case: Case, prefixes: Mapping[str, str]) -> dict[str, Json]:
        query = case.data.get("refSparql")
        if not query or typed_answers.is_published(self._policy, case):
            return {}
        key = (case.iri, case.digest)
        if key not in self._references:
            ordered = bool(case.data.get("ordered"))
            reference = ties.reference(query, "", prefixes, self, ordered)
            self._references[key] = {"refResult": to_json(reference.result)}
            if reference.groups is not None:
                self._references[key]["refTies"] = [[g.rows, g.places] for g in reference.groups]
        return self._references[key]


def asking_of(endpoint: Endpoint, policy: Policy | None) -> EndpointResults | TypedEndpointResults:
    """Return an object that runs judged queries of a task class or ``policy`` on ``endpoint``."""
    return (
        EndpointResults(endpoint.select)
        if policy is None
        else TypedEndpointResults(policy, endpoint.results)
    )


def as_recorded(
    store: Store,
    passes: Sequence[str],
    execution: Execution,
    dialogues: Sequence[tuple[Dialogue, Case]],
) -> list[tuple[Dialogue, Case]]:
    """Return ``dialogues`` with each case as it stood for the answer when that was first judged.

    Recorded results come into the data of the cases that need them; a task class whose module has
    the function ``recorded_case`` says what else. ``passes`` are the graphs of the passes in which
    the dialogues were first judged.
    """
    if not any(_depends_on_answer(case) for _, case in dialogues):
        return list(dialogues)
    noted = _notes(store, passes, execution)
    return [
        (dialogue, _recorded_case(case, noted.get(dialogue.iri, ())))
        for dialogue, case in dialogues
    ]


def _depends_on_answer(case: Case) -> bool:
    return needs_results(case) or hasattr(catalogue.module(case.task_class), "recorded_case")


def _recorded_case(case: Case, infos: Sequence[Mapping[str, Json]]) -> Case:
    if needs_results(case):
        return _with(case, _by_query(infos))
    module = catalogue.module(case.task_class)
    if not hasattr(module, "recorded_case"):
        return case
    return cast("_NotesParsing", module).recorded_case(case, infos)


def recorded(store: Store, passes: Sequence[str], execution: Execution) -> dict[str, Results]:
    """Return the results that ``passes`` recorded about a task execution, by dialogue."""
    noted = _notes(store, passes, execution)
    return {dialogue: _by_query(infos) for dialogue, infos in noted.items()}


def _notes(
    store: Store, passes: Sequence[str], execution: Execution
) -> dict[str, list[Mapping[str, Json]]]:
    noted: dict[str, list[Mapping[str, Json]]] = {}
    for graph in passes:
        for dialogue, infos in reading.execution_infos(store, graph, execution):
            noted.setdefault(dialogue, []).append(infos)
    return noted


def needs_results(case: Case) -> bool:
    """Return whether the results of queries about ``case`` are known from records only."""
    module = catalogue.module(case.task_class)
    if not hasattr(module, "needs_recorded_results"):
        return False
    return cast("_NeedsResults", module).needs_recorded_results(case)


def _by_query(noted: Iterable[Mapping[str, Json]]) -> Results:
    # A published query keeps the CR of its lines and blanks around it; one that is read from an
    # answer does not.
    return {
        infos["sparql"].replace("\r\n", "\n").strip(): {
            key: infos[key] for key in _KEPT if key in infos
        }
        for infos in noted
        if infos.get("sparql") is not None and any(key in infos for key in _RESULTS)
    }


def _with(case: Case, results: Results) -> Case:
    data = {**case.data, "recordedResults": results}
    return replace(case, data=data, digest=digest(case.digest + canonical_json(results)))


class RecordedCases:
    """Reads tasks and cases of ``store`` by IRI, each once for all runs.

    Both methods raise :class:`~kgbench.errors.StoreError` for an IRI that the store lacks.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._tasks: dict[str, Task] = {}
        self._cases: dict[str, Case] = {}

    def task(self, iri: str) -> Task:
        """Return a task as it was recorded."""
        if iri not in self._tasks:
            self._tasks[iri] = reading.task(self.store, iri)
        return self._tasks[iri]

    def case(self, iri: str) -> Case:
        """Return a case, converted to the current version of its task class."""
        if iri not in self._cases:
            if len(self._cases) >= _MOST_CASES:
                self._cases.clear()
            self._cases[iri] = catalogue.as_successor_case(reading.case(self.store, iri))
        return self._cases[iri]
