# SPDX-License-Identifier: Apache-2.0
"""Reads the manifests of the W3C's SPARQL tests: requests and expected results."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import pyoxigraph as ox

MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
UT = "http://www.w3.org/2009/sparql/tests/test-update#"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
BASE = "http://example.org/w3c/"
_RESULTS = {".srj": ox.QueryResultsFormat.JSON, ".srx": ox.QueryResultsFormat.XML}


@dataclass(frozen=True)
class Given:
    """The graphs before or after a test: files by name of their graph."""

    default: tuple[Path, ...] = ()
    named: tuple[tuple[str, Path], ...] = ()


@dataclass(frozen=True)
class Case:
    """A test: its kind, its query or update, and the data before and after."""

    name: str
    kind: str
    request: Path
    before: Given = Given()
    after: Given = Given()
    result: Path | None = field(default=None)


def address(path: Path, root: Path) -> str:
    """Return the IRI of a file of the tests."""
    return BASE + quote(str(path.relative_to(root)))


def cases(root: Path) -> list[Case]:
    """Return the tests of all manifests below ``root``, ordered by name."""
    found: dict[str, Case] = {}
    for manifest in sorted(root.rglob("manifest.ttl")):
        for case in _of_manifest(manifest, root):
            found[case.name] = case
    return [found[name] for name in sorted(found)]


def _of_manifest(manifest: Path, root: Path) -> list[Case]:
    store = ox.Store()
    base = address(manifest, root)
    store.bulk_load(path=str(manifest), format=ox.RdfFormat.TURTLE, base_iri=base)

    def objects(subject, predicate):
        quads = store.quads_for_pattern(subject, ox.NamedNode(predicate), None)
        return [quad.object for quad in quads]

    def one(subject, predicate):
        return next(iter(objects(subject, predicate)), None)

    def file(node):
        return manifest.parent / node.value.removeprefix(base.rpartition("/")[0] + "/")

    def given(node, data, graph_data):
        default = tuple(file(each) for each in objects(node, data))
        named = []
        for each in objects(node, graph_data):
            inner = one(each, UT + "graph")
            if inner is None:
                named.append((each.value, file(each)))
            else:
                named.append((one(each, RDFS + "label").value, file(inner)))
        return Given(default, tuple(sorted(named)))

    found = []
    (entries,) = objects(ox.NamedNode(base), MF + "entries") or [None]
    while entries is not None and entries != ox.NamedNode(RDF + "nil"):
        test = one(entries, RDF + "first")
        entries = one(entries, RDF + "rest")
        kinds = [k.value.removeprefix(MF) for k in objects(test, RDF + "type")]
        kind = next(k for k in kinds if k.endswith("Test"))
        action, result = one(test, MF + "action"), one(test, MF + "result")
        name = f"{manifest.parent.name}/{test.value.rpartition('#')[2].rpartition('/')[2]}"
        if isinstance(action, ox.NamedNode):
            found.append(Case(name, kind, file(action)))
        elif kind == "UpdateEvaluationTest":
            found.append(
                Case(
                    name,
                    kind,
                    file(one(action, UT + "request")),
                    before=given(action, UT + "data", UT + "graphData"),
                    after=given(result, UT + "data", UT + "graphData"),
                )
            )
        else:
            found.append(
                Case(
                    name,
                    kind,
                    file(one(action, QT + "query")),
                    before=given(action, QT + "data", QT + "graphData"),
                    result=file(result),
                )
            )
    return found


def rows(content: bytes, suffix: str) -> ox.Dataset | bool:
    """Return solutions as a canonical graph with a blank node per row, or the boolean."""
    found = ox.parse_query_results(content, _RESULTS[suffix])
    if isinstance(found, ox.QueryBoolean):
        return bool(found)
    names = [variable.value for variable in found.variables]
    made = ox.Dataset()
    for solution in found:
        row = ox.BlankNode()
        made.add(ox.Quad(row, ox.NamedNode(RDF + "type"), ox.NamedNode("urn:row")))
        for name in names:
            if solution[name] is not None:
                made.add(ox.Quad(row, ox.NamedNode(f"urn:variable:{name}"), solution[name]))
    made.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return made


def dataset(files: Given, root: Path) -> ox.Dataset:
    """Return the graphs of files in canonical form, with separate blank nodes."""
    made = ox.Dataset()
    for place in files.default:
        for quad in parsed(place, root):
            made.add(quad)
    for name, place in files.named:
        for quad in parsed(place, root):
            made.add(ox.Quad(quad.subject, quad.predicate, quad.object, ox.NamedNode(name)))
    made.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    return made


def parsed(place: Path, root: Path) -> list[ox.Quad]:
    """Return the statements of a file."""
    form = ox.RdfFormat.from_extension(place.suffix.removeprefix("."))
    return list(ox.parse(path=str(place), format=form, base_iri=address(place, root)))
