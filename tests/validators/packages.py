# SPDX-License-Identifier: Apache-2.0
"""Checks by validators of other formats: exports, signatures and metadata."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from kgbench.resources import path as resource
from tests import documented
from tests.queries.engines.engines import Missing
from tests.validators.artefacts import Artefacts
from tests.validators.checks import Check, Faults
from tests.validators.programs import ROOT, package, python

RECORD_SCHEMA = "KGBENCH_RECORD_SCHEMA"  # the official JSON schema of Every Eval Ever
_CRATE_CHECK = ROOT / "tests" / "plugins" / "exchange" / "crate_check.py"
_CROISSANT = """
import sys, mlcroissant
try:
    found = mlcroissant.Dataset(sys.argv[1])
except mlcroissant.ValidationError as error:
    sys.exit(print(error))
for text in found.metadata.issues.errors:
    print(text)
assert any(True for _ in found.records("scores"))
"""
_NANOPUBLICATIONS = """
import sys
from pathlib import Path
from nanopub import Nanopub
from nanopub.utils import MalformedNanopubError
for name in sys.argv[1:]:
    try:
        read = Nanopub(rdf=Path(name))
        # The first alone looks at the form only.
        if not (read.is_valid and read.has_valid_trusty and read.has_valid_signature):
            print("not valid")
    except MalformedNanopubError:
        print("malformed")
"""
_DATACITE = """
import json, sys
from datacite import schema45
with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)
for error in schema45.validator.iter_errors(document):
    print(error.validator, "/".join(map(str, error.path)))
"""


def _lines(text: str) -> list[str]:
    return [line[:80] for line in text.splitlines() if line.strip()]


def _provenance(found: Artefacts) -> list[str]:
    """Compare PROV-JSON and PROV-XML as read by the library prov."""
    from prov.model import ProvDocument

    read = []
    for form in ("json", "xml"):
        content = (found.exports / f"prov.{form}").read_bytes()
        text = content if form == "xml" else content.decode()
        read.append(ProvDocument.deserialize(content=text, format=form))
    assert read[0].get_records()
    return [] if read[0] == read[1] else ["PROV-XML is not PROV-JSON"]


def _crate(profile: str, version_of_crate: str) -> Faults:
    """Return a check by a profile of crates, on a copy in the version of RO-Crate it needs."""

    def faults(found: Artefacts) -> list[str]:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(shutil.copytree(found.exports / "rocrate", Path(folder) / "crate"))
            metadata = copy / "ro-crate-metadata.json"
            text = metadata.read_text(encoding="utf-8")
            assert "/ro/crate/1.3" in text
            text = text.replace("/ro/crate/1.3", f"/ro/crate/{version_of_crate}")
            metadata.write_text(text, encoding="utf-8")
            said = json.loads(python(_CRATE_CHECK, copy, profile))
        return [message[:80] for severity, message in said if "REQUIRED" in severity]

    return faults


def _croissant(found: Artefacts) -> list[str]:
    return _lines(python("-c", _CROISSANT, found.exports / "croissant" / "croissant.json"))


def _records(schema: Path, found: Artefacts) -> list[str]:
    import jsonschema

    demanded = json.loads(schema.read_text(encoding="utf-8"))
    return [
        f"{error.validator} {'/'.join(str(part) for part in error.path)}"
        for path in found.files("eee/**/*.json", below=found.exports)
        for error in jsonschema.Draft202012Validator(demanded).iter_errors(
            json.loads(path.read_text(encoding="utf-8"))
        )
    ]


def _our_records(found: Artefacts) -> list[str]:
    return _records(resource("shapes", "every-eval-ever.schema.json"), found)


def _official_records(found: Artefacts) -> list[str]:
    return _records(_official_schema(), found)


def _official_schema() -> Path:
    named = os.environ.get(RECORD_SCHEMA)
    if named is None:
        raise Missing(f"needs the official schema of Every Eval Ever in the file {RECORD_SCHEMA}")
    return Path(named)


def _official_schema_version() -> str:
    _official_schema()
    return version("jsonschema")


def _nanopublications(found: Artefacts) -> list[str]:
    claims = found.files("claims/*/*.ttl")
    files = found.files("nanopublications/*.trig", below=found.exports)
    assert len(files) == len(claims)
    return _lines(python("-c", _NANOPUBLICATIONS, *files))


def _signatures(found: Artefacts) -> list[str]:
    """Check that the script of docs/publish.md accepts each claim and refuses a changed number."""
    (script,) = [
        step.text
        for step in documented.steps(documented.page("publish.md"))
        if isinstance(step, documented.File) and step.name == "verify.py"
    ]
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        forged = Path(folder) / "forged.jsonld"
        for path in found.files("signed/*/*.jsonld"):
            claim = path.read_text(encoding="utf-8")
            forged.write_text(_with_another_mean(claim), encoding="utf-8")
            if not _accepts(script, path, found.key):
                faults.append("signature refused")
            if _accepts(script, forged, found.key):
                faults.append("forgery accepted")
    return faults


def _with_another_mean(claim: str) -> str:
    forged, count = re.subn(r'(ns#mean": \[\s*{[^}]*"@value": ")[^"]+', r"\g<1>0.123", claim)
    assert count == 1
    return forged


def _accepts(script: str, path: Path, key: str) -> bool:
    """Return whether the script succeeds in an environment with rdflib but without kgbench."""
    try:
        python("-c", script, path, key)
    except AssertionError as error:
        assert "this key has not signed it" in str(error), error
        return False
    return True


def _datacite(found: Artefacts) -> list[str]:
    return _lines(python("-c", _DATACITE, found.site / "datacite.json"))


def _notebook(found: Artefacts) -> list[str]:
    import nbformat

    (path,) = found.files("notebook/*.ipynb", below=found.exports)
    try:
        nbformat.validate(json.loads(path.read_text(encoding="utf-8")))
    except nbformat.ValidationError as error:
        return [f"{error.validator} {error.path}"]
    return []


def _at(name: str) -> Callable[[], str]:
    return lambda: package(name)


def _here(name: str) -> Callable[[], str]:
    return lambda: version(name)


_RECORDS, _CRATE = "Every Eval Ever", "roc-validator"
PACKAGES = [
    Check("prov", _here("prov"), "PROV-JSON and PROV-XML exports", _provenance),
    Check(_CRATE, _at(_CRATE), "RO-Crate 1.3", _crate("ro-crate-1.3", "1.3")),
    Check(_CRATE, _at(_CRATE), "Process Run Crate 0.5", _crate("process-run-crate-0.5", "1.1")),
    Check("mlcroissant", _at("mlcroissant"), "Croissant 1.1", _croissant),
    Check("jsonschema, official schema", _official_schema_version, _RECORDS, _official_records),
    Check("jsonschema, our schema", _here("jsonschema"), _RECORDS, _our_records),
    Check("nanopub", _at("nanopub"), "nanopublications", _nanopublications),
    Check("verify.py with rdflib", _at("rdflib"), "signatures", _signatures),
    Check("datacite, official schema 4.5", _at("datacite"), "DataCite metadata", _datacite),
    Check("nbformat", _here("nbformat"), "notebook", _notebook),
]
