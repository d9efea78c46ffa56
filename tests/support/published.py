# SPDX-License-Identifier: Apache-2.0
"""Reads the published LLM-KG-Bench results for comparison, one archive at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyzipper

from kgbench.importers.archives import open_results
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.store import EmbeddedStore, open_store

Record = dict[str, Any]


def archives(external_data: Path, generation: str = "llm-kg-bench-v3") -> list[Path]:
    """Return the archives of a generation, in order of their names."""
    return sorted((external_data / generation).glob("*.zip"))


def records(archive: Path) -> Iterator[Record]:
    """Yield the result records of an archive, without writing any of it to disk."""
    passwords = json.loads((archive.parent.parent / "passwords.json").read_text())
    with pyzipper.AESZipFile(archive) as opened:
        opened.setpassword(passwords[archive.parent.name].encode())
        for name in opened.namelist():
            if name.endswith(".json"):
                yield from json.loads(opened.read(name))


def answers(record: Record) -> list[str]:
    """Return the answers of a record's dialogue."""
    return [text for kind, _, text, *_ in record["interactions"] if kind == "response"]


def prompts(record: Record) -> list[str]:
    """Return the prompts of a record's dialogue."""
    return [text for kind, _, text, *_ in record["interactions"] if kind == "prompt"]


def rounds(record: Record) -> list[tuple[dict[str, float], dict[str, Any]]]:
    """Return the published scores and infos of each answer."""
    if "0" not in record["scores"]:
        return [(record["scores"], record["info"])]
    count = len(answers(record))
    return [(record["scores"][str(k)], record["info"][str(k)]) for k in range(count)]


def aggregates(record: Record) -> dict[str, float]:
    """Return the published scores of the whole dialogue, under names like ``mean_combined``."""
    found = {}
    for how in ("last", "mean", "max", "meanExt"):
        for name, value in record["scores"].get(how, {}).items():
            found[f"{how}_{name}"] = value
    return found


def openings(record: Record) -> list[str]:
    """Return the first words of each feedback prompt, which identify the kind of feedback."""
    return [" ".join(prompt.split()[:4]) for prompt in prompts(record)[1:]]


def imported(
    folder: Path, password: str | None = None, into: EmbeddedStore | None = None
) -> EmbeddedStore:
    """Return a store with every result file of a folder: ``into``, or one in memory."""
    store = open_store("memory:") if into is None else into
    for path in sorted(folder.glob("*.zip")) + sorted(folder.glob("*.json")):
        for file in open_results(path, password):
            for run in read_runs(file, store.iris):
                load(store, run)
    return store
