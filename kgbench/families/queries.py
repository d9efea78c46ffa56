# SPDX-License-Identifier: Apache-2.0
"""Families whose answers are SPARQL queries, judged by their results in at most three answers.

Scores: Meyer et al., Evaluating LLMs for RDF Knowledge Graph Related Tasks, section 3.4. Each
``task.ttl`` decides the points that it leaves open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import chain
from typing import ClassVar, Final

from kgbench.errors import EvaluationError, TaskError
from kgbench.families import frame
from kgbench.families.frame import Feedback, ListedFamily
from kgbench.model import Case, Executor, Json, Outcome, QueryResult, Task, Verdict
from kgbench.scoring import result_sets
from kgbench.scoring.agreement import Agreement, compare_sets
from kgbench.scoring.fences import fenced_blocks
from kgbench.scoring.result_sets import compare_names
from kgbench.tasks import graphs, serialising, texts
from kgbench.tasks.typed_answers import graph_text
from kgbench.vocab import OWL, RDF, RDFS, XSD

Select = Callable[[str, Mapping[str, str]], QueryResult]

ROUNDS: Final = 3

_FOLDER: Final = "sparql-dialogue"
_SELECT: Final = re.compile(r"\bSELECT\b", re.IGNORECASE)
_SHOWN: Final = 15  # values of an answer set that the infos list, as published
_PUBLISHED_SUITES: Final = "llm-kg-bench-"
_ABSENT: Final = "https://absent.invalid/"
_NO_QUERY: Final = "there is no fenced block with SELECT in the answer"

# Keys of the case data for prompts, by kgInfoType; the first key with data is used.
_KEYS: Final = {
    "graph": ("graph", "graphTurtle"),
    "subgraph": ("subGraph",),
    "schema": ("schema",),
    "subschema": ("subSchema",),
    "iris": ("iris",),
    "irisLabels": ("irisLabels",),
    "labels": ("entityHelpCsv",),
}
_GRAPHS: Final = frozenset(("graph", "subgraph", "schema", "subschema"))


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
        declared = serialising.declared_prefixes(text) if text else case.data.get("prefixes")
        return {**usual, **self.prefixes, **(declared or {})}

    def for_queries(self, case: Case) -> dict[str, str]:
        """Return the prefixes with which queries about ``case`` are executed."""
        prefixes = self.of(case)
        if case.suite.startswith(_PUBLISHED_SUITES):
            prefixes |= {prefix: f"{_ABSENT}{prefix}#" for prefix in self.undeclared}
        return prefixes


class QueryFamily(ListedFamily):
    """A family of questions that are answered with a query about a graph."""

    vocabulary: ClassVar[Vocabulary] = Vocabulary()
    graph: ClassVar[str | None] = None
    """The installed graph that published cases are about."""

    def check(self, task: Task) -> None:
        """Refuse the format ``list`` for anything but IRIs."""
        kind = task.parameters.get("kgInfoType")
        if task.parameters.get("kgInfoFormat") == "list" and kind in _GRAPHS:
            raise TaskError(
                f"'{task.label}': only IRIs are shown as a list: choose kgInfoType iris or "
                f"irisLabels instead of {kind}, or another kgInfoFormat than list"
            )

    def prompt(self, case: Case) -> str:
        """Return a prompt with the question and the part of the graph chosen by ``kgInfoType``."""
        kinds = [case.data.get("kgInfoType") or "graph"]
        if "entityHelpCsv" in case.data:
            kinds.append("labels")
        all_texts = texts.shared_structure(_FOLDER, "about.json")
        template_texts = all_texts.get("-".join(kinds), all_texts[kinds[-1]])
        return texts.shared_filled(
            _FOLDER,
            "prompt.txt",
            about=template_texts["about"],
            question=case.data["question"],
            shown="\n\n".join(f"{all_texts[k]['heading']}\n{_shown_data(case, k)}" for k in kinds),
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Score the query in the last answer; ask again if it does not parse or has no result.

        The query runs on the graph in the case, or on the installed one.
        """
        answer = answers[-1]
        is_last = len(answers) >= ROUNDS
        query = extract_query(answer)
        prefixes = self.vocabulary.for_queries(case)
        error = _NO_QUERY if query is None else executor.check(query, prefixes)
        infos: dict[str, Json] = {
            "testUid": case.data.get("uid"),
            "sparql": query,
            "parseError": error,
            "parseErrorEmpty": query is None,
        }
        if query is None or error is not None:
            scores = {"answerParse": 0.0, "combined": 0.0}
            outcome = frame.outcome(answer, usable=False)
            return Verdict(
                scores, infos, outcome, *(_NONE if is_last else syntax_feedback(query, error))
            )
        value_prefixes = self.vocabulary.of(case)
        infos |= _name_infos(case, query, value_prefixes)
        recorded = (case.data.get("recordedResults") or {}).get(query)
        outcome = Outcome.SCORED
        if recorded is None:
            result = executor.select(query, self._graph(case), prefixes)
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

    def reference(self, case: Case) -> str:
        """Return the reference query in a fenced block."""
        return fenced_query(case)

    def graph_name(self, case: Case) -> str | None:
        """Return the name of the installed graph for queries about ``case``.

        The result is ``None`` if the case contains a graph.
        """
        if graph_text(case):
            return None
        name: str | None = case.data.get("graphName", self.graph)
        return name

    def needs_recorded_results(self, case: Case) -> bool:
        """Return whether queries about ``case`` need recorded results.

        They do if the queries ran on an endpoint whose state is no longer available.
        """
        return not graph_text(case) and self.graph_name(case) is None

    def query(self, answer: str) -> str | None:
        """Return the query in an answer; ``None`` if there is none."""
        return extract_query(answer)

    def ask(self, case: Case, query: str, select: Select) -> dict[str, Json]:
        """Return the infos to record about the result of ``query``, which ``select`` executes.

        :meth:`judge` reads them from the ``recordedResults`` of a case, by query.
        """
        result = select(query, self.vocabulary.for_queries(case))
        infos = _result_infos(result, result_sets.values(result.rows, self.vocabulary.of(case)))
        return infos | {"limit": "time"} if result.expired else infos

    def prepare(self) -> None:
        """Load files for judging processes, which cannot open files."""
        graphs.prepare()

    def _graph(self, case: Case) -> str:
        carried, name = graph_text(case), self.graph_name(case)
        if carried:
            return carried
        if name is None:
            raise EvaluationError(
                f"the case {case.iri} has no graph to run queries on and no recorded result of "
                f"this query: it was published with results from an endpoint; "
                f"'kgbench reevaluate --endpoint URL' asks one that answers about the same data"
            )
        return graphs.text(name)


