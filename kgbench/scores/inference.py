# SPDX-License-Identifier: Apache-2.0
"""What intervals and tests generalise to, by which method and at which level.

Estimands and methods are declared in ``queries/estimands.ttl``.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from kgbench.errors import QueryError, closest
from kgbench.rdf import double
from kgbench.rdf.declared import shipped
from kgbench.scores.reading import ScoreRow
from kgbench.statistics.clusters import FEWEST_FOR_T, Clusters, Value
from kgbench.statistics.intervals import CONFIDENCE
from kgbench.statistics.unpaired_difference import UnpairedDifference
from kgbench.tables import Table
from kgbench.tables import Value as Cell
from kgbench.vocab import KGB, RDFS, SKOS

CASES, REPETITIONS, TASKS, DIALOGUES = "cases", "repetitions", "tasks", "dialogues"
AVAILABLE = "available"
"""The default of tables that combine tasks: it covers every task that was asked twice."""
USER_ESTIMANDS = (CASES, REPETITIONS, TASKS, DIALOGUES)
"""The estimands that a user can choose; the others are a default or belong to a method."""


@dataclass(frozen=True, slots=True)
class Estimand:
    """The target of intervals and tests.

    A new measurement would sample new units of the kind ``sampled`` (case, task, ...) and keep the
    units of the kind ``fixed``.
    """

    name: str
    iri: str
    label: str
    sampled: str
    fixed: str | None = None

    @property
    def clustered(self) -> bool:
        """Whether values are clustered; otherwise all dialogues count as independent."""
        return self.name != DIALOGUES

    @property
    def pairs_cases(self) -> bool:
        """Whether the means of both sides per case are paired, and not single answers."""
        return self.sampled in ("case", "task")

    def within(self, cases: int) -> Estimand:
        """Return the estimand of a task with this number of cases.

        It is the same one, except for ``available``: cases, or repetitions of a single case.
        """
        if self.name != AVAILABLE:
            return self
        return find_estimand(CASES if cases > 1 else REPETITIONS)

    def of_tasks(self, numbers: Iterable[int]) -> Estimand:
        """Return the estimand of tasks with these numbers of cases: ``cases`` if all have several.

        It is the same one, except for ``available``.
        """
        if self.name == AVAILABLE and all(number > 1 for number in numbers):
            return find_estimand(CASES)
        return self

    def clusters(self, values: Iterable[tuple[ScoreRow, float]]) -> Clusters:
        """Group values of dialogues into clusters; all dialogues weigh the same."""
        return Clusters.of(self.value(row, value) for row, value in values)

    def value(self, row: ScoreRow, value: float, weight: float = 1.0) -> Value:
        """Return a value of a dialogue with the names of its stratum and its cluster."""
        stratum = None if self.fixed is None else _unit(self.fixed, row)
        return Value(stratum, _unit(self.sampled, row), value, weight)

    def no_claim(
        self, clusters: Clusters | UnpairedDifference, alpha: float = 1 - CONFIDENCE
    ) -> str | None:
        """Return the reason why a test of clusters cannot reach a level; ``None`` where it can.

        >>> find_estimand("cases").no_claim(Clusters.of(Value("t", case, 1.0) for case in range(5)))
        '5 cases: p is never below 0.0625'
        """
        if clusters.lone:
            several = clusters.lone > 1 or clusters.number
            if self.name == AVAILABLE:
                return "a task with one case that was asked once"
            plural = "" if clusters.lone == 1 else "s"
            prefix = f"{clusters.lone} {self.fixed}{plural} with " if several and self.fixed else ""
            return f"{prefix}one {self.sampled}"
        if isinstance(clusters, UnpairedDifference) and min(clusters.sides) < FEWEST_FOR_T:
            return f"fewer than {FEWEST_FOR_T} {self.sampled}s on a side"
        least = clusters.least_p
        if least >= alpha:
            return f"{clusters.number} {self.sampled}s: p is never below {least:.3g}"
        return "no score varies" if clusters.p is None else None


def check_estimand(name: str) -> str:
    """Return ``name`` if it is an estimand that users can choose, or the default ``available``.

    Raises :class:`~kgbench.errors.QueryError` if it is not.
    """
    if name not in (AVAILABLE, *USER_ESTIMANDS):
        hint = f" ({near})" if (near := closest(name, USER_ESTIMANDS)) else ""
        raise QueryError(
            f"'{name}' is not an estimand to choose; there are: {', '.join(USER_ESTIMANDS)}{hint}"
        )
    return name


@cache
def find_estimand(name: str = CASES) -> Estimand:
    """Return the declared estimand ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is none.
    """
    source = shipped("queries", "estimands.ttl")
    node = source.named(KGB.Estimand, name)
    return Estimand(
        name=name,
        iri=node.value,
        label=source.required(node, RDFS.label),
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


CLUSTERED, INDEPENDENT = "clustered", "independent"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of intervals and tests; ``estimand`` is the name of a fixed estimand, if any."""

    name: str
    iri: str
    label: str
    estimand: str | None = None


