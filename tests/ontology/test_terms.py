# SPDX-License-Identifier: Apache-2.0
"""Terms that are used and terms that the vocabulary declares are the same."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench import resources
from kgbench.model import Outcome
from kgbench.vocab import BASE, KGB, OUTCOME, OWL, PREFIXES, RDF, RDFS, SCHEMA, SKOS

ROOT = Path(__file__).resolve().parents[2]
ONTOLOGY = resources.path("ontology", "kgbench.ttl")
KINDS = {OWL.Class, OWL.ObjectProperty, OWL.DatatypeProperty, RDF.Property}
TERM = re.compile(r"(?:\bkgb:|\bKGB\.|\bKGB\[\"|https://w3id\.org/kgbench/ns#)([A-Za-z]\w*)")


@cache
def ontology() -> ox.Store:
    """Return the parsed vocabulary."""
    store = ox.Store()
    store.load(path=str(ONTOLOGY), format=ox.RdfFormat.TURTLE)
    return store


def objects(subject: str | None, prop: str) -> list[ox.NamedNode | ox.Literal]:
    """Return the values of a property, of one subject or (``None``) of all."""
    node = None if subject is None else ox.NamedNode(subject)
    return [q.object for q in ontology().quads_for_pattern(node, ox.NamedNode(prop), None)]


def declared() -> dict[str, set[str]]:
    """Return every declared term by local name, with its types."""
    found: dict[str, set[str]] = {}
    for quad in ontology().quads_for_pattern(None, ox.NamedNode(RDF.type), None):
        if quad.object.value in KINDS and quad.subject.value.startswith(KGB):
            found.setdefault(quad.subject.value.removeprefix(KGB), set()).add(quad.object.value)
    return found


def in_text(path: Path) -> set[str]:
    """Return the terms in a Python file or a query, as ``KGB.x``, ``kgb:x`` or in full."""
    text = path.read_text(encoding="utf-8")
    return {name for name in TERM.findall(text) if f"KGB.{name}(" not in text}


def in_graph(path: Path) -> set[str]:
    """Return the terms in any position of an RDF file."""
    rdf_format = ox.RdfFormat.TRIG if path.suffix == ".trig" else ox.RdfFormat.TURTLE
    found = set()
    for quad in ox.parse(path=str(path), format=rdf_format, base_iri=BASE):
        for part in (quad.subject, quad.predicate, quad.object):
            if isinstance(part, ox.NamedNode) and part.value.startswith(KGB):
                found.add(part.value.removeprefix(KGB))
    return found - {""}


def in_context() -> set[str]:
    """Return the terms to which the JSON-LD context maps keys."""

    def strings(value: object) -> Iterator[str]:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            for key, inner in value.items():
                yield from (key, *strings(inner))
        elif isinstance(value, list):
            for inner in value:
                yield from strings(inner)

    context = json.loads(resources.text("ontology", "context.jsonld"))
    return {name for text in strings(context) for name in TERM.findall(text)}


def users() -> dict[str, set[str]]:
    """Return every file that may use terms (except tests) with the terms it uses."""
    found = {}
    for path in sorted(ROOT.glob("kgbench/**/*.py")):
        found[path] = in_text(path)
    for folder in ("queries", "store", "kgbench/plugins"):
        for path in sorted((ROOT / folder).glob("**/*.r[qu]")):
            found[path] = in_text(path)
    for folder in ("queries", "store", "shapes", "tasks", "kgbench/plugins", "ontology"):
        for path in sorted((ROOT / folder).glob("**/*.ttl")):
            if path != ONTOLOGY and "results" not in path.parts[len(ROOT.parts) :]:
                found[path] = in_graph(path)
    found[resources.path("ontology", "context.jsonld")] = in_context()
    return {str(path.relative_to(ROOT)): terms for path, terms in found.items()}


def test_every_used_term_is_declared() -> None:
    """Code, queries, shapes, tasks, layout, context and sample graphs use declared terms only."""
    samples = {str(p.relative_to(ROOT)): in_graph(p) for p in ROOT.glob("tests/graphs/**/*.t*g*")}
    known = set(declared())
    undeclared = {
        (name, where) for where, names in {**users(), **samples}.items() for name in names - known
    }
    assert sorted(undeclared) == []


def test_every_declared_term_is_used() -> None:
    """Every declared term is used in code, a query, a shape, a task, the layout or the context."""
    used = set().union(*users().values())
    assert sorted(set(declared()) - used) == []


def test_terms_are_described() -> None:
    """Every term has one English label, one English definition, and isDefinedBy."""
    for name in declared():
        for needed in (RDFS.label, SKOS.definition):
            values = objects(KGB + name, needed)
            assert [value.language for value in values] == ["en"], f"{name}: {needed}"
            assert all(value.value.strip() == value.value != "" for value in values), name
        assert [v.value for v in objects(KGB + name, RDFS.isDefinedBy)] == [str(KGB)], name


def test_terms_have_one_kind() -> None:
    """A term is a class or one kind of property, and its name has the matching case."""
    for name, kinds in declared().items():
        assert len(kinds) == 1, name
        assert name[0].isupper() == (kinds == {OWL.Class}), name


def test_own_terms_in_definitions_exist() -> None:
    """Definitions, domains, ranges and alignments refer to existing kgbench terms only."""
    known = set(declared())
    assert in_graph(ONTOLOGY) - known == set()
    texts = [value.value for value in objects(None, SKOS.definition)]
    assert {name for text in texts for name in TERM.findall(text)} - known == set()


def test_alignments_are_well_formed() -> None:
    """Every foreign IRI in an alignment, domain or range is in a known namespace."""
    known = (*PREFIXES.values(), "http://mlcommons.org/croissant/")
    for prop in (
        RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range, SKOS.closeMatch,
        SCHEMA.domainIncludes,
    ):  # fmt: skip
        for value in objects(None, prop):
            local = [value.value.removeprefix(p) for p in known if value.value.startswith(p)]
            assert local, value
            assert re.fullmatch(r"[A-Za-z]\w*", min(local, key=len)), value


@pytest.mark.parametrize(
    ("name", "superclass"),
    [
        ("Run", "http://www.w3.org/ns/prov#Activity"),
        ("TaskExecution", "http://www.w3.org/ns/prov#Activity"),
        ("Dialogue", "http://www.w3.org/ns/prov#Activity"),
        ("ModelCall", "http://www.w3.org/ns/prov#Activity"),
        ("EvaluationPass", "http://www.w3.org/ns/prov#Activity"),
        ("Analysis", "http://www.w3.org/ns/prov#Activity"),
        ("Configuration", "http://www.w3.org/ns/prov#Plan"),
        ("Model", "http://www.w3.org/ns/prov#SoftwareAgent"),
        ("Prompt", "http://www.w3.org/ns/prov#Entity"),
        ("Answer", "http://www.w3.org/ns/prov#Entity"),
        ("Evaluation", "http://www.w3.org/ns/prov#Entity"),
        ("Task", "http://data.europa.eu/it6/Task"),
        ("TaskExecution", "http://data.europa.eu/it6/Run"),
        ("Metric", "http://www.w3.org/ns/dqv#Metric"),
    ],
)
def test_notions_stand_on_standards(name: str, superclass: str) -> None:
    """The central classes are subclasses of the classes of established vocabularies."""
    assert ox.NamedNode(superclass) in objects(KGB + name, RDFS.subClassOf)


def test_outcomes_are_those_of_the_model() -> None:
    """The outcome scheme has exactly one concept for each outcome in the code."""
    scheme = ox.NamedNode(str(OUTCOME))
    concepts = ontology().quads_for_pattern(None, ox.NamedNode(SKOS.inScheme), scheme)
    assert {q.subject.value for q in concepts} == {OUTCOME[outcome.value] for outcome in Outcome}
    for outcome in Outcome:
        assert [v.value for v in objects(OUTCOME[outcome.value], SKOS.notation)] == [outcome.value]


def _outcomes_with(prop: str) -> set[str]:
    yes = ox.Literal(value=True)
    found = ontology().quads_for_pattern(None, ox.NamedNode(prop), yes)
    return {q.subject.value.removeprefix(OUTCOME) for q in found}


def test_asked_again_are_failures_of_the_provider() -> None:
    """Continuing a run retries only after provider errors and timeouts."""
    assert _outcomes_with(KGB.askAgain) == {"provider-error", "timeout"}


def test_errors_are_not_wrong_answers() -> None:
    """An empty, invalid or refused answer is not an error; a prevented answer is."""
    assert _outcomes_with(KGB.isError) == {
        "context-too-long", "evaluator-error", "provider-error", "timeout",
    }  # fmt: skip


def test_suites() -> None:
    """The own suite is open; suites of published cases and of judgements are protected."""
    store = ox.Store()
    store.load(path=str(resources.path("ontology", "suites.ttl")), format=ox.RdfFormat.TURTLE)
    found = {
        q.subject.value.rpartition("/")[2]: q.object.value
        for q in store.quads_for_pattern(None, ox.NamedNode(KGB.protected), None)
    }
    assert found == {
        "grasp": "true",
        "judgements": "true",
        "kgbench-1": "false",
        "llm-kg-bench-1": "true",
        "llm-kg-bench-2": "true",
        "llm-kg-bench-3": "true",
        "spinach": "true",
        "text2kgbench": "true",
        "text2sparql": "true",
        "text2sparql-2025": "true",
        "text2sparql-2026": "true",
    }