class QueryFixFamily(QueryFamily):
    """A family of faulty queries that must be corrected."""

    def prompt(self, case: Case) -> str:
        """Return the faulty query of ``case``, with the parser's message."""
        data = case.data
        return self.text("prompt", query=data["testSparql"], message=data["errorMessage"].strip())


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


def fenced_query(case: Case) -> str:
    """Return the reference query of ``case`` in a fenced block."""
    return f"```sparql\n{case.data['refSparql'].strip()}\n```"


def _shown_data(case: Case, kind: str) -> str:
    value = next((case.data[key] for key in _KEYS[kind] if case.data.get(key)), None)
    if value is None:
        raise TaskError(
            f"the case {case.iri} does not hold what its prompt shows ({kind}), "
            f"so nothing can be asked about it"
        )
    if kind not in _GRAPHS:
        return "\n".join(value) if isinstance(value, list) else str(value).strip()
    graph_format = serialising.canonical_format(case.data.get("kgInfoFormat") or "turtle")
    info = {"turtle": "turtle", "json-ld": "json"}[graph_format]
    return f"```{info}\n{serialising.in_format(value, graph_format)}\n```"


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


def syntax_feedback(query: str | None, message: str | None) -> Feedback:
    """Return feedback on a query that does not parse, or on an answer without one."""
    if query is None:
        return Feedback(texts.shared(_FOLDER, "feedback-no-query.txt"), "syntax")
    filled = texts.shared_filled(_FOLDER, "feedback-syntax.txt", message=message or "", query=query)
    return Feedback(filled, "syntax")


def empty_feedback() -> Feedback:
    """Return the feedback on a query without a result."""
    return Feedback(texts.shared(_FOLDER, "feedback-empty-result.txt"), "empty-result")
