# SPDX-License-Identifier: Apache-2.0
"""Import of published results, compared with reading their JSON plus bulk-loading the quads.

Needs the published archives of LLM-KG-Bench 3 in the folder named by KGBENCH_EXTERNAL_DATA.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pyoxigraph as ox

from bench.harness import LEAST, Result, measure
from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.store import open_store


def run() -> list[Result]:
    """Return dialogues per second, and the ratio of the import to its two lower bounds."""
    folder = os.environ.get("KGBENCH_EXTERNAL_DATA")
    if folder is None:
        return [Result("import", 0, "", note="not run: KGBENCH_EXTERNAL_DATA is not set")]
    archives = sorted((Path(folder) / "llm-kg-bench-v3").glob("*.zip"))
    passwords = json.loads((Path(folder) / "passwords.json").read_text(encoding="utf-8"))
    password = passwords["llm-kg-bench-v3"]
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        reading = measure(lambda: [_read(path, password) for path in archives])
        stores = iter([scratch / f"import{k}" for k in range(LEAST)])
        dialogues = 0

        def import_all() -> None:
            nonlocal dialogues
            dialogues = _import(archives, password, next(stores))

        importing = measure(import_all)
        quads = _dump(scratch / "import0", scratch / "dump.nq")
        copies = iter([scratch / f"copy{k}" for k in range(LEAST)])
        loading = measure(lambda: _bulk_load(scratch / "dump.nq", next(copies)))
    floor = reading.median + loading.median
    note = f"{dialogues} dialogues, {quads} quads, spread {importing.spread:.0%}"
    return [
        Result("import", dialogues / importing.median, "dialogues/s", note=note),
        Result("reading the archives' JSON", reading.median, "s"),
        Result("bulk load of the same quads", loading.median, "s"),
        Result(
            "import",
            importing.median / floor,
            "x",
            against="reading the JSON plus bulk-loading the quads",
            goal="at most 2",
        ),
    ]


def _read(path: Path, password: str) -> int:
    return sum(1 for file in open_results(path, password) for _ in file.records())


def _import(archives: list[Path], password: str, folder: Path) -> int:
    dialogues = 0
    with open_store(str(folder)) as store:
        for path in archives:
            for file in open_results(path, password):
                for imported in read_runs(file, store.iris):
                    dialogues += load(store, imported).dialogues
    return dialogues


def _dump(folder: Path, dump: Path) -> int:
    newest = max((folder / "snapshots").glob("*[0-9]"))
    store = ox.Store.read_only(str(newest))
    store.dump(str(dump), ox.RdfFormat.N_QUADS)
    return len(store)


def _bulk_load(dump: Path, folder: Path) -> None:
    ox.Store(str(folder)).bulk_load(path=str(dump), format=ox.RdfFormat.N_QUADS)
