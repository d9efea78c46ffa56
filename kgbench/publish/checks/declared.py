# SPDX-License-Identifier: Apache-2.0
"""The constraints that ``shapes/constraints/`` declares: queries whose answers are the faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgbench import resources
from kgbench.publish.checks.report import Fault
from kgbench.rdf.declared import Declared, shipped
from kgbench.validation.components import shown
from kgbench.vocab import BASE, DCTERMS, RDFS, SH, SKOS

FOLDER = ("shapes", "constraints")
_CONSTRAINTS = f"{BASE}constraint/"


@dataclass(frozen=True, slots=True)
class Constraint:
    """A declared constraint; ``?found`` in its message is what its query has found."""

    name: str
    label: str
    message: str
    remedy: str
    advice: bool

    @property
    def text(self) -> str:
        """The text of its query."""
        return query(self.name)

    def fault(self, node: Any, found: Any, file: str) -> Fault:
        """The fault that a row of the answer stands for."""
        value = "" if found is None else _read(found)
        return Fault(
            self.name,
            getattr(node, "value", ""),
            file,
            self.message.replace("?found", value),
            self.remedy,
            self.advice,
        )

    def faults(self, store: ox.Store, file_of: Callable[[Any], str]) -> Iterator[Fault]:
        """What breaks the constraint, over all graphs of ``store`` as one."""
        rows: Any = store.query(self.text, use_default_graph_as_union=True)
        names = [variable.value for variable in rows.variables]
        for row in rows:
            node, found = row["node"], row["found"] if "found" in names else None
            yield self.fault(node, found, file_of(node) or file_of(found))


def query(name: str) -> str:
    """The text of ``shapes/constraints/NAME.rq``."""
    return resources.text(*FOLDER, f"{name}.rq")


@cache
def group(name: str) -> dict[str, Constraint]:
    """The constraints of one group, by name, in the order of their declaration."""
    declared = shipped(*FOLDER, f"{name}.ttl")
    whole = ox.NamedNode(_CONSTRAINTS + name)
    found = [_constraint(declared, node) for node in declared.subjects(DCTERMS.isPartOf, whole)]
    return {constraint.name: constraint for constraint in sorted(found, key=_order)}


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


def _read(term: Any) -> str:
    return term.value if isinstance(term, ox.Literal) else shown(term)
