# SPDX-License-Identifier: Apache-2.0
"""An index of statements by subject and property."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.rdf.quads import by_subject
from kgbench.record.schema import required
from kgbench.vocab import RDF


class StatementIndex:
    """Statements, indexed by subject and property."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.quads = list(quads)
        self._by_subject = by_subject(self.quads)

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of a property; of several values, the least."""
        return min(self.values(subject, name), default=None)

    def required(self, subject: str, name: str) -> str:
        """Return the value of a mandatory property; raises StoreError if it is missing."""
        return required(self, subject, name)

    def values(self, subject: str, name: str) -> list[str]:
        """Return all values of a property, sorted."""
        return sorted(one.value for one in self._by_subject.get(subject, {}).get(name, ()))

    def instances(self, kind: str) -> list[str]:
        """Return the instances of a class, sorted."""
        return sorted(s for s in self._by_subject if kind in self.values(s, RDF.type))

    def data(self, subject: str, name: str) -> Json:
        """Parse the value of a property that is JSON; ``{}`` if it is missing."""
        text = self.value(subject, name)
        return {} if text is None else json.loads(text)
