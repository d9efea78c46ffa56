# SPDX-License-Identifier: Apache-2.0
"""``kgbench query`` searches all graphs together, declares prefixes and explains errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kgbench
from kgbench.cli import app
from kgbench.errors import QueryError

ELSEWHERE = "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"


def query(folder: Path, text: str, code: int = 0) -> str:
    """Return the output of the command, or its error message."""
    (folder / "asked.rq").write_text(text)
    words = ["query", str(folder / "asked.rq"), "--store", str(folder / "store"), "--format", "csv"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == code, done.output
    return str(done.exception) if code else done.output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a store of one dialogue."""
    words = ["run", "--task", "RdfFriendCount-nt-1", "--model", "baseline:oracle", "-n", "1"]
    assert CliRunner().invoke(app, [*words, "--store", str(tmp_path / "store")]).exit_code == 0
    return tmp_path


def test_the_default_graph_is_the_union(folder: Path) -> None:
    """Without GRAPH all named graphs are searched, and common prefixes are declared."""
    assert query(folder, "SELECT (COUNT(?d) AS ?n) { ?d a kgb:Dialogue }").split() == ["n", "1"]


def test_the_dataset_of_a_query_replaces_the_union(folder: Path) -> None:
    """FROM and FROM NAMED are obeyed, on the command line and in Python."""
    everywhere, count = "{ ?d a kgb:Dialogue }", "SELECT (COUNT(?d) AS ?n)"
    graph = query(folder, f"SELECT ?g {{ GRAPH ?g {everywhere} }}").split()[1]
    counts = {
        f"{count} FROM <{graph}> {everywhere}": "1",
        f"{count} FROM <urn:elsewhere> {everywhere}": "0",
        f"{count} FROM NAMED <{graph}> {everywhere}": "0",
        f"{count} FROM NAMED <urn:elsewhere> {{ GRAPH ?g {everywhere} }}": "0",
    }
    with kgbench.open(str(folder / "store")) as results:
        for text, expected in counts.items():
            assert query(folder, text).split() == ["n", expected]
            assert results.query(text).rows == ((int(expected),),)


def test_errors_are_short(folder: Path) -> None:
    """A syntax error has line, column, and the name that is nearest to the mistake."""
    wrong = "the query is not SPARQL: "
    for text, expected in (
        (
            "SELECT * {\n ?s foaff:x ?o }",
            "line 2, column 5: prefix foaff: is not declared: did you",
        ),
        ("SELECT * { ?s ?p ", "line 1, column 18: syntax error after 'SELECT * { ?s ?p'"),
        ("SELEC * { ?s ?p ?o }", "line 1, column 1: 'SELEC' is no word of SPARQL: did you mean"),
    ):
        assert query(folder, text, code=1).startswith(wrong + expected)


def test_known_prefixes_need_no_declaration(folder: Path) -> None:
    """Prefixes of kgbench and of rdflib are known; a declaration in the query overrides them."""
    text = "SELECT ?x { VALUES ?x { time:Instant kgb:Run } FILTR }"
    assert "column 48: 'FILTR' is no word" in query(folder, text, code=1)
    text = "PREFIX kgb: <urn:own:> ASK { FILTER(kgb:a = <urn:own:a> && qb:b != foaf:c) }"
    assert query(folder, text) == "true\n"


def test_unknown_terms_are_named_where_there_are_no_rows(folder: Path) -> None:
    """A term of kgbench that does not exist explains an empty result; a full one needs no note."""
    note = "there is no kgb:Dialoge: did you mean kgb:Dialogue"
    for text in (
        "SELECT * { ?s a kgb:Dialoge }",
        "PREFIX k: <https://w3id.org/kgbench/ns#> ASK { ?s a k:Dialoge }",
        "SELECT * { ?s a <https://w3id.org/kgbench/ns#Dialoge> }",
    ):
        assert note in query(folder, text)
    for text in (
        "SELECT * { ?s a kgb:Dialogue OPTIONAL { ?s a kgb:Dialoge } }",
        "SELECT * { ?s a kgb:Dialogue ; a kgb:Run }",
    ):
        assert "there is no" not in query(folder, text)


def test_guarded_numbers_stay_numbers(folder: Path) -> None:
    """Texts that a spreadsheet would run get an apostrophe, also with a datatype of numbers."""
    (folder / "numbers.rq").write_text(
        'SELECT (-3 AS ?i) (-2.5 AS ?d) (-1e0 AS ?e) ("-3" AS ?s) ("-5"^^xsd:int AS ?n)'
        '(7 AS ?p) ("=1+1"^^xsd:integer AS ?f) ("-INF"^^xsd:double AS ?x) ?no {}'
    )
    store = ["--store", str(folder / "store")]
    words = ["query", str(folder / "numbers.rq"), "--format", "csv", "--guard", *store]
    done = CliRunner().invoke(app, words)

    assert done.stdout == "i,d,e,s,n,p,f,x,no\n-3,-2.5,-1,'-3,-5,7,'=1+1,'-INF,\n"
    assert "3 cells" in done.stderr


def test_other_endpoints_are_never_asked(folder: Path) -> None:
    """SERVICE is refused before the query runs, on the command line and in Python."""
    refused = "SERVICE asks another endpoint: such a query is never executed; ask that endpoint"
    assert query(folder, ELSEWHERE, code=1).startswith(refused)
    results = kgbench.open(str(folder / "store"))
    for ask in (results.query, results.sparql):
        with pytest.raises(QueryError, match=refused):
            ask(ELSEWHERE)
    assert query(folder, 'SELECT ("SERVICE" AS ?service) {}').split() == ["service", "SERVICE"]
    results.close()


def test_a_query_that_is_not_utf_8_is_named(folder: Path) -> None:
    """The message names the source and the first wrong byte."""
    (folder / "latin.rq").write_bytes(b"ASK {} # \xff\xfe")
    words = ["--store", str(folder / "store")]
    from_file = CliRunner().invoke(app, ["query", str(folder / "latin.rq"), *words])
    piped = CliRunner().invoke(app, ["query", "-", *words], input=b"\xff\xfe")

    assert str(from_file.exception).endswith("latin.rq is not UTF-8 (byte 9); save it as UTF-8")
    assert str(piped.exception).startswith("the query from standard input is not UTF-8 (byte 0)")
    assert query(folder, "\ufeffASK {}") == "true\n"  # a byte order mark is UTF-8


@pytest.mark.parametrize(
    ("closed", "message"),
    [
        ("<&-", "the query cannot be read: standard input is closed"),
        (">&-", "the answer cannot be printed: standard output is closed"),
    ],
)
def test_a_closed_stream_is_one_line(folder: Path, closed: str, message: str) -> None:
    """A closed standard stream ends the command with a message instead of a traceback."""
    line = f'"$0" -m kgbench query - --store "$1" {closed}'
    done = subprocess.run(
        ["sh", "-c", line, sys.executable, str(folder / "store")],
        input="ASK {}",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert done.stderr == f"kgbench: {message}\n"
