# SPDX-License-Identifier: Apache-2.0
"""Checks by validators of RDF: parsers, SHACL engines, reasoners, and the rules of Data Cubes.

A check is a function of :class:`~tests.validators.artefacts.Artefacts` that returns the name of
each fault, once per occurrence. It raises ``Missing`` if its validator is not installed.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyoxigraph as ox
import rdflib
from rdflib import SH

from kgbench.vocab import XSD, compact
from tests.publish.checks.cube_constraints import NAMES, normalise, questions
from tests.queries.engines.engines import ENGINES, Missing, jena_version
from tests.validators.artefacts import Artefacts
from tests.validators.owl_ontology import readable
from tests.validators.programs import HERE, ROOT, hermit, hermit_version, jena, package, python

CATALOGUE_SHAPES = "KGBENCH_CATALOGUE_SHAPES"  # a folder with official shapes in Turtle
PROV_O = ROOT / "tests" / "publish" / "checks" / "prov-o.ttl"
_PATIENCE = 300  # seconds for one integrity constraint
_SELECT = "SELECT (true AS ?broken) WHERE"
_PAIRS = ("ic-12", "ic-17")  # compare all pairs of observations: Jena takes minutes for one table
Faults = Callable[[Artefacts], list[str]]


@dataclass(frozen=True)
class Check:
    """One line of the table: a validator, its installed version, an artefact, and the check."""

    validator: str
    version: Callable[[], str]
    artefact: str
    faults: Faults


# --- Parsers -------------------------------------------------------------------------------------


def _read_by_jena(*patterns: str) -> Faults:
    """Check syntax, IRIs and literals of files, warnings included."""

    def faults(found: Artefacts) -> list[str]:
        files = []
        for pattern in patterns:
            if pattern.endswith(".zst"):
                files.append(found.unpacked(pattern))
            elif pattern.startswith("exports/"):
                files += found.files(pattern, below=found.folder)
            else:
                files += found.files(pattern)
        _, log = jena("riotcmd.riot", "--validate", *files)
        assert len(files) == 1 or log.count(" File: ") == len(files), "not all files were read"
        return re.findall(r"\b(?:WARN|ERROR) \S+ - (?:\[[^]]*\] )?(.{0,80})", log)

    return faults


def _read_by_pyld(found: Artefacts) -> list[str]:
    """Compare JSON-LD, read by PyLD, with Turtle; PyLD formats numbers differently."""
    differing: list[str] = []
    for path in found.files("catalog.jsonld", "void.jsonld", "ns.jsonld"):
        out = found.folder / "written" / f"{path.stem}.nq"
        out.parent.mkdir(exist_ok=True)
        python(HERE / "pyld_quads.py", path, out)
        stated, wanted = (
            {_valued(quad.triple) for quad in ox.parse(path=file)}
            for file in (out, path.with_suffix(".ttl"))
        )
        only = (("missing", wanted - stated), ("not in Turtle", stated - wanted))
        differing += [fault for fault, triples in only for _ in triples]
    return differing


def _valued(triple: ox.Triple) -> ox.Triple:
    """Return a triple with a double rounded to the 16 digits that JSON-LD 1.1 keeps."""
    value = triple.object
    if not isinstance(value, ox.Literal) or value.datatype.value != XSD.double:
        return triple
    number = ox.Literal(f"{float(value.value):.15E}", datatype=value.datatype)
    return ox.Triple(triple.subject, triple.predicate, number)


# --- SHACL ---------------------------------------------------------------------------------------


def _results(text: str) -> list[str]:
    """Return the components and paths of the violations in a SHACL report."""
    report = rdflib.Graph().parse(data=text, format="turtle")
    assert list(report.objects(None, SH.conforms)), "there is no report"
    names = []
    for node in report.objects(None, SH.result):
        if report.value(node, SH.resultSeverity) == SH.Violation:
            component = str(report.value(node, SH.sourceConstraintComponent)).rpartition("#")[2]
            path = report.value(node, SH.resultPath)
            name = component.removesuffix("ConstraintComponent")
            names.append(
                f"{name} {compact(str(path))}" if isinstance(path, rdflib.URIRef) else name
            )
    return names


def pyshacl(shapes: Path, data: Path) -> list[str]:
    """Return the violations that pySHACL finds."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.ttl"
        python(HERE / "pyshacl_report.py", shapes, data, report)
        return _results(report.read_text(encoding="utf-8"))


def rudof(shapes: Path, data: Path) -> list[str]:
    """Return the violations that rudof finds."""
    said = python(ROOT / "tests" / "publish" / "checks" / "rudof_report.py", shapes, data)
    return [line.rpartition("#")[2] for line in said.splitlines()]


def jena_shacl(shapes: Path, data: Path) -> list[str]:
    """Return the violations that Jena finds."""
    report, log = jena("shacl.shacl", "validate", "--shapes", shapes, "--data", data)
    assert "sh:conforms" in report, log[-2000:]
    return _results(report)


SHACL = {
    "pySHACL": (pyshacl, lambda: package("pyshacl")),
    "rudof": (rudof, lambda: package("pyrudof")),
    "Jena SHACL": (jena_shacl, jena_version),
}


def _dump(found: Artefacts) -> Path:
    return found.written("all.nt", found.triples)


def _together(*patterns: str) -> Callable[[Artefacts], Path]:
    """Return a function that writes the triples of several documents to one file."""

    def written(found: Artefacts) -> Path:
        stated = {q.triple for path in found.files(*patterns) for q in ox.parse(path=path)}
        return found.written(f"{patterns[0].partition('.')[0]}.nt", stated)

    return written


