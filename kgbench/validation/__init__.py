# SPDX-License-Identifier: Apache-2.0
"""Validation of large result sets and configurations against SHACL shapes, node by node.

:mod:`kgbench.shapes` validates with pySHACL, which supports all of SHACL but takes a minute for
results that this package validates in a second, straight from a store. This package supports the
part of SHACL core that kgbench's shapes use. It refuses shapes with other parameters instead of
ignoring these.
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
