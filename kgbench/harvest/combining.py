# SPDX-License-Identifier: Apache-2.0
"""One leaderboard from the results of several groups, each read from a store of its own.

Groups are comparable where their models were scored by the same metrics on the same tasks of the
same suite: IRIs of metrics and tasks name versions. Values of one model are pooled where its
answers were extracted by the same steps. What is left out is told with its reason.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

from kgbench.analysis import scores as fetch
from kgbench.analysis.choosing import Score
from kgbench.analysis.declarations import ScoreSet
from kgbench.analysis.histogram import Histogram
from kgbench.analysis.leaderboard import Standing, standings
from kgbench.analysis.selection import FIRST, select
from kgbench.analysis.tables import Column, Kind, Table, Value, ranks
from kgbench.errors import QueryError
from kgbench.harvest import sources
from kgbench.harvest.sources import Harvested
from kgbench.rdf import queries
from kgbench.store import open_reader

COLUMNS = (
    Column("rank", "Rank", Kind.COUNT),
    Column("model", "Model"),
    Column("score", "Score", Kind.SCORE),
    Column("sd", "SD", Kind.SCORE),
    Column("n", "n", Kind.COUNT),
    Column("tasks", "Tasks", Kind.COUNT),
    Column("groups", "Groups", Kind.COUNT),
    Column("sources", "Score by group"),
    Column("apart", "Apart", Kind.SCORE),
    Column("p_differ", "p of difference", Kind.P),
)
_TESTED = (
    "Differences between groups are tested by Welch's test over dialogues as if they were "
    "independent, with Holm's correction over pairs of groups."
)
_NAMED = 3  # tasks and metrics that a note names


@dataclass(frozen=True, slots=True)
class Group:
    """The results of one source within one suite.

    ``cells`` are the scores of models with all tasks, ``steps`` by which answers of each model
    (IRI) were extracted; ``names`` are those of models and tasks.
    """

    source: str
    suite: str
    suite_name: str
    cells: frozenset[Score]
    found: tuple[Standing, ...]
    steps: Mapping[str, frozenset[str]]
    names: Mapping[str, str]


@dataclass(slots=True)
class _Pooled:
    """What groups measured of one model, by the steps of its extraction."""

    parts: dict[str, Standing] = field(default_factory=dict)

    @property
    def standing(self) -> Standing:
        """What all groups together measured."""
        gathered: dict[Score, list[Histogram]] = defaultdict(list)
        for one in self.parts.values():
            for score, histogram in one.parts.items():
                gathered[score].append(histogram)
        first = next(iter(self.parts.values()))
        parts = {score: Histogram.pooled(many) for score, many in gathered.items()}
        return replace(first, parts=parts)


def combined(
    folder: Path, combined_by: ScoreSet, suite: str | None = None, trust: Collection[str] = ()
) -> Table:
    """The leaderboard of the harvested sources in ``folder`` over a score set.

    ``trust`` names the sources to believe (name, address, base or key); without it those count
    that a key vouched for. The score of a model is the mean over scores of the mean over all
    dialogues of all groups. ``apart`` is the largest difference between two groups on a model, and
    ``p_differ`` Welch's test of it (as if dialogues were independent), by Holm's correction over
    the pairs of groups. Raises :class:`~kgbench.errors.QueryError` where nothing is left.
    """
    notes: list[str] = []
    groups: list[Group] = []
    for path, source in _believed(folder, trust, notes):
        groups += _of(path, source, combined_by, suite, notes)
    if not groups:
        raise QueryError("; ".join(notes) or f"no source in {folder} has results")
    chosen = _comparable(groups, suite, notes)
    rows, iris = _rows(chosen, notes)
    return Table(
        title=f"Leaderboard of {_counted(chosen)}: {combined_by.label} ({chosen[0].suite_name})",
        columns=COLUMNS,
        rows=tuple(rows),
        notes=(
            f"Groups: {', '.join(one.source for one in chosen)}.",
            *notes,
            _TESTED,
        ),
        queries=("score-histograms", "answer-extractions"),
        context={
            "suite": chosen[0].suite,
            "score_set": combined_by.name,
            "tasks": len({score.task for score in chosen[0].cells}),
            "groups": len(chosen),
        },
        iris={"model": iris},
    )


def _believed(
    folder: Path, trust: Collection[str], notes: list[str]
) -> Iterator[tuple[Path, Harvested]]:
    """The sources that are to be believed."""
    known = list(sources.every(folder))
    for name in trust:
        if not any(one.is_called(name) for _, one in known):
            there_are = ", ".join(one.name for _, one in known)
            raise QueryError(f"no source is called '{name}'; there are: {there_are}")
    for path, one in known:
        if trust and not any(one.is_called(name) for name in trust):
            notes.append(f"Left out: {one.name}, which --trust does not name.")
        elif not trust and not one.vouched:
            by = "is not signed" if one.signer is None else f"is signed by {one.signer}"
            notes.append(
                f"Left out: {one.name} {by}, and no key was given that vouches for it: name it "
                f"with --trust, or harvest it with --key."
            )
        else:
            yield path, one


def _of(
    path: Path, source: Harvested, combined_by: ScoreSet, suite: str | None, notes: list[str]
) -> Iterator[Group]:
    """The results of a source in each of its suites, or in the one that is named."""
    with open_reader(str(path / "store")) as store:
        suites = [suite] if suite else [str(row[0]) for row in queries.rows(store, "list-suites")]
        for one in suites:
            try:
                selection = select(store, one, FIRST)
            except QueryError as error:
                notes.append(f"Left out: {source.name}: {error}.")
                continue
            tasks = fetch.tasks(store)
            found = [s for s in standings(store, selection, combined_by, tasks) if s.parts]
            if not found:
                continue
            steps: dict[str, set[str]] = defaultdict(set)
            for row in queries.run(
                store, "answer-extractions", runGraph=list(selection.run_graphs)
            ):
                step = row["extraction"]
                steps[row["model"].value].add("" if step is None else step.value)
            models = fetch.models(store)
            metrics = fetch.metrics(store)
            names = {s.model: models.name(s.model) for s in found}
            names |= {iri: f"{task.name} {task.version}" for iri, task in tasks.items()}
            names |= {iri: metric.name for iri, metric in metrics.items()}
            yield Group(
                source=source.name,
                suite=selection.suite,
                suite_name=selection.suite_name,
                cells=frozenset(score for s in found for score in s.parts),
                found=tuple(found),
                steps={model: frozenset(of) for model, of in steps.items()},
                names=names,
            )


def _counted(groups: list[Group]) -> str:
    return "one group" if len(groups) == 1 else f"{len(groups)} groups"


def _comparable(groups: list[Group], suite: str | None, notes: list[str]) -> list[Group]:
    """The groups with the same scores as most others; why others are not among them is noted."""
    names = {one.suite: one.suite_name for one in groups}
    if len(names) > 1 and suite is None:
        told = ", ".join(sorted(names.values()))
        raise QueryError(f"the sources have results in several suites ({told}): name one: --suite")
    alike: dict[frozenset[Score], list[Group]] = defaultdict(list)
    for one in groups:
        alike[one.cells].append(one)
    chosen = max(alike.values(), key=lambda many: (len(many), len(many[0].cells)))
    notes += [
        f"Not comparable: {one.source} {_difference(one, chosen[0])}."
        for one in groups
        if one not in chosen
    ]
    return chosen


def _difference(one: Group, wanted: Group) -> str:
    """Why the scores of a group are not those of another one."""
    words = []
    for verb, more, less in (("has", one, wanted), ("lacks", wanted, one)):
        scores = sorted(more.cells - less.cells)
        told = [
            f"{more.names.get(s.metric, s.metric)} of {more.names.get(s.task, s.task)}"
            for s in scores[:_NAMED]
        ]
        if told:
            rest = f" and {len(scores) - _NAMED} more" if len(scores) > _NAMED else ""
            words.append(f"{verb} {', '.join(told)}{rest}")
    return " and ".join(words)


def _rows(chosen: list[Group], notes: list[str]) -> tuple[list[tuple[Value, ...]], dict[str, str]]:
    """The rows of the table, the best first, and the IRIs of its models."""
    pooled: dict[tuple[str, frozenset[str]], _Pooled] = defaultdict(_Pooled)
    names: dict[str, str] = {}
    for group in chosen:
        for one in group.found:
            names[one.model] = group.names[one.model]
            steps = group.steps.get(one.model, frozenset())
            pooled[one.model, steps].parts[group.source] = one
    several = {m for m in names if sum(model == m for model, _ in pooled) > 1}
    notes += [
        f"{names[model]} stands in several rows: its answers were extracted by different steps."
        for model in sorted(several)
    ]
    made, iris = [], {}
    wanted = len(chosen[0].cells)
    for (model, steps), parts in pooled.items():
        how = ", ".join(sorted(s.rpartition("extraction/")[2] or "whole text" for s in steps))
        name = f"{names[model]} ({how})" if model in several else names[model]
        iris[name] = model
        made.append((name, _measured(parts), len(parts.standing.parts) == wanted))
    made.sort(key=lambda one: (not one[2], -float(one[1][0] or 0), one[0]))
    places = ranks([_score(row[0]) if whole else None for _, row, whole in made])
    rows = [(place, name, *row) for place, (name, row, _) in zip(places, made, strict=True)]
    return rows, iris


def _measured(pooled: _Pooled) -> tuple[Value, ...]:
    """The cells of a model after its name."""
    whole = pooled.standing
    by_group = {source: one.score for source, one in sorted(pooled.parts.items())}
    told = ", ".join(f"{s} {value:.3f}" for s, value in by_group.items() if value is not None)
    scores = [value for value in by_group.values() if value is not None]
    return (
        whole.score,
        whole.sd,
        whole.pooled.n,
        whole.tasks,
        len(by_group),
        told,
        max(scores) - min(scores) if len(scores) > 1 else None,
        _p_differ([one.pooled for one in pooled.parts.values()]),
    )


def _p_differ(parts: Iterable[Histogram]) -> float | None:
    """The least p of Welch's test between two groups, by Holm's correction over all pairs."""
    from scipy import stats  # type: ignore[import-untyped]

    from kgbench.analysis.significance import holm

    found = []
    for one, other in combinations(parts, 2):
        if min(one.n, other.n) < 2:  # noqa: PLR2004 - a variance needs two values
            continue
        if not (one.sd or other.sd):
            found.append(1.0 if one.mean == other.mean else 0.0)
            continue
        test = stats.ttest_ind_from_stats(
            *(one.mean, one.sd, one.n, other.mean, other.sd, other.n), equal_var=False
        )
        found.append(float(test.pvalue))
    corrected = [p for p in holm(found) if p is not None]
    return min(corrected, default=None)


def _score(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None
