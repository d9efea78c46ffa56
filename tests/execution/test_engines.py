# SPDX-License-Identifier: Apache-2.0
"""Results and refusals of both engines for documents and queries."""

import json
import re

import pytest

from kgbench.characters import BOM
from kgbench.errors import EvaluationError
from kgbench.execution import engines, oxigraph
from kgbench.execution.engines import GraphCache, InstalledGraphs, engine, engine_label
from kgbench.rdf import lexer

XSD_INTEGER = "<http://www.w3.org/2001/XMLSchema#integer>"
RDF_XML = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
    '<rdf:Description rdf:about="http://e/a"><e:b>x</e:b></rdf:Description></rdf:RDF>'
)
SAME = {
    "turtle": '@prefix e: <http://e/> .\ne:a e:b "x" .',
    "json-ld": '{"@context": {"e": "http://e/"}, "@id": "e:a", "e:b": "x"}',
    "xml": RDF_XML,
    "ntriples": '<http://e/a> <http://e/b> "x" .',
}
INNER = {"@id": "http://e/x", "http://e/y": "z"}
NAMED = {"@id": "http://e/g", "@graph": [INNER], "http://e/b": "x"}
CONTEXT = {"@context": {"e": "http://e/"}, "e:b": "x"}
ELSEWHERE = "http://127.0.0.1:9/c"
GRAPH = """@prefix e: <http://e/> .
e:a e:b 1, "x"@en, "line\\nbreak \\"quoted\\"" ; e:c [ e:d e:a ] ."""


@pytest.fixture(params=["oxigraph", "rdflib"])
def executor(request):
    """Return the executor of each engine in turn."""
    return engine(request.param)


@pytest.mark.parametrize(
    ("rdf_format", "text", "line"),
    [
        *((form, text, '<http://e/a> <http://e/b> "x" .') for form, text in SAME.items()),
        ("ntriples", f"{SAME['ntriples']}\n" * 3, '<http://e/a> <http://e/b> "x" .'),
        ("json-ld", json.dumps(NAMED), '<http://e/g> <http://e/b> "x" .'),
        ("json-ld", json.dumps([CONTEXT]), '_:b0 <http://e/b> "x" .'),
        ("turtle", "<a> <http://e/b> <#c> .", "<{0}a> <http://e/b> <{0}#c> ."),
        ("turtle", "<a> <../b> </c> .", "<{0}a> <{0}b> <{0}c> ."),
        ("turtle", '<urn:a> <urn:b> "x"@EN .', '<urn:a> <urn:b> "x"@en .'),
        (
            "xml",
            '<?xml version="1.0" encoding="ISO-8859-1"?>\n' + RDF_XML.replace(">x<", ">ä<"),
            '<http://e/a> <http://e/b> "ä" .',
        ),
        *(
            (form, f"{BOM}{SAME[form]}", '<http://e/a> <http://e/b> "x" .')
            for form in ("turtle", "ntriples", "json-ld")
        ),
        ("turtle", f'<urn:a> <urn:b> "{BOM}" .', f'<urn:a> <urn:b> "{BOM}" .'),
    ],
)
def test_documents_have_their_triples(executor, rdf_format, text, line):
    """A triple is given once and in every format alike, without those of named graphs.

    Relative IRIs have an invalid base; declared encodings and byte order marks are ignored.
    """
    expected = line.format("https://document.invalid/")
    assert executor.parse(text, rdf_format).triples == (expected,)


def test_triples_are_written_as_n_triples(executor):
    """Escapes, language tags and datatypes follow N-Triples; blank nodes are numbered in order."""
    text = '@prefix e: <http://e/> . e:a e:b "a\\n\\"\\\\", "x"@en, 1 ; e:c [], [] .'
    triples = executor.parse(text, "turtle").triples
    assert set(triples) == {
        '<http://e/a> <http://e/b> "a\\n\\"\\\\" .',
        '<http://e/a> <http://e/b> "x"@en .',
        f'<http://e/a> <http://e/b> "1"^^{XSD_INTEGER} .',
        "<http://e/a> <http://e/c> _:b0 .",
        "<http://e/a> <http://e/c> _:b1 .",
    }


