# SPDX-License-Identifier: Apache-2.0
"""Stores of any size: copies of recorded dialogues under new identifiers.

Each copy of a run is a separate run with its own pass and models; texts, scores and cases are those
of the original. The store grows as it would with more models.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from kgbench import config
from kgbench.engine import Settings, run_plan
from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.record.recorder import registry_entry
from kgbench.store import Block, OwnedStore, id_from, open_store

_NAME = re.compile(r'((?:notation|label)>) "([^"]*)"')  # of a model


def source(folder: Path) -> str:
    """Create a store with real dialogues at ``folder``; return a description of them.

    They come from the published archives of LLM-KG-Bench 3 in the folder named by
    KGBENCH_EXTERNAL_DATA, or, if it is not set, from the quick start.
    """
    data = os.environ.get("KGBENCH_EXTERNAL_DATA")
    with open_store(str(folder)) as store:
        if data is None:
            import asyncio

            asyncio.run(run_plan(store, config.quick_start(), Settings()))
            return "the quick start"
        passwords = json.loads((Path(data) / "passwords.json").read_text(encoding="utf-8"))
        for path in sorted((Path(data) / "llm-kg-bench-v3").glob("*.zip")):
            for file in open_results(path, passwords["llm-kg-bench-v3"]):
                for imported in read_runs(file, store.iris):
                    load(store, imported)
    return "published dialogues"


def multiply(origin: Path, folder: Path, dialogues: int) -> int:
    """Create a store of at least ``dialogues`` at ``folder`` from ``origin``; return how many.

    ``origin`` must be closed and is not changed. Whole runs are copied.
    """
    shutil.copytree(origin, folder)
    with open_store(str(folder)) as store:
        runs = reading.runs(store)
        originals = [_Original(store, run) for run in runs]
        present = sum(original.dialogues for original in originals)
        copies = math.ceil(dialogues / present)
        for k in range(1, copies):
            for original in originals:
                original.copy(store, k)
        return present * copies


class _Original:
    """A run with its first pass, as text in which identifiers can be replaced."""

    def __init__(self, store: OwnedStore, run: RunInfo) -> None:
        first = reading.passes(store, run)[0]
        self._run, self._pass = run, first
        self._ids = (run.id, first.iri.rpartition("/")[2])
        self._models = sorted({e.model for e in reading.executions(store, run.graph)})
        self._run_lines = "\n".join(_lines(store, run.graph))
        self._pass_lines = "\n".join(_lines(store, first.graph))
        self._model_lines = "\n".join(
            line for model in self._models for line in _lines(store, store.iris.catalogue, model)
        )
        self.dialogues = self._run_lines.count("<https://w3id.org/kgbench/ns#Dialogue>")

    def copy(self, store: OwnedStore, k: int) -> None:
        """Write copy ``k`` of the run."""
        names = {name: id_from(f"{name}/{k}") for name in self._ids}

        def renamed(text: str) -> str:
            for before, after in names.items():
                text = text.replace(before, after)
            for model in self._models:
                text = text.replace(f"<{model}>", f"<{model}.{k}>")
            return text

        run_graph, pass_graph = renamed(self._run.graph), renamed(self._pass.graph)
        store.bulk_load(
            [
                Block(run_graph, renamed(self._run_lines).split("\n")),
                Block(pass_graph, renamed(self._pass_lines).split("\n")),
            ]
        )
        catalogue = [
            *registry_entry(run_graph, renamed(self._run.iri)),
            *registry_entry(pass_graph, renamed(self._pass.iri)),
            *_NAME.sub(rf'\1 "\2.{k}"', renamed(self._model_lines)).split("\n"),
        ]
        store.write(
            [Block(run_graph, []), Block(pass_graph, []), Block(store.iris.catalogue, catalogue)]
        )


def _lines(store: OwnedStore, graph: str, subject: str | None = None) -> Iterator[str]:
    node = "?s" if subject is None else f"<{subject}>"
    for triple in store.query(
        f"CONSTRUCT {{ {node} ?p ?o }} WHERE {{ GRAPH <{graph}> {{ {node} ?p ?o }} }}"
    ):
        yield f"{triple} ."
