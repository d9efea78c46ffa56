# SPDX-License-Identifier: Apache-2.0
"""The lexer finds queries that must not be executed: examples, properties and an engine."""

import time

import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.rdf import lexer
from kgbench.rdf.query_text import has_dataset
from tests.support.sparql_texts import ASKING, NOWHERE, PIECES

NOT_ASKING = {
    "string": 'SELECT * { ?s ?p "SERVICE <http://e/> {}" }',
    "short string": "SELECT * { ?s ?p 'SERVICE \\' SERVICE' }",
    "long string": 'SELECT * { ?s ?p """a " "" \\""" SERVICE <http://e/> {}""" }',
    "long single": "SELECT * { ?s ?p '''a ' '' SERVICE\n''' }",
    "comment": "SELECT * { # SERVICE <http://e/> {}\n ?s ?p ?o }",
    "IRI": "SELECT * { ?s <http://e/SERVICE#SERVICE> ?o }",
    "URN": "SELECT * { ?s <urn:x:SERVICE> ?o }",
    "IRI in a row": "SELECT * { VALUES (?a ?b) { (<http://e/a#x> <http://e/service#y>) } }",
    "IRI as argument": "SELECT * { FILTER(?s=<http://e/a#service>||?s IN (<http://e/service#b>)) }",
    "prefix": "PREFIX service: <http://e/> SELECT * { ?s service:x ?o }",
    "prefix of a graph": "PREFIX service: <http://e/> SELECT * { GRAPH service:x { ?s ?p ?o } }",
    "local name": "PREFIX ex: <http://e/> SELECT * { ?s ex:service ?o { ?a ?b ?c } }",
    "local name with dots": "PREFIX ex: <http://e/> SELECT * { ?s ex:a.SERVICE ?o }",
    "variable": "SELECT ?service $SERVICE { ?service ?p $SERVICE }",
    "blank node": "SELECT * { _:SERVICE ?p _:a.service }",
    "language": 'SELECT * { ?s ?p "x"@service }',
}
REFUSED = {
    "INSERT DATA { <http://e/> <http://e/> 1 }": "INSERT",
    "PREFIX e: <http://e/> # x\n load <http://e/>": "LOAD",
    "WITH <http://e/> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }": "WITH",
    "BASE <http://e/> CLEAR ALL": "CLEAR",
    "ASK { ?s ?p ?o }": "no SELECT",
    "CONSTRUCT WHERE { ?s ?p ?o }": "no SELECT",
    "describe <http://e/>": "no SELECT",
    "How do I SELECT?": "no SELECT",
    "# SELECT * {}": "no SELECT",
    "'SELECT' ": "no SELECT",
    "": "no SELECT",
}


@pytest.mark.parametrize("query", ASKING.values(), ids=ASKING)
def test_service_is_found(query):
    """A query that calls another endpoint is refused, however SERVICE is written."""
    assert lexer.refusal(query) == lexer.ASKS_ELSEWHERE


@pytest.mark.parametrize("query", NOT_ASKING.values(), ids=NOT_ASKING)
def test_the_word_alone_is_no_reason(query):
    """Strings, names, IRIs, variables and comments may contain the word SERVICE."""
    assert lexer.refusal(query) is None


@pytest.mark.parametrize(
    "update",
    [
        *("load <http://e/>", "LOADSILENT<http://e/>", "CLEAR ALL;LOAD#\n<http://e/>"),
        *("PREFIX : <http://e/>LOAD:x", "PREFIX e: <http://e/> LOADSILENTe:x INTO GRAPH e:y"),
        'INSERT {} WHERE { FILTER(?a<?b#>"""\n) } ; LOADSILENT<http://e/> #"""',
    ],
)
def test_load_is_found(update):
    """An update with LOAD is found, however LOAD is written."""
    assert lexer.may_load(update)