def test_parsing_is_repeatable(executor):
    """Parsing twice gives the same lines, from rdflib up to the labels of blank nodes."""
    text = '<http://e/a> <http://e/b> [ <http://e/c> "_:x" ], _:y, ( 1 2 ) .'
    first, second = (executor.parse(text, "turtle").triples for _ in range(2))
    if isinstance(executor, oxigraph.OxigraphExecutor):
        assert first == second
    assert sorted(re.sub("_:b.", "_:b", line) for line in first) == sorted(
        re.sub("_:b.", "_:b", line) for line in second
    )
    assert {"_:b0", "_:b1", "_:b2", "_:b3"} == set(re.findall("_:b.", "".join(first)))
    assert any('"_:x"' in line for line in first)


@pytest.mark.parametrize(
    ("rdf_format", "text"),
    [
        ("turtle", "<http://e/a> <http://e/b>\n  foo:c ."),
        ("turtle", '<http://e/a>\n <http://e/b> "x"@en^^<http://e/c> .'),
        ("json-ld", '{"@id": "http://e/a",\n "http://e/b" 1}'),
        ("xml", RDF_XML.replace("</e:b>", "\n</e:c>")),
        ("xml", RDF_XML.replace("</rdf:RDF>", "\n")),
        ("turtle", "<http://e/a>\n \ud800 ."),
    ],
)
def test_errors_of_documents_name_the_line(executor, rdf_format, text):
    """A document that does not parse has no triples, and a message with the line."""
    parsed = executor.parse(text, rdf_format)
    assert parsed.triples is None
    assert "line 2" in parsed.error or "line: 2" in parsed.error


def test_entities_are_not_resolved(executor, tmp_path):
    """A document with internal, nested or external entities is refused."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    nested = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 12))
    for declared in (
        '<!ENTITY l11 "x">',
        f'<!ENTITY l0 "x">{nested}',
        f'<!ENTITY l11 SYSTEM "{secret.as_uri()}">',
        f'<!ENTITY % l SYSTEM "{secret.as_uri()}"> %l; <!ENTITY l11 "x">',
    ):
        text = f"<!DOCTYPE rdf:RDF [{declared}]>\n" + RDF_XML.replace(">x<", ">&l11;<")
        parsed = executor.parse(text, "xml")
        assert parsed.triples is None
        assert "entities are not resolved" in parsed.error


@pytest.mark.parametrize(
    "context",
    [
        *(ELSEWHERE, "/etc/hostname", [{}, ELSEWHERE], {"@import": ELSEWHERE}),
        {"e": {"@id": "http://e/", "@context": ELSEWHERE}},
    ],
)
@pytest.mark.parametrize("escaped", [False, True])
def test_remote_contexts_are_not_loaded(executor, context, escaped):
    """A document that names a remote context, anywhere in it, is refused."""
    text = json.dumps([CONTEXT, {"http://e/b": {"@context": context, "e": 1}}])
    if escaped:
        text = text.replace('"@', '"\\u0040')
    parsed = executor.parse(text, "json-ld")
    assert parsed.triples is None
    assert "remote context" in parsed.error
    assert "line 1, column" in parsed.error


@pytest.mark.parametrize("rdf_format", SAME)
def test_nul_and_noise_do_no_harm(executor, rdf_format):
    """Any text either has triples or an error."""
    for text in (
        "\x00",
        "",
        "\x00\x01\x02\ufffd\uffff" * 100,
        "<" * 1_000,
        SAME[rdf_format] + "\x00",
    ):
        parsed = executor.parse(text, rdf_format)
        assert (parsed.triples is None) == (parsed.error is not None)


def test_byte_order_marks_are_no_part_of_queries(executor):
    """A query, an update and the graph of a case may begin with a byte order mark."""
    graph = f"{BOM}<urn:a> <urn:b> <urn:c> ."
    query = f"{BOM}SELECT ?x {{ ?x ?y ?z }}"

    assert executor.select(query, graph, {}).rows == (("<urn:a>",),)
    assert executor.check(query, {}) is None
    assert executor.check(f"{BOM}CLEAR ALL", {}, update=True) is None
    assert len(executor.changes(f"{BOM}CLEAR ALL", graph, {}).rows) == 1


def test_select(executor):
    """Rows are N-Triples terms, ``None`` where a variable is unbound."""
    query = "SELECT ?o ?x { ?s e:b|e:c ?o OPTIONAL { ?o e:d ?x } } ORDER BY isBlank(?o) ?o"
    result = executor.select(query, GRAPH, {"e": "http://e/"})
    assert result.variables == ("o", "x")
    assert set(result.rows) == {
        ('"line\\nbreak \\"quoted\\""', None),
        ('"x"@en', None),
        (f'"1"^^{XSD_INTEGER}', None),
        ("_:b0", "<http://e/a>"),
    }
    assert (result.error, result.expired, result.refused) == (None, False, False)


def test_well_known_prefixes_need_no_declaration(executor):
    """The prefixes that rdflib knows are declared; the judge's prefixes override them."""
    graph = '<http://e/a> <http://www.w3.org/2000/01/rdf-schema#label> "x" .'
    query = "SELECT * { ?s rdfs:label ?o }"
    assert len(executor.select(query, graph, {}).rows) == 1
    assert executor.select(query, graph, {"rdfs": "http://other/"}).rows == ()
    declared = "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> " + query
    assert len(executor.select(declared, graph, {"rdfs": "http://other/"}).rows) == 1


