# SPDX-License-Identifier: Apache-2.0
"""Tools over a graph: time and memory of the search index, and the speed of baselines with tools.

The index is built from ten million triples about invented things, in a separate process whose
memory is read before and after. It is built once: the question is whether it fits.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyoxigraph as ox

from bench.harness import Result
from kgbench import config
from kgbench.engine import Settings, run_plan
from kgbench.plugins.agents.label_index import LabelIndex
from kgbench.store import open_store
from kgbench.vocab import RDF, RDFS
from kgbench.worlds.naming import Chance, word

TRIPLES = 10_000_000
QUESTIONS = 500
TASKS = [f"Text2SparqlToolsWorld-{n}-{k}-tools" for n in ("natural", "opaque") for k in range(1, 6)]
_EACH = 6  # triples about each thing, as in a generated world
_SEARCHES = 100
_PAGE = 4_096
_BASE = "https://example.org/"


def run() -> list[Result]:
    """Time and memory of the index, and times of a search and of baselines on all difficulties."""
    process = subprocess.run(  # noqa: S603 - this module itself
        [sys.executable, "-m", "bench.graph_tools", str(TRIPLES)],
        capture_output=True,
        text=True,
        check=True,
    )
    generating, indexing, searching, memory = map(float, process.stdout.split())
    what = f"index of {TRIPLES:,} triples"
    questions = len(TASKS) * QUESTIONS
    seconds, scores = _ask_baselines()
    return [
        Result(f"{what}: time", indexing - generating, "s", note="once, without the triples"),
        Result(f"{what}: memory", memory / 1e6, "MB", goal="at most 1,000", note="once"),
        Result("a search in it", searching * 1e3, "ms", note=f"mean of {_SEARCHES}"),
        Result(f"oracle and silent on {questions:,} questions each", seconds, "s", note=scores),
    ]


def _ask_baselines() -> tuple[float, str]:
    """Ask two baselines; return the seconds, and the lowest and highest score of each."""
    models = ["baseline:oracle", "baseline:silent"]
    plan = config.quick_start(tasks=TASKS, models=models, iterations=QUESTIONS)
    with open_store("memory:") as store:
        started = time.monotonic()
        asyncio.run(run_plan(store, plan, Settings(executor="local")))
        seconds = time.monotonic() - started
        rows = store.query(Path(__file__).with_name("graph_tools.rq").read_text(encoding="utf-8"))
        ranges = [
            f"{row['model'].value} {float(row['least'].value):g} to {float(row['most'].value):g}"
            for row in rows
        ]
    return seconds, f"f1: {', '.join(ranges)}"


def triples(number: int) -> Iterator[ox.Triple]:
    """Yield ``number`` triples about things with a class, a two-word name and four links."""
    chance = Chance("bench", number)
    type_, label = ox.NamedNode(RDF.type), ox.NamedNode(RDFS.label)
    links = [ox.NamedNode(f"{_BASE}link{k}") for k in range(_EACH - 2)]
    classes = [ox.NamedNode(f"{_BASE}Class{k}") for k in range(10)]
    things = number // _EACH
    for k in range(things):
        thing = ox.NamedNode(f"{_BASE}thing/{k}")
        yield ox.Triple(thing, type_, classes[k % len(classes)])
        yield ox.Triple(thing, label, ox.Literal(f"{word(chance)} {word(chance)}"))
        for predicate in links:
            target = ox.NamedNode(f"{_BASE}thing/{chance.between(0, things - 1)}")
            yield ox.Triple(thing, predicate, target)


def _resident() -> int:
    """Resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def main(number: int) -> None:
    """Print seconds for triples, for triples and index, for a search, and bytes of the index."""
    times = [time.monotonic()]
    for _ in triples(number):
        pass
    times.append(time.monotonic())
    before = _resident()
    index = LabelIndex(triples(number))
    times.append(time.monotonic())
    memory = _resident() - before
    chance = Chance("bench", "searches")
    for _ in range(_SEARCHES):
        index.search(f"{word(chance)} {word(chance)}", "entity", 20)
    times.append(time.monotonic())
    generating, indexing, searching = (b - a for a, b in pairwise(times))
    print(generating, indexing, searching / _SEARCHES, memory)


if __name__ == "__main__":
    main(int(sys.argv[1]))
