# SPDX-License-Identifier: Apache-2.0
"""Validation of graphs against SHACL shapes: large result sets, configurations, shapes of others.

:func:`complaints` supports SHACL Core and constraints in SPARQL, node by node and straight from a
store. Shapes with anything else are refused, because a silently ignored constraint is worse than
none. Tests hold it to the test suites of the W3C and to the findings of pySHACL.
"""

from kgbench.validation.checking import (
    SHAPE_FILES,
    Complaint,
    complaints,
    declared_shapes,
    result_shapes,
    whole_shapes,
)
from kgbench.validation.compiling import Shape, compiled
from kgbench.validation.data import Data, IllFormedShapes

__all__ = [
    "SHAPE_FILES",
    "Complaint",
    "Data",
    "IllFormedShapes",
    "Shape",
    "compiled",
    "complaints",
    "declared_shapes",
    "result_shapes",
    "whole_shapes",
]
