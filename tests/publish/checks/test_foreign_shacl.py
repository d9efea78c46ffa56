# SPDX-License-Identifier: Apache-2.0
"""Other SHACL engines find the same violations of the published shapes as ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from rdflib import SH

from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import Data, compiled, complaints
from tests.publish.checks.test_faults import FAULTS, node, said, spoilt
from tests.queries.engines.engines import Missing, jena_command
from tests.validators.programs import python

SHAPES = "shapes/results.ttl"
PLANTED = (  # of six components
    *("missing-prompt", "two-outcomes", "score-out-of-range", "wrong-suite"),
    *("iteration-below-zero", "score-no-number"),
)

Results = set[tuple[str, str]]
"""Focus nodes, each with the name of the component that complains."""


# --- engines -------------------------------------------------------------------------------------


def _ours(shapes: Path, data: Path) -> Results:
    store = ox.Store()
    store.load(path=str(shapes))
    quads = (ox.Quad(t.subject, t.predicate, t.object) for t in ox.parse(path=str(data)))
    found = complaints(Data(IndexedQuads(quads)), compiled(store))
    return {(str(getattr(one.focus, "value", one.focus)), one.component) for one in found}


def _pyshacl(shapes: Path, data: Path) -> Results:
    _, report, text = pyshacl.validate(
        rdflib.Graph().parse(data), shacl_graph=rdflib.Graph().parse(shapes)
    )
    assert isinstance(report, rdflib.Graph), text
    return _results(report)


def _results(report: rdflib.Graph) -> Results:
    top = set(report.objects(None, SH.result))
    return {
        (
            str(report.value(node, SH.focusNode)),
            _component(report.value(node, SH.sourceConstraintComponent)),
        )
        for node in top
    }


def _component(iri: object) -> str:
    return str(iri).rpartition("#")[2].removesuffix("ConstraintComponent")


def _rudof(shapes: Path, data: Path) -> Results:
    script = Path(__file__).with_name("rudof_report.py")
    try:
        said = python(script, shapes, data)
    except Missing as missing:
        pytest.skip(str(missing))
    lines = (line.split() for line in said.splitlines())
    return {(focus.strip("<>"), _component(component)) for focus, component in lines}


def _jena(shapes: Path, data: Path) -> Results:
    try:
        words = jena_command("shacl.shacl", "validate", "--shapes", shapes, "--data", data)
    except Missing as missing:
        pytest.skip(str(missing))
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "sh:conforms" in done.stdout, done.stderr[-2000:]
    return _results(rdflib.Graph().parse(data=done.stdout, format="turtle"))


ENGINES: dict[str, Callable[[Path, Path], Results]] = {
    "ours": _ours,
    "pySHACL": _pyshacl,
    "rudof": _rudof,
    "Jena": _jena,
}


def _written(quads: ox.Store, path: Path) -> Path:
    ox.serialize({quad.triple for quad in quads}, str(path), ox.RdfFormat.N_TRIPLES)
    return path


@pytest.mark.parametrize("engine", ENGINES)
def test_publications_conform(engine: str, site: Path, quads: ox.Store, tmp_path: Path) -> None:
    """Published data conform to the shapes published with them, in every engine."""
    assert ENGINES[engine](site / SHAPES, _written(quads, tmp_path / "data.nt")) == set()


@pytest.mark.parametrize("engine", ENGINES)
def test_planted_faults_are_found(engine: str, site: Path, quads: ox.Store, tmp_path: Path) -> None:
    """Every engine finds the six faults at their nodes, by the component that is violated."""
    paths = [FAULTS[name] for name in PLANTED]
    expected = {(node(path), said(path, "constraint").rpartition(" ")[2]) for path in paths}
    assert len({component for _, component in expected}) == 6
    with spoilt(quads, *(path.read_text(encoding="utf-8") for path in paths)):
        data = _written(quads, tmp_path / "data.nt")
    assert expected - ENGINES[engine](site / SHAPES, data) == set()
