# SPDX-License-Identifier: Apache-2.0
"""Questions about a graph that is accessible by tools; the final query is judged by its result.

The same cases are used in three conditions: with the schema in the prompt, with tools, and with
both. The right answer to a question that the graph cannot answer is to give up. Further scores are
those of the use of tools, from the calls and their results.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from typing import ClassVar, Final, cast

import kgbench.api as kb
from kgbench.datasets import descriptions
from kgbench.model import TaskModule
from kgbench.plugins.agents import graph_agents, graph_tools
from kgbench.scoring import result_sets
from kgbench.tasks import bestiary, texts, typed_answers
from kgbench.tool_calls import ToolOutcome
from kgbench.tools import wording

POLICY: Final = "rows"
"""The policy under which results are compared."""
WITHOUT_TOOLS: Final = "schema"
"""The condition in which a model has the schema and no tools."""
GIVE_UP: Final = "CANCEL"
"""The answer of a model without tools if the graph cannot answer the question."""

_OWN: Final = frozenset(("organisation", "economy", "bestiary"))
_HIDDEN: Final = frozenset(("refResultSet", "subGraph"))  # for prompts and scores of other classes
_FORM: Final = re.compile(r"\b(?:SELECT|ASK)\b", re.IGNORECASE)
_RESULTS: Final = ("precision", "recall", "f1", "exact")


class GraphQuestions(kb.ListedFamily):
    """A task class of questions about the graph in its parameters, with tools over this graph."""

    vocabulary: ClassVar[kb.Vocabulary] = kb.Vocabulary()

    def listed(self, parameters: Mapping[str, kb.Json]) -> Sequence[Mapping[str, kb.Json]]:
        """Return the same questions in every condition.

        Raises :class:`~kgbench.errors.TaskError` if the graph belongs to a data set that is not
        installed, or that has no question in the requested language.
        """
        name = parameters["graph"]
        if name not in _OWN:
            questions = descriptions.installer(name).questions
            assert questions is not None
            return questions(parameters["language"])
        graph: dict[str, kb.Json] = {"graphName": name, "prefixes": dict(bestiary.PREFIXES)}
        if name != "bestiary":
            graph = {"graphTurtle": texts.shared(name, "graph.ttl")}
        hidden = frozenset() if name == "organisation" else _HIDDEN
        return [
            {key: value for key, value in question.items() if key not in hidden} | graph
            for question in texts.shared_structure(name, "questions.json")
        ]

    def case(self, task: kb.Task, suite: str, data: Mapping[str, kb.Json]) -> kb.Case:
        """Make the case with ``data`` and the tools of the condition of ``task``."""
        tools = [] if task.parameters["condition"] == WITHOUT_TOOLS else graph_tools.tools_as_json()
        return super().case(task, suite, {**data, "tools": tools})

    def prompt(self, case: kb.Case) -> str:
        """Return the prompt with the question of ``case``.

        The prompt contains the schema if the condition requires it.
        """
        condition = case.parameters["condition"]
        schema = {} if condition == "tools" else {"schema": graph_tools.schema(self._graph(case))}
        question = case.data["question"].strip()
        return self.text(f"prompt-{condition}", question=question, **schema)

    def tools(self, case: kb.Case) -> Sequence[kb.Tool]:
        """Return the tools described in the data of ``case``."""
        return [kb.Tool(**tool) for tool in case.data["tools"]]

    def use(
        self, case: kb.Case, name: str, arguments: Mapping[str, kb.Json], executor: kb.Executor
    ) -> kb.ToolResult:
        """See :func:`kgbench.plugins.agents.graph_tools.use`."""
        prefixes = self.vocabulary.for_queries(case)
        return graph_tools.use(name, arguments, self._graph(case), prefixes, executor)

    def judge(self, case: kb.Case, answers: Sequence[str], executor: kb.Executor) -> kb.Verdict:
        """Judge an answer without tools, or the last answer of a dialogue with unknown prompts."""
        return self.judge_dialogue(case, (), answers, executor)

    def judge_dialogue(
        self, case: kb.Case, prompts: Sequence[str], answers: Sequence[str], executor: kb.Executor
    ) -> kb.Verdict:
        """Score the query in the last answer, and the use of tools before it."""
        last = answers[-1]
        offers_tools = bool(case.data["tools"])
        query = self.query(last)
        gives_up = query is None and _gives_up(last, offers_tools=offers_tools)
        answerable = case.data["refSparql"] is not None
        infos: dict[str, kb.Json] = {"cancelled": gives_up, "answerable": answerable}
        if query is not None and answerable:
            verdict = typed_answers.judge(
                kb.policy(POLICY), case, answers, executor, cast("TaskModule", self)
            )
            outcome, scores, infos = verdict.outcome, {**verdict.scores}, {**verdict.infos, **infos}
        else:
            right = gives_up and not answerable
            scores = dict.fromkeys(_RESULTS, float(right))
            infos["sparql"] = query
            outcome = kb.Outcome.SCORED
            if query is None and not gives_up:
                outcome = kb.Outcome.UNPARSABLE if last.strip() else kb.Outcome.EMPTY
        scores |= {
            "answered": float(query is not None),
            "cancelledRightly": float(gives_up and not answerable),
            "cancelledWrongly": float(gives_up and answerable),
        }
        if offers_tools:
            over = query is None and not gives_up and is_out_of_budget(prompts, last)
            prefixes = self.vocabulary.for_queries(case)
            scores |= {"outOfBudget": float(over)}
            scores |= tool_usage(prompts, answers, query, prefixes)
        return kb.Verdict(scores, {"testUid": case.uid, **infos}, outcome)

    def say(self, case: kb.Case, agent: str, messages: Sequence[str], chance: Random) -> str:
        """See :func:`kgbench.plugins.agents.graph_agents.say`."""
        return graph_agents.say(agent, case, messages, chance)

    def reference(self, case: kb.Case) -> str:
        """Return the best last answer: the reference query, or giving up if there is none."""
        query = case.data["refSparql"]
        if case.data["tools"]:
            return graph_agents.best(case)
        return GIVE_UP if query is None else f"```sparql\n{query.strip()}\n```"

    def query(self, answer: str) -> str | None:
        """Return the query in an answer: the argument of the tool ``answer``, or a fenced block."""
        if calls := wording.calls(answer):
            queries = (_sparql(call) for call in calls if call.name == "answer")
            return next((query for query in queries if query is not None), None)
        blocks = (block.body.strip() for block in kb.fenced_blocks(answer))
        return next((body for body in blocks if _FORM.search(body)), None)

    def graph_name(self, case: kb.Case) -> str | None:
        """Return the name of the installed or generated graph of ``case``.

        The result is ``None`` if the case contains its graph.
        """
        name: str | None = case.data.get("graphName")
        return name

    def prepare(self) -> None:
        """Load what tools and comparisons need, for judging processes, which cannot open files."""
        typed_answers.prepare(kb.policy(POLICY))
        graph_tools.prepare()

    def _graph(self, case: kb.Case) -> str:
        return typed_answers.graph_of(case, self)


def _gives_up(answer: str, *, offers_tools: bool) -> bool:
    """Return whether an answer calls the tool ``cancel`` or, without tools, is :data:`GIVE_UP`.

    Without tools, a fenced block may also hold that word, because prompts demand one of queries.
    """
    if offers_tools:
        return any(call.name == "cancel" for call in wording.calls(answer))
    stated = (answer, *(block.body for block in kb.fenced_blocks(answer)))
    return any(text.strip().strip("`\"'*. \n") == GIVE_UP for text in stated)


def _sparql(call: kb.ToolCall) -> str | None:
    try:
        sparql = wording.read_arguments(call.arguments).get("sparql")
    except ValueError:
        return None
    return sparql if isinstance(sparql, str) else None


COUNTED: Final = ("search", "describe", "schema", "query")
"""The tools whose calls are counted separately."""

_IRI: Final = re.compile(r"<([^<>\s]+)>")
_PREFIX: Final = re.compile(r"\bPREFIX\s+([\w-]*):\s*<([^<>\s]*)>", re.IGNORECASE)
_SHORT: Final = re.compile(r"(?<![\w:-])([A-Za-z][\w-]*+|):([A-Za-z0-9_][\w-]*)")
# Standard vocabularies, which models know without seeing them in a graph.
_STANDARD: Final = tuple(str(one) for one in (kb.RDF, kb.RDFS, kb.OWL, kb.XSD))


def tool_usage(
    prompts: Sequence[str], answers: Sequence[str], query: str | None, prefixes: Mapping[str, str]
) -> dict[str, float]:
    """Return counts of calls, errors, empty results and repeats, and the shares of shown IRIs.

    ``prompts`` come before each of ``answers``; ``prefixes`` are those that the query may use
    undeclared. ``grounded`` is the share of IRIs in ``query`` that results showed, ``shown`` that
    results or the first prompt showed; both are absent if the query names no IRI of a graph.
    """
    calls = [call for answer in answers[:-1] for call in wording.calls(answer)]
    results = [result for prompt in prompts[1:] for result in wording.split_results(prompt)[0]]
    outcomes = Counter(result.outcome for result in results)
    tools = Counter(result.tool for result in results)
    call_counts = Counter((call.name, call.arguments) for call in calls)
    scores = {
        "toolCalls": float(len(results)),
        **{f"{name}Calls": float(tools[name]) for name in COUNTED},
        "toolErrors": float(outcomes[ToolOutcome.ERROR] + outcomes[ToolOutcome.REFUSED]),
        "toolEmpties": float(outcomes[ToolOutcome.EMPTY]),
        "toolRepeats": float(sum(times - 1 for times in call_counts.values())),
    }
    if query is None:
        return scores
    query_iris = {
        iri_text for iri_text in _query_iris(query, prefixes) if not iri_text.startswith(_STANDARD)
    }
    if query_iris:
        shown_by_tools = {iri for result in results for iri in _shown_iris(result.text)}
        scores["grounded"] = len(query_iris & shown_by_tools) / len(query_iris)
        shown_at_all = shown_by_tools.union(*(map(_shown_iris, prompts[:1])))
        scores["shown"] = len(query_iris & shown_at_all) / len(query_iris)
    return scores


def is_out_of_budget(prompts: Sequence[str], answer: str) -> bool:
    """Return whether the budget was used up before ``answer``.

    ``answer`` has no query and does not give up.
    """
    return bool(answer.strip()) and len(prompts) > 1 and "Left: " not in prompts[-1]


def _query_iris(query: str, prefixes: Mapping[str, str]) -> set[str]:
    """Return the IRIs that a query names, in full or by a prefix that is known or declared."""
    namespaces = {**prefixes, "rdf": str(kb.RDF), **dict(_PREFIX.findall(query))}
    iris = set()
    for name in result_sets.names(query, {}):
        prefix, _, local = name.partition(":")
        if name.startswith("<"):
            iris.add(name[1:-1])
        elif prefix in namespaces:  # a query with an unknown prefix fails anyway
            iris.add(namespaces[prefix] + local)
    return iris


def _shown_iris(text: str) -> set[str]:
    """Return the IRIs in a prompt or result, in full or by a prefix that the text declares."""
    namespaces = dict(_PREFIX.findall(text))
    body = _PREFIX.sub(" ", text)
    iris = set(_IRI.findall(body))
    if namespaces:
        names = _SHORT.findall(_IRI.sub(" ", body))
        iris |= {namespaces[prefix] + local for prefix, local in names if prefix in namespaces}
    return iris
