# SPDX-License-Identifier: Apache-2.0
"""Validating what a test has written: all named graphs of a store, together.

What a store says of declared things just as the declared files do is not validated each time anew:
``test_declared_catalogue_conforms`` has done so. All else is, by every shape that targets it.
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
    """Fail, naming what is wrong, unless the named graphs of ``store`` conform to the shapes.

    ``store`` is a kgbench store (whose catalogue holds all that is declared) or a plain
    ``pyoxigraph.Store`` with the same graphs.
    """
    wrong = violations(all_graphs(store))
    more = "" if len(wrong) <= _SHOWN else f"\n... and {len(wrong) - _SHOWN} more"
    assert not wrong, "\n".join(wrong[:_SHOWN]) + more


def all_graphs(store: Any) -> Graph:
    """The named graphs of ``store`` as one."""
    triples = store.query("CONSTRUCT { ?s ?p ?o } WHERE { GRAPH ?g { ?s ?p ?o } }")
    return with_pyshacl.rdflib_graph(triples)


def violations(data: Graph) -> list[str]:
    """What the result shapes say of everything in ``data`` that is not as declared."""
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
    """What a fresh catalogue says, by subject."""
    with EmbeddedStore(None) as store:
        fresh = all_graphs(store)
    return {node: set(fresh.predicate_objects(node)) for node in set(fresh.subjects())}


def _sentence(triples: list[tuple[Node, Node, Any]]) -> str:
    said = {p: o[1] if isinstance(o, tuple) else o for _, p, o in triples}
    parts = (said.get(p) for p in (SH.focusNode, SH.resultPath, SH.resultMessage, SH.value))
    return " | ".join(str(part) for part in parts if part is not None)
