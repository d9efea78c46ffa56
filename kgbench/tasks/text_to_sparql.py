# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlExecEvalList and SparqlSyntaxFixingList: write or correct a query, judged by results.

There is one object for each task class (see :class:`kgbench.model.TaskModule`). They differ in the
source of their cases and in their prompts; the judge is in :mod:`kgbench.tasks.sparql_dialogue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.tasks import (
    catalogue,
    formats,
    graphs,
    organisation,
    own_cases,
    sparql_dialogue,
    texts,
)
from kgbench.tasks.sparql_dialogue import FOLDER, Select, Vocabulary

CasesOf = Callable[[Mapping[str, Json]], Sequence[dict[str, Json]]]

_BEASTIARY: Final = {"ns1": "http://www.semanticweb.org/annab/ontologies/2022/3/ontology#"}
_WIKIDATA: Final = {
    "wd": "http://www.wikidata.org/entity/",
    "wds": "http://www.wikidata.org/entity/statement/",
    "wdv": "http://www.wikidata.org/value/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "wikibase": "http://wikiba.se/ontology#",
    "bd": "http://www.bigdata.com/rdf#",
}

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
_RDF: Final = frozenset(("graph", "subgraph", "schema", "subschema"))


class QueryTask:
    """A task class whose answers are queries.

    ``data_of`` returns the data of kgbench's own cases for the parameters of a task; ``graph_name``
    is the installed graph for published cases. ``frame`` is the task class whose prompt is used, by
    default this one.
    """

    def __init__(
        self,
        name: str,
        vocabulary: Vocabulary,
        data_of: CasesOf,
        graph_name: str | None = None,
        frame: str | None = None,
    ) -> None:
        self.NAME = name
        self._prompt_class = name if frame is None else frame
        self.vocabulary = vocabulary
        self._data_of = data_of
        self._graph_name = graph_name

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG002 - static
        """Return the cases of ``task``: the same questions for every seed."""
        return [
            catalogue.make_case(suite, self.NAME, task.parameters, data, uid=data["uid"])
            for data in self._data_of(task.parameters)[:count]
        ]

    def check(self, task: Task) -> None:
        """Refuse the format ``list`` for anything but IRIs."""
        kind = task.parameters.get("kgInfoType")
        if task.parameters.get("kgInfoFormat") == "list" and kind in _RDF:
            raise TaskError(
                f"'{task.label}': only IRIs are shown as a list: choose kgInfoType iris or "
                f"irisLabels instead of {kind}, or another kgInfoFormat than list"
            )

    def prompt(self, case: Case) -> str:
        """Return a prompt with the question and the part of the graph chosen by ``kgInfoType``."""
        kinds = [case.data.get("kgInfoType") or "graph"]
        if "entityHelpCsv" in case.data:
            kinds.append("labels")
        all_texts = texts.shared_structure(FOLDER, "about.json")
        template_texts = all_texts.get("-".join(kinds), all_texts[kinds[-1]])
        return texts.shared_filled(
            FOLDER,
            "prompt.txt",
            about=template_texts["about"],
            question=case.data["question"],
            shown="\n\n".join(f"{all_texts[k]['heading']}\n{_shown_data(case, k)}" for k in kinds),
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """See :func:`kgbench.tasks.sparql_dialogue.judge`."""
        return sparql_dialogue.judge(
            case, answers, executor, self.vocabulary, self.graph_name(case)
        )

    def reference(self, case: Case) -> str:
        """Return the reference answer: the reference query in a fenced block."""
        return sparql_dialogue.reference(case)

    def graph_name(self, case: Case) -> str | None:
        """Return the name of the installed graph for queries about ``case``.

        The result is ``None`` if the case contains a graph.
        """
        if sparql_dialogue.graph_text(case):
            return None
        name: str | None = case.data.get("graphName", self._graph_name)
        return name

    def needs_recorded_results(self, case: Case) -> bool:
        """Return whether queries about ``case`` need recorded results.

        They do if the queries ran on an endpoint whose state is no longer available.
        """
        return not sparql_dialogue.graph_text(case) and self.graph_name(case) is None

    def query(self, answer: str) -> str | None:
        """Return the query in an answer; ``None`` if there is none."""
        return sparql_dialogue.extract_query(answer)

    def ask(self, case: Case, query: str, select: Select) -> dict[str, Json]:
        """Return the infos to record about the result of ``query``.

        ``select`` runs the query on an endpoint.
        """
        return sparql_dialogue.result_infos(case, query, self.vocabulary, select)

    def prepare(self) -> None:
        """Load files for judging processes, which cannot open files."""
        graphs.prepare()


class QueryFixTask(QueryTask):
    """A task class in which a query must be corrected."""

    def prompt(self, case: Case) -> str:
        """Return the prompt: the faulty query of ``case``, with the parser's message."""
        return texts.filled(
            self._prompt_class,
            "prompt.txt",
            query=case.data["testSparql"],
            message=case.data["errorMessage"].strip(),
        )


def _shown_data(case: Case, kind: str) -> str:
    value = next((case.data[key] for key in _KEYS[kind] if case.data.get(key)), None)
    if value is None:
        raise TaskError(
            f"the case {case.iri} does not hold what its prompt shows ({kind}), "
            f"so nothing can be asked about it"
        )
    if kind not in _RDF:
        return "\n".join(value) if isinstance(value, list) else str(value).strip()
    graph_format = formats.canonical_format(case.data.get("kgInfoFormat") or "turtle")
    info = {"turtle": "turtle", "json-ld": "json"}[graph_format]
    return f"```{info}\n{organisation.in_format(value, graph_format)}\n```"


ORGANIZATIONAL = QueryTask(
    "Text2SparqlExecEvalListOrganizational",
    Vocabulary(undeclared=("rdfs",)),
    own_cases.organizational,
)
ORGANIZATIONAL_NUMERICAL = QueryTask(
    "Text2SparqlExecEvalListOrgaNumerical",
    Vocabulary(undeclared=("rdfs",)),
    own_cases.organizational_numerical,
)
ECONOMY = QueryTask(
    "Text2SparqlExecEvalListCoypuMini",
    Vocabulary(undeclared=("rdfs", "xsd")),
    own_cases.economy,
)
BESTIARY = QueryTask(
    "Text2SparqlExecEvalListBeastiary",
    Vocabulary(_BEASTIARY),
    own_cases.bestiary_cases,
    graph_name="beastiary",
)
SYNTAX_FIXING = QueryFixTask(
    "SparqlSyntaxFixingListLcQuad", Vocabulary(_WIKIDATA), own_cases.faulty_queries
)