@dataclass(frozen=True, slots=True)
class Inference:
    """The estimand, method and levels of the intervals and tests of a table.

    ``confidence`` is the level of intervals and ``alpha`` that of tests, ``None`` where there are
    none.
    """

    estimand: Estimand
    method: Method
    confidence: float | None = CONFIDENCE
    alpha: float | None = None

    @property
    def context(self) -> dict[str, Cell]:
        """The part of a table's context from which stored and published statements are made."""
        levels = {"confidence": self.confidence, "alpha": self.alpha}
        return {
            "estimand": self.estimand.name,
            "estimand_label": self.estimand.label,
            "method": self.method.name,
            "method_label": self.method.label,
            **{name: level for name, level in levels.items() if level is not None},
        }

    @property
    def note(self) -> str:
        """A note for people about estimand and method."""
        by = "" if self.method.name == CLUSTERED else f" ({self.method.label})"
        return f"95 % intervals and tests generalise to {self.estimand.label}{by}."


def method(name: str) -> Method:
    """Return the declared method of inference ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is none.
    """
    source = shipped("queries", "estimands.ttl")
    node = source.named(KGB.InferenceMethod, name)
    fixed = [source.required(each, SKOS.notation) for each in source.objects(node, KGB.estimand)]
    return Method(
        name=name,
        iri=node.value,
        label=source.required(node, RDFS.label),
        estimand=fixed[0] if fixed else None,
    )


def inference(
    estimand: str = CASES,
    by: str | None = None,
    *,
    confidence: float | None = CONFIDENCE,
    alpha: float | None = None,
) -> Inference:
    """Return the inference for an estimand by a method, both given by name.

    The default method depends on the estimand. The fixed estimand of a method takes precedence.
    Raises :class:`~kgbench.errors.QueryError` for an estimand that users cannot choose, and for an
    unknown method.
    """
    check_estimand(estimand)
    if by is None:
        by = INDEPENDENT if not find_estimand(estimand).clustered else CLUSTERED
    chosen_method = method(by)
    return Inference(
        find_estimand(chosen_method.estimand or estimand), chosen_method, confidence, alpha
    )


def inference_statements(node: str, table: Table) -> Iterator[str]:
    """Yield the N-Triples lines that describe the inference of a table, about ``node`` (IRI).

    There are none for a table without intervals and tests, whose context names no method.
    """
    estimand_name, method_name = table.context.get("estimand"), table.context.get("method")
    if estimand_name is None or method_name is None:
        return
    yield f"<{node}> <{KGB.estimand}> <{find_estimand(str(estimand_name)).iri}> ."
    yield f"<{node}> <{KGB.inferenceMethod}> <{method(str(method_name)).iri}> ."
    for name, term in (("confidence", KGB.confidenceLevel), ("alpha", KGB.significanceLevel)):
        level = table.context.get(name)
        if level is not None:
            yield f"<{node}> <{term}> {double(float(level))} ."
