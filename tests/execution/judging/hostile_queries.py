# SPDX-License-Identifier: Apache-2.0
"""Kinds of hostile SPARQL."""

import random
from collections.abc import Iterator

from tests.execution.judging.hostile import (
    MEGABYTE,
    Hostile,
    either,
    ended,
    noise,
    patterns,
    query,
    scored,
)
from tests.support.sparql_texts import ASKING, PIECES


def crossed(variables, rows=300):
    """Return inline data that joins to ``rows`` to the power of ``variables``."""
    return " ".join(f"VALUES ?v{i} {{{' 1' * rows}}}" for i in range(variables))


def soup(seed):
    """Return pieces of SPARQL in random order."""
    return "".join(random.Random(seed).choices(PIECES, k=30))


def hostile_queries(port) -> Iterator[tuple[str, Hostile]]:
    """Yield the kinds of hostile SPARQL; ``port`` must receive no request."""
    here = f"http://127.0.0.1:{port}/"
    yield (
        "endless joins",
        ended(
            "time", query(*(f"SELECT (COUNT(*) AS ?n) {{ {patterns(n)} }}" for n in range(6, 10)))
        ),
    )
    yield (
        "endless while checking",
        ended("time", query(*(f"SELECT (MAX(?v1) AS ?n) {{ {crossed(n)} }}" for n in range(5, 8)))),
    )
    yield (
        "endless in a filter",
        ended(
            "time memory",
            query(
                *(
                    f"SELECT * {{ ?s ?p ?o FILTER NOT EXISTS {{ {patterns(n)} "
                    "FILTER(?o0 = 'never') } }"
                    for n in (7, 8)
                )
            ),
        ),
    )
    yield (
        "endless to parse",
        ended("time", query(*(f"SELECT * {{ ?s ?p {'(' * n}{')' * n} }}" for n in (250, 300)))),
    )
    yield (
        "greedy for memory",
        ended(
            "memory",
            query(*(f"SELECT DISTINCT * {{ {patterns(n)} }} ORDER BY ?o0" for n in (6, 7))),
        ),
    )
    doubled = " ".join(f"BIND(CONCAT(?x{i}, ?x{i}) AS ?x{i + 1})" for i in range(60))
    yield (
        "doubling texts",
        ended(
            "memory",
            query(*(f"SELECT * {{ BIND('{x}' AS ?x0) {doubled} }}" for x in ("ha", "ho"))),
        ),
    )
    yield (
        "too many rows",
        scored(query(*(f"SELECT * {{ {patterns(n)} }}" for n in (5, 6))), rows=0),
    )
    for name, (opening, closing) in {
        "parentheses": ("(", ")"),
        "groups": ("{", "}"),
        "options": ("OPTIONAL{", "}"),
        "sub-selects": ("{SELECT * {", "}}"),
    }.items():
        deep = (
            f"SELECT * {{ FILTER({opening * n}1{closing * n}) }}"
            if opening == "("
            else f"SELECT * {{ {opening * n}{closing * n} }}"
            for n in (500, 5_000, 100_000)
        )
        yield f"nested {name}", scored(query(*deep), rows=0, expired=False)
    yield (
        "long chains",
        ended(
            "stack",
            query(
                f"SELECT * {{ FILTER({'!' * 200_000}true) }}",
                f"SELECT * {{ {{}} {'UNION {} ' * 100_000} }}",
                f"SELECT * {{ FILTER(1{'+1' * 100_000}) }}",
            ),
        ),
    )
    asking = [text.replace("http://e/", here) for text in ASKING.values()]
    yield "service", scored(query(*asking), refused=True, rows=0)
    plain = [
        f"SELECT * {{ SERVICE {s} <{here}{n}> {{ ?s ?p ?o }} }}"
        for n in range(5)
        for s in ("", "SILENT")
    ]
    yield "service with the lexer off", scored(f"unguarded {text}" for text in plain)
    yield "service for the bare engine", scored(f"bare {text}" for text in plain)
    yield (
        "updates",
        scored(
            query(
                f"LOAD <{here}>",
                f"LOAD SILENT <{here}> INTO GRAPH <http://e/g>",
                f"# SELECT\nload<{here}>",
                "CLEAR ALL",
                "DROP SILENT DEFAULT",
                "INSERT DATA { <http://e/> <http://e/> 1 }",
                "PREFIX e: <http://e/> DELETE WHERE { ?s ?p ?o }",
                f"SELECT * {{}} ; LOAD <{here}>",
                "CREATE GRAPH <http://e/g>",
                "COPY DEFAULT TO <http://e/g>",
            ),
            rows=0,
        ),
    )
    yield (
        "other forms",
        scored(
            query(
                "ASK {}",
                "CONSTRUCT WHERE { ?s ?p ?o }",
                f"DESCRIBE <{here}>",
                "DESCRIBE * { ?s ?p ?o }",
            ),
            refused=True,
            rows=0,
        ),
    )
    yield (
        "graphs from elsewhere",
        scored(
            query(
                f"SELECT * FROM <{here}> {{ ?s ?p ?o }}",
                f"SELECT * FROM NAMED <{here}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
                "SELECT * FROM <file:///etc/passwd> { ?s ?p ?o }",
                f"SELECT * {{ GRAPH <{here}> {{ ?s ?p ?o }} }}",
            ),
            rows=0,
        ),
    )
    yield (
        "slow expressions",
        scored(
            query(
                *(
                    f"SELECT * {{ ?s ?p ?o FILTER(REGEX('{'a' * 5_000}', '{pattern}')) }}"
                    for pattern in (
                        "(a+)+$",
                        "(a|a)*b",
                        "(a*)*b",
                        "(.*)(.*)(.*)(.*)x",
                        "a{1,1000}b",
                    )
                )
            )
        ),
    )
    yield (
        "surrogates in queries",
        scored(
            query(*(f"SELECT * {{ ?s ?p '{c}' }}" for c in ("\ud800", "\udfff\ud800", "x\udc80"))),
            rows=0,
        ),
    )
    yield (
        "NUL in queries",
        scored(
            query("SELECT\x00* {}", "SELECT * { ?s ?p '\x00' }", "\x00", "SELECT * {}\x00"),
        ),
    )
    yield (
        "large queries",
        either(
            query(
                f"SELECT * {{ ?s ?p '{'x' * 10 * MEGABYTE}' }}",
                f"SELECT * {{}} # {'x' * 10 * MEGABYTE}",
                f"SELECT * {{ VALUES ?x {{ {'1 ' * 100_000} }} FILTER(?x = 2) }}",
                f"SELECT ?{'x' * MEGABYTE} {{}}",
            ),
        ),
    )
    yield (
        "numbers without end",
        scored(
            query(
                f"SELECT * {{ ?s ?p {'9' * 100_000} }}",
                "SELECT (1e308 * 1e308 AS ?x) {} LIMIT 99999999999999999999999",
                "SELECT (9223372036854775807 + 1 AS ?x) (1 / 0 AS ?y) {}",
                "SELECT * {} LIMIT 18446744073709551615 OFFSET 18446744073709551615",
            )
        ),
    )
    yield (
        "soup",
        scored(query(*map(soup, range(60)))),
    )
    yield "noise for queries", scored(query(*(noise(n, 2_000) for n in range(20))), rows=0)
    yield "no queries", scored(query("", " ", "no", "```", "SELECT", "SELECT *", "{}", "'"), rows=0)
