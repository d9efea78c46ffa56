# SPDX-License-Identifier: Apache-2.0
"""How intervals and tests are made, and what they are about: declared, and said in every form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kgbench.analysis.clusters import FEWEST_FOR_INTERVAL, FEWEST_FOR_T
from kgbench.analysis.estimands import ASKED, CASES, Estimand, estimand
from kgbench.analysis.intervals import CONFIDENCE
from kgbench.analysis.tables import Table, Value
from kgbench.errors import QueryError
from kgbench.nearest import close
from kgbench.rdf import double
from kgbench.rdf.declared import shipped
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

CLUSTERED, INDEPENDENT = "clustered", "independent"


@dataclass(frozen=True, slots=True)
class Method:
    """How intervals and tests are made; ``estimand`` is the name of the one it always has."""

    name: str
    iri: str
    label: str
    description: str
    estimand: str | None = None


@dataclass(frozen=True, slots=True)
class Inference:
    """What the intervals and tests of a table are about, by which method, and at which levels.

    ``confidence`` is that of intervals and ``alpha`` that of tests, ``None`` where there are none.
    """

    about: Estimand
    method: Method
    confidence: float | None = CONFIDENCE
    alpha: float | None = None

    @property
    def context(self) -> dict[str, Value]:
        """What a table says of it, for programs; what is stored and published is taken from it."""
        levels = {"confidence": self.confidence, "alpha": self.alpha}
        return {
            "estimand": self.about.name,
            "estimand_label": self.about.label,
            "method": self.method.name,
            "method_label": self.method.label,
            **{name: level for name, level in levels.items() if level is not None},
        }

    @property
    def note(self) -> str:
        """A sentence that names it for people."""
        about = self.about
        if self.method.name != CLUSTERED:
            return (
                f"Intervals and tests are about {about.label}, by the method "
                f"'{self.method.name}' ({self.method.label}): {self.method.description}"
            )
        kept = "" if about.fixed is None else f" within {about.fixed}s"
        return (
            f"Intervals and tests are about {about.label}. Clusters are {about.sampled}s{kept}: "
            f"cluster-robust standard errors and t, below {FEWEST_FOR_T} clusters exact sign flips "
            f"of clusters, and no interval below {FEWEST_FOR_INTERVAL}. 95 % intervals stay inside "
            "the range of the scores (Korn and Graubard 1998)."
        )


def method(name: str) -> Method:
    """The declared method of inference called ``name``.

    Raises :class:`~kgbench.errors.QueryError` where there is none.
    """
    source = shipped("queries", "estimands.ttl")
    node = source.named(KGB.InferenceMethod, name)
    always = [source.required(one, SKOS.notation) for one in source.objects(node, KGB.estimand)]
    return Method(
        name=name,
        iri=node.value,
        label=source.required(node, RDFS.label),
        description=source.required(node, DCTERMS.description),
        estimand=always[0] if always else None,
    )


def inference(
    about: str = CASES,
    by: str | None = None,
    *,
    confidence: float | None = CONFIDENCE,
    alpha: float | None = None,
) -> Inference:
    """The inference about an estimand by a method, both by name.

    Without a method it is the one for the estimand. A method that always has the same estimand
    keeps that one. Raises :class:`~kgbench.errors.QueryError` for an estimand that cannot be asked
    for, and for an unknown method.
    """
    if about not in ASKED:
        hint = f" ({near})" if (near := close(about, ASKED)) else ""
        raise QueryError(
            f"no estimand '{about}' can be asked for; there are: {', '.join(ASKED)}{hint}"
        )
    if by is None:
        by = INDEPENDENT if not estimand(about).clustered else CLUSTERED
    how = method(by)
    return Inference(estimand(how.estimand or about), how, confidence, alpha)


def statements(node: str, table: Table) -> Iterator[str]:
    """The N-Triples lines that say of ``node`` (IRI) what the inference of a table is.

    None for a table without intervals and tests, whose context names no method.
    """
    named, by = table.context.get("estimand"), table.context.get("method")
    if named is None or by is None:
        return
    yield f"<{node}> <{KGB.estimand}> <{estimand(str(named)).iri}> ."
    yield f"<{node}> <{KGB.inferenceMethod}> <{method(str(by)).iri}> ."
    for name, term in (("confidence", KGB.confidenceLevel), ("alpha", KGB.significanceLevel)):
        level = table.context.get(name)
        if level is not None:
            yield f"<{node}> <{term}> {double(float(level))} ."
