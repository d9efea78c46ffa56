# SPDX-License-Identifier: Apache-2.0
"""Two hundred hostile RDF 1.2 graphs and queries: expected outcomes, bounded memory."""

from __future__ import annotations

import pytest

from kgbench.api import Outcome
from kgbench.families.Rdf12World.judge import family
from tests.execution.judging import harm
from tests.execution.judging.hostile import MEGABYTE, Hostile, patterns
from tests.execution.judging.hostile_answers import JUDGED

REFUSED, SCORED, ENDED = (Outcome.UNPARSABLE,), (Outcome.SCORED,), (Outcome.TIMEOUT,)
EITHER = (*JUDGED, Outcome.TIMEOUT)  # but never right
HEAD = (
    "@prefix : <urn:x:> . @prefix t: <https://w3id.org/kgbench/world/target/> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .\n"
)


def nested(depth):
    """Return a triple term nested to a depth."""
    return f":r rdf:reifies {'<<( :a :b ' * depth}:c{' )>>' * depth} ."


def quoted(depth):
    """Return a reified triple nested to a depth."""
    return f"{'<< ' * depth}:a{' :b :c >>' * depth} :d :e ."


def fenced(*documents, info="turtle", head=HEAD):
    """Return answers with one document each."""
    return tuple(f"```{info}\n{head}{document}\n```" for document in documents)


def hostile_graphs(url):
    """Yield graphs that are nested, large or regular, or that name a remote address."""
    clique = " ".join(
        f":r rdf:reifies <<( _:n{i} t:p _:n{j} )>> ."
        for i in range(40)
        for j in range(40)
        if i != j
    )
    lattice = " ".join(f"_:n{k} t:p _:n{(k + 1) % 300} , _:n{(k + 7) % 300} ." for k in range(300))
    yield Hostile(fenced(nested(100), quoted(100)), SCORED)
    deep = (nested(5_000), nested(200_000), quoted(5_000), quoted(200_000), "<<(" * 100_000)
    yield Hostile(fenced(*deep), EITHER)
    yield Hostile(fenced(clique, lattice), EITHER)
    many = (
        "\n".join(f":a :b :c{k} {{| t:source :s{k} |}} ." for k in range(30_000)),
        ":a :b :c " + "{| t:source :s |} " * 30_000 + ".",
        ":a :b " + " , ".join(f'"x"@l{k}--rtl' for k in range(30_000)) + " .",
    )
    yield Hostile(fenced(*many), EITHER)
    yield Hostile(
        fenced(
            "<<( :a :b :c )>> :d :e .",
            "<< :r | :a :b :c >> :d :e .",
            ':a :b "x"@ar--RTL .',
            ':a :b "x"@ar--auto .',
            ':a :b "x"--rtl .',
            ":a <<( :a :b :c )>> :d .",
            ":a :b :c {| |} .",
            ":a :b << :c :d >> .",
            ":a :b << ( :c ) :d :e >> .",
            ":a :b << [ :x :y ] :d :e >> .",
            "VERSION 1.2",
        ),
        REFUSED,
    )
    yield Hostile(
        fenced(
            f":o <http://www.w3.org/2002/07/owl#imports> <{url}> .",
            'VERSION "9.9"\n:a :b :c .',
            ":a rdf:reifies :b , 1 , <<( :a :b :c )>> .",
            f'<< :a :b "{"x" * MEGABYTE}" >> :c :d .',
            "[] t:wording " + " , ".join(f'"{k}"@ar--rtl' for k in range(500)) + " .",
        ),
        SCORED,
    )


def hostile_queries(url):
    """Yield queries about statements that are endless, nested, or access another server."""
    reifiers = " ".join(f"?r{k} rdf:reifies <<( ?s{k} ?p{k} ?o{k} )>> ." for k in range(9))
    no_end = (
        f"SELECT (COUNT(*) AS ?n) {{ {patterns(5)} FILTER(?s0 != <<( ?s1 ?p1 ?o1 )>>) }}",
        f"SELECT (COUNT(*) AS ?n) {{ {reifiers} }}",
    )
    yield Hostile(fenced(*no_end, info="sparql", head=""), ENDED)
    service = f"SERVICE <{url}> {{ << ?s ?p ?o >> ?q ?r }}"
    asking = (
        f"SELECT * {{ {service} }}",
        f"SELECT * {{ ?s ?p ?o {{| t:source ?x |}} . {service} }}",
    )
    yield Hostile(fenced(*asking, info="sparql", head=""), SCORED)
    deep = (
        f"SELECT * {{ ?r rdf:reifies {'<<( ?a ?b ' * 5_000}?c{' )>>' * 5_000} }}",
        f"SELECT * {{ {'<< ' * 5_000}?a{' ?b ?c >>' * 5_000} ?d ?e }}",
        "SELECT (" + "TRIPLE(?a, ?b, " * 3_000 + "?c" + ")" * 3_000 + " AS ?x) {}",
    )
    yield Hostile(fenced(*deep, info="sparql", head=""), EITHER)
    odd = (
        "SELECT ?t { ?r rdf:reifies ?t }",
        "SELECT (<<( ?s rdf:type ?o )>> AS ?t) { ?s ?p ?o }",
        "SELECT (STRLANGDIR('x', 'ar', 'rtl') AS ?t) {}",
        "SELECT (STRLANGDIR('x', 'ar', 'up') AS ?t) {}",
        "SELECT (TRIPLE(1, 2, 3) AS ?t) {}",
        "SELECT (BNODE() AS ?t) { ?s ?p ?o }",
    )
    yield Hostile(fenced(*odd, info="sparql", head=""), SCORED)


KINDS = {"annotate": hostile_graphs, "repair": hostile_graphs, "query": hostile_queries}


@pytest.mark.parametrize("skill", KINDS)
def test_every_hostile_answer_has_its_outcome(skill):
    """Two hundred answers have expected outcomes, without connections, in bounded memory."""
    harm.assert_outcomes(f"{family.NAME}-{skill}-natural-3", list(KINDS[skill](harm.URL)))
