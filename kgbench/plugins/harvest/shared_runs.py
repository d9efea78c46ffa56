# SPDX-License-Identifier: Apache-2.0
"""Runs that several sources publish, which count once in a leaderboard.

A published run keeps its id, whatever the base of the publication. Runs with other ids are the same
if their sessions have the same times and they have the same scores: a copy under another name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kgbench.plugins.harvest.sources import HarvestedSource
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.store import open_reader
from kgbench.store.protocol import Store


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A run in the store of a source: its graph, its original passes, and its sessions' times."""

    source: str
    store: Path
    graph: str
    passes: tuple[str, ...]
    sessions: frozenset[tuple[str, str]]

    @property
    def id(self) -> str:
        """The id of the run, the same in all publications."""
        return self.graph.rpartition("/")[2]

    def scores(self) -> frozenset[tuple[Any, ...]]:
        """Read how often each model reached each value of a metric on each task."""
        with open_reader(str(self.store)) as store:
            rows = queries.rows(store, "score-histograms", passGraph=list(self.passes))
            return frozenset(tuple(row) for row in rows)


def uncounted_runs(
    sources: Collection[tuple[Path, HarvestedSource]], notes: list[str]
) -> dict[str, set[str]]:
    """Return the graphs of runs that do not count, by the name of the source; add notes on them.

    Of several publications of a run with the same scores the first one counts. If a run is
    published with different scores, none of them counts.
    """
    uncounted: dict[str, set[str]] = defaultdict(set)
    for runs in _candidates(sources):
        by_scores: dict[frozenset[tuple[Any, ...]], list[PublishedRun]] = defaultdict(list)
        for run in runs:
            by_scores[run.scores()].append(run)
        for first, *others in by_scores.values():
            for other in others:
                uncounted[other.source].add(other.graph)
                notes.append(
                    f"Counted once, for {first.source}: the run {first.id}, which {other.source} "
                    "publishes, too."
                )
        for same_id in _by_id([same[0] for same in by_scores.values()]):
            names = " and ".join(run.source for run in same_id)
            notes.append(
                f"Left out: the run {same_id[0].id}, which {names} publish with different scores: "
                "choose the right one with --trust."
            )
            for run in (run for run in runs if run.id == same_id[0].id):
                uncounted[run.source].add(run.graph)
    return uncounted


def _candidates(
    sources: Collection[tuple[Path, HarvestedSource]],
) -> Iterator[list[PublishedRun]]:
    """Yield runs of several sources that have the same id, or the same times of sessions."""
    by_key: dict[object, list[PublishedRun]] = {}
    groups: list[list[PublishedRun]] = []
    for path, source in sources:
        with open_reader(str(path / "store")) as store:
            runs = list(_runs(path / "store", source.name, store))
        for run in runs:
            group = by_key.get(run.id) or by_key.get(run.sessions)
            if group is None:
                groups.append(group := [])
            group.append(run)
            by_key.setdefault(run.id, group)
            if run.sessions:
                by_key.setdefault(run.sessions, group)
    yield from (group for group in groups if len({run.source for run in group}) > 1)


def _runs(path: Path, source: str, store: Store) -> Iterator[PublishedRun]:
    passes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for _, graph, kind, _, run, run_graph, _ in queries.rows(store, "list-passes"):
        if kind in reading.ORIGINAL:
            passes[str(run), str(run_graph)].append(str(graph))
    if not passes:
        return
    sessions: dict[str, set[tuple[str, str]]] = defaultdict(set)
    run_graphs = [run_graph for _, run_graph in passes]
    for run, _, started, ended, _ in queries.rows(store, "run-sessions", runGraph=run_graphs):
        sessions[str(run)].add((str(started), str(ended)))
    for (run, run_graph), graphs in passes.items():
        yield PublishedRun(source, path, run_graph, tuple(graphs), frozenset(sessions[run]))


def _by_id(runs: list[PublishedRun]) -> Iterator[list[PublishedRun]]:
    """Yield runs with the same id, where there are several."""
    by_id: dict[str, list[PublishedRun]] = defaultdict(list)
    for run in runs:
        by_id[run.id].append(run)
    yield from (same for same in by_id.values() if len(same) > 1)
