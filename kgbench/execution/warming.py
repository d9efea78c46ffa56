# SPDX-License-Identifier: Apache-2.0
"""Warm-up of a judging child: loads everything it may need while files can still be opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kgbench.model import Executor, TaskModule
from kgbench.policies import within_rows
from kgbench.policies.policy import Policy, policies
from kgbench.scoring import json_ld
from kgbench.tasks import catalogue, texts

_DOCUMENTS = {
    "turtle": '@prefix e: <http://example.org/> .\ne:a e:b 1, 2.5, "x"@en, [] .',
    "ntriples": '<http://example.org/a> <http://example.org/b> "1" .',
    "json-ld": '{"@context": {"b": "http://example.org/b"}, "b": [1, {"@value": "x"}]}',
    "xml": (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" '
        'xmlns:e="http://example.org/"><rdf:Description rdf:about="http://example.org/a">'
        "<e:b>1</e:b><e:c rdf:parseType='Literal'><e:d/></e:c></rdf:Description></rdf:RDF>"
    ),
}
_TYPED = (
    "@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . "
    "@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> . "
    '<http://example.org/a> <http://example.org/b> "<p>x</p>"^^rdf:HTML, "<p/>"^^rdf:XMLLiteral, '
    '"P1D"^^xsd:duration, "2024-01-01"^^xsd:date, "2024-01-01T00:00:00Z"^^xsd:dateTime, '
    '"YQ=="^^xsd:base64Binary, "1.5"^^xsd:decimal .'
)
_QUERIES = (
    "SELECT * WHERE { ?s ?p ?o }",
    (
        "SELECT ?s (COUNT(DISTINCT ?o) AS ?n) (MAX(?o) AS ?m) (GROUP_CONCAT(?o) AS ?g) "
        "WHERE { ?s ?p ?o . FILTER(REGEX(STR(?o), '1', 'i') || ?o > 1) "
        "OPTIONAL { ?s ?q ?r . FILTER NOT EXISTS { ?r ?q ?s } } } "
        "GROUP BY ?s HAVING (COUNT(?o) > 0) ORDER BY DESC(?n) LIMIT 3"
    ),
    (
        "SELECT * WHERE { ?s (<http://example.org/b>|^<http://example.org/c>)* ?o "
        "BIND(REPLACE(STR(?o), 'a', 'b') AS ?x) BIND(SHA256('x') AS ?h) BIND(UUID() AS ?u) "
        "BIND(NOW() AS ?w) BIND(YEAR(NOW()) AS ?y) BIND(RAND() AS ?z) "
        "BIND(ENCODE_FOR_URI('ä') AS ?e) MINUS { ?s <http://example.org/c> 1 } "
        "{ SELECT ?s WHERE { VALUES ?s { <http://example.org/a> UNDEF } } } } ORDER BY ?s"
    ),
)
LOADERS: Mapping[str, Callable[[], None]] = {
    "row matching": within_rows.prepare,
    "PyLD": json_ld.load,
}
"""Optional parts that task classes may name in ``LOADS``."""


def warm_engine(engine: Executor) -> None:
    """Parse every format, run queries of every kind, and provoke an error of each kind."""
    for rdf_format, document in _DOCUMENTS.items():
        engine.parse(document, rdf_format)
        engine.parse("<", rdf_format)
    engine.parse(_TYPED, "turtle")
    engine.check("SELECT", {})
    engine.check("SELECT * WHERE { ?s undeclared:x ?o }", {})
    for query in _QUERIES:
        engine.check(query, {})
        engine.select(query, _TYPED, {})
    engine.results("ASK { ?s ?p ?o }", _TYPED, {})
    engine.select("SELECT * WHERE { ?s undeclared:x ?o }", _TYPED, {})


def load(names: Iterable[str]) -> None:
    """Load slow optional parts that few task classes need, by their names in :data:`LOADERS`."""
    for name in names:
        LOADERS[name]()


def warm_policies(name: str | None) -> Policy | None:
    """Return the comparison policy called ``name``, if any, and read all declared policies."""
    known = policies()
    return None if name is None else known[name]


def warm_task_class(name: str) -> TaskModule:
    """Load the module of a task class, its declaration and the texts beside it.

    A module that reads other resources when judging has a function ``prepare()`` to load them. One
    that judges by the code of another class names that class as ``JUDGED_AS``.
    """
    module = catalogue.module(name)
    texts.read_all(catalogue.folder(name))
    judged_as = getattr(module, "JUDGED_AS", None)
    if judged_as is not None:
        warm_task_class(judged_as)
    prepare = getattr(module, "prepare", None)
    if prepare is not None:
        prepare()
    return module
