# SPDX-License-Identifier: Apache-2.0
"""Hostile shapes: expected outcomes, no connection, bounded memory."""

from __future__ import annotations

from kgbench.api import Outcome
from kgbench.execution.judging import JudgeRequest, judge_batch
from kgbench.families.Text2ShaclWorld.judge import family
from tests.execution.judging import harm
from tests.execution.judging.harm import URL
from tests.execution.judging.hostile import Hostile, patterns

LABEL = f"{family.NAME}-natural-3"
REFUSED, SCORED, ENDED = (Outcome.UNPARSABLE,), (Outcome.SCORED,), (Outcome.TIMEOUT,)
HEAD = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix w: <https://w3id.org/kgbench/world/> . "
    "@prefix r: <https://w3id.org/kgbench/world/resource/> . @prefix : <urn:x:> . "
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
START = ":s a sh:NodeShape ; sh:targetSubjectsOf rdfs:label"


def fenced(*documents):
    """Return answers with one document each."""
    return tuple(f"```turtle\n{HEAD}{document}\n```" for document in documents)


def with_query(*queries):
    """Return shapes with one SPARQL constraint each."""
    texts = (query.replace("\\", "\\\\").replace('"', '\\"') for query in queries)
    return fenced(*(f'{START} ; sh:sparql [ sh:select """{text}""" ] .' for text in texts))


def doubled(levels):
    """Return shapes that each refer twice to the next one."""
    names = [f":d{number} sh:or ( :d{number + 1} :d{number + 1} ) ." for number in range(levels)]
    return " ".join([f"{START} ; sh:not :d0 .", *names, f":d{levels} sh:nodeKind sh:Literal ."])


