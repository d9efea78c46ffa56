# SPDX-License-Identifier: Apache-2.0
"""Changes of SPARQL queries: patterns, filters, paths, aggregates and solution modifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.support.answer_mutants import Operators, exchanged, moved, replaced

_UNION = r"\{ ([^{}]*) \} UNION \{ ([^{}]*) \}"


def drop(text: str) -> Iterator[str]:
    """Leave out a filter, an optional part, a line, HAVING or LIMIT."""
    yield from replaced(
        text,
        {
            r"FILTER\((?:[^()]|\([^()]*\))*\)": ("",),
            r"FILTER NOT EXISTS \{[^{}]*\}(?! \?y)": ("",),
            r"MINUS \{[^{}]*\}": ("",),
            r"OPTIONAL \{[^{}]*\}": ("",),
            r" HAVING \((?:[^()]|\([^()]*\))*\)": ("",),
            r"\nLIMIT \d+": ("",),
            r"\nORDER BY \S+": ("",),
        },
    )


def widen(text: str) -> Iterator[str]:
    """Admit more: longer paths, wider classes, an earlier bound, any of several values."""
    yield from replaced(
        text,
        {
            r"(?<= )(w:partOf)/rdfs:label": (r"\1+/rdfs:label", r"\1*/rdfs:label"),
            r' "[^"]*" \.': (" ?any .",),
            r"\(DISTINCT (\?\w+)\) AS": (r"(\1) AS",),
            r"(?<=FILTER)\(": ("(true || ",),
        },
    )
    yield from moved(text, r">= (\d+)\)", -(10**7))
    yield from moved(text, r"<= (\d+)\)", 10**7)


def narrow(text: str) -> Iterator[str]:
    """Admit less: exclusive bounds, single steps, one alternative, required parts."""
    yield from replaced(
        text,
        {
            r"([<>])=(?= )": (r"\1",),
            r"(/w:\w+)\*/": (r"\1/", r"\1+/", r"\1?/", "/"),
            _UNION: (r"\1", r"\2"),
            r'VALUES (\?\w+) \{ ("[^"]*") ("[^"]*") \}': (
                r"VALUES \1 { \2 }",
                r"VALUES \1 { \3 }",
            ),
            r"OPTIONAL \{": ("{",),
            r"rdf:type/rdfs:subClassOf\*": ("rdf:type",),
        },
    )
    yield from moved(text, r"LIMIT (\d+)", -1)


def swap(text: str) -> Iterator[str]:
    """Take another property or name, the other direction, the other sign or another aggregate."""
    yield from replaced(
        text,
        {
            r">=": ("<=",),
            r"<=": (">=",),
            r"\bDESC\(": ("ASC(",),
            r"\bMAX\(": ("MIN(", "AVG("),
            r"\bSUM\(": ("AVG(", "MAX(", "COUNT("),
            r"\bCOUNT\((?!DISTINCT \?\w+\) [<>])": ("MAX(",),
            r"(\?\w+) (w:\w+) (\?\w+)": (r"\3 \2 \1",),
            r'(\?\w+) ([<>]=) "(\d{4})-\d\d-\d\d"\^\^xsd:date': (r"YEAR(\1) \2 \3",),
            r"(\?\w+) ([<>]=) (\d[\d.]*)\)": (r'STR(\1) \2 "\3")',),
        },
    )
    yield from exchanged(text, r"(?<= )w:[a-z]\w*")


def add(text: str) -> Iterator[str]:
    """Demand something more of the thing asked for: no value, or another one."""
    for prop in dict.fromkeys(re.findall(r"\?x (w:[a-z]\w*)", text)):
        if f"NOT EXISTS {{ ?x {prop} " not in text:
            more = f"FILTER NOT EXISTS {{ ?x {prop} ?z9 }}"
            yield re.sub(r"(WHERE \{\n)", rf"\1  {more}\n", text, count=1)
    for variable in dict.fromkeys(re.findall(r"FILTER\((\?\w+) [<>]", text)):
        yield re.sub(rf"FILTER\((?={re.escape(variable)} )", f"FILTER({variable} = 1 && ", text)


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
