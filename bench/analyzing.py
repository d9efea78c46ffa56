# SPDX-License-Identifier: Apache-2.0
"""Every analysis over 45,500 dialogues: from raw evaluations, from what is stored, and in pandas.

The dialogues are recorded ones, multiplied with new identifiers (see :mod:`bench.multiplied`).
Pandas has an environment of its own and gets the same scores as a CSV file.
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
from kgbench.analysis import scores
from kgbench.analysis.characterization import characterization
from kgbench.analysis.compare import compare
from kgbench.analysis.compass import compass_table
from kgbench.analysis.feedback import feedback_gains
from kgbench.analysis.format_preference import format_preference
from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.leaders import leaders
from kgbench.analysis.matching import matches
from kgbench.analysis.outcomes import outcomes
from kgbench.analysis.scaling import scaling
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.sides import sides
from kgbench.analysis.sizes import sizes
from kgbench.analysis.stored_results import basis, store_table, stored_table
from kgbench.analysis.tables import Table
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.store import OwnedStore, open_store
from kgbench.store.protocol import Store

DIALOGUES = 45_500
_GOALS = {"leaderboard": "under 2 s", "every model x task x metric": "under 10 s"}
_STORED = "under 0.05 s"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run() -> list[Result]:
    """The times of all analyses, raw and stored, and what pandas takes for the same aggregates."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        what = source(place / "source")
        count = multiply(place / "source", place / "store", DIALOGUES)
        results, timings = [], {}
        with open_store(str(place / "store")) as store:
            store.optimize()
            chosen = select(store)
            for name, work in analyses(store, chosen).items():
                try:
                    timings[name] = timing = measure(work, warm_up=False)
                except QueryError as error:
                    results.append(Result(name, 0, "", note=f"not in these data: {error}"))
                    continue
                note = f"first {timing.seconds[0]:.2f} s; {count:,} dialogues, {what}"
                results.append(_seconds(name, timing, _GOALS.get(name, ""), note))
                table = work()
                if isinstance(table, Table):
                    again = read_back(store, chosen, name, table)
                    results.append(_seconds(f"{name}, from what is stored", again, _STORED, ""))
            _write(store, chosen, place / "scores.csv")
        return results + _beside_pandas(timings, place / "scores.csv")


def analyses(store: Store, chosen: Selection) -> dict[str, Callable[[], object]]:
    """What ``kgbench analyze`` and ``compare`` compute, by name."""
    models = sorted({model.id for model in scores.models(store).values()})
    a, b = sides(store, models[0], models[-1])
    metrics = list(scores.metrics(store))

    def every() -> dict[scores.Cell, float | None]:
        found = scores.histograms(store, chosen, metrics)
        return {cell: histogram.mean for cell, histogram in found.items()}

    return {
        "leaderboard": lambda: leaderboard(store, chosen),
        "leaderboard with tests and bootstrap": lambda: leaders(store, chosen),
        "tasks": lambda: task_scores(store, chosen),
        "outcomes": lambda: outcomes(store, chosen),
        "format-preference": lambda: format_preference(store, chosen),
        "compass": lambda: compass_table(store, chosen),
        "sizes": lambda: sizes(store, chosen),
        "dialogue": lambda: feedback_gains(store, chosen),
        "scaling": lambda: scaling(store, chosen),
        "characterization": lambda: characterization(store, chosen),
        "compare": lambda: compare(matches(store, chosen, a, b), a, b),
        "every model x task x metric": every,
    }


def read_back(store: OwnedStore, chosen: Selection, name: str, table: Table) -> Timing:
    """What it takes to read back a table that was kept, checks of the stamps included."""

    def wanted() -> Table | None:
        return stored_table(store, basis(store, select(store), name, {}))

    store_table(store, basis(store, chosen, name, {}), table, _NOW)
    assert wanted() is not None
    return measure(wanted, repeat=7, warm_up=True)


def _seconds(what: str, timing: Timing, goal: str, note: str) -> Result:
    spread = f"median of {len(timing.seconds)}, spread {timing.spread:.0%}"
    return Result(what, timing.median, "s", goal=goal, note=f"{spread}; {note}".rstrip("; "))


def _write(store: OwnedStore, chosen: Selection, path: Path) -> None:
    """All scores of the selection as rows of a CSV file."""
    main = {(t.iri, t.main_metric) for t in scores.tasks(store).values()}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("model", "task", "metric", "value", "main"))
        for graph in chosen.pass_graphs:
            for row in queries.run(store, "score-rows", passGraph=graph):
                key = (row["task"].value, row["metric"].value)
                writer.writerow((row["model"].value, *key, row["value"].value, key in main))


def _beside_pandas(timings: dict[str, Timing], path: Path) -> list[Result]:
    try:
        python = peers.binaries("pandas") / "python"
    except subprocess.CalledProcessError:
        return [Result("pandas", 0, "", note="not run: it could not be installed")]
    script = Path(__file__).with_name("pandas_peer.py")
    done = subprocess.run(  # noqa: S603 - fixed words
        [str(python), str(script), str(path)], capture_output=True, text=True, check=True
    )
    said = json.loads(done.stdout)
    took = {name: statistics.median(found) for name, found in said["seconds"].items()}
    against = f"pandas {said['pandas']} in memory, {said['rows']:,} scores"
    results = [Result("pandas reads the scores as CSV", took["read"], "s")]
    for ours, theirs in (
        ("leaderboard", "leaderboard"),
        ("tasks", "tasks"),
        ("every model x task x metric", "every"),
    ):
        timing = timings[ours].median
        results.append(Result(ours, timing / took[theirs], "x", against=against))
        both = took["read"] + took[theirs]
        results.append(Result(ours, timing / both, "x", against="pandas from the file"))
    return results
