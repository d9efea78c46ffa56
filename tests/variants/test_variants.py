# SPDX-License-Identifier: Apache-2.0
"""Variants of a graph: other facts with the same regularities, reproducible by seed."""

import hashlib
import os
import random
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.variants import VariantKind, graphs, redundancy, rules
from kgbench.variants.generator import Recipe, opaque_codes, variant, variant_triples
from kgbench.variants.graphs import TYPE, compute_profile
from kgbench.variants.rules import Rules, make_plan

E = "http://example.org/"
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


def shop(suppliers: int = 40, items: int = 120, seed: int = 1) -> str:
    """Return a graph with all redundancies: codes, inverses, paths, orders, parts, labels."""
    draw = random.Random(seed)
    countries = [("France", "FR"), ("Poland", "PL"), ("Chile", "CL"), ("Ghana", "GH")]
    lines = [
        "@prefix : <http://example.org/> .",
        "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .",
        "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .",
        ":Item a rdfs:Class . :sells rdfs:domain :Supplier ; rdfs:range :Item .",
    ]
    for n in range(suppliers):
        country, code = draw.choice(countries)
        team = draw.randrange(5)
        lines.append(
            f':s{n} a :Supplier ; rdfs:label "Supplier {n}" ; :country "{country}" ; '
            f':code "{code}" ; :head :h{team} ; :team :t{team} .'
        )
    for n in range(5):
        lines.append(f':h{n} a :Head ; rdfs:label "Head {n}" ; :team :t{n} .')
        lines.append(f':t{n} a :Team ; rdfs:label "Team {n}" .')
    for n in range(items):
        low = draw.randrange(100)
        supplier = draw.randrange(suppliers)
        lines.append(
            f':i{n} a :Item ; rdfs:label "Item {n}" ; :from :s{supplier} ; :price :p{n} ; '
            f":low {low} ; :high {low + draw.randrange(5)} ; :weight {draw.randrange(50)} . "
            f":s{supplier} :sells :i{n} ."
        )
        amount = draw.randrange(1000)
        lines.append(f':p{n} a :Price ; :amount {amount} ; rdfs:label "Price {amount} EUR ({n})" .')
        other = draw.randrange(items)
        lines.append(f":i{n} :fits :i{other} . :i{other} :fits :i{n} .")
    return "\n".join(lines)


def facts(text: str, kind: str = "shuffled", seed: int = 1, named=(), rules=Rules()):  # noqa: B008
    """Return the triples of a variant, sorted."""
    return sorted(
        variant_triples(graphs.read(text), Recipe(VariantKind(kind), seed, tuple(named), rules))
    )


def values(found, name: str) -> dict[str, list[str]]:
    """Return the objects of a property by subject."""
    by_subject: dict[str, list[str]] = {}
    for s, p, o in found:
        if p == f"<{E}{name}>":
            by_subject.setdefault(s, []).append(o)
    return by_subject


def single(found, name: str) -> dict[str, str]:
    """Return the object of a property by subject, if each subject has exactly one."""
    return {s: o for s, (o,) in values(found, name).items()}


@pytest.mark.parametrize("kind", list(VariantKind))
def test_the_same_seed_gives_the_same_variant_in_every_process(kind):
    """The same seed gives the same variant in every process; another seed gives another."""
    text = shop(10, 20)
    recipe = Recipe(kind, 7, (f"{E}s1", f"{E}price"))
    code = (
        "import sys, hashlib\n"
        "from kgbench.variants.generator import Recipe, variant\n"
        "from kgbench.variants import VariantKind\n"
        f"recipe = Recipe(VariantKind('{kind}'), 7, {recipe.named!r})\n"
        "text = variant(sys.stdin.read(), 'turtle', recipe)\n"
        "print(hashlib.sha256(text.encode()).hexdigest())\n"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=text,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }

    assert printed == {hashlib.sha256(variant(text, "turtle", recipe).encode()).hexdigest()}
    if kind is not VariantKind.EMPTIED:
        assert variant(text, "turtle", Recipe(kind, 8, recipe.named)) != variant(
            text, "turtle", recipe
        )


def test_the_order_of_the_document_does_not_matter():
    """The order of a graph's statements does not change its variants."""
    text = shop(10, 20)
    head, body = text.split("\n")[:3], text.split("\n")[3:]
    turned = "\n".join([*head, *reversed(body)])

    assert facts(turned, seed=3) == facts(text, seed=3)


@pytest.mark.parametrize("seed", range(4))
def test_names_kinds_and_schema_stay(seed):
    """A variant keeps labels, classes and schema, and properties connect the same kinds."""
    text = shop()
    before, after = set(graphs.read(text)), facts(text, seed=seed)
    names = [t for t in after if t[1] in (LABEL, TYPE)]
    kinds = compute_profile(tuple(sorted(before))).kinds

    assert set(names) <= before
    assert {(kinds.get(s), p, kinds.get(o)) for s, p, o in after} <= {
        (kinds.get(s), p, kinds.get(o)) for s, p, o in before
    } | {(kinds.get(s), p, None) for s, p, o in before}
    assert [t for t in before if "rdf-schema#domain" in t[1]] == [
        t for t in after if "rdf-schema#domain" in t[1]
    ]


