# SPDX-License-Identifier: Apache-2.0
"""Triple terms of RDF 1.2; pyoxigraph's ``str`` omits their brackets and recurses without limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import pyoxigraph as ox

OPENS: Final = "<<("
CLOSES: Final = ")>>"


def cells(*terms: Any, leaf: Callable[[Any], str] = str) -> Iterator[str]:
    """Yield terms in N-Triples 1.2, with the parts and brackets of triple terms separately.

    ``leaf`` serialises terms that are not triple terms.

    >>> list(cells(ox.Triple(ox.NamedNode("urn:a"), ox.NamedNode("urn:b"), ox.Literal("c"))))
    ['<<(', '<urn:a>', '<urn:b>', '"c"', ')>>']
    """
    open_ = list(reversed(terms))
    while open_:
        term = open_.pop()
        if isinstance(term, ox.Triple):
            yield OPENS
            open_ += [CLOSES, term.object, term.predicate, term.subject]
        else:
            yield term if term is CLOSES else leaf(term)


def to_ntriples(term: Any, leaf: Callable[[Any], str] = str) -> str:
    """Return a term in N-Triples 1.2."""
    return " ".join(cells(term, leaf=leaf))
