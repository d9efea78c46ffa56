# SPDX-License-Identifier: Apache-2.0
"""The mapping engine passes the test cases of RML core for JSON, without exception.

The cases are read from a copy of ``kg-construct/rml-core``, which is not shipped with kgbench.
"""

from __future__ import annotations

from collections import Counter

import pyoxigraph as ox

from kgbench.mapping.execution import execute_mapping
from kgbench.mapping.limits import MappingError
from kgbench.mapping.sources import Data
from kgbench.policies.blank_nodes import compare_rows

BASE = "http://example.com/"
# Cases that fail, with the reason; a case that passes must not be listed here.
EXCEPTIONS: dict[str, str] = {}


def rows(path):
    """Return the expected quads; IRIs may have spaces, because one case is about unsafe IRIs."""
    quads = ox.parse(path.read_bytes(), ox.RdfFormat.N_QUADS, lenient=True)
    return {
        (
            *map(str, quad.triple),
            *([] if quad.graph_name == ox.DefaultGraph() else [str(quad.graph_name)]),
        )
        for quad in quads
    }


def ended(folder):
    """Return how a case ends: ``passed``, or the deviation."""
    wants_error = "**Error expected?** Yes" in (folder / "README.md").read_text(encoding="utf-8")
    files = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.json")}
    try:
        document = ox.parse((folder / "mapping.ttl").read_bytes(), ox.RdfFormat.TURTLE)
        made = execute_mapping([quad.triple for quad in document], Data(files, {}), BASE)
    except (MappingError, SyntaxError) as error:
        return "passed" if wants_error else f"error: {error}"
    if wants_error:
        return "no error"
    compared = compare_rows(rows(folder / "output.nq"), made)
    return "passed" if not compared.missing and not compared.surplus else f"{compared}"


def test_the_cases_of_rml_core(external_data):
    """All 76 cases but the listed exceptions pass; 15 of them expect an error."""
    folders = sorted((external_data / "rml-core" / "test-cases").glob("RMLTC*"))
    found = {folder.name: ended(folder) for folder in folders}
    errors = Counter(not (folder / "output.nq").is_file() for folder in folders)

    assert {name: how for name, how in found.items() if how != "passed"}.keys() == EXCEPTIONS.keys()
    assert len(found) == 76
    assert errors[True] == 15
