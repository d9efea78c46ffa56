# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks named on the command line, or all of them, and keep what they found.

Results are recorded as RDF in a store of their own, and compared with those recorded last.
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
from kgbench.analysis.rendering import render
from kgbench.store import open_store

APART = {
    *("__main__", "attack_kills", "beside_a_run", "clients", "crowds", "drawing", "flames"),
    *("harness", "hot_paths", "multiplied", "page_times", "pandas_peer", "peers", "questions"),
    *("recording", "small_disk"),
}
_STORE = Path(__file__).parents[1] / "store" / "benchmarks"


def names() -> list[str]:
    """The benchmarks there are: the modules of this package that stand for one, sorted."""
    found = (module.name for module in pkgutil.iter_modules(bench.__path__))
    return sorted(name for name in found if name not in APART and not name.startswith("_"))


def line(result: Result) -> str:
    """One result as it is shown when it comes."""
    parts = [f"  {result.what}: {recording.written(result.value, result.unit)}".rstrip()]
    if result.against:
        parts.append(f"against {result.against}")
    if result.goal:
        parts.append(f"(goal {result.goal})")
    if result.note:
        parts.append(f"[{result.note}]")
    return " ".join(parts)


def main(arguments: list[str]) -> int:
    """Print the machine, each benchmark's results as they come, and a table; 0 when all ran."""
    known = names()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which to run (default: all): {', '.join(known)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the ratios, as SVG")
    parser.add_argument(
        "--store", type=Path, default=_STORE, metavar="DIR", help="where runs are recorded"
    )
    parser.add_argument("--no-record", action="store_true", help="record nothing")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.name) - set(known))
    if unknown:
        parser.error(f"no benchmark called {', '.join(unknown)}; there are {', '.join(known)}")

    facts, started = machine(), datetime.now(UTC)
    print(", ".join(f"{key} {value}" for key, value in facts.items()), flush=True)
    results: dict[str, list[Result]] = {}
    for name in chosen.name or known:
        print(f"{name}", flush=True)
        results[name] = importlib.import_module(f"bench.{name}").run()
        for result in results[name]:
            print(line(result), flush=True)
    before: dict[tuple[str, str, str], float] = {}
    if not chosen.no_record:
        before = _recorded(chosen.store, results, facts, started)
    print(render(recording.compared(results, before), "table"))
    if chosen.plot is not None and (figure := drawing.ratios(results, before)) is not None:
        drawing.save(figure, chosen.plot)
    if chosen.json is not None:
        _write(chosen.json, results, facts)
    return 0


def _recorded(
    folder: Path,
    results: Mapping[str, Sequence[Result]],
    facts: Mapping[str, str],
    started: datetime,
) -> dict[tuple[str, str, str], float]:
    """Record a run; the values that had been recorded before it."""
    with open_store(str(folder)) as store:
        before = recording.last(store, list(results))
        if any(result.unit for found in results.values() for result in found):
            iri = recording.record(
                store, results, machine=facts, started=started, ended=datetime.now(UTC)
            )
            print(f"recorded as {iri} in {folder}")
        return before


def _write(path: Path, results: Mapping[str, Sequence[Result]], facts: Mapping[str, str]) -> None:
    report = {
        "machine": facts,
        "results": {
            name: [dataclasses.asdict(result) for result in found]
            for name, found in results.items()
        },
    }
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
