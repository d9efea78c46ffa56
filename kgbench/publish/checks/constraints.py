# SPDX-License-Identifier: Apache-2.0
"""The constraints declared in ``shapes/constraints/``: queries that find faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgbench import resources
from kgbench.publish.checks.report import Fault
from kgbench.rdf.declared import Declared, shipped
from kgbench.validation.components import term_text
from kgbench.vocab import BASE, DCTERMS, RDFS, SH, SKOS

FOLDER = ("shapes", "constraints")
_CONSTRAINTS = f"{BASE}constraint/"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A declared constraint; ``?found`` in its message stands for a value of the query."""

    name: str
    label: str
    message: str
    remedy: str
    advice: bool

    @property
    def text(self) -> str:
        """The text of its query."""
        return query(self.name)

    def fault(self, node: Any, value: Any, file: str) -> Fault:
        """Return the fault for a row of the query's result."""
        value_text = "" if value is None else _text(value)
        return Fault(
            self.name,
            getattr(node, "value", ""),
            file,
            self.message.replace("?found", value_text),
            self.remedy,
            self.advice,
        )

    def faults(self, store: ox.Store, file_of: Callable[[Any], str]) -> Iterator[Fault]:
        """Yield violations of the constraint, over the union of all graphs of ``store``."""
        rows: Any = store.query(self.text, use_default_graph_as_union=True)
        names = [variable.value for variable in rows.variables]
        for row in rows:
            node, value = row["node"], row["found"] if "found" in names else None
            yield self.fault(node, value, file_of(node) or file_of(value))


def query(name: str) -> str:
    """Return the text of ``shapes/constraints/NAME.rq``."""
    return resources.text(*FOLDER, f"{name}.rq")


@cache
def group(name: str) -> dict[str, Constraint]:
    """Return the constraints of one group by name, in order."""
    declared = shipped(*FOLDER, f"{name}.ttl")
    group_iri = ox.NamedNode(_CONSTRAINTS + name)
    constraints = [
        _constraint(declared, node) for node in declared.subjects(DCTERMS.isPartOf, group_iri)
    ]
    return {constraint.name: constraint for constraint in sorted(constraints, key=_order)}


def _order(constraint: Constraint) -> tuple[str, int]:
    stem, _, number = constraint.name.rpartition("-")
    return (stem, int(number)) if number.isdigit() else (constraint.name, 0)


def _constraint(declared: Declared, node: Any) -> Constraint:
    return Constraint(
        name=declared.required(node, SKOS.notation),
        label=declared.required(node, RDFS.label),
        message=declared.required(node, SH.message),
        remedy=declared.required(node, RDFS.comment),
        advice=declared.text(node, SH.severity) == SH.Warning,
    )


def _text(term: Any) -> str:
    return term.value if isinstance(term, ox.Literal) else term_text(term)
