# SPDX-License-Identifier: Apache-2.0
"""Judge of queries by their typed results under a comparison policy.

It applies to every task class whose module has ``query(answer)`` (the query in an answer) and whose
cases have a reference query. Both queries are executed on the graph of the case, unless their
results are recorded: the expected result as ``refResult`` (SPARQL-JSON, with the ties of its rows
in ``refTies``) or as ``publishedResultSet`` (values with weights, as published by TEXT2SPARQL), the
results of answers in ``recordedResults``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, Protocol, cast

from kgbench.errors import EvaluationError
from kgbench.model import Case, Dialogue, Executor, Json, Outcome, QueryResult, TaskModule, Verdict
from kgbench.policies import ties
from kgbench.policies.compare import Reference, compare
from kgbench.policies.policy import Policy
from kgbench.policies.results import from_json, to_json
from kgbench.policies.values import Term, format_term
from kgbench.policies.whole_rows import TieGroup
from kgbench.tasks import catalogue, graphs

SHOWN: Final = 20  # rows of a result that the infos of a verdict hold
NO_QUERY: Final = "there is no query in the answer"
_TRUE: Final = "true"


def prepare(policy: Policy) -> None:
    """Open graphs and load libraries for judging processes, which cannot open files."""
    graphs.prepare()
    rows = QueryResult(("a", "b"), (("<urn:a>", "<urn:b>"), ("<urn:b>", "<urn:a>")))
    compare(policy, Reference(rows, ordered=True), rows)  # imports lazily loaded modules


class AnswersWithQueries(Protocol):
    """The interface of task modules whose answers are judged by the results of queries."""

    def query(self, answer: str) -> str | None:
        """Return the query in an answer; ``None`` if there is none."""
        ...

    def graph_name(self, case: Case) -> str | None:
        """Return the installed graph for queries; ``None`` if the case contains its graph."""
        ...


def policy_obstacle(
    case: Case, module: TaskModule, *, has_endpoint: bool = False, on_variants: bool = False
) -> str | None:
    """Return the reason why answers to ``case`` cannot be judged under a policy, or ``None``.

    With ``has_endpoint``, an endpoint executes queries about graphs that are not available; with
    ``on_variants``, answers are judged on variants of their graph.
    """
    if writes_triples(module) and not on_variants:
        return f"answers to {case.task_class} write triples, which no policy compares"
    if not hasattr(module, "query") or not hasattr(module, "graph_name"):
        return f"answers to {case.task_class} are no queries"
    if not any(case.data.get(key) for key in ("refSparql", "refResult", "publishedResultSet")):
        return f"cases of {case.task_class} without a reference query or result"
    answering = cast("AnswersWithQueries", module)
    if answering.graph_name(case) is None or has_endpoint:
        return None
    try:
        graph_of(case, answering)
    except EvaluationError as error:
        return str(error)
    return None


def writes_triples(module: object) -> bool:
    """Return whether answers write triples, so that these are compared instead of rows."""
    return bool(getattr(module, "WRITES", False))


def judgeable(
    policy: Policy,
    dialogues: Sequence[tuple[Dialogue, Case]],
    pass_over: Callable[[str, int], None],
) -> list[tuple[Dialogue, Case]]:
    """Return the items of ``dialogues`` that ``policy`` can judge.

    ``pass_over`` gets reasons for the others. A policy needs a graph to run queries on, or recorded
    results of answer and reference.
    """
    obstacles = [_obstacle(policy, case, dialogue.answers) for dialogue, case in dialogues]
    for reason in filter(None, obstacles):
        pass_over(reason, 1)
    return [item for item, obstacle in zip(dialogues, obstacles, strict=True) if obstacle is None]


def _obstacle(policy: Policy, case: Case, answers: Sequence[str]) -> str | None:
    answering = cast("AnswersWithQueries", catalogue.module(case.task_class))
    if graph_text(case) or answering.graph_name(case) is not None:
        return None
    if not (is_published(policy, case) or "refResult" in case.data):
        return f"cases of {case.task_class} without a graph to run the reference query on"
    query = answering.query(answers[-1])
    if query is None or query in (case.data.get("recordedResults") or {}):
        return None
    return f"answers to {case.task_class} without a graph to run them on, or a published result"


def judge(
    policy: Policy,
    case: Case,
    answers: Sequence[str],
    executor: Executor,
    module: TaskModule,
    *,
    notes_ties: bool = False,
) -> Verdict:
    """Judge the last of ``answers`` by ``policy``; the infos contain the reason for the scores.

    ``result`` in the infos is the typed result of the answer, cut off after :data:`SHOWN` rows;
    ``resultLength`` and ``referenceLength`` are numbers of rows, and ``ordered`` is true if their
    order matters. With ``notes_ties``, ``tieAtLimit`` names the queries whose LIMIT cuts through
    rows that tie; both are executed without LIMIT for that, so it is left out while models wait.
    Raises :class:`~kgbench.errors.EvaluationError` if the expected result is not available.
    """
    answering = cast("AnswersWithQueries", module)
    query = answering.query(answers[-1])
    prefixes = prefixes_of(case, module)
    expected = _expected(policy, case, executor, answering, prefixes)
    result = None if query is None else _result(query, case, executor, answering, prefixes)
    comparison = compare(policy, expected, result, prefixes_of(case, module, "of"))
    infos: dict[str, Json] = {"policy": policy.name, "sparql": query, "reason": comparison.reason}
    if notes_ties and (tied := _tied_queries(case, query, executor, answering, prefixes)):
        infos["tieAtLimit"] = tied
    if result is not None:
        infos |= {"result": to_json(_truncated(result)), "resultLength": _length(result)}
    infos |= {"referenceLength": _length(expected.result), "ordered": expected.ordered}
    return Verdict(comparison.scores, infos, _outcome(answers[-1], result))


def parsed_and_judged(
    policy: Policy, case: Case, answers: Sequence[str], executor: Executor, module: TaskModule
) -> Verdict:
    """Judge by ``policy``, with the score ``answerParse`` for a valid query in the last answer.

    Without a valid query all scores are 0, and the infos contain the ``parseError``.
    """
    answer = answers[-1]
    query = cast("AnswersWithQueries", module).query(answer)
    error = NO_QUERY if query is None else executor.check(query, prefixes_of(case, module))
    if error is not None:
        infos: dict[str, Json] = {"testUid": case.uid, "sparql": query, "parseError": error}
        outcome = Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY
        scores = dict.fromkeys(("answerParse", "precision", "recall", "f1", "exact"), 0.0)
        return Verdict(scores, infos, outcome)
    verdict = judge(policy, case, answers, executor, module)
    return replace(
        verdict,
        scores={"answerParse": 1.0, **verdict.scores},
        infos={"testUid": case.uid, **verdict.infos},
    )


def _expected(
    policy: Policy,
    case: Case,
    executor: Executor,
    module: AnswersWithQueries,
    prefixes: Mapping[str, str],
) -> Reference:
    ordered = bool(case.data.get("ordered"))
    if is_published(policy, case):
        return Reference(from_weights(case.data["publishedResultSet"]), ordered)
    if (recorded := case.data.get("refResult")) is not None:
        reference = Reference(from_json(recorded), ordered, _groups(policy, case))
    elif policy.order == "demanded":
        reference = ties.reference(
            case.data["refSparql"], graph_of(case, module), prefixes, executor, ordered
        )
    else:
        query = case.data["refSparql"]
        reference = Reference(executor.results(query, graph_of(case, module), prefixes), ordered)
    if reference.result.error is not None:
        raise EvaluationError(
            f"the reference query of {case.iri} cannot be executed: {reference.result.error}"
        )
    return reference


def is_published(policy: Policy, case: Case) -> bool:
    """Return whether ``policy`` compares with the result that was published for ``case``."""
    return policy.reference == "published" and case.data.get("publishedResultSet") is not None


def _groups(policy: Policy, case: Case) -> tuple[TieGroup, ...] | None:
    """Return the tie groups of a recorded result, or ``None`` if not recorded or not needed."""
    recorded = case.data.get("refTies")
    if recorded is None or policy.order != "demanded":
        return None
    return tuple(TieGroup(tuple(map(tuple, rows)), place_count) for rows, place_count in recorded)


def _result(
    query: str,
    case: Case,
    executor: Executor,
    module: AnswersWithQueries,
    prefixes: Mapping[str, str],
) -> QueryResult:
    recorded = (case.data.get("recordedResults") or {}).get(query)
    if recorded is None:
        return executor.results(query, graph_of(case, module), prefixes)
    if "result" in recorded:
        return from_json(recorded["result"])
    if "publishedResultSet" in recorded:
        return from_weights(recorded["publishedResultSet"])
    raise EvaluationError(f"the recorded result of the query about {case.iri} has no types")


def _tied_queries(
    case: Case,
    query: str | None,
    executor: Executor,
    module: AnswersWithQueries,
    prefixes: Mapping[str, str],
) -> list[str]:
    """Return the queries, ``reference`` or ``answer``, whose LIMIT cuts through rows that tie."""
    tied_queries: list[str] = []
    ordered = True  # makes `reference` look for ties
    for name, text in (("reference", case.data.get("refSparql")), ("answer", query)):
        if text is None or "LIMIT" not in text.upper():
            continue
        with contextlib.suppress(EvaluationError):  # there is no graph, only a recorded result
            graph = graph_of(case, module)
            groups = ties.reference(text, graph, prefixes, executor, ordered).groups
            if any(group.places < len(group.rows) for group in groups or ()):
                tied_queries.append(name)
    return tied_queries


def from_weights(weights: Mapping[str, int]) -> QueryResult:
    """Return a published result set of TEXT2SPARQL as one column of texts, or as a truth value."""
    if set(weights) == {_TRUE}:
        return QueryResult(boolean=bool(weights[_TRUE]))
    return QueryResult(("value",), tuple((format_term(Term("literal", text)),) for text in weights))


def has_graph(case: Case, module: TaskModule) -> bool:
    """Return whether the graph for queries about ``case`` is available."""
    try:
        graph_of(case, cast("AnswersWithQueries", module))
    except EvaluationError:
        return False
    return True


def graph_of(case: Case, module: AnswersWithQueries) -> str:
    """Return the graph for queries about ``case``, as Turtle.

    Raises :class:`~kgbench.errors.EvaluationError` if it is not available.
    """
    own_graph = graph_text(case)
    if own_graph:
        return own_graph
    name = module.graph_name(case)
    if name is None:
        raise EvaluationError(
            f"the case {case.iri} has no graph to run queries on, and no typed result is recorded"
        )
    return graphs.text(name)


def graph_text(case: Case) -> str | None:
    """Return the graph in the data of a case, as Turtle; ``None`` if it has none."""
    text: str | None = case.data.get("graphTurtle") or case.data.get("graph")
    return text


def prefixes_of(case: Case, module: object, method: str = "for_queries") -> dict[str, str]:
    """Return the prefixes that queries about ``case`` may use undeclared.

    ``method`` is ``for_queries``, or ``of`` for the prefixes that shorten values.
    """
    vocabulary = getattr(module, "vocabulary", None)
    return {} if vocabulary is None else getattr(vocabulary, method)(case)


def _truncated(result: QueryResult) -> QueryResult:
    return QueryResult(
        result.variables,
        result.rows[:SHOWN],
        result.error,
        expired=result.expired,
        boolean=result.boolean,
    )


def _length(result: QueryResult) -> int:
    return len(result.rows) if result.boolean is None else 1


def _outcome(answer: str, result: QueryResult | None) -> Outcome:
    if result is None:
        return Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY
    return Outcome.TIMEOUT if result.expired else Outcome.SCORED
