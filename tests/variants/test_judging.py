# SPDX-License-Identifier: Apache-2.0
"""Answers on variants: constants, hard-coded entities, ties and accidents are distinguished."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.execution import on_variants
from kgbench.execution.engines import engine
from kgbench.execution.on_variants import VariantOutcome, Variants
from kgbench.execution.query_terms import reads_graph
from kgbench.model import Case, QueryResult
from kgbench.rdf import canonical_json, digest
from kgbench.reevaluation.variant_outcomes import (
    SUSPECT,
    answer_on_variants,
    command,
    counts,
    mark_suspects,
    suspects,
)
from kgbench.tasks import catalogue, typed_answers
from kgbench.variants import VariantKind
from kgbench.variants.rules import NO_RULES
from tests.variants.test_variants import E, shop

PREFIXES = f"PREFIX : <{E}> PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#> "
CLASSES = (
    "Text2SparqlExecEvalListOrganizational",
    "Text2SparqlExecEvalListOrgaNumerical",
    "Text2SparqlExecEvalListCoypuMini",
    "Text2SparqlExecEvalListBeastiary",
)
EXECUTOR = engine("oxigraph")
SHOP = shop()


class Bare:
    """A task class whose answers are bare queries over the graph in the case."""

    NAME = "Bare"

    def query(self, answer):
        """Return the answer itself."""
        return answer or None

    def graph_name(self, _case):
        """Return no installed graph."""


def case(reference, question="", graph=SHOP, **data):
    """Return a case about ``graph`` with a reference query."""
    content = {"question": question, "refSparql": reference, "graph": graph, **data}
    return Case("case", "suite", "Bare", {}, content, digest(canonical_json(content)))


def judged(about, answer, count=6, kind=VariantKind.SHUFFLED):
    """Return the verdict on ``answer`` on variants of the graph of a case."""
    named = on_variants.named_instances(about, Bare(), NO_RULES)
    asked = on_variants.with_variants(about, Variants(count, 1, (kind,), tuple(sorted(named))))
    return on_variants.judge(asked, [answer], EXECUTOR, Bare())


def outcome(about, answer, **wanted):
    """Return the outcome of ``answer`` on variants."""
    return judged(about, answer, **wanted).infos["variantOutcome"]


FRENCH = f'{PREFIXES} SELECT ?s {{ ?s a :Supplier ; :country "France" }}'
CHEAPEST = f"{PREFIXES} SELECT ?i {{ ?i :weight ?w }} ORDER BY ?w LIMIT 3"


@pytest.mark.parametrize(
    ("reference", "question", "answer", "expected"),
    [
        (FRENCH, "Which are French?", FRENCH, "holds"),
        (FRENCH, "", f'{PREFIXES} SELECT ?x ?y {{ ?x :code "FR" ; rdfs:label ?y }}', "holds"),
        (FRENCH, "", f'{PREFIXES} SELECT ?s {{ ?s :code "PL" }}', "wrong"),
        (FRENCH, "", "", "wrong"),
        (FRENCH, "", "SELECT nonsense", "wrong"),
        (
            f"{PREFIXES} SELECT (COUNT(*) AS ?n) {{ ?x a :Supplier }}",
            "How many suppliers are there?",
            "SELECT (40 AS ?n) {}",
            "constant",
        ),
        (
            f'{PREFIXES} SELECT ?t {{ ?s rdfs:label "Supplier 3" ; :team ?t }}',
            "Which is the team of Supplier 3?",
            f"{PREFIXES} SELECT ?t {{ :s3 :team ?t }}",
            "holds",
        ),
        (
            f"{PREFIXES} SELECT ?l {{ :i7 :from/:team ?t . ?t rdfs:label ?l }}",
            "Which team does Item 7 come from?",
            None,  # the team of the current supplier, looked up and written into the query
            "entity-hard-coded",
        ),
        (CHEAPEST, "Which three are lightest?", f"{CHEAPEST}", "holds"),
        (
            f"{PREFIXES} SELECT ?l {{ :i7 rdfs:label ?l }}",
            "What is Item 7 called?",
            f"{PREFIXES} SELECT ?x {{ ?i rdfs:label ?x FILTER(?i = :i7) }}",
            "untestable",
        ),
        (
            f"{PREFIXES} SELECT ?i {{ ?i :weight ?w }} ORDER BY ?w ?i LIMIT 1",
            "Which is lightest?",
            f"{PREFIXES} SELECT ?i {{ ?i :weight 0 }} ORDER BY ?i LIMIT 1",
            "accident",
        ),
    ],
)
def test_outcomes(reference, question, answer, expected):
    """The outcome on variants tells why an answer is right on the original graph."""
    about = case(reference, question)
    if answer is None:
        found = EXECUTOR.results(f"{PREFIXES} SELECT ?s {{ :i7 :from ?s }}", SHOP, {}).rows[0][0]
        answer = f"{PREFIXES} SELECT ?l {{ {found} :team ?t . ?t rdfs:label ?l }}"

    assert outcome(about, answer, count=12) == expected


def test_a_tie_is_no_failure():
    """If the reference leaves a choice on a variant, another choice is right and noted as a tie."""
    reference = f"{PREFIXES} SELECT ?i {{ ?i :weight ?w }} ORDER BY ?w LIMIT 3"
    answer = f"{PREFIXES} SELECT ?i {{ ?i :weight ?w }} ORDER BY ?w DESC(STR(?i)) LIMIT 3"
    found = judged(case(reference), answer, count=12)

    assert found.infos["variantOutcome"] == "tie"
    assert found.scores == {"exactOnVariants": 1.0, "f1OnVariants": 1.0}
    assert found.infos["witness"]["variant"].startswith("shuffled-")


def test_a_failure_names_the_variant_that_shows_it():
    """The noted variant, generated alone, shows the same failure."""
    about = case(FRENCH)
    rows = EXECUTOR.results(FRENCH, SHOP, {}).rows
    answer = f"SELECT ?s {{ VALUES ?s {{ {' '.join(row[0] for row in rows)} }} }}"
    found = judged(about, answer)
    seed = int(found.infos["witness"]["variant"].rpartition("-")[2])
    named = tuple(sorted(on_variants.named_instances(about, Bare(), NO_RULES)))
    alone = on_variants.with_variants(about, Variants(1, seed, named=named))
    again = on_variants.judge(alone, [answer], EXECUTOR, Bare())

    assert found.scores["exactOnVariants"] == 0
    assert 0 <= found.scores["f1OnVariants"] < 1
    assert again.infos["witness"] == found.infos["witness"]


def values_of(result: QueryResult) -> str:
    """Return a query that writes out a result."""
    if result.boolean is not None:
        return f"ASK {{ FILTER({str(result.boolean).lower()}) }}"
    names = " ".join(f"?{name}" for name in result.variables)
    rows = " ".join(
        f"({' '.join('UNDEF' if cell is None else cell for cell in row)})" for row in result.rows
    )
    return f"SELECT {names} {{ VALUES ({names}) {{ {rows} }} }}"


@pytest.mark.parametrize("name", CLASSES)
def test_values_of_the_reference_are_constant_in_every_case(name):
    """An answer that writes out the expected values is called constant in every case."""
    module, task = catalogue.module(name), catalogue.task_class(name).tasks[0]
    cases = module.cases(task, "suite", 0, 1_000)
    found = {}
    for about in cases:
        graph = typed_answers.graph_of(about, module)
        prefixes = typed_answers.prefixes_of(about, module)
        result = EXECUTOR.results(about.data["refSparql"], graph, prefixes)
        asked = on_variants.with_variants(about, Variants(1, 1))
        answer = f"```sparql\n{values_of(result)}\n```"
        found[about.uid] = on_variants.judge(asked, [answer], EXECUTOR, module)

    assert cases
    assert {v.infos["variantOutcome"] for v in found.values()} == {"constant"}
    assert {v.scores["exactOnVariants"] for v in found.values()} == {0.0}


EQUIVALENT = (
    "SELECT ?i { ?i a :Item ; :from ?s . ?s :country ?c FILTER(?c = 'France') }",
    "SELECT DISTINCT ?i { ?s :country 'France' . ?i :from ?s ; a :Item }",
    "SELECT ?i ?c { ?i :from/:country ?c . ?i a :Item . VALUES ?c { 'France' } }",
    "SELECT ?x { ?s :code 'FR' ; :sells ?x . ?x a :Item }",
    "SELECT ?i { ?i ^:sells ?s . { SELECT ?s { ?s :country ?c FILTER(STR(?c) = 'France') } } }",
    "SELECT ?i { ?i a :Item FILTER EXISTS { ?i :from [ :country 'France' ] } }",
    "SELECT ?n ?i { ?i rdfs:label ?n ; :from ?s MINUS { ?s :country ?c FILTER(?c != 'France') } }",
    "SELECT ?i { ?i :from ?s OPTIONAL { ?s :country ?c } FILTER(BOUND(?c) && ?c = 'France') }",
    "SELECT ?i (COUNT(*) AS ?n) { ?i :from ?s . ?s :code 'FR' } GROUP BY ?i ORDER BY DESC(?n)",
    "SELECT ?i { { ?i :from ?s . ?s :country 'France' } UNION { ?s :sells ?i ; :code 'FR' } }",
)


@given(
    st.integers(20, 40),  # fewer do not show that codes and countries, or inverses, are redundant
    st.integers(60, 100),
    st.integers(0, 10_000),
    # Emptied variants are excluded: without countries, "no other country than France" changes.
    st.sampled_from([kind for kind in VariantKind if kind is not VariantKind.EMPTIED]),
)
@settings(max_examples=8, deadline=None)
def test_ten_ways_to_write_a_right_query_hold(suppliers, items, seed, kind):
    """A right query holds on all variants of generated graphs in ten equivalent forms."""
    graph = shop(suppliers, items, seed)
    about = case(PREFIXES + EQUIVALENT[0], "Which items come from France?", graph)
    for answer in EQUIVALENT:
        found = judged(about, PREFIXES + answer, count=2, kind=kind)
        assert found.scores["exactOnVariants"] == 1, (answer, found.infos)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT * { ?s ?p ?o }", True),
        ("SELECT ?x WHERE { VALUES (?x ?y) { (<urn:a> 1) (UNDEF 'a b') } }", False),
        ("SELECT ?x { VALUES ?x { <urn:a> } ?x a <urn:C> }", True),
        ("SELECT (1 AS ?x) {}", False),
        ("SELECT ?x { BIND(IRI(CONCAT('urn:', 'a')) AS ?x) FILTER(?x != <urn:b>) }", False),
        ("ASK { FILTER NOT EXISTS { ?s a ?c } }", True),
        ("ASK { FILTER(false) }", False),
        ("SELECT ?x { { SELECT ?x { VALUES ?x { 1 2 } } ORDER BY DESC(?x) LIMIT 1 } }", False),
        ("SELECT ?x { { SELECT ?x { ?x <urn:p> 1 } GROUP BY ?x } }", True),
        ("SELECT ?x { GRAPH <urn:g> { BIND(2 AS ?x) } } # ?s ?p ?o", False),
        ("PREFIX e: <urn:> SELECT ?x { OPTIONAL { e:s e:p ?x } }", True),
        ("SELECT ?x { VALUES ?x { 'triple { ?s ?p ?o }' } }", False),
    ],
)
def test_queries_that_read_no_graph_are_known(query, expected):
    """A query of values, bindings and filters only, at any depth, reads no graph."""
    assert reads_graph(query) is expected


def seen(model, query, columns, outcome="accident", dialogue=None):
    """Return an answer with the infos of a judge."""
    infos = {
        "variantOutcome": outcome,
        "sparql": query,
        "variants": {"count": 3, "seed": 1, "kinds": ["shuffled"]},
        "columns": columns,
        "witness": {"variant": "shuffled-2", "reason": "rows"},
    }
    name = dialogue or f"https://e.org/run/r/{model}/t/0"
    return answer_on_variants(name, "case", (model, model), "task", infos)


def test_a_reference_is_suspect_where_models_agree_against_it():
    """A reference is suspect if different queries of two models agree against it."""
    one = seen("a", "SELECT 1", {"shuffled-2": ["x"]})
    other = seen("b", "SELECT 2", {"shuffled-2": ["x", "y"]})
    copy = seen("c", "SELECT  1", {"shuffled-2": ["x"]})

    assert list(suspects([one, other])) == ["case"]
    assert {a.outcome for a in mark_suspects([one, other])} == {SUSPECT}
    assert not suspects([one, copy])
    assert not suspects([one, seen("b", "SELECT 2", {"shuffled-2": ["z"]})])
    assert not suspects([one, seen("b", "SELECT 2", {"shuffled-3": ["x"]})])
    assert not suspects([one, seen("b", "SELECT 2", {"shuffled-2": ["x"]}, "constant")])
    assert counts([one, other, seen("b", "S", {}, "wrong", "d")])["b"] == {
        "exact": 1,
        "failing": 0,
        **{str(kind): 0 for kind in VariantOutcome if kind != "wrong"},
        SUSPECT: 1,
    }


def test_models_with_one_label_count_apart():
    """Answers count by the name of a model in tables; a command names it by its label."""
    infos = {"variantOutcome": "holds"}
    of_models = [
        answer_on_variants("d", "case", (f"Same [{end}]", "Same"), "task", infos) for end in "ab"
    ]
    assert [row["holds"] for row in counts(of_models).values()] == [1, 1]
    assert "--model Same --variants" in command(of_models[0])


def test_the_variants_of_a_case_survive_json():
    """A case that names variants is unchanged after a round trip through JSON."""
    asked = on_variants.with_variants(case(FRENCH), Variants(2, 5, named=("urn:a",)))
    again = json.loads(json.dumps(asked.data))

    assert again == json.loads(canonical_json(dict(asked.data)))
