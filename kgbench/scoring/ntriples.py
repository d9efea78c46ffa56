# SPDX-License-Identifier: Apache-2.0
"""Parser of N-Triples lines written by an executor."""

from __future__ import annotations

from typing import NamedTuple


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
