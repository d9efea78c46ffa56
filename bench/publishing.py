# SPDX-License-Identifier: Apache-2.0
"""Publication of 5,200 dialogues as a site, compared with a plain dump of the same quads.

They are dialogues of LLM-KG-Bench 3 if ``KGBENCH_EXTERNAL_DATA`` is set, otherwise those of the
quick start. Their runs are copied under other identifiers until there are enough. Memory is
measured in a separate process.
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
    """Return times of a first, an unchanged and a signed publication, and the memory."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        copies = multiply(store, DIALOGUES)
        plain = measure(lambda: _dump(store, Path(folder) / "plain.nq"), warm_up=True)
        key_file = Path(folder) / "key"
        _key(key_file)
        first, again, signed, memory = [], [], [], []
        for turn in range(3):
            out = Path(folder) / f"signed-{turn}"
            begin = time.monotonic()
            _publish_in_process(store, out, key_file)
            signed.append(time.monotonic() - begin)
            shutil.rmtree(out)
            out = Path(folder) / f"site-{turn}"
            begin = time.monotonic()
            memory.append(_publish_in_process(store, out))
            first.append(time.monotonic() - begin)
            begin = time.monotonic()
            _publish_in_process(store, out)
            again.append(time.monotonic() - begin)
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
    """Create a store with at least ``wanted`` dialogues; return how many it has.

    Runs are recorded or imported once; their graphs are copied under other identifiers.
    """
    _fill(location)
    with open_store(str(location)) as store:
        database = _database(store)
        registry = _described(database)
        originals = [(graph, list(_lines(database, graph))) for graph in registry]
        present = _dialogues(database)
        catalogue = store.iris.catalogue
        for copy in range(1, -(-wanted // present)):
            blocks = []
            for graph, lines in originals:
                copied = _copied(graph, copy)
                blocks.append(Block(copied, [_copied(line, copy) for line in lines]))
                entry = [_copied(line, copy) for line in _lines(database, catalogue, graph)]
                blocks.append(Block(catalogue, entry))
            store.bulk_load(blocks)
        return _dialogues(database)


def _fill(location: Path) -> None:
    data = os.environ.get("KGBENCH_EXTERNAL_DATA")
    command = [sys.executable, "-m", "kgbench", "run", "--store", str(location)]
    environment = dict(os.environ)
    if data is not None:
        folder = Path(data)
        passwords = json.loads((folder / "passwords.json").read_text(encoding="utf-8"))
        environment["KGBENCH_ARCHIVE_PASSWORD"] = passwords["llm-kg-bench-v3"]
        archives = [str(path) for path in sorted((folder / "llm-kg-bench-v3").glob("*.zip"))]
        command = [sys.executable, "-m", "kgbench", "import", "llm-kg-bench", *archives]
        command += ["--store", str(location)]
    subprocess.run(command, check=True, capture_output=True, env=environment)  # noqa: S603 - own


def _database(store: object) -> ox.Store:
    database = getattr(store, "_db")  # noqa: B009 - a benchmark may look inside
    assert isinstance(database, ox.Store)
    return database


def _described(database: ox.Store) -> list[str]:
    predicate = ox.NamedNode("https://w3id.org/kgbench/ns#describes")
    quads = database.quads_for_pattern(None, predicate, None)
    return sorted(str(quad.subject).strip("<>") for quad in quads)


def _lines(database: ox.Store, graph: str, subject: str | None = None) -> list[str]:
    about = None if subject is None else ox.NamedNode(subject)
    quads = database.quads_for_pattern(about, None, None, ox.NamedNode(graph))
    return [f"{quad.triple} ." for quad in quads]


def _copied(text: str, copy: int) -> str:
    """Return the text with other runs and passes: four digits precede their identifiers."""
    for kind in ("run", "pass"):
        text = text.replace(f"/kgbench/{kind}/", f"/kgbench/{kind}/{copy:04x}")
        text = text.replace(f"/graph/{kind}/", f"/graph/{kind}/{copy:04x}")
    return text


def _dialogues(database: ox.Store) -> int:
    kind = ox.NamedNode("https://w3id.org/kgbench/ns#Dialogue")
    type_ = ox.NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
    quads = database.quads_for_pattern(None, type_, kind)
    return sum("/graph/run/" in str(quad.graph_name) for quad in quads)


def _dump(location: Path, file: Path) -> None:
    with open_store(str(location)) as store, file.open("wb") as out:
        _database(store).dump(out, format=ox.RdfFormat.N_QUADS)


def _key(path: Path) -> None:
    command = [sys.executable, "-m", "kgbench", "keys", "new", str(path)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - own


def _publish_in_process(store: Path, out: Path, key: Path | None = None) -> float:
    """Publish, signed if there is a key; return the memory of the largest process in MiB."""
    command = [sys.executable, "-m", "bench.publishing", _PUBLISH, str(store), str(out)]
    command += [] if key is None else [str(key)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - own
    return float(done.stdout.split()[-1])


def _publish(store: str, out: str, key: str | None = None) -> None:
    signer = None if key is None else Signer.read(Path(key), Path(out))
    settings = Settings(store, Path(out), BASE, level=RedactionLevel.PROMPTS, signer=signer)
    publish(settings, lambda *_: None)
    processes = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    print(max(resource.getrusage(process).ru_maxrss for process in processes) / 1024)


if __name__ == "__main__" and sys.argv[1:2] == [_PUBLISH]:
    _publish(*sys.argv[2:5])
