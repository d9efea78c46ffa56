# SPDX-License-Identifier: Apache-2.0
"""Kinds of hostile shapes."""

from collections.abc import Iterator, Sequence
from itertools import islice

from kgbench.model import Outcome
from kgbench.testing import hostile as generic
from tests.execution.judging.hostile import ANY_LIMIT, Hostile, noise, patterns
from tests.execution.judging.hostile_answers import JUDGED_OR_ENDED

WRITING = "Text2ShaclWorld"
REFUSED, SCORED, ENDED = (Outcome.UNPARSABLE,), (Outcome.SCORED,), (Outcome.TIMEOUT,)
COUNT = 200  # of each family
HEAD = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix w: <https://w3id.org/kgbench/world/> . "
    "@prefix r: <https://w3id.org/kgbench/world/resource/> . @prefix : <urn:x:> . "
    "@prefix owl: <http://www.w3.org/2002/07/owl#> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
)
START = ":s a sh:NodeShape ; sh:targetSubjectsOf rdfs:label"


def fenced(*documents, head=HEAD):
    """Return answers with one document each."""
    return tuple(f"```turtle\n{head}{document}\n```" for document in documents)


def with_query(*queries):
    """Return shapes with one SPARQL constraint each."""
    texts = (query.replace("\\", "\\\\").replace('"', '\\"') for query in queries)
    return fenced(*(f'{START} ; sh:sparql [ sh:select """{text}""" ] .' for text in texts))


def doubled(levels):
    """Return shapes that each refer twice to the next one."""
    names = [f":d{number} sh:or ( :d{number + 1} :d{number + 1} ) ." for number in range(levels)]
    return " ".join([f"{START} ; sh:not :d0 .", *names, f":d{levels} sh:nodeKind sh:Literal ."])


def hostile_shapes(port) -> Iterator[tuple[str, Hostile]]:
    """Yield the kinds of hostile shapes, with their expected outcomes."""
    url = f"http://127.0.0.1:{port}/"
    service = f"SERVICE <{url}> {{ ?s ?p ?o }}"
    yield (
        "queries that ask others",
        Hostile(
            with_query(
                f"SELECT $this {{ {service} }}",
                f"SELECT $this {{ $this ?p ?o {{ SELECT * {{ {service} }} }} }}",
                f"SELECT $this {{ sERVICE # <\n SILENT <{url}> {{ ?s ?p ?o }} }}",
                f"SELECT $this {{ OPTIONAL {{ {service} }} }}",
                f"SELECT $this FROM <{url}> {{ ?s ?p ?o }}",
                f"SELECT $this FROM NAMED <{url}> {{ GRAPH ?g {{ ?s ?p ?o }} }}",
                f"LOAD <{url}>",
                f"INSERT DATA {{ <{url}> <{url}> <{url}> }}",
            ),
            (*REFUSED, *SCORED),
        ),
    )
    yield (
        "queries that never end",
        Hostile(
            with_query(
                f"SELECT $this {{ {patterns(9)} }}",
                f"SELECT $this {{ {patterns(7)} FILTER(?s0 = ?o1) }} ORDER BY ?s1",
                f"SELECT $this (COUNT(*) AS ?n) {{ {patterns(8)} }} GROUP BY $this",
            ),
            ENDED,
            ("time", "memory"),
        ),
    )
    yield (
        "remote parts",
        Hostile(
            fenced(
                f"{START} ; sh:minLength 1 . <urn:o> a owl:Ontology ; owl:imports <{url}> .",
                f":s owl:imports <{url}> . {START} ; sh:nodeKind sh:IRI .",
                f"<{url}> sh:targetSubjectsOf rdfs:label ; sh:shapesGraph <{url}> .",
                f"{START} ; sh:entailment <{url}> .",
                f"{START} ; sh:nodeKind sh:IRI ; sh:prefixes <{url}> .",
            ),
            (*SCORED, *REFUSED),
        ),
    )
    script = f'sh:jsFunctionName "f" ; sh:jsLibrary [ sh:jsLibraryURL "{url}" ]'
    rule = 'sh:construct "CONSTRUCT { $this <urn:p> ?o } WHERE { ?s ?p ?o }"'
    yield (
        "scripts and rules",
        Hostile(
            fenced(
                f"{START} ; sh:js [ a sh:JSConstraint ; {script} ] .",
                f"{START} ; sh:rule [ a sh:JSRule ; {script} ] .",
                f"{START} ; sh:rule [ a sh:SPARQLRule ; {rule} ] .",
                f":s a sh:NodeShape ; sh:target [ a sh:JSTarget ; {script} ] .",
                f"{START} ; sh:expression [ sh:count [ sh:path rdfs:label ] ] .",
            ),
            REFUSED,
            infos={"parseError": None},
        ),
    )
    yield (
        "shapes in circles",
        Hostile(
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
        ),
    )
    yield (
        "lists without end",
        Hostile(
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
        ),
    )
    deep = 3_000
    yield (
        "deep shapes",
        Hostile(
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
            JUDGED_OR_ENDED,
        ),
    )
    yield "doubled shapes", Hostile(fenced(doubled(40), doubled(60)), ENDED, ("time",))
    bombs = ("(([a-zA-Z ])+)+[0-9]$", "(.*)*(.*)*(.*)*(.*)*7$", "((a|[a-z ]|A|[A-Z ])+)+7$")
    yield (
        "expressions that never end",
        Hostile(
            fenced(
                *(
                    f'{START} ; sh:property [ sh:path rdfs:label ; sh:pattern "^{bomb}" ] .'
                    for bomb in bombs
                )
            ),
            JUDGED_OR_ENDED,
        ),
    )
    yield (
        "large shapes",
        Hostile(
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
            JUDGED_OR_ENDED,
        ),
    )
    grow = " ".join(f"BIND(CONCAT(?x{k}, ?x{k}, ?x{k}, ?x{k}) AS ?x{k + 1})" for k in range(20))
    yield (
        "queries that take memory",
        Hostile(
            with_query(f'SELECT $this {{ BIND("xxxxxxxxxxxxxxxx" AS ?x0) {grow} }}'),
            (*ENDED, *SCORED, *REFUSED),
        ),
    )
    yield (
        "values of wrong kinds",
        Hostile(
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
        ),
    )


KINDS = {WRITING: hostile_shapes}


def attacks(name, references: Sequence[str], port) -> Iterator[tuple[str, str, Hostile]]:
    """Yield ``COUNT`` hostile answers to a family: kind, answer and expected outcomes."""
    own = [
        (kind, answer, hostile) for kind, hostile in KINDS[name](port) for answer in hostile.answers
    ]
    yield from own
    url = f"http://127.0.0.1:{port}/"
    rest = generic.answers(
        [*references, f"```turtle\n{noise(4, 2_000)}\n```"], COUNT, seed=3, url=url
    )
    anything = Hostile((), JUDGED_OR_ENDED, ANY_LIMIT)
    yield from ((kind, answer, anything) for kind, answer in islice(rest, COUNT - len(own)))