@pytest.mark.parametrize("seed", range(4))
def test_what_says_the_same_moves_together(seed):
    """Codes, inverses, symmetric links, paths, orders and labels stay consistent."""
    found = facts(shop(), seed=seed)
    country, code = single(found, "country"), single(found, "code")
    codes = {"France": "FR", "Poland": "PL", "Chile": "CL", "Ghana": "GH"}
    team, head = single(found, "team"), single(found, "head")
    low, high = single(found, "low"), single(found, "high")
    amount = single(found, "amount")
    labels = {s: o for s, p, o in found if p == LABEL}

    assert all(codes[country[s].strip('"')] == code[s].strip('"') for s in country)
    assert {(s, o) for s, each in values(found, "sells").items() for o in each} == {
        (o, s) for s, o in single(found, "from").items()
    }
    fits = {(s, o) for s, each in values(found, "fits").items() for o in each}
    assert fits == {(o, s) for s, o in fits}
    assert all(team[head[s]] == team[s] for s in head)
    number = lambda term: int(graphs.literal(term).lexical)  # noqa: E731 - used once
    assert all(number(low[s]) <= number(high[s]) for s in low)
    assert all(graphs.literal(amount[s]).lexical in labels[s] for s in amount)


@pytest.mark.parametrize("seed", range(4))
def test_facts_change_and_some_instances_go(seed):
    """A variant has fewer instances, with other links and other values."""
    text = shop()
    before, after = graphs.read(text), facts(text, seed=seed)
    was, now = single(before, "from"), single(after, "from")
    weight = single(before, "weight")

    assert len(now) < len(was)
    assert any(now[s] != was[s] for s in now)
    assert any(value != weight[s] for s, value in single(after, "weight").items())


@pytest.mark.parametrize("seed", range(4))
def test_what_every_instance_has_it_keeps(seed):
    """In a variant each item still has one price and one supplier, and each price its item."""
    found = facts(shop(), seed=seed)
    items = [s for s, p, o in found if (p, o) == (TYPE, f"<{E}Item>")]
    prices = [s for s, p, o in found if (p, o) == (TYPE, f"<{E}Price>")]
    price = single(found, "price")

    assert sorted(price) == sorted(items) == sorted(single(found, "from"))
    assert sorted(price.values()) == sorted(prices)


def test_named_instances_and_declared_classes_stay():
    """A variant keeps named instances, and all instances of classes declared complete."""
    text = shop()
    named = [f"{E}s{n}" for n in range(20)]
    rules = Rules(whole=(f"{E}Team",), share=0.5)
    for seed in range(5):
        found = facts(text, seed=seed, named=named, rules=rules)
        left = {s for s, p, _ in found if p == TYPE}
        assert {f"<{iri}>" for iri in named} | {f"<{E}t{n}>" for n in range(5)} <= left


def test_declared_rules_overrule_what_is_found():
    """A property declared as kept does not change; one declared as moved does."""
    text = shop()
    before = graphs.read(text)
    kept = facts(text, rules=Rules(kept=(f"{E}weight",), share=0.0))
    moved = facts(text, rules=Rules(moved=("http://www.w3.org/2000/01/rdf-schema#label",)))
    weights = single(before, "weight")

    assert single(kept, "weight") == weights
    assert not {t for t in moved if t[1] == LABEL} <= set(before)


def test_opaque_variants_are_the_graph_under_other_names():
    """Each instance and property gets a code of its own; literals and classes are unchanged."""
    text = shop(10, 20)
    graph = graphs.read(text)
    recipe = Recipe(VariantKind.OPAQUE, 1)
    codes = opaque_codes(graph, recipe)
    back = {code: term for term, code in codes.items()}
    found = list(variant_triples(graph, recipe))

    assert len(back) == len(codes)
    assert not any(f"<{E}{name}>" in str(found) for name in ("s1", "from", "price"))
    assert sorted((back.get(s, s), back.get(p, p), back.get(o, o)) for s, p, o in found) == list(
        graph
    )


def test_distractors_are_added_and_nothing_else_changes():
    """Distractors add instances of the same kinds with new names, and change nothing else."""
    text = shop()
    graph = set(graphs.read(text))
    found = set(facts(text, "distractors"))
    added = {s for s, _, _ in found} - {s for s, _, _ in graph}
    labels = [o for s, p, o in found if p == LABEL]

    assert graph < found
    assert {o for s, p, o in found if s in added and p == TYPE} >= {f"<{E}Supplier>", f"<{E}Item>"}
    assert len(labels) == len(set(labels))


SMALL = """
@prefix : <http://example.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:org a :Organisation ; rdfs:label "Wonder\\u0020Ltd" .
:it a :Unit ; rdfs:label "IT" ; :of :org . :hr a :Unit ; rdfs:label "HR" ; :of :org .
"""


