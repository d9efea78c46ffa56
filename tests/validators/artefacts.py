# SPDX-License-Identifier: Apache-2.0
"""Two stores with everything that can be published and exported of them.

The quick start is run from scratch. The published models are those of LLM-KG-Bench 3, imported
from their archives; the suite is protected, so that prompts are left out and no text is shown.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pyoxigraph as ox

from tests.publish.checks.published_folder import unpacked
from tests.queries.engines.engines import Missing
from tests.support.published import archives
from tests.validators.programs import ROOT, packages

BASE = "https://example.org/bench/"
_WHO = "Ada Example <https://orcid.org/0000-0002-1825-0097>"
_ABOUT = ["--licence", "CC-BY-4.0", "--creator", _WHO]
# The library of nanopublications is installed with the validators only.
_KGBENCH = """import sys
sys.path += filter(None, [sys.argv.pop(1)])
from kgbench.__main__ import main
main()
"""


@dataclass(frozen=True)
class Artefacts:
    """The publication (``site``) and the exports (``exports``) of one store in a folder."""

    folder: Path

    @property
    def site(self) -> Path:
        """The folder written by ``kgbench publish``."""
        return self.folder / "site"

    @property
    def exports(self) -> Path:
        """The folder with all exports."""
        return self.folder / "exports"

    @property
    def key(self) -> str:
        """The public key of the signer."""
        return (self.folder / "group.key.pub").read_text(encoding="utf-8").strip()

    def files(self, *patterns: str, below: Path | None = None) -> list[Path]:
        """Return the files of the publication, or below a folder; each pattern must match."""
        found = []
        for pattern in patterns:
            matching = sorted((below or self.site).glob(pattern))
            assert matching, f"there is no {pattern}"
            found += matching
        return found

    def unpacked(self, name: str) -> Path:
        """Unpack a compressed file of the publication and return its path."""
        path = self.folder / "unpacked" / name.removesuffix(".zst")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(unpacked(self.site / name))
        return path

    @cached_property
    def triples(self) -> frozenset[ox.Triple]:
        """All triples of the complete dump."""
        found = ox.parse(path=self.unpacked("data/all.nq.zst"), format=ox.RdfFormat.N_QUADS)
        return frozenset(quad.triple for quad in found)

    def written(self, name: str, triples: Iterable[ox.Triple]) -> Path:
        """Write triples to a file, as N-Triples or (``.ttl``) Turtle, and return its path."""
        path = self.folder / "written" / name
        path.parent.mkdir(exist_ok=True)
        form = ox.RdfFormat.TURTLE if name.endswith(".ttl") else ox.RdfFormat.N_TRIPLES
        ox.serialize(triples, str(path), form)
        return path


def quick_start(folder: Path) -> Artefacts:
    """Record, publish and export the quick start below ``folder``."""
    found = Artefacts(folder)
    _kgbench(found, "run")
    _make(found, [])
    return found


def published_models(folder: Path, data: Path) -> Artefacts:
    """Import, publish and export the published results of LLM-KG-Bench 3 below ``data``."""
    found = Artefacts(folder)
    passwords = json.loads((data / "passwords.json").read_text(encoding="utf-8"))
    secret = {"KGBENCH_ARCHIVE_PASSWORD": passwords["llm-kg-bench-v3"]}
    _kgbench(found, "import", "llm-kg-bench", *archives(data), **secret)
    _make(found, ["--redact", "prompts"])
    return found


def _make(found: Artefacts, left_out: list[str]) -> None:
    key, out = found.folder / "group.key", found.exports
    _kgbench(found, "keys", "new", key)
    _kgbench(
        found,
        *("publish", "--out", found.site, "--base", BASE, *_ABOUT, "--publisher", "Ada Example"),
        *("--endpoint", "https://example.org/sparql", "--sign", key, *left_out),
    )
    for form in ("provn", "json", "xml", "rdf"):
        name = f"prov.{'ttl' if form == 'rdf' else form}"
        _kgbench(found, "export", "prov", "--format", form, "-o", out / name, *left_out)
    for form in ("rocrate", "croissant"):
        _kgbench(found, "export", form, "-o", out / form, *_ABOUT, *left_out)
    _kgbench(found, "export", "notebook", "-o", out / "notebook", *left_out)
    who = ["--organisation", "Example University", "--relation", "third_party"]
    _kgbench(found, "export", "eee", "-o", out / "eee", *who)
    try:
        installed = (packages() / "nanopub").is_dir()
    except Missing:
        installed = False
    if installed:
        rsa = found.folder / "nanopub.key"
        _kgbench(found, "keys", "new", rsa, "--rsa")
        words = ["--key", rsa, *_ABOUT, "-o", out / "nanopublications"]
        _kgbench(found, "export", "nanopublications", found.site, *words, more=str(packages()))


def _kgbench(found: Artefacts, *words: object, more: str = "", **variables: str) -> None:
    """Run a command of kgbench on the store of ``found`` without showing its output."""
    found.exports.mkdir(parents=True, exist_ok=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith("KGBENCH_")}
    own |= {
        "KGBENCH_STORE": str(found.folder / "store"),
        "XDG_STATE_HOME": str(found.folder / "state"),
        "XDG_DATA_HOME": str(found.folder / "data"),
        "PYTHONPATH": str(ROOT),
        **variables,
    }
    done = subprocess.run(
        [sys.executable, "-c", _KGBENCH, more, *map(str, words)],
        cwd=found.folder,
        env=own,
        capture_output=True,
        text=True,
        check=False,
    )
    told = "" if variables else done.stderr  # imported content must not be shown
    assert done.returncode == 0, f"kgbench {words[0]} ended with {done.returncode}: {told}"
