# SPDX-License-Identifier: Apache-2.0
"""How time, memory and disk grow with the number of dialogues: the table of docs/scaling.md.

Each step is a process of its own over a store of published dialogues, imported again and again
with new names of models. Sizes are those of ``KGBENCH_BENCH_SIZES`` (numbers with commas; by
default 5,200 and 45,500: half a million takes an hour). Needs the published archives in the folder
named by KGBENCH_EXTERNAL_DATA.

    python -m bench.growth STEP STORE DIALOGUES

does one step and prints what it took as JSON.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.harness import Result
from kgbench.datasets import home
from kgbench.tasks import graphs

SIZES = "KGBENCH_BENCH_SIZES"
_DEFAULT = "5200,45500"
_ARCHIVES = "llm-kg-bench-v3"
_LOOK_UPS = 50


def run() -> list[Result]:
    """Every step at every size."""
    if "KGBENCH_EXTERNAL_DATA" not in os.environ:
        return [Result("growth", 0, "", note="not run: KGBENCH_EXTERNAL_DATA is not set")]
    results: list[Result] = []
    for size in map(int, os.environ.get(SIZES, _DEFAULT).split(",")):
        with tempfile.TemporaryDirectory() as folder:
            os.environ[home.VARIABLE] = str(Path(folder) / "datasets")
            graphs.install(Path(os.environ["KGBENCH_EXTERNAL_DATA"]) / "text2sparql")
            for step in STEPS:
                store = Path(folder) / ("run" if step == "run" else "store")
                results += _results(step, store, size)
    return results


def _results(step: str, store: Path, size: int) -> Iterator[Result]:
    words = [sys.executable, "-m", "bench.growth", step, str(store), str(size)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)  # noqa: S603
    said = json.loads(done.stdout.splitlines()[-1])
    note = (
        f"{said['cpu']:.1f} s of CPU, {said['megabytes']:.0f} MB of memory, "
        f"{said['disk'] / 1e6:.0f} MB of disk"
    )
    yield Result(f"{step}, {said['dialogues']:,} dialogues", said["seconds"], "s", note=note)
    for name, seconds in said.get("parts", {}).items():
        yield Result(f"{name}, {said['dialogues']:,} dialogues", seconds, "s")


# --- the steps ------------------------------------------------------------------------------


def import_(store: Path, dialogues: int) -> dict[str, object]:
    """The archives, as often as it takes, each time with other names of models."""
    from kgbench.importers.archives import ResultFile, open_results
    from kgbench.importers.llm_kg_bench import read_runs
    from kgbench.importers.load import load
    from kgbench.store import open_store

    folder = Path(os.environ["KGBENCH_EXTERNAL_DATA"])
    passwords = json.loads((folder / "passwords.json").read_text(encoding="utf-8"))
    files = [
        file
        for path in sorted((folder / _ARCHIVES).glob("*.zip"))
        for file in open_results(path, passwords[_ARCHIVES])
    ]
    done = copies = 0
    with open_store(str(store)) as opened:
        while done < dialogues:
            for file in files:
                copy = ResultFile(f"{file.name}.{copies}", _renamed(file.content, copies))
                for imported in read_runs(copy, opened.iris):
                    done += load(opened, imported).dialogues
                if done >= dialogues:
                    break
            copies += 1
    return {"dialogues": done}


def analyze(store: Path, dialogues: int) -> dict[str, object]:
    """Every analysis, once, in a store that was just opened; and one dialogue, as a median."""
    from bench.analyzing import analyses
    from kgbench.analysis.dialogues import view
    from kgbench.analysis.selection import select
    from kgbench.errors import QueryError
    from kgbench.record import reading
    from kgbench.store import open_store

    parts = {}
    with open_store(str(store)) as opened:
        chosen = select(opened)
        for name, work in analyses(opened, chosen).items():
            try:
                parts[name] = _timed(work)
            except QueryError:
                continue
        runs = reading.runs(opened)
        names = [
            dialogue.iri
            for run in runs[:: max(1, len(runs) // 5)]
            for execution in reading.executions(opened, run.graph)[:10]
            for dialogue in reading.execution_dialogues(opened, run.graph, execution, run.iri)[:1]
        ][:_LOOK_UPS]
        found = [_timed(lambda name=name: view(opened, name)) for name in names]  # type: ignore[misc]
        parts["one dialogue"] = statistics.median(found)
    return {"dialogues": dialogues, "parts": parts}


def reevaluate(store: Path, dialogues: int) -> dict[str, object]:  # noqa: ARG001 - it judges all
    """All dialogues judged again, in children, causes of differences left aside."""
    from kgbench import reevaluation
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import executor
    from kgbench.record import reading
    from kgbench.store import open_store

    with open_store(str(store)) as opened, executor("local") as pool:
        todo = [(run, None) for run in reading.runs(opened)]
        done = reevaluation.reevaluate_each(opened, todo, pool, JudgeLimits(), explain=False)
        return {"dialogues": sum(found.comparison.dialogues for found in done)}


def run_(store: Path, dialogues: int) -> dict[str, object]:
    """``kgbench run`` with an instant model, into a store of its own."""
    from bench.running import measured_run

    said = measured_run(store, dialogues)
    return {"dialogues": dialogues, "megabytes": said["megabytes"]}


STEPS: dict[str, Callable[[Path, int], dict[str, object]]] = {
    "import": import_,
    "analyze": analyze,
    "reevaluate": reevaluate,
    "run": run_,
}


def main(step: str, store: str, dialogues: str) -> None:
    """Do one step and say what it took."""
    begin = time.perf_counter()
    said = STEPS[step](Path(store), int(dialogues))
    seconds = time.perf_counter() - begin
    mine = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    took: dict[str, object] = {
        "seconds": seconds,
        "cpu": sum((mine.ru_utime, mine.ru_stime, children.ru_utime, children.ru_stime)),
        "megabytes": mine.ru_maxrss / 1024,
        "disk": sum(file.stat().st_size for file in (Path(store) / "data").rglob("*")),
    }
    print(json.dumps(took | said))


def _renamed(content: bytes, copy: int) -> bytes:
    records = json.loads(content)
    for record in records:
        record["modelId"] = f"{record['modelId']}.{copy}"
    return json.dumps(records).encode("utf-8")


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main(*sys.argv[1:])
