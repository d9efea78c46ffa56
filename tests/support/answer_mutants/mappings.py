# SPDX-License-Identifier: Apache-2.0
"""Changes of mappings in RML and R2RML: sources, terms, joins and graphs.

Other paths to the same entries are right, so no operator writes them.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.answer_mutants import Operators, exchanged, replaced

_MAP = r" ;\n    r:predicateObjectMap (?:(?! ;\n| \.\n)[\s\S])*"
_IRI = "<https://example.org/any>"
_ANY = f"r:predicateObjectMap [ r:predicate {_IRI} ; r:object {_IRI}"


def drop(text: str) -> Iterator[str]:
    """Leave out a map, a class, a type, a language, a graph or a condition."""
    yield from replaced(
        text,
        {
            _MAP: ("",),
            r"^m:\w+ a r:TriplesMap(?:(?! \.\n)[\s\S])* \.\n": ("",),
            r" ; r:(?:class|datatype|language|termType|languageMap) (?:\[[^\[\]]*\]|[^\s\[\]]+)": (
                "",
            ),
            r" ; r:graphMap \[ [^\[\]]* \]": ("",),
            r" ; r:joinCondition \[ [^\[\]]* \]": ("",),
        },
    )


def widen(text: str) -> Iterator[str]:
    """Say less: a text without its type, its language or its form."""
    yield from replaced(
        text,
        {
            r"XMLSchema#(?:integer|date)": ("XMLSchema#string",),
            r'r:language "\w\w"': ('r:language "und"',),
            r"(r:termType) r:IRI": (r"\1 r:Literal",),
        },
    )


def narrow(text: str) -> Iterator[str]:
    """Say more: one entry, a narrower type, or a language where there is none."""
    yield from replaced(
        text,
        {
            r"XMLSchema#integer": ("XMLSchema#int", "XMLSchema#nonNegativeInteger"),
            r"\[\*\]": ("[0]",),
            r'(r:iterator "/\w+/\w+)"': (r'\1[1]"',),
            r'(r:objectMap \[ r:(?:reference|column) "[^"]*")(?= \])': (r'\1 ; r:language "en"',),
            r'r:language "(\w\w)"': (r'r:language "\1-XX"',),
        },
    )


def swap(text: str) -> Iterator[str]:
    """Take another reference, property, class, source or end of a condition."""
    for pattern in (
        r'(?<=r:reference )"[^"]*"',
        r'(?<=r:column )"[^"]*"',
        r'(?<=r:template )"[^"]*"',
        r"(?<=r:predicate )<[^<>]*>",
        r"(?<=r:class )<[^<>]*>",
        r'(?<=r:path )"[^"]*"',
        r'(?<=r:tableName )"[^"]*"',
        r'(?<=r:language )"\w\w"',
        r"(?<=r:object )<[^<>]*>",
    ):
        yield from exchanged(text, pattern)
    yield from replaced(
        text,
        {
            r'r:child ("[^"]*") ; r:parent ("[^"]*")': (r"r:child \2 ; r:parent \1",),
            r"(r:termType) r:Literal": (r"\1 r:IRI",),
            r"(list)(\d+)>": (r"\g<1>9\2>",),
        },
    )


def add(text: str) -> Iterator[str]:
    """State more: another class, graph or value, or a value once more by another property."""
    yield from replaced(
        text,
        {
            r"r:class (?=<)": ("r:class <https://example.org/Any> ; r:class ",),
            r"(r:subjectMap \[ r:template \"[^\"]*\")": (
                r"\1 ; r:graph <https://example.org/any>",
                r"\1 ; r:class <https://example.org/Any>",
            ),
            rf"(?:{_MAP})": (rf" ;\n    {_ANY} ]\g<0>", rf" ;\n    {_ANY} ; r:graph {_IRI} ]\g<0>"),
            r" ;\n    r:predicateObjectMap \[ r:predicate <": (
                r" ;\n    r:predicateObjectMap [ r:predicate <https://example.org/any> , <",
            ),
        },
    )


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
