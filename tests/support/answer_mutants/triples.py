# SPDX-License-Identifier: Apache-2.0
"""Changes of triples, one line of N-Triples each; a sign may come before the subject."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pyoxigraph as ox

from tests.support.answer_mutants import Operators, exchanged, replaced

_NODE = r"(?:<[^<>\s]*>|_:\w+)"
_LITERAL = r'"(?:[^"\\]|\\.)*"'
_LINE = re.compile(rf"([-+] )?({_NODE}) (<[^<>\s]*>) (.*) \.")
_LABEL = re.compile(r"_:\w+")
_NEXT = 5  # lines whose parts replace those of a line


def lines(turtle: str) -> str:
    """Return a document in Turtle as lines of N-Triples, in its own order."""
    quads = ox.parse(turtle, ox.RdfFormat.TURTLE)
    text = "".join(f"{line} .\n" for line in dict.fromkeys(str(quad.triple) for quad in quads))
    # The parser draws other labels at each call.
    names = {label: f"_:b{at}" for at, label in enumerate(dict.fromkeys(_LABEL.findall(text)))}
    return _LABEL.sub(lambda match: names[match[0]], text)


def drop(text: str) -> Iterator[str]:
    """Leave out a triple."""
    yield from replaced(text, {r"^.+\n": ("",)})


def widen(text: str) -> Iterator[str]:
    """Say less: a text without its type, language or direction, or anything instead of a thing."""
    yield from replaced(
        text,
        {
            rf"({_LITERAL})\^\^<[^<>]*>(?= \.)": (r"\1",),
            rf"({_LITERAL})@[\w-]+(?= \.)": (r"\1",),
            rf"({_LITERAL}@\w+(?:-[A-Za-z]+)*)--\w+": (r"\1",),
            rf"(?<=> ){_NODE}(?= \.)": ("_:anything",),
        },
    )


def narrow(text: str) -> Iterator[str]:
    """Say more: a language, a region or a direction of a text, or a name of a blank node."""
    yield from replaced(
        text,
        {
            rf"({_LITERAL})(?= \.)": (r"\1@en", r"\1^^<http://www.w3.org/2001/XMLSchema#token>"),
            rf"({_LITERAL}@\w\w)(?= \.)": (r"\1-XX", r"\1--ltr"),
        },
    )
    for label in dict.fromkeys(re.findall(r"_:\w+", text)):
        yield re.sub(rf"{label}\b", "<https://example.org/any>", text)


def swap(text: str) -> Iterator[str]:
    """Take another value, property or subject, the other direction, or the other sign."""
    rows = [match.groups("") for match in _LINE.finditer(text)]
    for sign, subject, predicate, value in rows:
        line = f"{sign}{subject} {predicate} {value} .\n"
        others = [row for row in rows if row[2] == predicate and row[3] != value]
        for _, _, _, other in islice(others, _NEXT):
            yield text.replace(line, f"{sign}{subject} {predicate} {other} .\n")
        if re.fullmatch(_NODE, value) and value != subject:
            yield text.replace(line, f"{sign}{value} {predicate} {subject} .\n")
        if sign:
            other = "+ " if sign == "- " else "- "
            yield text.replace(line, f"{other}{subject} {predicate} {value} .\n")
    yield from replaced(text, {rf"(<<\( )({_NODE}) (\S+) ({_NODE})": (r"\1\4 \3 \2",)})
    yield from exchanged(text, r"(?<= )<[^<>\s]*>(?= .* \.$)")


def add(text: str) -> Iterator[str]:
    """State something more, with the words that occur."""
    rows = [match.groups("") for match in _LINE.finditer(text)]
    for sign, subject, predicate, value in rows:
        for _, other, *_ in islice((row for row in rows if row[1] != subject), _NEXT):
            line = f"{sign}{other} {predicate} {value} .\n"
            if line not in text:
                yield f"{text}{line}"
        yield f"{text}{sign}{subject} {predicate} <https://example.org/any> .\n"


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
