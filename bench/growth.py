# SPDX-License-Identifier: Apache-2.0
"""How time, memory and disk grow with the number of dialogues: the table of docs/benchmarks.md.

Each step is a separate process over a store of published dialogues, imported repeatedly: in new
runs, and under new model names until there are eight times as many models as were published.
``KGBENCH_BENCH_SIZES`` has the sizes, separated by commas (default: 5,200 and 45,500;
half a million takes an hour). Needs the published archives in the folder named by
KGBENCH_EXTERNAL_DATA.

    python -m bench.growth STEP STORE DIALOGUES

runs one step and prints its time, memory and disk usage as JSON.
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
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench.harness import Result
from kgbench.datasets import home
from kgbench.tasks import graphs

if TYPE_CHECKING:
    from kgbench.importers.llm_kg_bench import ImportedRun
    from kgbench.store import OwnedStore, Store

SIZES = "KGBENCH_BENCH_SIZES"
_DEFAULT = "5200,45500"
_ARCHIVES = "llm-kg-bench-v3"
_COPIES = 8  # of each published model; more dialogues are further runs of these
_LOOK_UPS = 50
_ASKED = 1_500  # look-ups per repetition: three repetitions after a warm-up
_CONNECTIONS = 8
_SIZED = """
models: [{spec: "baseline:oracle"}]
tasks:
  - {class: RdfFriendCount, params: {graphFormat: turtle, size: [1000, 2000]}}
