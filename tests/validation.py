# SPDX-License-Identifier: Apache-2.0
"""Validation of all named graphs of a store that a test has written.

Nodes that equal the declared files are not validated again: this is done by
``test_declared_catalogue_conforms``. All others are, by every shape that targets them.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

from pyshacl.graph_abstraction import DataGraph
from pyshacl.validator import Validator
from rdflib import SH, Graph
from rdflib.term import Node

from kgbench.store.embedded import EmbeddedStore
from kgbench.validation import with_pyshacl

_SHOWN = 20


def assert_conforms(store: Any) -> None:
    """Fail with the violations unless the named graphs of ``store`` conform to the shapes.

    ``store`` is a kgbench store (whose catalogue has all declarations) or a plain
    ``pyoxigraph.Store`` with the same graphs.
    """
    wrong = violations(all_graphs(store))
    more = "" if len(wrong) <= _SHOWN else f"\n... and {len(wrong) - _SHOWN} more"
    assert not wrong, "\n".join(wrong[:_SHOWN]) + more


def all_graphs(store: Any) -> Graph:
    """Return the named graphs of ``store`` as one graph."""
    triples = store.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }")
    return with_pyshacl.rdflib_graph(triples)


def violations(data: Graph) -> list[str]:
    """Return the violations of the result shapes by undeclared nodes in ``data``."""
    validator = Validator(
        DataGraph.from_rdflib(data), shacl_graph=with_pyshacl.shapes_for(data, "results")
    )
    loaded = validator.shacl_graph.shapes
    executor = validator.make_executor()
    found = set()
    with warnings.catch_warnings():
        warnings.filterwarnings("error", "NotImplemented should not", DeprecationWarning)
        for shape in loaded:
            focus = [n for n in shape.focus_nodes(validator.data_graph) if not _declared(data, n)]
            if focus:
                _, results = shape.validate(executor, validator.data_graph, focus=focus)
                found |= {_sentence(triples) for _, _, triples in results}
    return sorted(found)


def _declared(data: Graph, node: Node) -> bool:
    return set(data.predicate_objects(node)) == _declarations().get(node)


@cache
def _declarations() -> dict[Node, set[tuple[Node, Node]]]:
    """Return the content of a new catalogue by subject."""
    with EmbeddedStore(None) as store:
        fresh = all_graphs(store)
    return {node: set(fresh.predicate_objects(node)) for node in set(fresh.subjects())}


def _sentence(triples: list[tuple[Node, Node, Any]]) -> str:
    said = {p: o[1] if isinstance(o, tuple) else o for _, p, o in triples}
    parts = (said.get(p) for p in (SH.focusNode, SH.resultPath, SH.resultMessage, SH.value))
    return " | ".join(str(part) for part in parts if part is not None)
