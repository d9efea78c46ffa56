# SPDX-License-Identifier: Apache-2.0
"""The statements of some graphs, by subject and property."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.record.assembly import needed
from kgbench.vocab import RDF, XSD


class Said:
    """The statements of some graphs, by subject and property."""

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

    def one(self, subject: str, name: str, /) -> str | None:
        """The value of a property; the least where there are several, ``None`` without any."""
        return min(self.all(subject, name), default=None)

    def needed(self, subject: str, name: str) -> str:
        """The value of a property that must be there."""
        return needed(self, subject, name)

    def all(self, subject: str, name: str) -> list[str]:
        """All values of a property, sorted."""
        return sorted(self._by_subject.get(subject, {}).get(name, ()))

    def of_type(self, kind: str) -> list[str]:
        """The things of a class, sorted."""
        return sorted(s for s, said in self._by_subject.items() if kind in said.get(RDF.type, ()))

    def doubles(self, subject: str) -> dict[str, float]:
        """The numbers that are said of a subject, by property: the scores of an evaluation."""
        return self._scores.get(subject, {})

    def data(self, subject: str, name: str) -> Json:
        """The value of a property that is JSON; ``{}`` where it is not there."""
        found = self.one(subject, name)
        return {} if found is None else json.loads(found)
