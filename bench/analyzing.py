# SPDX-License-Identifier: Apache-2.0
"""Every analysis over 45,500 dialogues: from raw evaluations, from stored tables, in pandas.

Recorded dialogues are copied under new identifiers (see :mod:`bench.multiplied`). Pandas runs in a
separate environment and reads the same scores from a CSV file.
"""

from __future__ import annotations

import csv
import json
import statistics
import subprocess
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from bench import peers
from bench.harness import Result, Timing, measure
from bench.multiplied import multiply, source
from kgbench.analysis.compare import compare
from kgbench.analysis.compass import compass_table
from kgbench.analysis.difficulty import sizes
from kgbench.analysis.feedback import feedback
from kgbench.analysis.format_preference import format_preference
from kgbench.analysis.index import ANALYSES
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches, sides
from kgbench.analysis.outcomes import outcomes
from kgbench.analysis.stored_results import basis, store_table, stored_table
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.plugins.papers.scaling import scaling
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.reading import Score, histograms
from kgbench.scores.selection import Selection, select
from kgbench.store import OwnedStore, open_store
from kgbench.store.protocol import Store
from kgbench.tables import Table

DIALOGUES = 45_500
_GOALS = {"leaderboard": "under 2 s", "every model x task x metric": "under 10 s"}
_STORED = "under 0.05 s"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run() -> list[Result]:
    """Return times of all analyses, raw and stored, and of the same aggregates in pandas."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        origin = source(folder / "source")
        count = multiply(folder / "source", folder / "store", DIALOGUES)
        results, timings = [], {}
        with open_store(str(folder / "store")) as store:
            store.optimize()
            selection = select(store)
            for name, work in analyses(store, selection).items():
                try:
                    timings[name] = timing = measure(work, warm_up=False)
                except QueryError as error:
                    results.append(Result(name, 0, "", note=f"not in these data: {error}"))
                    continue
                note = f"first {timing.seconds[0]:.2f} s; {count:,} dialogues, {origin}"
                results.append(_seconds(name, timing, _GOALS.get(name, ""), note))
                table = work()
                if isinstance(table, Table) and name in ANALYSES:
                    reading = read_back(store, selection, name, table)
                    results.append(_seconds(f"{name}, from what is stored", reading, _STORED, ""))
            _write(store, selection, folder / "scores.csv")
        return results + _compare_with_pandas(timings, folder / "scores.csv")


def analyses(store: Store, selection: Selection) -> dict[str, Callable[[], object]]:
    """Return the analyses of ``kgbench analyze`` and ``compare``, by name."""
    models = sorted({model.id for model in catalogue.models(store).values()})
    a, b = sides(store, models[0], models[-1])
    scores = [Score(t, m) for t in catalogue.tasks(store) for m in catalogue.metrics(store)]

    def every() -> dict[tuple[str, Score], float | None]:
        read = histograms(store, selection, scores)
        return {(m, s): found.mean for m, by_score in read.items() for s, found in by_score.items()}

    return {
        "leaderboard": lambda: leaderboard(store, selection),
        "leaderboard with tests": lambda: leaders(store, selection),
        "tasks": lambda: task_scores(store, selection),
        "outcomes": lambda: outcomes(store, selection),
        "format-preference": lambda: format_preference(store, selection),
        "compass": lambda: compass_table(store, selection),
        "sizes": lambda: sizes(store, selection),
        "dialogue": lambda: feedback(store, selection),
        "scaling": lambda: scaling(store, selection),
        "compare": lambda: compare(matches(store, selection, a, b), a, b),
        "every model x task x metric": every,
    }


def read_back(store: OwnedStore, selection: Selection, name: str, table: Table) -> Timing:
    """Time to read back a stored table, including the checks of its stamps."""
    analysis = ANALYSES[name]

    def read() -> Table | None:
        return stored_table(store, basis(store, select(store), analysis, {}))

    store_table(store, basis(store, selection, analysis, {}), table, _NOW)
    assert read() is not None
    return measure(read, repeat=7, warm_up=True)


def _seconds(what: str, timing: Timing, goal: str, note: str) -> Result:
    spread = f"median of {len(timing.seconds)}, spread {timing.spread:.0%}"
    return Result(what, timing.median, "s", goal=goal, note=f"{spread}; {note}".rstrip("; "))


def _write(store: OwnedStore, selection: Selection, path: Path) -> None:
    """Write all scores of the selection as rows of a CSV file."""
    main = {(t.iri, t.main_metric) for t in catalogue.tasks(store).values()}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("model", "task", "metric", "value", "main"))
        for graph in selection.pass_graphs:
            for row in queries.run(store, "score-rows", passGraph=graph):
                key = (row["task"].value, row["metric"].value)
                writer.writerow((row["model"].value, *key, row["value"].value, key in main))


def _compare_with_pandas(timings: dict[str, Timing], path: Path) -> list[Result]:
    try:
        python = peers.binaries("pandas") / "python"
    except subprocess.CalledProcessError:
        return [Result("pandas", 0, "", note="not run: pandas could not be installed")]
    script = Path(__file__).with_name("pandas_peer.py")
    process = subprocess.run(  # noqa: S603 - fixed command
        [str(python), str(script), str(path)], capture_output=True, text=True, check=True
    )
    report = json.loads(process.stdout)
    seconds = {name: statistics.median(times) for name, times in report["seconds"].items()}
    against = f"pandas {report['pandas']} in memory, {report['rows']:,} scores"
    results = [Result("pandas reads the scores as CSV", seconds["read"], "s")]
    for ours, theirs in (
        ("leaderboard", "leaderboard"),
        ("tasks", "tasks"),
        ("every model x task x metric", "every"),
    ):
        timing = timings[ours].median
        results.append(Result(ours, timing / seconds[theirs], "x", against=against))
        both = seconds["read"] + seconds[theirs]
        results.append(Result(ours, timing / both, "x", against="pandas from the file"))
    return results