"""


def run() -> list[Result]:
    """Return every step at every size."""
    if "KGBENCH_EXTERNAL_DATA" not in os.environ:
        return [Result("growth", 0, "", note="not run: KGBENCH_EXTERNAL_DATA is not set")]
    results: list[Result] = []
    for size in map(int, os.environ.get(SIZES, _DEFAULT).split(",")):
        with tempfile.TemporaryDirectory() as folder:
            os.environ[home.VARIABLE] = str(Path(folder) / "datasets")
            graphs.install(Path(os.environ["KGBENCH_EXTERNAL_DATA"]) / "text2sparql")
            for step in STEPS:
                store = Path(folder) / ("run" if step in OWN else "store")
                results += _results(step, store, size)
    return results


def _results(step: str, store: Path, size: int) -> Iterator[Result]:
    command = [sys.executable, "-m", "bench.growth", step, str(store), str(size)]
    process = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    report = json.loads(process.stdout.splitlines()[-1])
    note = (
        f"{report['cpu']:.1f} s of CPU, {report['megabytes']:.0f} MB of memory, "
        f"{report['disk'] / 1e6:.0f} MB of disk"
    )
    yield Result(f"{step}, {report['dialogues']:,} dialogues", report["seconds"], "s", note=note)
    for name, (value, unit) in report.get("parts", {}).items():
        yield Result(f"{name}, {report['dialogues']:,} dialogues", value, unit)


@contextmanager
def published(dialogues: int) -> Iterator[OwnedStore]:
    """Open a store with so many published dialogues; delete it and its data sets afterwards."""
    from kgbench.store import open_store

    with tempfile.TemporaryDirectory() as scratch:
        os.environ[home.VARIABLE] = str(Path(scratch) / "datasets")
        graphs.install(Path(os.environ["KGBENCH_EXTERNAL_DATA"]) / "text2sparql")
        import_(Path(scratch) / "store", dialogues)
        with open_store(str(Path(scratch) / "store")) as store:
            yield store


# --- the steps ------------------------------------------------------------------------------


def import_(store: Path, dialogues: int) -> dict[str, object]:
    """Import the archives repeatedly, each time as new runs, of at most :data:`_COPIES` models."""
    from kgbench.importers.archives import ResultFile, open_results
    from kgbench.importers.llm_kg_bench import read_runs
    from kgbench.importers.load import load_each
    from kgbench.store import open_store

    folder = Path(os.environ["KGBENCH_EXTERNAL_DATA"])
    passwords = json.loads((folder / "passwords.json").read_text(encoding="utf-8"))
    files = [
        file
        for path in sorted((folder / _ARCHIVES).glob("*.zip"))
        for file in open_results(path, passwords[_ARCHIVES])
    ]
    with open_store(str(store)) as opened:

        def runs() -> Iterator[ImportedRun]:
            requested = 0
            for number in count():
                for file in files:
                    content = _renamed(b"".join(file.chunks()), number)
                    copy = ResultFile(f"{file.name}.{number}", content)
                    for imported in read_runs(copy, opened.iris):
                        yield imported
                        requested += len(imported.items)
                    if requested >= dialogues:
                        return

        done = sum(summary.dialogues for summary in load_each(opened, runs()))
    return {"dialogues": done}


def analyze(store: Path, dialogues: int) -> dict[str, object]:
    """Run each analysis once in a newly opened store, read its table back, and read dialogues."""
    from bench.analyzing import analyses, read_back
    from kgbench.analysis.dialogues import view
    from kgbench.analysis.index import ANALYSES
    from kgbench.errors import QueryError
    from kgbench.scores.selection import select
    from kgbench.store import open_store
    from kgbench.tables import Table

    parts: dict[str, tuple[float, str]] = {}
    with open_store(str(store)) as opened:
        selection = select(opened)
        for name, work in analyses(opened, selection).items():
            begin = time.perf_counter()
            try:
                table = work()
            except QueryError:
                continue
            parts[name] = time.perf_counter() - begin, "s"
            if isinstance(table, Table) and name in ANALYSES:
                reading = read_back(opened, selection, name, table)
                parts[f"{name}, from what is stored"] = reading.median, "s"
        names = _some_dialogues(opened, _LOOK_UPS)
        times = [_timed(lambda name=name: view(opened, name)) for name in names]  # type: ignore[misc]
        parts["one dialogue"] = statistics.median(times), "s"
    return {"dialogues": dialogues, "parts": parts}


def serve(store: Path, dialogues: int) -> dict[str, object]:
    """Request look-ups of distinct dialogues and pages from ``kgbench serve``.

    ``kgbench analyze --keep`` computes the leaders, as the pages of large stores require.
    """
    from bench import clients, questions, serving
    from kgbench.store import open_reader

    with open_reader(str(store)) as opened:
        names = _some_dialogues(opened, 4 * _ASKED)
    queries = [questions.look_up(name) for name in names]
    command = [sys.executable, "-m", "kgbench", "analyze", "leaderboard", "--significance"]
    command += ["--keep", "--store", str(store)]
    leaders = _timed(lambda: subprocess.run(command, check=True, capture_output=True))  # noqa: S603
    with serving.serving(serving.ours(store)) as url:
        endpoint = url + "sparql"
        rates = [
            clients.ask(endpoint, clients.requests(endpoint, queries[k::4]), _CONNECTIONS)
            for k in range(4)
        ][1:]
        pages = [url + name.removeprefix("https://w3id.org/kgbench/") for name in names[::100]]
        leaderboard = url + "leaderboard"
        parts = {
            "look-ups, 8 connections": (statistics.median(r.per_second for r in rates), "/s"),
            "look-ups, 8 connections, p95": (statistics.median(r.p95 for r in rates), "ms"),
            "page of a dialogue": (statistics.median(map(_fetched, pages)), "s"),
            "leaders, computed and kept": (leaders, "s"),
            "page of the leaderboard": (_fetched(leaderboard), "s"),
            "page of the leaderboard, again": (_fetched(leaderboard), "s"),
        }
    return {"dialogues": dialogues, "parts": parts}


def publish(store: Path, dialogues: int) -> dict[str, object]:
    """Publish without the texts of tasks, and again without changes."""
    from kgbench.publish.redaction import RedactionLevel
    from kgbench.publish.settings import Settings
    from kgbench.publish.site import publish as published

    with tempfile.TemporaryDirectory(dir=store.parent) as folder:
        out = Path(folder) / "site"
        settings = Settings(
            str(store), out, "https://example.org/bench/", level=RedactionLevel.PROMPTS
        )
        first = _timed(lambda: published(settings, lambda *_: None))
        again = _timed(lambda: published(settings, lambda *_: None))
        disk = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    parts = {"first publication": (first, "s"), "publication, unchanged": (again, "s")}
    return {"dialogues": dialogues, "parts": parts, "disk": disk}


def reevaluate(store: Path, dialogues: int) -> dict[str, object]:  # noqa: ARG001 - judges all
    """Judge all dialogues again in child processes, without causes of differences."""
    from kgbench.execution.judging import JudgeLimits
    from kgbench.execution.pools import executor
    from kgbench.record import reading
    from kgbench.reevaluation import passes as reevaluation
    from kgbench.store import open_store

    with open_store(str(store)) as opened, executor("local") as pool:
        todo = [(run, None) for run in reading.runs(opened)]
        done = reevaluation.reevaluate_each(opened, todo, pool, JudgeLimits(), explain=False)
        return {"dialogues": sum(each.comparison.dialogues for each in done)}


def run_(store: Path, dialogues: int) -> dict[str, object]:
    """Run ``kgbench run`` with an instant model and tasks of two sizes, into a separate store."""
    from bench.running import measured

    plan = store.with_suffix(".yaml")
    plan.parent.mkdir(parents=True, exist_ok=True)
    plan.write_text(_SIZED + f"iterations: {dialogues // 2}\n", encoding="utf-8")
    report = measured(store, dialogues, [str(plan)])
    return {"dialogues": dialogues, "megabytes": report["megabytes"]}


def sizes(store: Path, dialogues: int) -> dict[str, object]:
    """Run the analysis by size over the results of ``run``; the archives have no sizes."""
    from kgbench.analysis.difficulty import sizes as by_size
    from kgbench.scores.selection import select
    from kgbench.store import open_store

    with open_store(str(store)) as opened:
        seconds = _timed(lambda: by_size(opened, select(opened)))
    return {"dialogues": dialogues, "parts": {"sizes": (seconds, "s")}}


STEPS: dict[str, Callable[[Path, int], dict[str, object]]] = {
    "import": import_,
    "analyze": analyze,
    "serve": serve,
    "publish": publish,
    "reevaluate": reevaluate,
    "run": run_,
    "sizes": sizes,
}
OWN = {"run", "sizes"}  # steps over a store without published dialogues


def main(step: str, store: str, dialogues: str) -> None:
    """Run one step and print its measurements."""
    begin = time.perf_counter()
    report = STEPS[step](Path(store), int(dialogues))
    seconds = time.perf_counter() - begin
    own = resource.getrusage(resource.RUSAGE_SELF)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    measured: dict[str, object] = {
        "seconds": seconds,
        "cpu": sum((own.ru_utime, own.ru_stime, children.ru_utime, children.ru_stime)),
        "megabytes": max(own.ru_maxrss, children.ru_maxrss) / 1024,  # of the largest process
        "disk": sum(file.stat().st_size for file in (Path(store) / "data").rglob("*")),
    }
    print(json.dumps(measured | report))


def _some_dialogues(store: Store, wanted: int) -> list[str]:
    """Return at most ``wanted`` dialogues from all parts of a store."""
    from kgbench.record import reading

    names: list[str] = []
    runs = reading.runs(store)
    each = -(-wanted // min(len(runs), 50))
    for run in runs[:: max(1, len(runs) // 50)]:
        in_run = []
        for execution in reading.executions(store, run.graph):
            dialogues = reading.execution_dialogues(store, run.graph, execution, run.iri)
            in_run += [dialogue.iri for dialogue in dialogues]
            if len(in_run) >= each:
                break
        names += in_run[:each]
    return names[:wanted]


def _fetched(url: str) -> float:
    """Return seconds until a page is complete."""

    def fetch() -> None:
        request = urllib.request.Request(url, headers={"Accept": "text/html"})  # noqa: S310 - own
        with urllib.request.urlopen(request) as response:  # noqa: S310 - own
            response.read()

    return _timed(fetch)


def _renamed(content: bytes, copy: int) -> bytes:
    """Return the file under other names of its models; no two copies are the same file."""
    records = json.loads(content)
    for record in records:
        record["modelId"] = f"{record['modelId']}.{copy % _COPIES}"
    return json.dumps(records).encode("utf-8") + b"\n" * copy


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


if __name__ == "__main__":
    main(*sys.argv[1:])
