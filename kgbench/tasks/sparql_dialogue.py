# SPDX-License-Identifier: Apache-2.0
"""Judge of SPARQL queries by their results, in a dialogue of at most three answers.

Scores: Meyer et al., Evaluating LLMs for RDF Knowledge Graph Related Tasks, section 3.4. The
``task.ttl`` of each task class decides the points that it leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, Verdict
from kgbench.scoring import result_sets
from kgbench.scoring.agreement import Agreement, compare_sets
from kgbench.scoring.fences import fenced_blocks
from kgbench.scoring.query_names import compare_names
from kgbench.tasks import graphs, organisation, texts
from kgbench.vocab import OWL, RDF, RDFS, XSD

Select = Callable[[str, Mapping[str, str]], QueryResult]

FOLDER: Final = "sparql-dialogue"
ROUNDS: Final = 3

_SELECT: Final = re.compile(r"\bSELECT\b", re.IGNORECASE)
_SHOWN: Final = 15  # values of an answer set that the infos list, as published
_PUBLISHED_SUITES: Final = "llm-kg-bench-"
_ABSENT: Final = "https://absent.invalid/"
_NO_QUERY: Final = "there is no fenced block with SELECT in the answer"


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The prefixes that queries of a task class may use without declaring them.

    ``prefixes`` are known in addition to those that the graph of a case declares. ``undeclared``
    are prefixes that match nothing in published cases unless a query declares them: the published
    runs were executed in this way, and their scores depend on it.
    """

    prefixes: Mapping[str, str] = field(default_factory=dict)
    undeclared: tuple[str, ...] = ()

    def of(self, case: Case) -> dict[str, str]:
        """Return the prefixes that shorten the values of ``case``."""
        usual = {"rdf": str(RDF), "rdfs": str(RDFS), "owl": str(OWL), "xsd": str(XSD)}
        text = graph_text(case)
        declared = organisation.prefixes(text) if text else dict(case.data.get("prefixes") or {})
        return usual | dict(self.prefixes) | declared

    def for_queries(self, case: Case) -> dict[str, str]:
        """Return the prefixes with which queries about ``case`` are executed."""
        prefixes = self.of(case)
        if case.suite.startswith(_PUBLISHED_SUITES):
            prefixes |= {prefix: f"{_ABSENT}{prefix}#" for prefix in self.undeclared}
        return prefixes


def judge(
    case: Case,
    answers: Sequence[str],
    executor: Executor,
    vocabulary: Vocabulary,
    graph_name: str | None,
) -> Verdict:
    """Score the query in the last answer; ask again if it does not parse or has no result.

    The query runs on the graph in the case, or on the graph called ``graph_name`` (see ``graphs``).
    """
    answer = answers[-1]
    is_last = len(answers) >= ROUNDS
    query = extract_query(answer)
    prefixes = vocabulary.for_queries(case)
    error = _NO_QUERY if query is None else executor.check(query, prefixes)
    infos: dict[str, Json] = {
        "testUid": case.data.get("uid"),
        "sparql": query,
        "parseError": error,
        "parseErrorEmpty": query is None,
    }
    if query is None or error is not None:
        scores = {"answerParse": 0.0, "combined": 0.0}
        outcome = Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY
        return Verdict(
            scores, infos, outcome, *(_NONE if is_last else syntax_feedback(query, error))
        )
    value_prefixes = vocabulary.of(case)
    infos |= _name_infos(case, query, value_prefixes)
    recorded = (case.data.get("recordedResults") or {}).get(query)
    outcome = Outcome.SCORED
    if recorded is None:
        result = executor.select(query, _graph(case, graph_name), prefixes)
        values = result_sets.values(result.rows, value_prefixes)
        infos |= _result_infos(result, values)
    else:
        values = set(recorded.get("answerSetWhole", recorded["answerSet"]))
        infos |= recorded
        outcome = Outcome.TIMEOUT if "limit" in recorded else Outcome.SCORED
    agreement = compare_sets(set(case.data["refResultSet"]), values)
    scores = {
        "answerParse": 1.0,
        "combined": 0.2 + 0.8 * agreement.f1,
        **agreement.named(f1="f1measure"),
        "exact": float(agreement.f1 == 1),
    }
    is_over = is_last or bool(values)
    return Verdict(scores, infos, outcome, *(_NONE if is_over else empty_feedback()))


