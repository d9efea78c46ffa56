# SPDX-License-Identifier: Apache-2.0
"""Validation of configuration graphs by ``shapes/configuration.ttl``, with readable findings.

Messages describe what is allowed by the shape's ``sh:description``, and what was found by the
content of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pyoxigraph as ox

from kgbench.config import graphs
from kgbench.config.documents import Document
from kgbench.config.graphs import ConfigurationGraph, key_of, terms
from kgbench.config.trees import below
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json
from kgbench.nearest import nearest
from kgbench.validation import Complaint, Shape, compiled, complaints, declared_shapes
from kgbench.validation.checking import validate_node
from kgbench.validation.data import TYPE, Term
from kgbench.vocab import RDF, XSD, compact

_LONGEST = 60  # characters of a value that a message shows


@cache
def shapes() -> list[Shape]:
    """Return the shapes of configurations."""
    return compiled(declared_shapes(["configuration.ttl"]))


def findings(configuration: ConfigurationGraph) -> list[Finding]:
    """Return the findings of the shapes, in the order of the file; empty if they accept."""
    found = {
        finding
        for complaint in complaints(configuration.graph, shapes())
        for described in _described(configuration, complaint)
        for finding in _findings(configuration, described)
    }
    return sorted(found, key=lambda f: (f.line or 0, f.pointer, f.message))


def value_findings(values: Mapping[str, Json]) -> list[Finding]:
    """Return the findings of the shapes about single values, by key, that no file contains."""
    needed = {"iterations": 1, "tasks": ["any"], "models": ["any:model"]}  # accepted as they are
    text = json.dumps({**needed, **values})
    try:
        return findings(graphs.read(Document("", Path(), "json", text)))
    except ConfigurationError as error:
        return error.findings


def _described(configuration: ConfigurationGraph, complaint: Complaint) -> list[Complaint]:
    """Return the complaints within a shape of ``sh:node`` that have words, else ``complaint``."""
    if complaint.inner is None:
        return [complaint]
    within = [
        described
        for nested in validate_node(configuration.graph, complaint.inner, complaint.term)
        for described in _described(configuration, nested)
        if described.component == "Closed" or described.source.description is not None
    ]
    return within or [complaint]


def _findings(configuration: ConfigurationGraph, complaint: Complaint) -> Iterator[Finding]:
    if complaint.component == "Closed":
        yield from _unknown_keys(configuration, complaint)
        return
    shape, pointer = complaint.source, configuration.places.get(complaint.focus, "")
    allowed = shape.description or "what the shapes of configurations say"
    if shape.label is None or (complaint.term is None and complaint.component != "MaxCount"):
        yield configuration.finding(pointer, f"needed: {allowed}")
    elif complaint.term is None:
        message = f"found more than one value; allowed: {allowed}"
        yield configuration.finding(below(pointer, shape.label), message)
    else:
        pointer = _value_pointer(configuration, pointer, complaint)
        message = f"found {_value_text(complaint.term)}; allowed: {allowed}"
        yield configuration.finding(pointer, message)


def _unknown_keys(configuration: ConfigurationGraph, complaint: Complaint) -> Iterator[Finding]:
    """Yield a finding for each property of a node that its closed shape does not list."""
    pointer = configuration.places.get(complaint.focus, "")
    properties = complaint.source.properties
    known = sorted({inner.label for inner in properties if inner.label is not None})
    listed = {inner.path_name for inner in properties}
    for predicate in configuration.graph.about(complaint.focus):
        if predicate.value in (RDF.first, RDF.rest):
            message = f"found a list; allowed: an object with {', '.join(known)}"
            yield configuration.finding(pointer, message)
        elif predicate != TYPE and compact(predicate.value) not in listed:
            key = _short(key_of(predicate.value))
            problem = (
                f"the key '{key}' does not belong here"
                if key in terms()
                else f"unknown key '{key}'"
            )
            hint = nearest(key, known)
            listing = "" if hint.startswith("known") else f" (known here are {', '.join(known)})"
            yield configuration.finding(below(pointer, key), f"{problem}: {hint}{listing}")


def _value_pointer(configuration: ConfigurationGraph, pointer: str, complaint: Complaint) -> str:
    """Return the pointer of the value that a complaint is about, with its index in a list."""
    name = complaint.source.label or ""
    pointer, iri = below(pointer, name), terms().get(name)
    heads = () if iri is None else configuration.graph.values(complaint.focus, ox.NamedNode(iri))
    for head in heads:
        members = configuration.members(head) or []
        if complaint.term in members and complaint.term != head:
            return below(pointer, members.index(complaint.term))
    return pointer


def _value_text(value: Term) -> str:
    if not isinstance(value, ox.Literal):
        return "an empty list" if value.value == RDF.nil else "an object or a list"
    if value.language is not None:
        return f"the text {_short(value.value)!r} in the language {value.language}"
    if value.datatype.value == XSD.string:
        return f"the text {_short(value.value)!r}"
    return _short(value.value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
