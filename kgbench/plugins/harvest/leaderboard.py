# SPDX-License-Identifier: Apache-2.0
"""A leaderboard over the results of several groups, each read from its own store.

Groups are comparable if their models were scored by the same metrics on the same tasks of the same
suite; IRIs of metrics and tasks include versions. Values of one model are pooled if its answers
were extracted by the same steps. A run that several groups publish counts once. The table's notes
say what was left out, and why.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import kgbench.api as kb
from kgbench.analysis.leaderboard import Standing, standings
from kgbench.plugins.harvest import sources
from kgbench.plugins.harvest.sources import HarvestedSource
from kgbench.record import reading
from kgbench.scores import catalogue
from kgbench.scores.declared import ScoreSet
from kgbench.scores.reading import Score
from kgbench.scores.selection import FIRST, select
from kgbench.signing.key_list import KeyList
from kgbench.statistics.histogram import Histogram
from kgbench.store import open_reader
from kgbench.tables import ranks

COLUMNS = (
    kb.Column("rank", "Rank", kb.Kind.COUNT),
    kb.Column("model", "Model"),
    kb.Column("score", "Score", kb.Kind.SCORE),
    kb.Column("sd", "SD", kb.Kind.SCORE),
    kb.Column("n", "n", kb.Kind.COUNT),
    kb.Column("tasks", "Tasks", kb.Kind.COUNT),
    kb.Column("groups", "Groups", kb.Kind.COUNT),
    kb.Column("sources", "Score by group"),
    kb.Column("apart", "Apart", kb.Kind.SCORE),
)
_NAMED = 3  # most tasks and metrics that a note names


@dataclass(frozen=True, slots=True)
class GroupResults:
    """The results of one source within one suite.

    ``cells`` are the scores of models that have all tasks. ``steps`` are the extraction steps of
    the answers of each model (IRI). ``names`` are the names of models and tasks by IRI.
    """

    source: str
    suite: str
    suite_name: str
    cells: frozenset[Score]
    standings: tuple[Standing, ...]
    steps: Mapping[str, frozenset[str]]
    names: Mapping[str, str]


@dataclass(slots=True)
class _Pooled:
    """The results of several groups for one model and its extraction steps; ``parts`` by source."""

    parts: dict[str, Standing] = field(default_factory=dict)

    @property
    def standing(self) -> Standing:
        """The pooled results of all groups."""
        gathered: dict[Score, list[Histogram]] = defaultdict(list)
        for result in self.parts.values():
            for score, histogram in result.parts.items():
                gathered[score].append(histogram)
        first = next(iter(self.parts.values()))
        parts = {score: Histogram.pooled(many) for score, many in gathered.items()}
        return replace(first, parts=parts)


def combined_leaderboard(
    folder: Path, combined_by: ScoreSet, suite: str | None = None, trust: Collection[str] = ()
) -> kb.Table:
    """Return the leaderboard of the harvested sources in ``folder`` over a score set.

    ``trust`` names the sources to include (name, address, base or key); without it, those are
    included that a trusted key vouched for. The score of a model is the mean over scores of the
    mean over all dialogues of all groups. ``apart`` is the largest difference between two groups on
    a model. Raises :class:`~kgbench.errors.QueryError` if nothing is left.
    """
    notes: list[str] = []
    groups: list[GroupResults] = []
    trusted = list(_trusted_sources(folder, trust, notes))
    uncounted = uncounted_runs(trusted, notes)
    for path, source in trusted:
        without = uncounted.get(source.name, ())
        groups += _source_groups(path, source, combined_by, suite, without=without, notes=notes)
    if not groups:
        raise kb.QueryError("; ".join(notes) or f"no source in {folder} has results")
    comparable = _comparable(groups, suite, notes)
    rows, iris = _rows(comparable, notes)
    first = comparable[0]
    number = "one group" if len(comparable) == 1 else f"{len(comparable)} groups"
    return kb.Table(
        title=f"Leaderboard of {number}: {combined_by.label} ({first.suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            f"Groups: {', '.join(group.source for group in comparable)}.",
            *notes,
        ),
        queries=("score-histograms", "answer-extractions"),
        context={
            "suite": first.suite,
            "score_set": combined_by.name,
            "tasks": len({score.task for score in first.cells}),
            "groups": len(comparable),
        },
    ).with_iris({"model": iris})


def _trusted_sources(
    folder: Path, trust: Collection[str], notes: list[str]
) -> Iterator[tuple[Path, HarvestedSource]]:
    """Yield the trusted sources with their folders; add a note for each of the others."""
    known = list(sources.all_sources(folder))
    for name in trust:
        if not any(source.is_called(name) for _, source in known):
            there_are = ", ".join(source.name for _, source in known)
            raise kb.QueryError(f"no source is called '{name}'; there are: {there_are}")
    vouched = [source for _, source in known if source.vouched]
    revoked = {entry.key for source in vouched for entry in KeyList(source.keys).revoked}
    for path, source in known:
        if trust and not any(source.is_called(name) for name in trust):
            notes.append(f"Left out: {source.name}, which --trust does not name.")
        elif not trust and not source.vouched:
            notes.append(
                f"Left out: {source.name} is {source.trust}: name it with --trust, or harvest it "
                "with --key."
            )
        elif not trust and source.signer in revoked:
            notes.append(
                f"Left out: {source.name} is {source.trust}, but a trusted source has revoked that "
                "key: harvest it with its publisher's new key, or name it with --trust."
            )
        else:
            yield path, source


def _source_groups(
    path: Path,
    source: HarvestedSource,
    combined_by: ScoreSet,
    suite: str | None,
    *,
    without: Collection[str],
    notes: list[str],
) -> Iterator[GroupResults]:
    """Yield the results of a source for each of its suites, or only for ``suite``.

    ``without`` are the graphs of runs that do not count.
    """
    with open_reader(str(path / "store")) as store:
        suites = [suite] if suite else [str(row[0]) for row in kb.query_rows(store, "list-suites")]
        for suite_iri in suites:
            try:
                selection = _without(store, select(store, suite_iri, FIRST), without)
            except kb.QueryError as error:
                notes.append(f"Left out: {source.name}: {error}.")
                continue
            if not selection.pass_graphs:
                continue
            tasks = catalogue.tasks(store)
            results = [s for s in standings(store, selection, combined_by, tasks) if s.parts]
            if not results:
                continue
            steps: dict[str, set[str]] = defaultdict(set)
            for row in kb.run_query(
                store, "answer-extractions", runGraph=list(selection.run_graphs)
            ):
                step = row["extraction"]
                steps[row["model"].value].add("" if step is None else step.value)
            models = catalogue.models(store)
            metrics = catalogue.metrics(store)
            names = {s.model: models.name(s.model) for s in results}
            names |= {iri: f"{task.name} {task.version}" for iri, task in tasks.items()}
            names |= {iri: metric.name for iri, metric in metrics.items()}
            yield GroupResults(
                source=source.name,
                suite=selection.suite,
                suite_name=selection.suite_name,
                cells=frozenset(score for s in results for score in s.parts),
                standings=tuple(results),
                steps={model: frozenset(of) for model, of in steps.items()},
                names=names,
            )


def _without(store: kb.Store, selection: kb.Selection, runs: Collection[str]) -> kb.Selection:
    excluded = {str(row[1]) for row in kb.query_rows(store, "list-passes") if str(row[5]) in runs}
    return replace(
        selection,
        pass_graphs=tuple(graph for graph in selection.pass_graphs if graph not in excluded),
        run_graphs=tuple(graph for graph in selection.run_graphs if graph not in runs),
    )


def _comparable(
    groups: list[GroupResults], suite: str | None, notes: list[str]
) -> list[GroupResults]:
    """Return the largest set of groups with the same scores; note why others are not comparable."""
    names = {group.suite: group.suite_name for group in groups}
    if len(names) > 1 and suite is None:
        suite_names = ", ".join(sorted(names.values()))
        raise kb.QueryError(
            f"the sources have results of several suites ({suite_names}): use --suite"
        )
    by_cells: dict[frozenset[Score], list[GroupResults]] = defaultdict(list)
    for group in groups:
        by_cells[group.cells].append(group)
    chosen = max(
        by_cells.values(), key=lambda candidates: (len(candidates), len(candidates[0].cells))
    )
    notes += [
        f"Not comparable: {group.source} {_difference(group, chosen[0])}."
        for group in groups
        if group not in chosen
    ]
    return chosen


def _difference(group: GroupResults, reference: GroupResults) -> str:
    words = []
    for verb, more, less in (("has", group, reference), ("lacks", reference, group)):
        scores = sorted(more.cells - less.cells)
        examples = [
            f"{more.names.get(s.metric, s.metric)} of {more.names.get(s.task, s.task)}"
            for s in scores[:_NAMED]
        ]
        if examples:
            remaining = f" and {len(scores) - _NAMED} more" if len(scores) > _NAMED else ""
            words.append(f"{verb} {', '.join(examples)}{remaining}")
    return " and ".join(words)


def _rows(
    chosen: list[GroupResults], notes: list[str]
) -> tuple[list[tuple[kb.Value, ...]], dict[str, str]]:
    pooled: dict[tuple[str, frozenset[str]], _Pooled] = defaultdict(_Pooled)
    names: dict[str, str] = {}
    for group in chosen:
        for standing in group.standings:
            model = standing.model
            names[model] = group.names[model]
            pooled[model, group.steps.get(model, frozenset())].parts[group.source] = standing
    several = {m for m in names if sum(model == m for model, _ in pooled) > 1}
    notes += [
        f"{names[model]} has several rows: its answers were extracted by different steps."
        for model in sorted(several)
    ]
    entries, iris = [], {}
    number_of_scores = len(chosen[0].cells)
    for (model, steps), parts in pooled.items():
        how = ", ".join(sorted(s.rpartition("extraction/")[2] or "whole text" for s in steps))
        name = f"{names[model]} ({how})" if model in several else names[model]
        iris[name] = model
        standing = parts.standing
        is_complete = len(standing.parts) == number_of_scores
        entries.append((name, _cells(parts), standing.score, is_complete))
    entries.sort(key=lambda entry: (not entry[3], -(entry[2] or 0), entry[0]))
    row_ranks = ranks([score if is_complete else None for *_, score, is_complete in entries])
    rows = [(rank, name, *row) for rank, (name, row, *_) in zip(row_ranks, entries, strict=True)]
    return rows, iris


def _cells(pooled: _Pooled) -> tuple[kb.Value, ...]:
    standing = pooled.standing
    by_group = {source: part.score for source, part in sorted(pooled.parts.items())}
    scores_text = ", ".join(
        f"{s} {value:.3f}" for s, value in by_group.items() if value is not None
    )
    scores = [value for value in by_group.values() if value is not None]
    return (
        standing.score,
        standing.sd,
        standing.pooled.n,
        standing.tasks,
        len(by_group),
        scores_text,
        max(scores) - min(scores) if len(scores) > 1 else None,
    )


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """A run in the store of a source: its graph, and its original passes."""

    source: str
    store: Path
    graph: str
    passes: tuple[str, ...]

    def scores(self) -> frozenset[tuple[Any, ...]]:
        """Read how often each model reached each value of a metric on each task."""
        with open_reader(str(self.store)) as store:
            rows = kb.query_rows(store, "score-histograms", passGraph=list(self.passes))
            return frozenset(tuple(row) for row in rows)


def uncounted_runs(
    sources: Collection[tuple[Path, HarvestedSource]], notes: list[str]
) -> dict[str, set[str]]:
    """Return the graphs of runs that do not count, by the name of the source; add notes on them.

    Of several publications of a run with the same scores the first one counts. If a run is
    published with different scores, none of them counts.
    """
    by_id: dict[str, list[PublishedRun]] = defaultdict(list)
    for path, source in sources:
        with open_reader(str(path / "store")) as store:
            for run in _runs(path / "store", source.name, store):
                by_id[run.graph.rpartition("/")[2]].append(run)
    uncounted: dict[str, set[str]] = defaultdict(set)
    for name, (first, *others) in by_id.items():
        names = ", ".join(run.source for run in others)
        if not others:
            continue
        if len({run.scores() for run in (first, *others)}) > 1:
            notes.append(
                f"Left out: the run {name}, which {first.source} and {names} publish with "
                "different scores: choose the right one with --trust."
            )
            others.append(first)
        else:
            notes.append(
                f"Counted once, for {first.source}: the run {name}, also published by {names}."
            )
        for run in others:
            uncounted[run.source].add(run.graph)
    return uncounted


def _runs(path: Path, source: str, store: kb.Store) -> Iterator[PublishedRun]:
    passes: dict[str, list[str]] = defaultdict(list)
    for _, graph, kind, _, _, run_graph, _ in kb.query_rows(store, "list-passes"):
        if kind in reading.ORIGINAL:
            passes[str(run_graph)].append(str(graph))
    for run_graph, graphs in passes.items():
        yield PublishedRun(source, path, run_graph, tuple(graphs))
