# SPDX-License-Identifier: Apache-2.0
"""``python pyshacl_report.py SHAPES DATA REPORT``: writes the report of pySHACL as Turtle."""

import sys

import pyshacl
import rdflib

shapes, data, report = sys.argv[1:]
_, found, text = pyshacl.validate(
    rdflib.Graph().parse(data), shacl_graph=rdflib.Graph().parse(shapes)
)
if not isinstance(found, rdflib.Graph):
    sys.exit(text)
found.serialize(report, format="turtle")
