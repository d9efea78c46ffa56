# SPDX-License-Identifier: Apache-2.0
"""Run the named benchmarks, or all of them, and record the results.

Results are recorded as RDF in a separate store and compared with the latest recorded values.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import pkgutil
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import bench
from bench import drawing, recording
from bench.harness import Result, machine
from kgbench.store import open_store
from kgbench.tables.rendering import render

APART = {
    "__main__",
    "attack_kills",
    "beside_a_run",
    "clients",
    "crowds",
    "drawing",
    "flames",
    "harness",
    "hot_paths",
    "multiplied",
    "page_times",
    "pandas_peer",
    "peers",
    "questions",
    "recording",
    "small_disk",
}
_STORE = Path(__file__).parents[1] / "store" / "benchmarks"


def names() -> list[str]:
    """Return the names of all benchmarks, sorted: the modules of this package except helpers."""
    modules = (module.name for module in pkgutil.iter_modules(bench.__path__))
    return sorted(name for name in modules if name not in APART and not name.startswith("_"))


def line(result: Result) -> str:
    """Return a result as a line of the progress output."""
    parts = [f"  {result.what}: {recording.written(result.value, result.unit)}".rstrip()]
    if result.against:
        parts.append(f"against {result.against}")
    if result.goal:
        parts.append(f"(goal {result.goal})")
    if result.note:
        parts.append(f"[{result.note}]")
    return " ".join(parts)


def main(arguments: list[str]) -> int:
    """Print the machine, the results of each benchmark and a table; return 0."""
    known = names()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"benchmarks (default: all): {', '.join(known)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios as SVG")
    parser.add_argument(
        "--store", type=Path, default=_STORE, metavar="DIR", help="the store of recorded runs"
    )
    parser.add_argument("--no-record", action="store_true", help="do not record the run")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.name) - set(known))
    if unknown:
        parser.error(f"no benchmark called {', '.join(unknown)}; there are {', '.join(known)}")

    environment, started = machine(), datetime.now(UTC)
    print(", ".join(f"{key} {value}" for key, value in environment.items()), flush=True)
    results: dict[str, list[Result]] = {}
    for name in options.name or known:
        print(f"{name}", flush=True)
        results[name] = importlib.import_module(f"bench.{name}").run()
        for result in results[name]:
            print(line(result), flush=True)
    before: dict[tuple[str, str, str], float] = {}
    if not options.no_record:
        before = _record(options.store, results, environment, started)
    print(render(recording.compared(results, before), "table"))
    if options.plot is not None and (figure := drawing.ratios(results, before)) is not None:
        drawing.save(figure, options.plot)
    if options.json is not None:
        _write(options.json, results, environment)
    return 0


def _record(
    folder: Path,
    results: Mapping[str, Sequence[Result]],
    facts: Mapping[str, str],
    started: datetime,
) -> dict[tuple[str, str, str], float]:
    """Record a run; return the values recorded before it."""
    with open_store(str(folder)) as store:
        before = recording.last(store, list(results))
        if any(result.unit for measured in results.values() for result in measured):
            iri = recording.record(
                store, results, machine=facts, started=started, ended=datetime.now(UTC)
            )
            print(f"recorded as {iri} in {folder}")
        return before


def _write(path: Path, results: Mapping[str, Sequence[Result]], facts: Mapping[str, str]) -> None:
    report = {
        "machine": facts,
        "results": {
            name: [dataclasses.asdict(result) for result in measured]
            for name, measured in results.items()
        },
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
