# SPDX-License-Identifier: Apache-2.0
"""Configurations in Turtle, which must have one root and no unconnected statements."""

from __future__ import annotations

import re
from collections.abc import Collection, Container

import pyoxigraph as ox

from kgbench.config.trees import MAX_NODES
from kgbench.errors import ConfigurationError, Finding
from kgbench.validation.data import TYPE, Term
from kgbench.vocab import RDF, XSD, compact

_BASE = "urn:kgbench:document"
_NIL = ox.NamedNode(RDF.nil)

# The datatypes in configurations, with their lexical forms (XML Schema 1.1, part 2). All other
# literals get the datatype _OTHER, which the shapes refuse, so that no code tries to convert
# invalid values or numbers with a million digits.
_OTHER = "urn:kgbench:other-value"
_FORMS = {
    XSD.string: re.compile(r".*", re.DOTALL),
    XSD.boolean: re.compile(r"true|false|0|1"),
    XSD.integer: re.compile(r"[-+]?[0-9]{1,80}"),
    XSD.decimal: re.compile(r"[-+]?([0-9]{1,80}(\.[0-9]{0,80})?|\.[0-9]{1,80})"),
    XSD.double: re.compile(
        r"[-+]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][-+]?[0-9]{1,9})?|[-+]?INF|NaN"
    ),
}


def read(source: str, text: str) -> Collection[ox.Triple]:
    """Return the distinct triples of ``text``.

    Raises :class:`~kgbench.errors.ConfigurationError`, with the line, for invalid Turtle.
    """
    triples: dict[ox.Triple, None] = {}
    try:
        for quad in ox.parse(text, format=ox.RdfFormat.TURTLE, base_iri=_BASE):
            if quad.subject == _NIL:
                raise _refusal(source, "rdf:nil is the empty list; nothing is said about it here")
            value = _checked_datatype(source, quad.object)
            triples[ox.Triple(quad.subject, quad.predicate, value)] = None
            if len(triples) > MAX_NODES:
                raise _refusal(source, f"the file holds more than {MAX_NODES} statements")
    except SyntaxError as error:
        raise _refusal(source, f"this is not Turtle: {error.msg}", error.lineno) from None
    return triples.keys()


def root(source: str, triples: Collection[ox.Triple], root_type: str) -> Term:
    """Return the only node of type ``root_type``."""
    expected = ox.NamedNode(root_type)
    roots = [t.subject for t in triples if t.predicate == TYPE and t.object == expected]
    if len(roots) != 1:
        message = f"found {len(roots)} nodes of type {compact(root_type)}; allowed: exactly one"
        raise _refusal(source, message)
    return roots[0]


def check_tree(source: str, triples: Collection[ox.Triple], top: Term) -> None:
    """Refuse nodes that are used twice, whose expansion into a tree could grow without limit."""
    seen: set[Term] = {top}
    for _, predicate, value in triples:
        if isinstance(value, ox.Literal) or value.value == RDF.nil or predicate == TYPE:
            continue
        if value in seen:
            name = str(value) if isinstance(value, ox.NamedNode) else "a blank node"
            raise _refusal(source, f"{name} is used in two places; write it out in each")
        seen.add(value)


def check_connected(source: str, triples: Collection[ox.Triple], reached: Container[Term]) -> None:
    """Refuse statements about nodes that do not belong to the configuration."""
    loose = [t.subject for t in triples if t.subject not in reached]
    named = {str(node) for node in loose if isinstance(node, ox.NamedNode)}
    if named:
        raise ConfigurationError(
            [
                Finding(source, "", f"{iri} is no part of the configuration; nothing leads to it")
                for iri in sorted(named)
            ]
        )
    if loose:
        raise _refusal(source, "a blank node is no part of the configuration; nothing leads to it")


def _checked_datatype(source: str, value: Term) -> Term:
    """Return ``value``, with the datatype :data:`_OTHER` if it is unknown or the form invalid."""
    if isinstance(value, ox.Triple):
        raise _refusal(source, "statements about statements are not read here")
    if not isinstance(value, ox.Literal):
        return value
    if value.language is not None:  # drops the base direction of RDF 1.2, if any
        return ox.Literal(value.value, language=value.language)
    form = _FORMS.get(value.datatype.value)
    if form is not None and form.fullmatch(value.value) is not None:
        return value
    return ox.Literal(value.value, datatype=ox.NamedNode(_OTHER))


def _refusal(source: str, message: str, line: int | None = None) -> ConfigurationError:
    return ConfigurationError([Finding(source, "", message, line)])