@pytest.mark.parametrize(
    "update",
    [
        "PREFIX load: <http://e/> CLEAR GRAPH load:x ; COPY load:x TO load:y # LOAD",
        "PREFIX load: <http://e/> WITH load:x DELETE { ?s load:p 1 } WHERE { ?s load:p 'LOAD' }",
    ],
)
def test_a_prefix_may_be_called_load(update):
    """Prefixes, strings and comments may contain the word LOAD."""
    assert not lexer.may_load(update)


@pytest.mark.parametrize(("query", "why"), REFUSED.items())
def test_only_select_is_executed(query, why):
    """Updates and query forms other than SELECT are refused, and the reason names them."""
    assert why in lexer.refusal(query)


@pytest.mark.parametrize("query", ["SELECT * {}", "select*{}", "PREFIX : <http://e/> SELECT ?x {}"])
def test_select_is_executed(query):
    """A SELECT query is accepted, whatever its prologue."""
    assert lexer.refusal(query) is None


@given(st.text())
def test_tokens_make_up_the_text(text):
    """The tokens of a text cover every character exactly once."""
    read = list(lexer.tokens(text))
    assert "".join(token.text for token in read) == text
    assert [token.start for token in read] == [
        sum(len(t.text) for t in read[:i]) for i in range(len(read))
    ]


@given(
    st.lists(st.sampled_from([" ", "\n", "\t", "# <x> ' \"\n", "#\n"]), min_size=1),
    st.lists(st.booleans(), min_size=7, max_size=7),
    st.sampled_from(["<http://e/>", "?x", "e:x", ":"]),
)
def test_service_is_found_between_blanks_and_comments(blanks, upper, endpoint):
    """SERVICE is found in any case, between any white space and comments."""
    word = "".join(c.upper() if up else c for c, up in zip("service", upper, strict=True))
    gap = "".join(blanks)
    query = f"SELECT * {{ ?s ?p ?o .{gap}{word}{gap}{endpoint}{gap}{{ ?s ?p ?o }} }}"
    assert lexer.refusal(query) == lexer.ASKS_ELSEWHERE


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_what_is_not_refused_asks_nobody(body):
    """A text that the lexer accepts never makes the engine call an endpoint."""
    for query in (body, f"SELECT * {{ {body} }}", f"SELECT * {{ FILTER(?a<?b{body} }}"):
        if lexer.refusal(query) is not None:
            continue
        try:
            list(
                ox.Store().query(query, base_iri="http://e/", prefixes={"e": "http://127.0.0.1:9/"})
            )
        except (SyntaxError, ValueError, TypeError):
            continue


def test_the_engine_tells_when_it_would_ask():
    """A query with SERVICE makes the engine raise OSError, so the test above can fail."""
    with pytest.raises(OSError, match="port 9"):
        list(ox.Store().query(f"SELECT * {{ SERVICE {NOWHERE} {{ ?s ?p ?o }} }}"))


def test_undeclared_prefixes():
    """Undeclared prefixes are named in order; strings and IRIs contain no prefixes."""
    query = "PREFIX a: <http://a/> SELECT * { a:x b:y 'c:z' ; <d:e> f:, b:g . :h ?i 1 } # j:k"
    assert lexer.undeclared(query, {"f": "http://f/"}) == ["b", ""]


def test_service_is_replaced_in_place():
    """Replacing SERVICE for the syntax check keeps the length of the query."""
    query = "SELECT * { SERVICE #c\n SILENT <http://e/> { ?silent e:service 'SERVICE' } }"
    changed = lexer.without_service(query)
    assert changed == (
        "SELECT * { GRAPH   #c\n        <http://e/> { ?silent e:service 'SERVICE' } }"
    )


@pytest.mark.parametrize(
    ("query", "depth"), [("", 0), ("{([])}", 3), ("{}{}", 1), ("'((('", 0), ("# (((\n(", 1)]
)
def test_depth(query, depth):
    """The depth counts brackets, but none in strings and comments."""
    assert not lexer.is_deeper(query, depth)
    assert depth == 0 or lexer.is_deeper(query, depth - 1)