def test_doubled_variants_exchange_what_is_the_only_one_of_its_kind():
    """Each instance gets a twin with another name; all keep links, which are exchanged."""
    owners = set()
    for seed in range(12):
        found = facts(SMALL, "doubled", seed, named=[f"{E}it", f"{E}hr", f"{E}org"])
        labels = [o for _, p, o in found if p == LABEL]
        of = single(found, "of")
        assert {'"IT"', '"VG"', '"HR"', '"UE"', '"Wonder Ltd"'} >= set(labels) - {'"Jbaqre Ygq"'}
        assert len(labels) == len(set(labels))
        assert of.keys() >= {f"<{E}it>", f"<{E}hr>"}
        owners.add((of[f"<{E}it>"], of[f"<{E}hr>"]))
    assert any(one != other for one, other in owners)


def test_names_of_twins_keep_the_words_that_they_share():
    """A twin's label states the twin's own values, and all labels differ."""
    text = shop()
    before = {o for _, p, o in graphs.read(text) if p == LABEL}
    found = facts(text, "doubled", 3)
    labels = [o for s, p, o in found if p == LABEL]
    amounts = single(found, "amount")
    of_prices = {s: o for s, p, o in found if p == LABEL}

    assert len(set(labels)) == len(labels)
    assert set(labels) - before
    for price, amount in amounts.items():
        assert graphs.words(graphs.literal(amount).lexical) in graphs.words(of_prices[price])


def test_emptied_variants_lack_one_named_property():
    """All facts of one property of the reference query are removed, with redundant ones."""
    text = shop()
    graph = set(graphs.read(text))

    def gone(*named):
        return {p for _, p, _ in graph - set(facts(text, "emptied", named=named))}

    assert gone(f"{E}price", f"{E}s1") == {f"<{E}price>"}
    assert gone(f"{E}from") == {f"<{E}from>", f"<{E}sells>"}


def test_coincidences_are_no_regularities():
    """In a graph of a few instances, coincident values are not treated as a regularity."""
    text = (
        "@prefix : <http://example.org/> . "
        ":a a :P ; :x 1 ; :y 5 . :b a :P ; :x 1 ; :y 5 . :c a :P ; :x 2 ; :y 6 ."
    )
    profile = compute_profile(graphs.read(text))
    found = redundancy.components(profile, redundancy.naming_facets(profile))

    assert len(set(found.values())) == len(found)


def test_blank_nodes_are_instances_like_others():
    """Blank nodes are moved like other instances and keep their links, reproducibly."""
    text = "@prefix : <http://example.org/> . " + " ".join(
        f':p{n} a :P ; :at [ a :Address ; :city "City {n % 3}" ; :street "Road {n}" ] .'
        for n in range(30)
    )
    first, second = facts(text, seed=2), facts(text, seed=2)

    assert first == second
    assert sorted(single(first, "at").values()) == sorted(single(first, "city"))


@pytest.mark.parametrize(
    ("question", "iris", "texts", "expected"),
    [
        ("What does Supplier 3 sell?", (), (), {"s3"}),
        ("What is it?", (f"{E}s4",), (), {"s4"}),
        ("Which one?", (), ("Supplier 5",), {"s5"}),
        ("Which suppliers are there?", (), ("EUR",), set()),
    ],
)
def test_instances_are_named_by_iri_by_label_or_by_text(question, iris, texts, expected):
    """A question names instances by label, its query also by IRI and by text."""
    found = rules.instances_in_question(graphs.read(shop()), iris, texts, question)

    assert {f"<{E}{name}>" for name in expected} == found


@st.composite
def small_graphs(draw):
    """Draw a small graph of two kinds with optional links and attributes."""
    lines = []
    for n in range(draw(st.integers(1, 8))):
        node = f"<{E}a{n}>"
        others = draw(st.lists(st.integers(0, 7), max_size=3))
        given_values = draw(st.lists(st.integers(0, 3), max_size=2))
        lines += [f'{node} {TYPE} <{E}A> . {node} {LABEL} "A {n}" .']
        lines += [f"{node} <{E}to> <{E}b{other}> ." for other in others]
        lines += [f"{node} <{E}v> {value} ." for value in given_values]
    lines += [
        f"<{E}b{n}> {TYPE} <{E}B> . <{E}b{n}> <{E}back> <{E}a0> ."
        for n in range(draw(st.integers(0, 8)))
    ]
    return "\n".join(lines)


@given(small_graphs(), st.sampled_from(list(VariantKind)), st.integers(0, 5))
@settings(max_examples=150, deadline=None)
def test_any_graph_has_variants(text, kind, seed):
    """A variant has the kinds of its graph; only distractors add instances."""
    graph = graphs.read(text)
    found = facts(text, kind, seed, named=[f"{E}to"])
    before, after = compute_profile(graph), compute_profile(tuple(found))

    assert len(found) == len(set(found))
    assert set(after.members) <= set(before.members)
    if kind in {VariantKind.SHUFFLED, VariantKind.EMPTIED}:
        assert set(after.kinds) <= set(before.kinds)
    assert make_plan(graph).profile.kinds == before.kinds
