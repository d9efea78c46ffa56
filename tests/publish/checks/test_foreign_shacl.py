# SPDX-License-Identifier: Apache-2.0
"""Other SHACL engines find the same violations of the published shapes as ours."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pyshacl
import pytest
import rdflib
from rdflib import SH

from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import Data, compiled, complaints
from kgbench.vocab import KGB, PROV, RDF, XSD
from tests.publish.checks.published_folder import unpacked
from tests.queries.engines.engines import Missing, jena_command
from tests.validators.programs import python

SHAPES = "shapes/results.ttl"

Results = set[tuple[str, str]]
"""Focus nodes, each with the name of the component that complains."""


@pytest.fixture(scope="module")
def published(site: Path) -> list[ox.Triple]:
    """Return the triples of the dumps."""
    quads = ox.parse(unpacked(site / "data/all.nq.zst"), ox.RdfFormat.N_QUADS)
    return list(dict.fromkeys(quad.triple for quad in quads))


class Planted:
    """Triples with six faults, and the focus node and component by which each must be found."""

    def __init__(self, triples: list[ox.Triple]) -> None:
        self.triples = dict.fromkeys(triples)
        self.expected: Results = set()
        strange, beyond = self._scored()[:2]
        self._add(strange, KGB.mispelt, ox.Literal("x"), "Closed")
        metric, value = self._score(beyond)
        self._replace(beyond, metric, value, _double("7.5"), "MaxInclusive")
        self._add(beyond, metric, _double("8.5"), "MaxCount")
        evaluations = self._of_type(KGB.Evaluation)
        moved = next(one for one in evaluations if one not in (strange, beyond))
        model = self._value(moved, KGB.model)
        self._replace(moved, KGB.model, model, ox.NamedNode(f"{model.value}-2"), "Equals")
        dialogue = self._of_type(KGB.Dialogue)[0]
        ended = self._value(dialogue, PROV.endedAtTime)
        early = ox.Literal("2001-01-01T00:00:00Z", datatype=ox.NamedNode(XSD.dateTime))
        self._replace(dialogue, PROV.endedAtTime, ended, early, "LessThanOrEquals")
        answer = self._of_type(KGB.Answer)[0]
        del self.triples[_triple(answer, KGB.text, self._value(answer, KGB.text))]
        self.expected.add((answer.value, "MinCount"))

    def _add(self, node: Any, prop: str, value: Any, component: str) -> None:
        self.triples[_triple(node, prop, value)] = None
        self.expected.add((node.value, component))

    def _replace(self, node: Any, prop: str, old: Any, new: Any, component: str) -> None:
        del self.triples[_triple(node, prop, old)]
        self._add(node, prop, new, component)

    def _of_type(self, kind: str) -> list[Any]:
        kinds = (RDF.type, ox.NamedNode(kind))
        return sorted(
            (t.subject for t in self.triples if (t.predicate.value, t.object) == kinds), key=str
        )

    def _value(self, node: Any, prop: str) -> Any:
        return next(
            t.object for t in self.triples if (t.subject, t.predicate.value) == (node, prop)
        )

    def _score(self, node: Any) -> tuple[str, Any]:
        return next(
            (t.predicate.value, t.object)
            for t in self.triples
            if t.subject == node and "/f1" in t.predicate.value
        )

    def _scored(self) -> list[Any]:
        """Return evaluations with an F1 score, except those of published passes."""
        live = {
            t.subject
            for t in self.triples
            if t.predicate.value == KGB.passKind and t.object != ox.Literal("published")
        }
        return [
            node
            for node in self._of_type(KGB.Evaluation)
            if self._value(node, PROV.wasGeneratedBy) in live
            and any(t.subject == node and "/f1" in t.predicate.value for t in self.triples)
        ]


def _triple(node: Any, prop: str, value: Any) -> ox.Triple:
    return ox.Triple(node, ox.NamedNode(prop), value)


def _double(text: str) -> ox.Literal:
    return ox.Literal(f"{text}E0", datatype=ox.NamedNode(XSD.double))


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


def _written(triples: Any, path: Path) -> Path:
    ox.serialize(triples, str(path), ox.RdfFormat.N_TRIPLES)
    return path


def test_there_are_six_faults(published: list[ox.Triple]) -> None:
    """Six faults of six kinds are planted."""
    found = Planted(published).expected
    assert len(found) == len({component for _, component in found}) == 6


@pytest.mark.parametrize("engine", ENGINES)
def test_publications_conform(
    engine: str, site: Path, published: list[ox.Triple], tmp_path: Path
) -> None:
    """Published data conform to the shapes published with them, in every engine."""
    assert ENGINES[engine](site / SHAPES, _written(published, tmp_path / "data.nt")) == set()


@pytest.mark.parametrize("engine", ENGINES)
def test_planted_faults_are_found(
    engine: str, site: Path, published: list[ox.Triple], tmp_path: Path
) -> None:
    """Every engine finds the six faults at their nodes, by the component that is violated."""
    planted = Planted(published)
    found = ENGINES[engine](site / SHAPES, _written(planted.triples, tmp_path / "data.nt"))
    assert planted.expected - found == set()
