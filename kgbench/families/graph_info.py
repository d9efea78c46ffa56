# SPDX-License-Identifier: Apache-2.0
"""Extraction of the parts of a graph and its schema that are relevant to one query.

Prompts show parts of a graph by these rules, the same for every model:

* subschema: the statements of the schema about the properties and classes in the query, and about
  the classes that these properties connect;
* subgraph: the statements with these properties, or with a type that the query names; from a large
  graph only those about some of the subjects;
* iris: the names in the query, in alphabetical order.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.rdf import digest
from kgbench.scoring.result_sets import names
from kgbench.tasks import serialising, texts
from kgbench.vocab import RDF, RDFS

_ENDS = frozenset((RDFS.domain, RDFS.range))


def shown_parts(
    parameters: Mapping[str, Json],
    question: Mapping[str, Json],
    folder: str,
    prefixes: Mapping[str, str],
    graph: str = "",
) -> dict[str, Json]:
    """Return the parts of graph or schema in the prompt, and the parameters that select them.

    ``folder`` has the schema; ``graph`` is the graph in Turtle, if it is small.
    """
    kind: str = parameters["kgInfoType"]
    query: str = question["refSparql"]
    data: dict[str, Json] = {"kgInfoType": kind, "kgInfoFormat": parameters["kgInfoFormat"]}
    schema_text = texts.shared(folder, "schema.ttl")
    schema, triples = _triples(schema_text), _triples(graph)
    used = query_iris(query, prefixes)
    if kind == "schema":
        data["schema"] = schema_text
    elif kind == "subschema":
        data["subSchema"] = as_turtle(subschema(schema, used), prefixes)
    elif kind == "subgraph":
        data["subGraph"] = question.get("subGraph") or as_turtle(subgraph(triples, used), prefixes)
    elif kind in {"iris", "irisLabels"}:
        listed = query_names(query, prefixes)
        data["iris"] = listed
        if kind == "irisLabels":
            data["irisLabels"] = with_labels(listed, labels(schema, triples), prefixes)
    return data


def query_iris(query: str, prefixes: Mapping[str, str]) -> set[str]:
    """Return the IRIs that a query names, including ``rdf:type`` if it has ``a``."""
    namespaces = {"rdf": str(RDF), "rdfs": str(RDFS)} | dict(prefixes)
    iris_found = set()
    for name in names(query, prefixes):
        prefix, _, local = name.partition(":")
        iris_found.add(name[1:-1] if name.startswith("<") else namespaces[prefix] + local)
    return iris_found


def query_names(query: str, prefixes: Mapping[str, str]) -> list[str]:
    """Return the prefixed names in a query, sorted, without those of the RDF vocabulary."""
    return sorted(name for name in names(query, prefixes) if not name.startswith("rdf:"))


def with_labels(
    listed: Iterable[str], labels: Mapping[str, str], prefixes: Mapping[str, str]
) -> str:
    """Return a table of prefixed names and labels, as CSV with the columns id and label."""
    namespaces = {"rdf": str(RDF), "rdfs": str(RDFS)} | dict(prefixes)
    rows = ["id,label"]
    for name in listed:
        prefix, _, local = name.partition(":")
        rows.append(f"{name},{labels.get(namespaces[prefix] + local, local)}")
    return "\n".join(rows)


def labels(*graphs: Iterable[ox.Triple]) -> dict[str, str]:
    """Return the label of each resource that has one, by IRI."""
    return {
        t.subject.value: t.object.value
        for graph in graphs
        for t in graph
        if t.predicate.value == RDFS.label
        and isinstance(t.subject, ox.NamedNode)
        and isinstance(t.object, ox.Literal)
    }


def subschema(schema: Sequence[ox.Triple], wanted: Collection[str]) -> list[ox.Triple]:
    """Return the triples of ``schema`` about the ``wanted`` IRIs and the classes they connect."""
    ends = {
        _iri(t.object) for t in schema if _iri(t.subject) in wanted and t.predicate.value in _ENDS
    }
    subjects = ends.union(wanted)
    return [t for t in schema if _iri(t.subject) in subjects]


def subgraph(
    graph: Iterable[ox.Triple], wanted: Collection[str], most_subjects: int | None = None
) -> list[ox.Triple]:
    """Return the triples of ``graph`` with ``wanted`` properties or ``wanted`` types.

    ``most_subjects`` limits the number of subjects: first come subjects that the query names, then
    those with the most different wanted properties; ties are decided by a hash.
    """
    relevant = [t for t in graph if _concerns(t, wanted)]
    if most_subjects is None:
        return relevant
    properties: dict[str, set[str]] = {}
    for t in relevant:
        properties.setdefault(str(t.subject), set()).add(t.predicate.value)
    ranked = sorted(
        properties,
        key=lambda s: (s[1:-1] not in wanted, -len(properties[s]), digest(s)),
    )
    kept = set(ranked[:most_subjects])
    return [t for t in relevant if str(t.subject) in kept]


def as_turtle(graph: Sequence[ox.Triple], prefixes: Mapping[str, str]) -> str:
    """Return ``graph`` in Turtle, with those of ``prefixes`` that occur in it."""
    text = serialising.turtle(graph, {})
    needed = {name: space for name, space in prefixes.items() if f"<{space}" in text}
    return serialising.turtle(graph, needed)


def _concerns(triple: ox.Triple, wanted: Collection[str]) -> bool:
    if triple.predicate.value == RDF.type:
        return _iri(triple.object) in wanted
    return triple.predicate.value in wanted


def _iri(term: object) -> str | None:
    return term.value if isinstance(term, ox.NamedNode) else None


@cache
def _triples(turtle: str) -> tuple[ox.Triple, ...]:
    return tuple(serialising.triples(turtle))
