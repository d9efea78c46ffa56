# SPDX-License-Identifier: Apache-2.0
"""An index of statements by subject and property."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.record.schema import required
from kgbench.vocab import RDF, XSD


class StatementIndex:
    """Statements, indexed by subject and property."""

    def __init__(self, quads: Iterable[ox.Quad]) -> None:
        self.quads = list(quads)
        self._by_subject: dict[str, dict[str, list[str]]] = {}
        self._scores: dict[str, dict[str, float]] = {}
        for quad in self.quads:
            subject = getattr(quad.subject, "value", "")
            value = getattr(quad.object, "value", "")
            name = quad.predicate.value
            self._by_subject.setdefault(subject, {}).setdefault(name, []).append(value)
            if isinstance(quad.object, ox.Literal) and quad.object.datatype.value == XSD.double:
                self._scores.setdefault(subject, {})[name] = float(value)

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of a property; of several values, the least."""
        return min(self.values(subject, name), default=None)

    def required(self, subject: str, name: str) -> str:
        """Return the value of a mandatory property; raises StoreError if it is missing."""
        return required(self, subject, name)

    def values(self, subject: str, name: str) -> list[str]:
        """Return all values of a property, sorted."""
        return sorted(self._by_subject.get(subject, {}).get(name, ()))

    def instances(self, kind: str) -> list[str]:
        """Return the instances of a class, sorted."""
        return sorted(
            s for s, properties in self._by_subject.items() if kind in properties.get(RDF.type, ())
        )

    def doubles(self, subject: str) -> dict[str, float]:
        """Return the ``xsd:double`` values of a subject by property: scores of an evaluation."""
        return self._scores.get(subject, {})

    def data(self, subject: str, name: str) -> Json:
        """Parse the value of a property that is JSON; ``{}`` if it is missing."""
        text = self.value(subject, name)
        return {} if text is None else json.loads(text)