def test_undeclared_prefixes_fail_when_run(executor):
    """An undeclared prefix passes the grammar check; executing the query names it."""
    query = "SELECT * { ?s nobody:knows ?o }"
    assert executor.check(query, {}) is None
    result = executor.select(query, GRAPH, {})
    assert result.rows == ()
    assert "nobody" in result.error


@pytest.mark.parametrize(
    "query",
    ["SELECT * {\n ?s ?p }", "SELECT * {\n ?s nobody:x ?o", "SELECT * {\n ?s ?p \ud800 }"],
)
def test_errors_of_queries_name_line_and_column(executor, query):
    """An error of a query names line and column."""
    error = executor.check(query, {})
    assert "line 2, column" in error or "(line:2, col:" in error or "(line:1, col:1)" in error
    assert executor.select(query, GRAPH, {}).error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ?x, ?y {}", "line 1, column 8: syntax error, '?x,' stands here"),
        ("SELECT ?x {} ORDER BY ?x, ?y", "line 1, column 25: syntax error, ',' stands here"),
        ("SELECT *\n{ FILTER(?x == 1) }", "line 2, column 14: syntax error, '=' stands here"),
        ("SELECT * { {} UNIN {} } # ä", "line 1, column 15: syntax error, 'UNIN' stands here"),
        ("SELECT * {} LIMIT 1 LIMIT 2", "line 1, column 21: syntax error, 'LIMIT' stands here"),
        ("SELECT * { ?x ?y # }", "line 1, column 21: syntax error, the query ends here"),
        ("SELECT ?x (COUNT(?x) AS ?n) {}", "line 1, column 31: error of scope, SELECT names a"),
        ("SELECT * { FILTER (?x FOO 1) }", "line 1, column 23: syntax error, 'FOO' stands here"),
        ("INSERT DATA {}\nLIMIT 1", "line 2, column 1: syntax error, 'LIMIT' stands here"),
        ("INSERT {} WHRE {}", "line 1, column 11: syntax error, 'WHRE' stands here"),
    ],
)
def test_messages_name_the_place_of_an_error(text, message):
    """An error is where a word stands that is not expected, not after it, or at the end."""
    error = engine("oxigraph").check(text, {}, update=text.startswith("INSERT"))
    assert error.startswith(message)


@pytest.mark.parametrize(
    ("query", "good"),
    [
        ("SELECT * { SERVICE SILENT <http://127.0.0.1:9/> { ?s ?p ?o } }", True),
        ("ASK {}", True),
        ("INSERT DATA { <http://e/> <http://e/> 1 }", False),
    ],
)
def test_refused_queries_may_have_good_grammar(executor, query, good):
    """SERVICE and ASK pass the grammar check, an update does not; none is executed."""
    assert (executor.check(query, {}) is None) is good
    result = executor.select(query, GRAPH, {})
    assert result.refused
    assert result.error


def test_from_loads_nothing(executor, tmp_path):
    """A graph that a query names with FROM is not loaded, not even from a file."""
    file = tmp_path / "graph.ttl"
    file.write_text("<http://e/secret> <http://e/b> 1 .")
    result = executor.select(f"SELECT * FROM <{file.as_uri()}> {{ ?s ?p ?o }}", GRAPH, {})
    assert "secret" not in str(result.rows)


def test_too_many_rows_are_an_error(executor, monkeypatch):
    """A result with more values than the limit is an error without rows."""
    monkeypatch.setattr(engines, "MOST_VALUES", 6)
    result = executor.select("SELECT * { ?s ?p ?o }", GRAPH, {})
    assert (result.rows, result.error) == ((), "the result has more than 2 rows")


def test_messages_without_a_place_are_kept():
    """A message of the engine that names no line is kept unchanged."""
    assert engine("oxigraph").parse('{"@id": 1}', "json-ld").error == "@id value must be a string"
    assert oxigraph._rephrased("SELECT", "the engine is in another mood") == (
        "the engine is in another mood"
    )