def _by_shapes(
    engine: Callable[[Path, Path], list[str]], shapes: str, data: Callable[[Artefacts], Path]
) -> Faults:
    def faults(found: Artefacts) -> list[str]:
        path = ROOT / shapes if shapes.startswith("shapes/companions") else found.site / shapes
        return engine(path, data(found))

    return faults


def _officially(found: Artefacts) -> list[str]:
    """Check the official shapes of DCAT-AP and MLDCAT-AP, which kgbench may not ship."""
    return [
        f"{path.stem} {name}"
        for path in _official_shapes()
        for name in pyshacl(path, _together("catalog.ttl")(found))
    ]


def _official_shapes() -> list[Path]:
    folder = os.environ.get(CATALOGUE_SHAPES)
    if folder is None:
        raise Missing(f"needs the official shapes in the folder {CATALOGUE_SHAPES}")
    found = sorted(Path(folder).glob("*.ttl"))
    assert found, f"{CATALOGUE_SHAPES} names a folder without shapes in Turtle"
    return found


def _official_version() -> str:
    _official_shapes()
    return package("pyshacl")


# --- OWL -----------------------------------------------------------------------------------------


def _consistent(found: Artefacts, name: str, triples: Iterator[ox.Triple]) -> list[str]:
    """Return contradictions with PROV-O, without literals, of which HermiT reads few."""
    stated = [quad.triple for quad in ox.parse(path=PROV_O)]
    stated += [one for one in triples if not isinstance(one.object, ox.Literal)]
    said = hermit(found.written(f"{name}.ttl", stated))
    return [f"{kind} {of}" for kind, of in said if kind in ("inconsistent", "unsatisfiable")]


def _dump_and_prov_o(found: Artefacts) -> list[str]:
    return _consistent(found, "with-prov-o", iter(found.triples))


def _export_and_prov_o(found: Artefacts) -> list[str]:
    stated = ox.parse(path=found.exports / "prov.ttl")
    return _consistent(found, "export-with-prov-o", (quad.triple for quad in stated))


def _ontology(found: Artefacts) -> list[str]:
    """Return violations of OWL 2 DL and contradictions, except those with a reason."""
    path = found.written("ontology.ttl", [])
    faults = readable(found.site / "ns.ttl", path)
    said = hermit(path)
    (count,) = [int(number) for kind, number in said if kind == "axioms"]
    assert count > 1_000
    return faults + [name if kind == "profile" else f"{kind} {name}" for kind, name in said[1:]]


# --- Data Cubes ----------------------------------------------------------------------------------


def _cube_constraints(found: Artefacts) -> list[str]:
    """Run the constraints of the recommendation in Jena after normalisation."""
    store = ox.Store()
    for path in found.files("leaderboard/*.ttl"):
        store.load(path=str(path))
    normalise(store)
    asked = {
        f"{name}-{number}": re.sub(r"^ASK\b", _SELECT, text, count=1, flags=re.MULTILINE)
        for name in NAMES
        if name not in _PAIRS
        for number, text in enumerate(questions(name, store))
    }
    with tempfile.TemporaryDirectory() as folder:
        dump = Path(folder) / "cubes.nq"
        store.dump(str(dump), ox.RdfFormat.N_QUADS)
        answered = ENGINES["Jena"](dump, asked, Path(folder), _PATIENCE).answers
    broken = []
    for name, answer in answered.items():
        assert not answer.error, f"{name}: {answer.error}"
        if json.loads(answer.content)["results"]["bindings"]:
            broken.append(name.rpartition("-")[0])
    return broken


def _by_engines(artefact: str, shapes: str, data: Callable[[Artefacts], Path]) -> list[Check]:
    return [
        Check(name, version, artefact, _by_shapes(engine, shapes, data))
        for name, (engine, version) in SHACL.items()
    ]


def _by_jena(artefact: str, *patterns: str) -> Check:
    return Check("Jena RIOT", jena_version, artefact, _read_by_jena(*patterns))


_DESCRIPTION = ("catalog.ttl", "void.ttl")
CHECKS = [
    _by_jena("catalogue", *_DESCRIPTION),
    *_by_engines("catalogue", "shapes/catalogue.ttl", _together(*_DESCRIPTION)),
    Check(
        "pySHACL, official shapes of DCAT-AP and MLDCAT-AP",
        _official_version,
        "catalogue",
        _officially,
    ),
    _by_jena("dialogue documents", "run/**/*.ttl"),
    _by_jena("dump as N-Quads", "data/all.nq.zst"),
    *_by_engines("dump as N-Quads", "shapes/results.ttl", _dump),
    Check("HermiT, with PROV-O", hermit_version, "dump as N-Quads", _dump_and_prov_o),
    Check("PyLD", lambda: package("PyLD"), "documents as JSON-LD", _read_by_pyld),
    _by_jena("ontology", "ns.ttl"),
    Check("OWL API (OWL 2 DL) and HermiT", hermit_version, "ontology", _ontology),
    _by_jena("cubes", "leaderboard/*.ttl"),
    Check("Jena, constraints of Data Cube", jena_version, "cubes", _cube_constraints),
    _by_jena("claims", "claims.ttl", "claims/*/*.ttl"),
    _by_jena("PROV-O export", "exports/prov.ttl"),
    Check("HermiT, with PROV-O", hermit_version, "PROV-O export", _export_and_prov_o),
]
