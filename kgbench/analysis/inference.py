# SPDX-License-Identifier: Apache-2.0
"""Inference: the method, estimand and levels of intervals and tests, as recorded with tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgbench.analysis.estimands import CASES, Estimand, check_estimand, find_estimand
from kgbench.analysis.intervals import CONFIDENCE
from kgbench.analysis.tables import Table, Value
from kgbench.rdf import double
from kgbench.rdf.declared import shipped
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

CLUSTERED, INDEPENDENT = "clustered", "independent"


@dataclass(frozen=True, slots=True)
class Method:
    """A method of intervals and tests; ``estimand`` is the name of a fixed estimand, if any."""

    name: str
    iri: str
    label: str
    description: str
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
    def context(self) -> dict[str, Value]:
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
    estimands = [
        source.required(node_, SKOS.notation) for node_ in source.objects(node, KGB.estimand)
    ]
    return Method(
        name=name,
        iri=node.value,
        label=source.required(node, RDFS.label),
        description=source.required(node, DCTERMS.description),
        estimand=estimands[0] if estimands else None,
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
