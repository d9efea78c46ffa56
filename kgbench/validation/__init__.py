# SPDX-License-Identifier: Apache-2.0
"""Validation of graphs against SHACL shapes: large result sets, configurations, shapes of others.

:mod:`kgbench.validation.with_pyshacl` supports all of SHACL, but takes a minute for results that
:func:`complaints` validates in a second, node by node and straight from a store. That function
supports the part of SHACL core that kgbench's shapes use, and refuses shapes with other parameters
instead of ignoring these. A test holds the two to the same findings.
"""

from kgbench.validation.checking import Complaint, complaints
from kgbench.validation.compiling import Shape, compiled, declared_shapes
from kgbench.validation.data import Data
from kgbench.validation.results import result_shapes, whole_shapes

__all__ = [
    "Complaint",
    "Data",
    "Shape",
    "compiled",
    "complaints",
    "declared_shapes",
    "result_shapes",
    "whole_shapes",
]
