# SPDX-License-Identifier: Apache-2.0
"""Validating large result sets, and configurations, against SHACL shapes, node by node.

:mod:`kgbench.shapes` hands a graph to pySHACL, which knows all of SHACL and takes a minute for what
is read here from a store in a second. This package knows SHACL core as our shapes use it, and
refuses shapes with anything else in them rather than pass over it.
"""

from kgbench.validation.checking import Complaint, complaints
from kgbench.validation.compiling import Shape, compiled, declared_shapes
from kgbench.validation.data import Data, Memory
from kgbench.validation.results import result_shapes, whole_shapes

__all__ = [
    "Complaint",
    "Data",
    "Memory",
    "Shape",
    "compiled",
    "complaints",
    "declared_shapes",
    "result_shapes",
    "whole_shapes",
]