#: Pieces whose repetition could make a regular expression read a text again from each place.
FREEZING = {
    "prefix without a colon": "a.",
    "prefix with hyphens": "a-",
    "prefix with dots": "a....",
    "prefix of all": "a._-",
    "number or prefix": "1.a.",
    "escaped quotation marks": '\\"',
    "escaped apostrophes": "\\'",
    "escaped of both": "\\\"\\'",
    "empty strings": '"" "',
    "long strings": '"""\\',
    "long and short strings": "\"\"\"'''\\\"\\'",
    "quotation marks in lines": '"\\"\n',
    "open IRIs": "<a",
    "IRIs with escapes": "<\\u0041",
    "blank nodes": "_:a.",
    "blank nodes with dots": "_:a.....",
    "names": ":a.",
    "names with escapes": ":\\-%4",
    "language tags": "@a-",
    "numbers": "1.",
    "exponents": "1e+",
    "variables": "?",
    "brackets": "([{",
    "comments": "#\r",
    "escapes": "\\u0022",
    "letters as escapes": "\\u0061.",
    "service": "service ",
    "service in an IRI": "<service#",
    "spaces": " \t",
}
STARTS = ("", '"', "'''", "_:a")


def seconds(text):
    """Return the least processor time of three runs, which other processes affect little."""

    def read():
        begin = time.process_time()
        lexer.refusal(text)
        return time.process_time() - begin

    return min(read() for _ in range(3))


@pytest.mark.parametrize("piece", FREEZING.values(), ids=FREEZING)
@pytest.mark.parametrize("start", STARTS)
def test_reading_is_linear(start, piece):
    """Eight times the text takes about eight times as long, not 64 times.

    The word ``service`` makes the lexer read the whole text.
    """
    short, long = (
        start + piece * (length // len(piece)) + "# service" for length in (6_000, 48_000)
    )
    assert seconds(long) < 24 * max(seconds(short), 0.002)


@pytest.mark.parametrize("piece", FREEZING.values(), ids=FREEZING)
def test_no_text_stops_a_reader(piece):
    """A text of 60,000 characters is read in less than 20 seconds (once most of a minute)."""
    begin = time.process_time()
    for start in ("", '"'):
        lexer.refusal(start + piece * (60_000 // len(piece)) + "# service")
    assert time.process_time() - begin < 20


def test_query_is_read_into_tokens_once(monkeypatch):
    """Escapes of letters and CRLF line ends do not make the lexer read a query again."""
    read = list(lexer.tokens(query := "SELECT *\r\n{ ?s ?p 'caf\\u00e9 service' }\r\n# \\u0041"))
    monkeypatch.setattr(lexer, "tokens", lambda *_: pytest.fail("read again"))
    assert lexer.refusal(query, read) is None


def test_tokens_have_a_limit():
    """More tokens than the limit raise TooManyTokens."""
    assert len(list(lexer.tokens("?a ?b", 3))) == 3
    with pytest.raises(lexer.TooManyTokens, match="more than 2 tokens"):
        list(lexer.tokens("?a ?b", 2))
    with pytest.raises(lexer.TooManyTokens):
        lexer.refusal("SELECT * {\\u0020 service:x\r}", max_tokens=7)


FROM_PIECES = (
    *PIECES,
    "FROM",
    "from",
    "FROMex:",
    "PREFIX FROMex: <urn:x>",
    "?from",
    "#",
    "\n",
    '"',
)


@given(st.lists(st.sampled_from(FROM_PIECES), max_size=14))
def test_datasets_are_those_of_the_whole_text(pieces):
    """A query is read only up to its last possible FROM; what follows it makes no difference."""
    query = "".join(pieces)
    words = [token.text for token in lexer.tokens(query) if token.kind is lexer.Kind.WORD]
    named = [word for word in (*words, *lexer.undeclared(query, {})) if "FROM" in word.upper()]

    assert has_dataset(query) is bool(named)
