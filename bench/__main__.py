# SPDX-License-Identifier: Apache-2.0
"""Run the benchmarks named on the command line, or all of them, and print what they found."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import pkgutil
import sys
from pathlib import Path

import bench
from bench.harness import Result, machine

APART = {"__main__", "clients", "harness", "peers"}


def names() -> list[str]:
    """The benchmarks there are: the modules of this package that stand for one, sorted."""
    found = (module.name for module in pkgutil.iter_modules(bench.__path__))
    return sorted(name for name in found if name not in APART and not name.startswith("_"))


def line(result: Result) -> str:
    """One result as the report shows it."""
    value = f"{result.value:,.3g}" if abs(result.value) < 1000 else f"{result.value:,.0f}"  # noqa: PLR2004
    parts = [f"  {result.what}: {value} {result.unit}".rstrip()]
    if result.against:
        parts.append(f"against {result.against}")
    if result.goal:
        parts.append(f"(goal {result.goal})")
    if result.note:
        parts.append(f"[{result.note}]")
    return " ".join(parts)


def main(arguments: list[str]) -> int:
    """Print the machine, then each benchmark's results as they come; 0 when all ran."""
    known = names()
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", nargs="*", help=f"which to run (default: all): {', '.join(known)}")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results here, too")
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.name) - set(known))
    if unknown:
        parser.error(f"no benchmark called {', '.join(unknown)}; there are {', '.join(known)}")

    facts = machine()
    print(", ".join(f"{key} {value}" for key, value in facts.items()), flush=True)
    results: dict[str, list[Result]] = {}
    for name in chosen.name or known:
        print(f"{name}", flush=True)
        results[name] = importlib.import_module(f"bench.{name}").run()
        for result in results[name]:
            print(line(result), flush=True)
    if chosen.json is not None:
        report = {
            "machine": facts,
            "results": {
                name: [dataclasses.asdict(result) for result in found]
                for name, found in results.items()
            },
        }
        chosen.json.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
