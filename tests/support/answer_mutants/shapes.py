# SPDX-License-Identifier: Apache-2.0
"""Changes of SHACL shapes: targets, paths, constraints and their parameters."""

from __future__ import annotations

from collections.abc import Iterator

from tests.support.answer_mutants import Operators, exchanged, moved, replaced

_PARENTS = {
    "Company": "Organisation",
    "Foundation": "Organisation",
    "Device": "Product",
    "Publication": "Product",
    "Fair": "Event",
    "Lecture": "Event",
}
_WIDER = {f"w:{one}\\b": (f"w:{parent}",) for one, parent in _PARENTS.items()}
_NARROWER = {
    f"w:{parent}\\b": tuple(f"w:{one}" for one, of in _PARENTS.items() if of == parent)
    for parent in _PARENTS.values()
}
_LEAST, _MOST = r"sh:(?:m|qualifiedM)in[CLI]\w+ (\d+)", r"sh:(?:m|qualifiedM)ax[CLI]\w+ (\d+)"


def drop(text: str) -> Iterator[str]:
    """Leave out a constraint, a target, an alternative or a step."""
    yield from replaced(
        text,
        {
            r"; sh:(?:min|max|datatype|class|nodeKind|pattern|languageIn|uniqueLang)"
            r"[^;\[\]]*(?= ;| \])": ("",),
            r"sh:closed true": ("sh:closed false",),
            r"sh:(or|xone) \( (\[ .*? \] \]) (\[ .*? \] \]) \)": (
                r"sh:\1 ( \2 )",
                r"sh:\1 ( \3 )",
            ),
            r"sh:path \( (\S+) (\S+) \)": (r"sh:path \1", r"sh:path \2"),
            r"sh:path \[ sh:inversePath (\S+) \]": (r"sh:path \1",),
            r"sh:not \[ (.*? \]) \]": (r"\1",),
        },
    )


def widen(text: str) -> Iterator[str]:
    """Admit more values, or meet more things."""
    yield from replaced(
        text,
        {
            **_WIDER,
            r"sh:nodeKind sh:IRI": ("sh:nodeKind sh:BlankNodeOrIRI", "sh:nodeKind sh:IRIOrLiteral"),
            r"sh:datatype xsd:\w+": ("sh:nodeKind sh:Literal",),
            r"sh:class w:\w+": ("sh:nodeKind sh:BlankNodeOrIRI", "sh:nodeKind sh:IRI"),
            r"sh:languageIn \(": ('sh:languageIn ( "it"',),
            r'"\^\[A-Z\]"': ('"[A-Z]"', '"^[A-Za-z]"', '"^[A-Z0-9]"'),
            r"sh:xone": ("sh:or",),
            r"(sh:m\w+)Exclusive": (r"\1Inclusive",),
        },
    )
    yield from moved(text, _LEAST, -1)
    yield from moved(text, _MOST, 1)


def narrow(text: str) -> Iterator[str]:
    """Admit fewer values, or meet fewer things."""
    yield from replaced(
        text,
        {
            **_NARROWER,
            r'"\^\[A-Z\]"': ('"^[A-Y]"', '"^[A-Z][a-z]+$"'),
            r'sh:languageIn \( "\w\w"': ("sh:languageIn (",),
            r"sh:or ": ("sh:xone ",),
            r"(sh:m\w+)Inclusive": (r"\1Exclusive",),
            r"sh:class (w:\w+)": (r"sh:property [ sh:path rdf:type ; sh:hasValue \1 ]",),
        },
    )
    yield from moved(text, _LEAST, 1)
    yield from moved(text, _MOST, -1)


def swap(text: str) -> Iterator[str]:
    """Take another property or class, or the other end of a property."""
    yield from replaced(
        text,
        {
            "targetSubjectsOf": ("targetObjectsOf",),
            "targetObjectsOf": ("targetSubjectsOf",),
            "minCount": ("maxCount",),
            "qualifiedMinCount": ("qualifiedMaxCount",),
        },
    )
    yield from exchanged(text, r"(?<=sh:path )w:[a-z]\w*")
    yield from exchanged(text, r"(?<=Class )w:[A-Z]\w*")


def add(text: str) -> Iterator[str]:
    """Demand something more of the values of a path."""
    path = r"sh:path (w:\w+|rdfs:label)(?= ;)"
    for more, implied in (
        ("sh:maxCount 1", "axCount 1"),
        ("sh:minCount 1", "inCount"),
        ("sh:nodeKind sh:Literal", "datatype|languageIn|nodeKind|clusive"),
        ("sh:nodeKind sh:IRI", "nodeKind"),
    ):
        unless = rf"(?![^\[\]]*(?:{implied}))"
        yield from replaced(text, {path + unless: (rf"sh:path \1 ; {more}",)})


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
