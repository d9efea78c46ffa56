# SPDX-License-Identifier: Apache-2.0
"""What passes noted of answers and judging them again needs.

That is how an answer was parsed, where answers of one task were parsed in different ways, and the
result sets of queries that ran on an endpoint. The state of an endpoint cannot be had again, so
such answers are judged by the results that were noted when they were given, and new ones by what an
endpoint finds that the user names. What was noted comes with the answers, not with the case: the
case stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, cast

from kgbench.execution import ties
from kgbench.execution.endpoint import Endpoint
from kgbench.model import Case, Dialogue, Json, QueryResult
from kgbench.policies.policy import Policy
from kgbench.policies.results import to_json
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.record.reading import Execution
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue, typed_answers

_KEPT = (
    *("answerSet", "answerSetWhole", "answerSetSize", "answerResultLength"),
    *("EvaluationException", "refused", "limit"),
    *("result", "publishedResultSet"),
)
_RESULTS = ("answerSet", "result", "publishedResultSet")  # each says what a query found

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


class _NotesParsing(Protocol):
    def recorded_case(self, case: Case, infos: Sequence[Mapping[str, Json]]) -> Case:
        """``case`` as it stood for an answer of which passes noted ``infos``."""
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


class AskingTyped:
    """Has an endpoint execute what a policy compares, where the graph of a case is not at hand.

    ``results`` executes a SELECT or an ASK.
    """

    def __init__(self, policy: Policy, results: Select) -> None:
        self._policy = policy
        self._results = results
        self._references: dict[tuple[str, str], dict[str, Json]] = {}

    def with_results(self, dialogue: str, case: Case, answers: Sequence[str]) -> Case:  # noqa: ARG002 - as Asking
        """``case`` with what the endpoint finds for its reference query and the last answer.

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
        found = {key: data[key] for key in ("refResult", "recordedResults") if key in data}
        return replace(case, data=data, digest=digest(case.digest + canonical_json(found)))

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:  # noqa: ARG002 - as Executor
        """The result of a query at the endpoint, whatever ``graph`` is."""
        return self._results(query, prefixes)

    def _reference(self, case: Case, prefixes: Mapping[str, str]) -> dict[str, Json]:
        query = case.data.get("refSparql")
        if not query or typed_answers.is_published(self._policy, case):
            return {}
        key = (case.iri, case.digest)
        if key not in self._references:
            ordered = bool(case.data.get("ordered"))
            found = ties.reference(query, "", prefixes, self, ordered)
            self._references[key] = {"refResult": to_json(found.result)}
            if found.groups is not None:
                self._references[key]["refTies"] = [[g.rows, g.places] for g in found.groups]
        return self._references[key]


def asking_of(endpoint: Endpoint, policy: Policy | None) -> Asking | AskingTyped:
    """What has ``endpoint`` execute the queries that a task class, or ``policy``, judges."""
    return Asking(endpoint.select) if policy is None else AskingTyped(policy, endpoint.results)


def as_recorded(
    store: Store,
    passes: Sequence[str],
    execution: Execution,
    todo: Sequence[tuple[Dialogue, Case]],
) -> list[tuple[Dialogue, Case]]:
    """``todo`` with each case as it stood for the answer when that was first judged.

    Recorded results come into the data of the cases that need them; a task class whose module has
    the function ``recorded_case`` says what else. ``passes`` are the graphs of the passes in which
    the dialogues were first judged.
    """
    if not any(_depends_on_answer(case) for _, case in todo):
        return list(todo)
    noted = _noted(store, passes, execution)
    return [
        (dialogue, _recorded_case(case, noted.get(dialogue.iri, ()))) for dialogue, case in todo
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
    """The results that ``passes`` noted about the answers of a task execution, by dialogue."""
    noted = _noted(store, passes, execution)
    return {dialogue: _by_query(infos) for dialogue, infos in noted.items()}


def _noted(
    store: Store, passes: Sequence[str], execution: Execution
) -> dict[str, list[Mapping[str, Json]]]:
    noted: dict[str, list[Mapping[str, Json]]] = {}
    for graph in passes:
        for dialogue, infos in reading.execution_infos(store, graph, execution):
            noted.setdefault(dialogue, []).append(infos)
    return noted


def needs_results(case: Case) -> bool:
    """Whether nothing but a recorded result can say what a query about ``case`` finds."""
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
