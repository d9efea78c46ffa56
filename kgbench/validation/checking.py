# SPDX-License-Identifier: Apache-2.0
"""Validation of data against compiled shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kgbench.validation.compiling import Shape
from kgbench.validation.components import term_text
from kgbench.validation.data import Data, Term


class Complaint(NamedTuple):
    """A validation result: a constraint that a node violates.

    ``severity`` is Violation, Warning or Info. ``source`` is the shape, ``term`` the value, and
    ``inner`` the shape that it does not conform to, if the constraint is ``sh:node``.
    """

    shape: str
    component: str
    focus: Term
    path: str | None
    value: str | None
    message: str
    severity: str
    source: Shape
    term: Term | None
    inner: Shape | None

    def __str__(self) -> str:
        location = (
            term_text(self.focus) if self.path is None else f"{term_text(self.focus)} {self.path}"
        )
        value = "" if self.value is None else f" (found: {self.value})"
        return f"{location}: {self.message}{value}"


def complaints(data: Data, shapes: list[Shape]) -> Iterator[Complaint]:
    """Yield the validation results of ``data``, shape by shape."""
    for shape in shapes:
        nodes: dict[Term, None] = {}
        for target in shape.targets:
            nodes.update((node, None) for node in target(data))
        for node in nodes:
            yield from validate_node(data, shape, node)


def validate_node(data: Data, shape: Shape, node: Term) -> Iterator[Complaint]:
    """Yield the validation results of one shape for one node."""
    values = [node] if shape.path is None else shape.path(data, node)
    for constraint in shape.constraints:
        for breach in constraint.check(data, node, values):
            yield Complaint(
                shape.name,
                constraint.component,
                node,
                breach.path or shape.path_name,
                None if breach.value is None else term_text(breach.value),
                breach.message if breach.worded else shape.message or breach.message,
                shape.severity,
                shape,
                breach.value,
                constraint.inner,
            )
    for inner in shape.properties:
        for value in values:
            yield from validate_node(data, inner, value)
