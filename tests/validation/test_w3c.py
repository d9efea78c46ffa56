# SPDX-License-Identifier: Apache-2.0
"""The engine passes the W3C tests of SHACL Core and of constraints in SPARQL, all of them.

The tests are read from a copy of ``w3c/data-shapes``, which is not shipped with kgbench.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pyoxigraph as ox
import pytest

from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import Data, IllFormedShapes, compiled, complaints
from kgbench.validation.data import Term, path, path_name
from kgbench.vocab import SH, compact

SUITES = {"core": 98, "sparql": 23}
TEST = "http://www.w3.org/ns/shacl-test#"
MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"

_PATH = ox.NamedNode(SH.resultPath)

Results = Counter[tuple[str, ...]] | None
"""The results of a validation without messages; ``None`` if the shapes cannot be used."""


def quads(file: str) -> IndexedQuads:
    """Return the content of a file, by its IRI."""
    return IndexedQuads(ox.parse(path=urlparse(file).path, base_iri=file))


def value(data: Data, node: Term, iri: str) -> Any:
    """Return the only value of a property, or ``None``."""
    found = data.values(node, ox.NamedNode(iri))
    assert len(found) <= 1
    return found[0] if found else None


def cases(suite: Path) -> Iterator[tuple[Data, Term]]:
    """Yield the tests in the files of a folder: the content of the file, and the node of each."""
    for file in sorted(suite.rglob("*.ttl")):
        data = Data(quads(file.as_uri()))
        for node in data.instances(ox.NamedNode(f"{TEST}Validate")):
            yield data, node


def expected(data: Data, test: Term) -> tuple[Results, set[str]]:
    """Return the results that a test expects, and the messages that must be among theirs."""
    report = value(data, test, f"{MANIFEST}result")
    if report == ox.NamedNode(f"{TEST}Failure"):
        return None, set()
    results = data.values(report, ox.NamedNode(SH.result))
    assert (value(data, report, SH.conforms).value == "true") is not bool(results)
    texts = {t.value for r in results for t in data.values(r, ox.NamedNode(SH.resultMessage))}
    return Counter(
        (
            str(value(data, one, SH.focusNode)),
            ""
            if (way := value(data, one, SH.resultPath)) is None
            else path_name(path(data, way)[1]),
            str(value(data, one, SH.value)),
            component(value(data, one, SH.sourceConstraintComponent).value),
            value(data, one, SH.resultSeverity).value.removeprefix(SH),
            named(value(data, one, SH.sourceShape)),
        )
        for one in results
    ), texts


def found(data: Data, test: Term) -> tuple[Results, set[str]]:
    """Return the results and messages of the engine."""
    action = value(data, test, f"{MANIFEST}action")
    graphs = [value(data, action, f"{TEST}{name}Graph").value for name in ("data", "shapes")]
    about, shapes = map(quads, graphs)
    try:
        results = list(complaints(Data(about), compiled(shapes)))
    except IllFormedShapes:
        return None, set()
    return Counter(
        (
            str(one.focus),
            one.path or "",
            str(one.term),
            one.component,
            one.severity,
            named(one.source.node),
        )
        for one in results
    ), {one.message for one in results}


def component(iri: str) -> str:
    """Return the name of a component in the results of the engine."""
    if iri.startswith(SH):
        return iri.removeprefix(SH).removesuffix("ConstraintComponent")
    return compact(iri)


def named(node: Term) -> str:
    """Return the IRI of a shape; blank nodes of two readings of a file have no common name."""
    return str(node) if isinstance(node, ox.NamedNode) else "_:"


@pytest.mark.parametrize("suite", SUITES)
def test_suite_is_passed(suite: str, external_data: Path) -> None:
    """Every test has its results, or its shapes are refused where they must be."""
    tried, failed = 0, []
    for data, test in cases(external_data / "data-shapes" / "tests" / suite):
        tried += 1
        wanted, words = expected(data, test)
        results, messages = found(data, test)
        if results != wanted or not words <= messages:
            failed.append((test.value.rpartition("/")[2], wanted, results))
    assert failed == []
    assert tried == SUITES[suite]
