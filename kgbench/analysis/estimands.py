# SPDX-License-Identifier: Apache-2.0
"""Estimands: the targets of intervals and tests, as declared in ``queries/estimands.ttl``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import pyoxigraph as ox

from kgbench.analysis.clusters import FEWEST_FOR_T, Clusters, UnpairedDifference, Value, least_p
from kgbench.analysis.intervals import CONFIDENCE
from kgbench.analysis.scores import ScoreRow
from kgbench.errors import QueryError
from kgbench.nearest import closest
from kgbench.rdf.declared import Declared, Node, shipped
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

CASES, REPETITIONS, TASKS, DIALOGUES = "cases", "repetitions", "tasks", "dialogues"
USER_ESTIMANDS = (CASES, REPETITIONS, TASKS, DIALOGUES)
"""The estimands that a user can choose; the others belong to a method."""


@dataclass(frozen=True, slots=True)
class Estimand:
    """The target of intervals and tests.

    A new measurement would sample new units of the kind ``sampled`` (case, task, ...) and keep the
    units of the kind ``fixed``.
    """

    name: str
    iri: str
    label: str
    description: str
    sampled: str
    fixed: str | None = None

    @property
    def clustered(self) -> bool:
        """Whether values are clustered; otherwise all dialogues count as independent."""
        return self.name != DIALOGUES

    @property
    def informative(self) -> str:
        """The name of the part of the data that supports a claim: ``Tasks with several cases``."""
        return f"{(self.fixed or 'result').capitalize()}s with several {self.sampled}s"

    def clusters(self, values: Iterable[tuple[ScoreRow, float]]) -> Clusters:
        """Group values of dialogues into clusters; all dialogues weigh the same."""
        return Clusters.of(self.value(row, value) for row, value in values)

    def value(self, row: ScoreRow, value: float) -> Value:
        """Return a value of a dialogue with the names of its stratum and its cluster."""
        return Value(self.stratum(row), _unit(self.sampled, row), value)

    def stratum(self, row: ScoreRow) -> Hashable:
        """Return the fixed unit that a dialogue belongs to."""
        return None if self.fixed is None else _unit(self.fixed, row)

    def no_claim(
        self, clusters: Clusters | UnpairedDifference, alpha: float = 1 - CONFIDENCE
    ) -> str | None:
        """Return the reason why a test of clusters cannot reach a level; ``None`` where it can.

        >>> find_estimand("cases").no_claim(Clusters.of(Value("t", case, 1.0) for case in range(5)))
        '5 cases: p is never below 0.0625'
        """
        if clusters.lone:
            several = clusters.lone > 1 or clusters.number
            plural = "" if clusters.lone == 1 else "s"
            prefix = f"{clusters.lone} {self.fixed}{plural} with " if several and self.fixed else ""
            return f"{prefix}one {self.sampled}"
        if isinstance(clusters, UnpairedDifference) and min(clusters.sides) < FEWEST_FOR_T:
            return f"fewer than {FEWEST_FOR_T} {self.sampled}s on a side"
        least = least_p(clusters.number)
        if least < alpha:
            return None
        return f"{clusters.number} {self.sampled}s: p is never below {least:g}"


def check_estimand(name: str) -> str:
    """Return ``name`` if it is an estimand that users can choose.

    Raises :class:`~kgbench.errors.QueryError` if it is not.
    """
    if name not in USER_ESTIMANDS:
        hint = f" ({near})" if (near := closest(name, USER_ESTIMANDS)) else ""
        raise QueryError(
            f"'{name}' is not an estimand to choose; there are: {', '.join(USER_ESTIMANDS)}{hint}"
        )
    return name


def find_estimand(name: str = CASES) -> Estimand:
    """Return the declared estimand ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is none.
    """
    source = shipped("queries", "estimands.ttl")
    return _read(source, source.named(KGB.Estimand, name))


def estimands() -> list[Estimand]:
    """Return all declared estimands."""
    source = shipped("queries", "estimands.ttl")
    return [_read(source, node) for node in source.instances(KGB.Estimand)]


def _read(source: Declared, node: Node) -> Estimand:
    assert isinstance(node, ox.NamedNode)
    return Estimand(
        name=source.required(node, SKOS.notation),
        iri=node.value,
        label=source.required(node, RDFS.label),
        description=source.required(node, DCTERMS.description),
        sampled=source.required(node, KGB.sampledUnit),
        fixed=source.text(node, KGB.fixedUnit),
    )


def _unit(kind: str, row: ScoreRow) -> Hashable:
    """Return the identity of the unit of a dialogue; a case belongs to one task."""
    if kind == "task":
        return row.task
    if kind == "case":
        return row.task, row.case
    return row.dialogue