def kinds():
    """Yield kinds of hostile shapes, with their expected outcomes."""
    service = f"SERVICE <{URL}> {{ ?s ?p ?o }}"
    # Queries that ask others.
    yield Hostile(
        with_query(
            f"SELECT $this {{ {service} }}",
            f"SELECT $this {{ $this ?p ?o {{ SELECT * {{ {service} }} }} }}",
            f"SELECT $this {{ sERVICE # <\n SILENT <{URL}> {{ ?s ?p ?o }} }}",
            f"SELECT $this {{ OPTIONAL {{ {service} }} }}",
            f"SELECT $this FROM <{URL}> {{ ?s ?p ?o }}",
            f"SELECT $this FROM NAMED <{URL}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
            f"LOAD <{URL}>",
            f"INSERT DATA {{ <{URL}> <{URL}> <{URL}> }}",
        ),
        (*REFUSED, *SCORED),
    )
    # Queries that never end.
    yield Hostile(
        with_query(
            f"SELECT $this {{ {patterns(9)} }}",
            f"SELECT $this {{ {patterns(7)} FILTER(?s0 = ?o1) }} ORDER BY ?s1",
            f"SELECT $this (COUNT(*) AS ?n) {{ {patterns(8)} }} GROUP BY $this",
        ),
        ENDED,
        ("time", "memory"),
    )
    # Remote parts.
    yield Hostile(
        fenced(
            f"{START} ; sh:minLength 1 . <urn:o> a owl:Ontology ; owl:imports <{URL}> .",
            f":s owl:imports <{URL}> . {START} ; sh:nodeKind sh:IRI .",
            f"<{URL}> sh:targetSubjectsOf rdfs:label ; sh:shapesGraph <{URL}> .",
            f"{START} ; sh:entailment <{URL}> .",
            f"{START} ; sh:nodeKind sh:IRI ; sh:prefixes <{URL}> .",
        ),
        (*SCORED, *REFUSED),
    )
    script = f'sh:jsFunctionName "f" ; sh:jsLibrary [ sh:jsLibraryURL "{URL}" ]'
    rule = 'sh:construct "CONSTRUCT { $this <urn:p> ?o } WHERE { ?s ?p ?o }"'
    # Scripts and rules.
    yield Hostile(
        fenced(
            f"{START} ; sh:js [ a sh:JSConstraint ; {script} ] .",
            f"{START} ; sh:rule [ a sh:JSRule ; {script} ] .",
            f"{START} ; sh:rule [ a sh:SPARQLRule ; {rule} ] .",
            f":s a sh:NodeShape ; sh:target [ a sh:JSTarget ; {script} ] .",
            f"{START} ; sh:expression [ sh:count [ sh:path rdfs:label ] ] .",
        ),
        REFUSED,
        infos={"parseError": None},
    )
    # Shapes in circles.
    yield Hostile(
        fenced(
            f"{START} ; sh:node :s .",
            f"{START} ; sh:property [ sh:path rdfs:label ; sh:not :s ] .",
            f"{START} ; sh:or ( :t :u ) . :u sh:node :v . :v sh:xone ( :u ) .",
            " ".join(
                [
                    f"{START} ; sh:node :n0 .",
                    *(f":n{k} sh:node :n{k + 1} ." for k in range(900)),
                    ":n900 sh:node :n0 .",
                ]
            ),
        ),
        REFUSED,
        infos={"parseError": None},
    )
    # Lists without end.
    yield Hostile(
        fenced(
            f"{START} ; sh:in :l . :l rdf:first 1 ; rdf:rest :l .",
            f"{START} ; sh:or :l . :l rdf:first :t ; rdf:rest :l .",
            *(
                f"{START} ; sh:property [ sh:path {path} ; sh:minCount 1 ] . {more}"
                for path, more in (
                    (":l", ":l rdf:first :p ; rdf:rest :l ."),
                    ("[ sh:zeroOrMorePath :m ]", ":m sh:inversePath :m ."),
                )
            ),
        ),
        (*REFUSED, *SCORED),
    )
    deep = 3_000
    # Deep shapes.
    yield Hostile(
        fenced(
            " ".join(
                [
                    f"{START} ; sh:node :n0 .",
                    *(f":n{k} sh:node :n{k + 1} ." for k in range(deep)),
                    f":n{deep} sh:nodeKind sh:IRI .",
                ]
            ),
            f"{START} ; sh:property [ sh:path rdfs:label ; sh:node "
            + "[ sh:node " * 300
            + "[ sh:nodeKind sh:Literal ]"
            + " ]" * 301
            + " .",
            f"{START} ; sh:node " + "[ sh:node " * 20_000 + " .",
        ),
        harm.JUDGED_OR_ENDED,
    )
    # Doubled shapes.
    yield Hostile(fenced(doubled(40), doubled(60)), ENDED, ("time",))
    bombs = ("(([a-zA-Z ])+)+[0-9]$", "(.*)*(.*)*(.*)*(.*)*7$", "((a|[a-z ]|A|[A-Z ])+)+7$")
    # Expressions that never end.
    yield Hostile(
        fenced(
            *(
                f'{START} ; sh:property [ sh:path rdfs:label ; sh:pattern "^{bomb}" ] .'
                for bomb in bombs
            )
        ),
        harm.JUDGED_OR_ENDED,
    )
    # Large shapes.
    yield Hostile(
        fenced(
            f"{START} ; sh:in ( {'1 ' * 60_000} ) .",
            "\n".join(
                f":s{k} a sh:NodeShape ; sh:targetNode :t{k} ; sh:nodeKind sh:IRI ."
                for k in range(5_000)
            ),
            f"{START} ; sh:minLength {'9' * 10_000} .",
            f"{START} ; sh:property [ sh:path ( {'rdfs:label ' * 5_000} ) ; sh:minCount 1 ] .",
            f'{START} ; sh:message "{"x" * 1_000_000}" ; sh:nodeKind sh:Literal .',
            f'{START} ; sh:pattern "{"(" * 3_000}{")" * 3_000}" .',
        ),
        harm.JUDGED_OR_ENDED,
    )
    grow = " ".join(f"BIND(CONCAT(?x{k}, ?x{k}, ?x{k}, ?x{k}) AS ?x{k + 1})" for k in range(20))
    # Queries that take memory.
    yield Hostile(
        with_query(f'SELECT $this {{ BIND("xxxxxxxxxxxxxxxx" AS ?x0) {grow} }}'),
        (*ENDED, *SCORED, *REFUSED),
    )
    # Values of wrong kinds.
    yield Hostile(
        fenced(
            *(
                f"{START} ; sh:property [ sh:path rdfs:label ; sh:{name} {value} ] ."
                for name in (
                    "minCount",
                    "datatype",
                    "class",
                    "in",
                    "pattern",
                    "nodeKind",
                    "node",
                    "languageIn",
                )
                for value in ('"x"', "[]", "1.5e300", "<urn:y>")
            )
        ),
        (*REFUSED, *SCORED),
    )


def test_every_hostile_answer_has_its_outcome():
    """Two hundred answers have expected outcomes, without connections, in bounded memory."""
    harm.assert_outcomes(LABEL, list(kinds()))


def test_shapes_with_queries_are_judged_in_a_child():
    """A child that has given up its descriptors executes queries of shapes, or says why not."""
    case = harm.question(LABEL)
    answers = with_query(
        "SELECT $this { $this <http://www.w3.org/2000/01/rdf-schema#label> ?v FILTER(?v = 'x') }",
        "SELECT $this ?value { $this $PATH ?value }",
        "SELECT $this { BIND(NOW() AS ?n) FILTER(REGEX(SHA256(STR($this)), '^zz', 'i')) }",
    )
    verdicts = judge_batch([JudgeRequest(case, (one,)) for one in answers], harm.LIMITS)
    first, other, last = verdicts

    assert first.outcome is Outcome.SCORED
    assert first.infos["shapesOutcome"] == "refuses-nothing"
    assert "$PATH, but its shape has no sh:path" in other.infos["shapesError"]
    assert last.outcome is Outcome.SCORED
