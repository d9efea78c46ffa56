# SPDX-License-Identifier: Apache-2.0
"""Lines of N-Triples written by an executor, and RDF graphs compared as sets of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kgbench.scoring.agreement import Agreement, compare_sets


class Terms(NamedTuple):
    """Subject, predicate and object of a triple, each in N-Triples syntax."""

    subject: str
    predicate: str
    object: str


def terms(line: str) -> Terms:
    """Split an N-Triples line without line break into its terms.

    >>> terms('<http://e.org/a> <http://e.org/b> "c d" .')
    Terms(subject='<http://e.org/a>', predicate='<http://e.org/b>', object='"c d"')
    """
    subject, predicate, object_ = line.split(" ", 2)
    return Terms(subject, predicate, object_.removesuffix(" ."))


# IRIs and quoted strings are matched as a whole, so that text in them is not taken for blank nodes.
_TERM = re.compile(r'<[^<>"]*>|"(?:[^"\\]|\\.)*"|(?P<blank>_:[^\s<>"]+)')


def with_uniform_blank_nodes(line: str) -> str:
    """Replace every blank node in an N-Triples line by ``_:b``.

    >>> with_uniform_blank_nodes('_:b7 <http://e.org/p> "_:b7" .')
    '_:b <http://e.org/p> "_:b7" .'
    """
    if "_:" not in line:
        return line
    return _TERM.sub(lambda match: "_:b" if match["blank"] else match[0], line)


def line_set(triples: Iterable[str]) -> frozenset[str]:
    """Return the lines with uniform blank nodes and one empty line, by which graphs are compared.

    The empty line comes from the published scores, which split a serialised graph at line breaks:
    even an empty graph shares it with every other.
    """
    return frozenset({"", *map(with_uniform_blank_nodes, triples)})


def compare_graphs(expected: Iterable[str], answer: Iterable[str]) -> Agreement:
    """Agreement of two graphs, each as N-Triples lines without line breaks (see :func:`line_set`).

    Two graphs that differ only in which blank node has which value count as equal.
    """
    return compare_sets(line_set(expected), line_set(answer))
