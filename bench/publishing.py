# SPDX-License-Identifier: Apache-2.0
"""Publishing: 5,200 dialogues as a site, against a plain dump of the same quads.

Where published data are at hand (``KGBENCH_EXTERNAL_DATA``), they are the dialogues of LLM-KG-Bench
3, imported several times under other names of models; elsewhere the quick start, again and again.
The memory is measured in a process of its own.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyoxigraph as ox

from bench.harness import Result, Timing, measure
from kgbench.publish.redaction import RedactionLevel
from kgbench.publish.settings import Settings
from kgbench.publish.signing import Signer
from kgbench.publish.site import publish
from kgbench.store import Block, open_store

DIALOGUES = 5_200
BASE = "https://example.org/bench/"
_PUBLISH = "--publish"


def run() -> list[Result]:
    """The time of a first publication, of one without changes, and the memory it takes."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        copies = multiply(store, DIALOGUES)
        plain = measure(lambda: _dump(store, Path(folder) / "plain.nq"), warm_up=True)
        key = Path(folder) / "key"
        _key(key)
        first, again, signed, memory = [], [], [], []
        for number in range(3):
            out = Path(folder) / f"signed-{number}"
            begun = time.monotonic()
            _in_a_process(store, out, key)
            signed.append(time.monotonic() - begun)
            shutil.rmtree(out)
            out = Path(folder) / f"site-{number}"
            begun = time.monotonic()
            memory.append(_in_a_process(store, out))
            first.append(time.monotonic() - begun)
            begun = time.monotonic()
            _in_a_process(store, out)
            again.append(time.monotonic() - begun)
        whole, unchanged = Timing(tuple(first)), Timing(tuple(again))
        size = f"{copies:,} dialogues"
        note = f"median of {len(first)}, spread {whole.spread:.0%}"
        return [
            Result(f"publishing {size}", whole.median, "s", goal="under 120 s", note=note),
            Result(
                "publishing", whole.median / plain.median, "x", against="a plain dump of the quads"
            ),
            Result(
                f"publishing {size} signed",
                Timing(tuple(signed)).median / whole.median,
                "x",
                against="the same unsigned",
            ),
            Result(f"publishing {size} again, unchanged", unchanged.median, "s"),
            Result("memory of its largest process", max(memory), "MiB"),
        ]


def multiply(location: Path, wanted: int) -> int:
    """A store with at least ``wanted`` dialogues; how many there are.

    One run is recorded or imported; its graphs are copied under other identifiers.
    """
    _one(location)
    with open_store(str(location)) as store:
        database = _database(store)
        registry = _described(database)
        originals = [(graph, list(_lines(database, graph))) for graph in registry]
        there = _dialogues(database)
        catalogue = store.iris.catalogue
        for copy in range(1, -(-wanted // there)):
            blocks = []
            for graph, lines in originals:
                moved = _moved(graph, copy)
                blocks.append(Block(moved, [_moved(line, copy) for line in lines]))
                entry = [_moved(line, copy) for line in _lines(database, catalogue, graph)]
                blocks.append(Block(catalogue, entry))
            store.bulk_load(blocks)
        return _dialogues(database)


def _one(location: Path) -> None:
    data = os.environ.get("KGBENCH_EXTERNAL_DATA")
    command = [sys.executable, "-m", "kgbench", "run", "--store", str(location)]
    environment = dict(os.environ)
    if data is not None:
        found = Path(data)
        passwords = json.loads((found / "passwords.json").read_text(encoding="utf-8"))
        environment["KGBENCH_ARCHIVE_PASSWORD"] = passwords["llm-kg-bench-v3"]
        archives = [str(path) for path in sorted((found / "llm-kg-bench-v3").glob("*.zip"))]
        command = [sys.executable, "-m", "kgbench", "import", "llm-kg-bench", *archives]
        command += ["--store", str(location)]
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 - own


def _database(store: object) -> ox.Store:
    found = getattr(store, "_db")  # noqa: B009 - a benchmark may look inside
    assert isinstance(found, ox.Store)
    return found


def _described(database: ox.Store) -> list[str]:
    predicate = ox.NamedNode("https://w3id.org/kgbench/ns#describes")
    found = database.quads_for_pattern(None, predicate, None)
    return sorted(str(quad.subject).strip("<>") for quad in found)


def _lines(database: ox.Store, graph: str, subject: str | None = None) -> list[str]:
    about = None if subject is None else ox.NamedNode(subject)
    found = database.quads_for_pattern(about, None, None, ox.NamedNode(graph))
    return [f"{quad.triple} ." for quad in found]


def _moved(text: str, copy: int) -> str:
    """The same text with other runs and passes: a digit of their identifiers is replaced."""
    for kind in ("run", "pass"):
        text = text.replace(f"/kgbench/{kind}/", f"/kgbench/{kind}/{copy:04x}")
        text = text.replace(f"/graph/{kind}/", f"/graph/{kind}/{copy:04x}")
    return text


def _dialogues(database: ox.Store) -> int:
    kind = ox.NamedNode("https://w3id.org/kgbench/ns#Dialogue")
    type_ = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    found = database.quads_for_pattern(None, type_, kind)
    return sum("/graph/run/" in str(quad.graph_name) for quad in found)


def _dump(location: Path, file: Path) -> None:
    with open_store(str(location)) as store, file.open("wb") as out:
        _database(store).dump(out, format=ox.RdfFormat.N_QUADS)


def _key(path: Path) -> None:
    command = [sys.executable, "-m", "kgbench", "keys", "new", str(path)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - own


def _in_a_process(store: Path, out: Path, key: Path | None = None) -> float:
    """Publish, signed where there is a key; the memory in MiB of the largest process it took."""
    command = [sys.executable, "-m", "bench.publishing", _PUBLISH, str(store), str(out)]
    command += [] if key is None else [str(key)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - own
    return float(done.stdout.split()[-1])


def _publish(store: str, out: str, key: str | None = None) -> None:
    signer = None if key is None else Signer.read(Path(key), Path(out))
    settings = Settings(store, Path(out), BASE, level=RedactionLevel.PROMPTS, signer=signer)
    publish(settings, lambda *_: None)
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    print(max(resource.getrusage(one).ru_maxrss for one in who) / 1024)


if __name__ == "__main__" and sys.argv[1:2] == [_PUBLISH]:
    _publish(*sys.argv[2:5])
