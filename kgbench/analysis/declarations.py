# SPDX-License-Identifier: Apache-2.0
"""What analyses combine and compare, as declared in RDF."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyoxigraph as ox

from kgbench import resources
from kgbench.analysis.choosing import Score, Selector
from kgbench.analysis.scores import MetricInfo, TaskInfo
from kgbench.errors import QueryError, ResourceError
from kgbench.vocab import DCTERMS, KGB, RDF, RDFS, SH, SKOS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ScoreSet:
    """A declared set of scores."""

    name: str
    label: str
    description: str
    selectors: tuple[Selector, ...]

    def scores(
        self, tasks: Mapping[str, TaskInfo], metrics: Mapping[str, MetricInfo]
    ) -> list[Score]:
        """What its selectors select, each score once, by task label and metric."""
        ordered = sorted(tasks.values(), key=lambda task: (task.name, task.iri))
        chosen = {s: None for sel in self.selectors for s in sel.scores(ordered, metrics.values())}
        return list(chosen)


class Declared:
    """What Turtle files declare, those in ``queries/`` or one of one's own."""

    def __init__(self, *files: Path) -> None:
        self.file = files[0]
        self.graph = ox.Store()
        for file in files:
            try:
                self.graph.bulk_load(path=str(file), format=ox.RdfFormat.TURTLE)
            except (SyntaxError, OSError) as error:
                raise ResourceError(f"the declarations {file} cannot be read: {error}") from error

    @classmethod
    def of(cls, own: Path | None, *shipped: str) -> Declared:
        """One's own file where there is one, else the files called ``shipped`` in ``queries/``."""
        return cls(own) if own else cls(*(resources.path("queries", name) for name in shipped))

    def named(self, kind: str, name: str) -> ox.NamedNode:
        """The resource of a class with the notation ``name``.

        Raises :class:`~kgbench.errors.QueryError` with the names there are.
        """
        known = {self.required(node, SKOS.notation): node for node in self.instances(kind)}
        if name not in known:
            what = kind.rpartition("#")[2]
            listed = ", ".join(sorted(known)) or "none"
            raise QueryError(f"{self.file} declares no {what} '{name}'; there are: {listed}")
        return known[name]

    def ordered(self, node: Any, predicate: str) -> list[Any]:
        """The values of a property in the order of their ``sh:order``."""
        return sorted(
            self.objects(node, predicate),
            key=lambda part: (self.read(part, SH.order, float) or 0.0, str(part)),
        )

    def instances(self, kind: str) -> list[ox.NamedNode]:
        """The resources of a class, by IRI."""
        quads = self.graph.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(kind))
        found = [q.subject for q in quads if isinstance(q.subject, ox.NamedNode)]
        return sorted(found, key=str)

    def objects(self, node: Any, predicate: str) -> list[Any]:
        """The values of a property, sorted."""
        quads = self.graph.quads_for_pattern(node, ox.NamedNode(predicate), None)
        return sorted((quad.object for quad in quads), key=str)

    def text(self, node: Any, predicate: str) -> str | None:
        """The lexical value of a property that has at most one, or ``None``."""
        found = self.objects(node, predicate)
        if len(found) > 1:
            raise ResourceError(f"{self.file}: {node} has several values of <{predicate}>")
        return str(found[0].value) if found else None

    def read(self, node: Any, predicate: str, kind: Callable[[str], T]) -> T | None:
        """The value of a property that has at most one, by ``kind``, which raises ValueError."""
        text = self.text(node, predicate)
        try:
            return None if text is None else kind(text)
        except ValueError as error:
            raise ResourceError(
                f"{self.file}: the <{predicate}> of {node} cannot be '{text}': {error}"
            ) from error

    def required(self, node: Any, predicate: str) -> str:
        """The lexical value of a property that has exactly one."""
        found = self.text(node, predicate)
        if found is None:
            raise ResourceError(f"{self.file}: {node} has no <{predicate}>")
        return found

    def selectors(self, node: Any) -> tuple[Selector, ...]:
        """The score selectors of a set or an axis."""
        return tuple(
            Selector(
                glob=self.required(selector, KGB.taskGlob),
                metric=self.text(selector, KGB.metricName),
                round=self.read(selector, KGB.round, int),
            )
            for selector in self.objects(node, KGB.scoreSelector)
        )


def score_set(name: str, file: Path | None = None) -> ScoreSet:
    """The declared score set called ``name``, as shipped or from one's own file."""
    declared = Declared.of(file, "leaderboard.ttl", "compass.ttl")
    node = declared.named(KGB.ScoreSet, name)
    return ScoreSet(
        name=name,
        label=declared.required(node, RDFS.label),
        description=declared.required(node, DCTERMS.description),
        selectors=declared.selectors(node),
    )
