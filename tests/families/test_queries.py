# SPDX-License-Identifier: Apache-2.0
"""The task classes about SPARQL: their graphs, their questions and their judging."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgbench.datasets import home
from kgbench.errors import EvaluationError, ResourceError, TaskError
from kgbench.execution.engines import engine
from kgbench.families import graph_info
from kgbench.model import Case, Outcome, QueryResult
from kgbench.scoring.result_sets import values
from kgbench.tasks import bestiary, catalogue, graphs, renaming, serialising, texts
from kgbench.testing.judging import PlainExecutor

ENGINES = ("oxigraph", "rdflib")
ORGANISATION, NUMBERS, ECONOMY, BESTIARY = (
    catalogue.module(f"Text2SparqlExecEvalList{name}")
    for name in ("Organizational", "OrgaNumerical", "CoypuMini", "Beastiary")
)
SYNTAX_FIXING = catalogue.module("SparqlSyntaxFixingListLcQuad")
ORGANISATION_GRAPH = texts.shared("organisation", "graph.ttl")
INFO = {"kgInfoType": "graph", "kgInfoFormat": "turtle"}
QUERIES = {
    "organisation": ORGANISATION.listed({}),
    "numbers": NUMBERS.listed({}),
    "economy": ECONOMY.listed(INFO),
    "faults": SYNTAX_FIXING.listed({}),
}


@pytest.fixture(scope="module")
def bestiary_text() -> str:
    """Return the whole bestiary as N-Triples."""
    return bestiary.text()


def data_of(name: str) -> list[dict[str, Any]]:
    """Return the data of the cases about one of the graphs."""
    return QUERIES[name]


@pytest.mark.parametrize("name", [*QUERIES, "bestiary"])
def test_there_are_ten_questions_and_more(name: str) -> None:
    """Every graph has at least ten questions with different names."""
    found = BESTIARY.listed(INFO) if name == "bestiary" else data_of(name)
    assert len({data["uid"] for data in found}) == len(found) >= 10


@pytest.mark.parametrize("engine_name", ENGINES)
@pytest.mark.parametrize("name", QUERIES)
def test_result_sets_are_those_of_the_reference_queries(name: str, engine_name: str) -> None:
    """Both engines return the expected, non-empty values for every question."""
    executor = engine(engine_name)
    for data in data_of(name):
        graph = data.get("graphTurtle") or data["graph"]
        prefixes = serialising.declared_prefixes(graph)
        result = executor.select(data["refSparql"], graph, prefixes)
        assert result.error is None, (data["uid"], result.error)
        assert sorted(values(result.rows, prefixes)) == data["refResultSet"], data["uid"]
        assert data["refResultSet"]


def test_result_sets_about_the_bestiary(bestiary_text: str) -> None:
    """The expected values are the results of the reference queries over the generated graph."""
    store = ox.Store()
    store.bulk_load(bestiary_text.encode(), ox.RdfFormat.N_TRIPLES)
    assert len(store) >= 50_000
    rdfs = {"rdfs": "http://www.w3.org/2000/01/rdf-schema#"}
    for question in texts.shared_structure("bestiary", "questions.json"):
        rows = [
            tuple(None if term is None else str(term) for term in row)
            for row in store.query(question["refSparql"], prefixes={**bestiary.PREFIXES, **rdfs})
        ]
        assert sorted(values(rows, bestiary.PREFIXES)) == question["refResultSet"]
        assert question["refResultSet"]


def test_subgraphs_of_the_bestiary_are_cut_by_the_rule(bestiary_text: str) -> None:
    """The part of the bestiary in a prompt is the part that the rule of graph_info selects."""
    whole = [q.triple for q in ox.parse(bestiary_text.encode(), ox.RdfFormat.N_TRIPLES)]
    for question in texts.shared_structure("bestiary", "questions.json"):
        wanted = graph_info.query_iris(question["refSparql"], bestiary.PREFIXES)
        cut = graph_info.subgraph(whole, wanted, 12)
        assert graph_info.as_turtle(cut, bestiary.PREFIXES) == question["subGraph"]


def test_questions_reach_far() -> None:
    """The questions about each graph use many features of SPARQL."""
    features = {"Count", "Optional", "NotExists", "Minus", "PropertyPath", "SubQuery", "Union"}
    features |= {"OrderBy", "GroupBy", "Having", "Filter"}
    for folder in ("organisation", "economy", "bestiary"):
        questions = texts.shared_structure(folder, "questions.json")
        found = {feature for question in questions for feature in question["lsqFeatures"]}
        assert features <= found | {"PropertyPath"}, folder


KEYWORDS = {
    "Optional": "OPTIONAL",
    "NotExists": "NOT EXISTS",
    "Minus": "MINUS",
    "Union": "UNION",
    "OrderBy": "ORDER BY",
    "GroupBy": "GROUP BY",
    "Having": "HAVING",
    "Filter": "FILTER",
    "Limit": "LIMIT",
    "Offset": "OFFSET",
    "Distinct": "DISTINCT",
    "Count": "COUNT(",
    "Sum": "SUM(",
    "Avg": "AVG(",
    "Max": "MAX(",
    "Bound": "BOUND(",
    "SubQuery": "{ SELECT",
}


@pytest.mark.parametrize("folder", ["organisation", "economy", "bestiary"])
def test_features_are_those_of_the_query(folder: str) -> None:
    """The declared features of a question are those of its reference query."""
    for question in texts.shared_structure(folder, "questions.json"):
        declared = set(question["lsqFeatures"]) & set(KEYWORDS)
        assert declared == {f for f, word in KEYWORDS.items() if word in question["refSparql"]}


def test_sizes_of_the_graphs() -> None:
    """The graphs have about the sizes given in the papers."""
    executor = engine("oxigraph")
    for text, size in (
        (ORGANISATION_GRAPH, 29),
        (texts.shared("economy", "graph.ttl"), 282),
    ):
        parsed = executor.parse(text, "turtle")
        assert parsed.triples is not None
        assert abs(len(parsed.triples) - size) <= 3


def test_numbers_hide_all_names() -> None:
    """The numbered graph, its queries and its results contain no name of the organisation."""
    names = {name.partition(":")[2] for name in renaming.number_names(ORGANISATION_GRAPH)}
    for data in data_of("numbers"):
        assert set(data["refResultSet"]).isdisjoint(f":{name}" for name in names)
        tokens = {t.partition(":")[2] for t in data["refSparql"].split() if ":" in t}
        assert tokens.isdisjoint(names)
        assert "marketingDep" not in data["graphTurtle"]
        assert data["entityHelpCsv"].splitlines()[0] == "id,label"


def test_generating_is_deterministic(bestiary_text: str) -> None:
    """The bestiary is reproducible; a change of the generator requires another file name."""
    from kgbench.rdf import digest

    assert bestiary_text.count("\n") == 62_267
    assert digest(bestiary_text).startswith("175ed9a72937a116")


# --- prompts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("graph_format", ["turtle", "json-ld"])
@pytest.mark.parametrize("kind", ["graph", "subgraph", "schema", "subschema", "iris", "irisLabels"])
@pytest.mark.parametrize(
    "name", ["Text2SparqlExecEvalListCoypuMini", "Text2SparqlExecEvalListBeastiary"]
)
def test_every_kind_of_information_can_be_shown(name: str, kind: str, graph_format: str) -> None:
    """Prompts show the kind of information that the parameters choose, in their format."""
    if kind == "graph" and name.endswith("Beastiary"):
        return
    module = catalogue.module(name)
    task = catalogue.make_task(name, "any", {"kgInfoType": kind, "kgInfoFormat": graph_format})
    for case in module.cases(task, "test", 0, 20):
        prompt = module.prompt(case)
        assert case.data["question"] in prompt
        if kind in {"iris", "irisLabels"}:
            assert "```turtle" not in prompt
        else:
            assert ("```turtle" if graph_format == "turtle" else "```json") in prompt
            shown = prompt.rpartition("```")[0].rpartition("```")[2].partition("\n")[2]
            parsed = engine("oxigraph").parse(shown, graph_format)
            assert parsed.triples, (case.uid, parsed.error)


def test_what_a_case_lacks_is_said() -> None:
    """A published case without the information of its prompt cannot be asked."""
    data = {"question": "?", "kgInfoType": "schema", "uid": "x"}
    case = catalogue.make_case("llm-kg-bench-3", BESTIARY.NAME, {}, data)
    with pytest.raises(TaskError, match="does not hold what its prompt shows"):
        BESTIARY.prompt(case)


@pytest.mark.parametrize("engine_name", ENGINES)
def test_faulty_queries_are_refused(engine_name: str) -> None:
    """Each of at least five faulty queries is refused by both engines."""
    executor = engine(engine_name)
    faults = data_of("faults")
    assert len(faults) >= 5
    for data in faults:
        prefixes = serialising.declared_prefixes(data["graph"])
        assert executor.check(data["testSparql"], prefixes) is not None, data["uid"]
        assert executor.check(data["refSparql"], prefixes) is None


# --- judging ----------------------------------------------------------------------------------


def case_of(suite: str = "test", **changes: object) -> Case:
    """Return the first question about the organisation with some data replaced."""
    data = {**data_of("organisation")[0], **changes}
    return catalogue.make_case(suite, ORGANISATION.NAME, {}, data)


def fenced(query: str) -> str:
    """Return an answer with a query."""
    return f"```sparql\n{query}\n```"


def test_feedback_and_its_end() -> None:
    """Syntax errors and empty results have feedback, wrong results do not."""
    executor = engine("oxigraph")
    judge, case = ORGANISATION.judge, case_of()
    kinds = [
        judge(case, [answer], executor).feedback
        for answer in (
            "no query",
            fenced("SELECT ?x WHERE"),
            fenced("SELECT ?x WHERE { ?x a :Nothing }"),
            fenced("SELECT ?x WHERE { ?x a foaf:Person }"),
        )
    ]
    assert kinds == ["syntax", "syntax", "empty-result", None]
    for answer in ("no query", fenced("SELECT ?x WHERE { ?x a :Nothing }")):
        assert judge(case, [answer] * 3, executor).next_prompt is None


def test_scores_of_unparsable_queries() -> None:
    """A query that does not parse has two scores, and the outcome says why."""
    verdict = ORGANISATION.judge(case_of(), [fenced("SELECT ?x {")], engine("oxigraph"))
    assert verdict.scores == {"answerParse": 0.0, "combined": 0.0}
    assert verdict.outcome is Outcome.UNPARSABLE
    assert "SELECT ?x {" in (verdict.next_prompt or "")


def test_lower_case_and_other_blocks_are_no_query() -> None:
    """Only a block with SELECT in upper case is a query; earlier blocks are ignored."""
    executor, case = engine("oxigraph"), case_of()
    small = fenced(case.data["refSparql"].replace("SELECT", "select"))
    assert ORGANISATION.judge(case, [small], executor).scores["answerParse"] == 0.0
    quoted = f"```turtle\n:a :b :c .\n```\n{ORGANISATION.reference(case)}"
    assert ORGANISATION.judge(case, [quoted], executor).scores["combined"] == 1.0


@pytest.mark.parametrize(("suite", "found"), [("test", 1.0), ("llm-kg-bench-3", 0.0)])
def test_the_undeclared_prefix_matches_nothing_in_published_cases(suite: str, found: float) -> None:
    """In published cases rdfs is known only if the query declares it; otherwise it always is."""
    executor = engine("oxigraph")
    case = case_of(suite, refResultSet=["Marketing Department"])
    query = "SELECT ?l WHERE { :marketingDep rdfs:label ?l }"
    assert ORGANISATION.judge(case, [fenced(query)], executor).scores["f1measure"] == found
    declared = f"PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> {query}"
    assert ORGANISATION.judge(case, [fenced(declared)], executor).scores["f1measure"] == 1.0


def test_long_results_are_kept_whole() -> None:
    """The infos list fifteen values, as published, and separately all of them."""
    query = "SELECT ?s ?p ?o WHERE { ?s ?p ?o }"
    infos = ORGANISATION.judge(case_of(), [fenced(query)], engine("oxigraph")).infos
    assert len(infos["answerSet"]) == 16
    assert infos["answerSet"][-1] == "..."
    assert infos["answerSetSize"] == len(infos["answerSetWhole"]) > 15


def test_recorded_results_replace_an_endpoint() -> None:
    """A published case about an endpoint is judged by its recorded results."""
    module = SYNTAX_FIXING
    query = "SELECT ?o WHERE { wd:Q1 p:P1 ?o }"
    recorded = {query: {"answerSet": ["7"], "answerSetSize": 1, "answerResultLength": 1}}
    data = {"uid": "x", "refSparql": query, "refResultSet": ["7"], "recordedResults": recorded}
    case = catalogue.make_case("llm-kg-bench-3", module.NAME, {}, data)
    verdict = module.judge(case, [fenced(query)], engine("oxigraph"))
    assert verdict.scores["combined"] == 1.0
    assert verdict.infos["answerSet"] == ["7"]
    with pytest.raises(EvaluationError, match="no recorded result"):
        module.judge(case, [fenced("SELECT ?o WHERE { wd:Q2 p:P1 ?o }")], engine("oxigraph"))


class Refusing(PlainExecutor):
    """An executor that accepts every query and executes none."""

    def check(self, *_: object) -> str | None:
        """Accept any query."""
        return None

    def select(self, *_: object) -> QueryResult:
        """Refuse any query."""
        return QueryResult(error="SERVICE is never executed", refused=True)


def test_refused_queries_have_empty_results() -> None:
    """A query that is never executed parses, has no result, and the infos say so."""
    verdict = ORGANISATION.judge(case_of(), [fenced("SELECT ?x { SERVICE ?s {} }")], Refusing())
    assert verdict.scores["answerParse"] == 1.0
    assert verdict.scores["recall"] == 0.0
    assert verdict.infos["refused"] is True
    assert verdict.feedback == "empty-result"


# --- graphs with names ------------------------------------------------------------------------

BEASTS = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e.org/">
<rdf:Description rdf:about="http://e.org/a"><e:b>1</e:b></rdf:Description></rdf:RDF>"""


