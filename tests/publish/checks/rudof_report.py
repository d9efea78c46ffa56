# SPDX-License-Identifier: Apache-2.0
"""Prints rudof's violations, one line of focus node and component each; runs beside validators."""

from __future__ import annotations

import sys

import pyrudof


def main(shapes: str, data: str) -> None:
    """Print a line for each result; ``data`` is N-Triples, ``shapes`` is Turtle."""
    rudof = pyrudof.Rudof(pyrudof.RudofConfig())
    rudof.read_data(data, pyrudof.RDFFormat.NTriples)
    rudof.read_shacl(shapes, pyrudof.ShaclFormat.Turtle)
    for found in rudof.validate_shacl():
        sys.stdout.write(f"{found.focus_node} {found.constraint_component}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