@pytest.mark.parametrize("name", ["<http://e/f>", "nobody:f"])
def test_unknown_functions_fail_when_run(executor, name):
    """An unknown function passes the grammar check and yields no rows."""
    query = f"SELECT * {{ ?s ?p ?o FILTER({name}(?o)) }}"
    assert executor.check(query, {}) is None
    result = executor.select(query, GRAPH, {})
    assert (result.rows, result.refused) == ((), False)


def test_what_is_no_select_has_no_rows():
    """Without the lexer, the engine itself refuses forms other than SELECT."""
    unguarded = oxigraph.OxigraphExecutor(refusal=lambda _: None)
    for query in ("ASK {}", "CONSTRUCT WHERE { ?s ?p ?o }"):
        result = unguarded.select(query, GRAPH, {})
        assert (result.rows, result.refused) == ((), True)


@pytest.mark.parametrize(("size", "again"), [(0, 1), (10_000, 0)])
def test_the_graphs_used_last_are_kept(size, again, monkeypatch):
    """Eight graphs are cached, more if they are small; the least recently used is dropped."""
    monkeypatch.setattr(engines, "_KEPT_SIZE", size)
    loaded = []
    cache = GraphCache(InstalledGraphs(), lambda graph: loaded.append(graph.text) or graph.text)
    graphs = [f"<http://e/{k}> <http://e/b> {k} ." for k in range(9)]
    for graph in (*graphs[:8], graphs[0], graphs[8], graphs[0], graphs[1]):
        assert cache[graph] == graph

    assert loaded == [*graphs, *graphs[1 : 1 + again]]


def test_installed_graphs_go_by_name(tmp_path):
    """An installed graph is found by its name; an unknown name lists the known ones."""
    for name, rdf_format in {"a.nt": "ntriples", "b.rdf": "xml", "c.ttl": "turtle"}.items():
        (tmp_path / name).write_text(SAME[rdf_format])
    paths = [(path.stem, str(path)) for path in tmp_path.iterdir()]
    for name in ("oxigraph", "rdflib"):
        installed = InstalledGraphs(paths)
        executor = engine(name, installed)
        for graph in "abc":
            assert executor.select("SELECT ?s ?p ?o { ?s ?p ?o }", graph, {}).rows == (
                ("<http://e/a>", "<http://e/b>", '"x"'),
            )
        with pytest.raises(EvaluationError, match="'beasts' is not installed"):
            executor.select("SELECT * { ?s ?p ?o }", "beasts", {})
        installed.close()


def test_installed_graphs_must_be_readable(tmp_path):
    """A missing file and an unknown file extension are refused at once."""
    with pytest.raises(EvaluationError, match="cannot be read"):
        InstalledGraphs([("a", str(tmp_path / "missing.ttl"))])
    with pytest.raises(EvaluationError, match="ends in none of"):
        InstalledGraphs([("a", str(tmp_path / "graph.csv"))])


def test_a_graph_that_does_not_parse_is_a_defect(executor):
    """A case whose graph does not parse is a defect of the case, not of the answer."""
    with pytest.raises(EvaluationError, match="graph of the case"):
        executor.select("SELECT * { ?s ?p ?o }", "no turtle", {})


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELECT * " + "{" * 1_000 + "}" * 1_000, "nested deeper than"),
        ("SELECT * { SERVICEx:y{ ?s ?p ?o } }", lexer.ASKS_ELSEWHERE),
        (
            "SELECT ?a (COUNT(*) AS ?n) { ?s ?p ?a FILTER(<http://e/f>(?a)) }",
            "error of scope",
        ),
    ],
)
def test_what_the_check_finds_before_the_engine(query, error):
    """Deep nesting, SERVICE before a prefixed name, and scope beside an unknown function."""
    assert error in engine("oxigraph").check(query, {"x": "http://127.0.0.1:9/"})


def test_engines_have_labels(executor):
    """A label has name and version; an unknown engine or format is a defect that lists those."""
    assert engine_label("oxigraph").startswith("oxigraph 0.5.")
    assert engine_label("rdflib").startswith("rdflib 7.")
    for wrong, said in (
        (lambda: engine("jena"), "choose oxigraph or rdflib"),
        (lambda: engine_label("jena"), "no engine"),
        (lambda: executor.parse("", "rdfa"), "no format 'rdfa'"),
    ):
        with pytest.raises(EvaluationError, match=said):
            wrong()