@pytest.fixture
def graph_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for installed data sets."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "sets"))
    return tmp_path / "sets"


@pytest.mark.parametrize("engine_name", ENGINES)
def test_our_large_graph_needs_no_file(engine_name: str) -> None:
    """The bestiary is generated when a judge needs it; the reference answers are right."""
    task = catalogue.make_task(BESTIARY.NAME, "any", {})
    cases = BESTIARY.cases(task, "test", 0, 3)
    graphs.require(cases)
    executor = engine(engine_name)
    for case in cases:
        answer = BESTIARY.reference(case)
        verdict = BESTIARY.judge(case, [answer], executor)
        assert verdict.scores["combined"] == 1.0
        assert verdict.next_prompt is None


def published_case() -> Case:
    """Return a case like the published ones about the large graph."""
    data = {"uid": "x", "refSparql": "SELECT ?o { ?s ?p ?o }", "refResultSet": ["1"]}
    return catalogue.make_case("llm-kg-bench-3", BESTIARY.NAME, {}, data)


def test_a_published_graph_must_be_installed(graph_folder: Path, tmp_path: Path) -> None:
    """A missing published graph is an error with instructions; once installed, it is used."""
    judge, case = BESTIARY.judge, published_case()
    answer = BESTIARY.reference(case)
    with pytest.raises(TaskError, match="kgbench datasets install beastiary --from"):
        graphs.require([case])
    with pytest.raises(EvaluationError, match="kgbench datasets install beastiary --from"):
        judge(case, [answer], engine("oxigraph"))
    (tmp_path / "beastiary_kg.rdf").write_text(BEASTS)
    assert graphs.install(tmp_path) == graph_folder / "beastiary" / "graph.nt"
    graphs.require([case])
    graphs.prepare()
    assert judge(case, [answer], engine("oxigraph")).scores["combined"] == 1.0


def test_zipped_graphs(graph_folder: Path, tmp_path: Path) -> None:
    """The published archive is read without unpacking."""
    archive = tmp_path / "beastiary_kg.rdf.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("beastiary_kg.rdf", BEASTS)
    assert graphs.install(archive).read_text().count("\n") == 1
    names = sorted(path.name for path in graph_folder.glob("*/*"))
    assert names == ["graph.nt", "installed.json"]


@pytest.mark.parametrize("content", [b"PK no zip", b""])
def test_damaged_graphs(graph_folder: Path, tmp_path: Path, content: bytes) -> None:
    """A damaged or missing file is refused, and nothing is installed."""
    with pytest.raises(ResourceError, match="has neither"):
        graphs.install(tmp_path)
    for name in ("beastiary_kg.rdf.zip", "beastiary_kg.rdf"):
        damaged = tmp_path / name
        damaged.write_bytes(content)
        with pytest.raises(ResourceError, match="cannot be read"):
            graphs.install(damaged)
    with pytest.raises(EvaluationError, match="no graph 'x'"):
        graphs.text("x")
    assert not graph_folder.exists()