def extract_query(answer: str) -> str | None:
    """Return the query in an answer: the first fenced block with ``SELECT``, trimmed.

    Only upper case counts in LLM-KG-Bench; :func:`extract_any_query` is for other tasks.
    """
    return next((body for body in _bodies(answer) if "SELECT" in body), None)


def extract_any_query(answer: str) -> str | None:
    """Return the first fenced block with ``SELECT``, else with this word in any case, trimmed.

    Upper case comes first because prose in an earlier block may contain the word "select".
    """
    bodies = _bodies(answer)
    upper = (body for body in bodies if "SELECT" in body)
    return next(chain(upper, filter(_SELECT.search, bodies)), None)


def _bodies(answer: str) -> list[str]:
    return [block.body.strip() for block in fenced_blocks(answer)]


def result_infos(case: Case, query: str, vocabulary: Vocabulary, select: Select) -> dict[str, Json]:
    """Return the infos to record about the result of ``query``, which ``select`` executes.

    :func:`judge` reads them from the ``recordedResults`` of a case, by query.
    """
    result = select(query, vocabulary.for_queries(case))
    infos = _result_infos(result, result_sets.values(result.rows, vocabulary.of(case)))
    return infos | {"limit": "time"} if result.expired else infos


def reference(case: Case) -> str:
    """Return the reference answer: the reference query in a fenced block."""
    return f"```sparql\n{case.data['refSparql'].strip()}\n```"


def graph_text(case: Case) -> str | None:
    """Return the graph in the data of a case, as Turtle; ``None`` if it has none."""
    text: str | None = case.data.get("graphTurtle") or case.data.get("graph")
    return text


def _graph(case: Case, graph_name: str | None) -> str:
    carried = graph_text(case)
    if carried:
        return carried
    if graph_name is None:
        raise EvaluationError(
            f"the case {case.iri} has no graph to run queries on and no recorded result of this "
            f"query: it was published with results from an endpoint; "
            f"'kgbench reevaluate --endpoint URL' asks one that answers about the same data"
        )
    return graphs.text(graph_name)


def _result_infos(result: QueryResult, distinct_values: AbstractSet[str]) -> dict[str, Json]:
    """Return the infos about a result; all values, too, if the published infos cut them off."""
    values = sorted(distinct_values)
    infos: dict[str, Json] = {
        "answerResultLength": result_sets.bound_rows(result.rows),
        "answerSetSize": len(values),
        "answerSet": values if len(values) <= _SHOWN else [*values[:_SHOWN], "..."],
    }
    if len(values) > _SHOWN:
        infos["answerSetWhole"] = values
    if result.error is not None or result.expired:
        infos["EvaluationException"] = result.error or "the limit of the query was hit"
    if result.refused:
        infos["refused"] = True
    return infos


def _name_infos(case: Case, query: str, prefixes: Mapping[str, str]) -> dict[str, Json]:
    """Return the agreement of the names in the query with those in the reference query."""
    names, suffix = compare_names(case.data["refSparql"], query, prefixes)
    return _named("sparqlIris", names) | _named("sparqlIrisSuffix", suffix)


def _named(prefix: str, agreement: Agreement) -> dict[str, Json]:
    return dict(agreement.named(prefix, f1="F1measure"))


_NONE: Final = (None, None)


def syntax_feedback(query: str | None, message: str | None) -> tuple[str, str]:
    """Return feedback on a query that does not parse, or on an answer without one, and its kind."""
    if query is None:
        return texts.shared(FOLDER, "feedback-no-query.txt"), "syntax"
    filled = texts.shared_filled(FOLDER, "feedback-syntax.txt", message=message or "", query=query)
    return filled, "syntax"


def empty_feedback() -> tuple[str, str]:
    """Return the feedback on a query without a result, and its kind."""
    return texts.shared(FOLDER, "feedback-empty-result.txt"), "empty-result"
