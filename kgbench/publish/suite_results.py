# SPDX-License-Identifier: Apache-2.0
"""Results by suite: leaderboard, scores by task, compasses, counts of outcomes.

Tables are computed once for all models; pages show their rows of them. Names in tables are scrubbed
like all published texts, and each table records the queries that it was computed from.
"""

from __future__ import annotations

import contextlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import pyoxigraph as ox

from kgbench.analysis import scores as fetch
from kgbench.analysis.compass import compass_of, compass_table, find_compass
from kgbench.analysis.leaderboard import leaders
from kgbench.analysis.outcome_counts import Ending, answer_endings
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import drawing, exercises, neighbours, things
from kgbench.pages.board import Board, board
from kgbench.pages.score_tables import results
from kgbench.pages.snapshot import View
from kgbench.pages.tables import Sheet, sheet
from kgbench.publish.addresses import Addresses
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.query_texts import CachingStore, QueryRecorder, query_files
from kgbench.publish.selection import PublishedParts
from kgbench.store.iris import slug
from kgbench.vocab import KGB, RDFS, SKOS

_MODEL = ox.NamedNode(KGB.model)
BOARD, TASKS, _OUTCOMES, COMPASS = "leaderboard", "tasks", "outcomes", "compass-"


@dataclass(frozen=True)
class SuiteResults:
    """The results within one suite.

    ``tables`` are by kind (``leaderboard``, ``tasks``, ``compass-NAME``). ``queries`` has, for each
    kind, the names of its queries by their paths, and ``texts`` the texts of all by their paths.
    ``endings`` counts answers by model and ending. ``passes`` has the graphs of the selected
    passes that evaluate each model (published IRIs).
    """

    suite: str
    name: str
    label: str
    selection: Selection
    tables: dict[str, Table] = field(default_factory=dict)
    queries: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    endings: dict[str, Counter[Ending]] = field(default_factory=dict)
    passes: dict[str, set[str]] = field(default_factory=dict)
    _rows: dict[tuple[str, str], dict[Value, list[tuple[Value, ...]]]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of the suite in paths."""
        return slug(self.name)

    def document(self, base: str) -> str:
        """Return the IRI of the document with the suite's tables, which is also its page."""
        return f"{base}leaderboard/{self.slug}"

    def cube(self, base: str, kind: str) -> str:
        """Return the IRI of a table as a data cube."""
        return f"{self.document(base)}#{kind}"

    @cached_property
    def board(self) -> Board | None:
        """The leaderboard, with models as the tables name them."""
        table = self.tables.get(BOARD)
        return None if table is None else board(table, {}, None)

    def part(self, kind: str, column: str, value: str) -> Table | None:
        """Return the rows of one model or task in a table, or ``None`` if there are none."""
        table = self.tables.get(kind)
        if table is None or column not in table.names:
            return None
        rows = self._rows.get((kind, column))
        if rows is None:  # grouped once, for the pages of all models or tasks
            rows = self._rows[kind, column] = defaultdict(list)
            index = table.names.index(column)
            for row in table.rows:
                rows[row[index]].append(row)
        return replace(table, rows=tuple(rows[value])) if value in rows else None


class ResultsBuilder:
    """Computes the results of the published runs."""

    def __init__(
        self,
        view: View,
        parts: PublishedParts,
        addresses: Addresses,
        outgoing: QuadRedactor,
    ) -> None:
        self._view = view
        self.catalogue = CachingStore(view)
        self._parts = parts
        self._addresses = addresses
        self._outgoing = outgoing

    def standing(self, suite: str) -> SuiteResults | None:
        """Return the results of a suite (IRI); ``None`` if it has dialogues, but no pass yet."""
        name = things.text(self._view, suite, SKOS.notation) or suite
        label = self._outgoing.clean(things.text(self._view, suite, RDFS.label) or name)
        try:
            selection = self.selected(suite)
        except QueryError:
            return None
        results = SuiteResults(suite, name, label, selection)
        self._add_table(results, BOARD, leaders)
        self._add_table(results, TASKS, task_scores)
        for name_of_compass in self._compasses():
            self._add_table(
                results, f"{COMPASS}{name_of_compass}", partial(_compass, name_of_compass)
            )
        self._count_outcomes(results)
        self._find_passes(results)
        return results

    def selected(self, suite: str, run: str | None = None) -> Selection:
        """Return the selected scores of the published runs, or of one ``run`` (IRI).

        Raises :class:`~kgbench.errors.QueryError` if there are dialogues, but no pass yet.
        """
        selection = select(self._view, suite, run=run)
        graphs = self._parts.graphs
        return replace(
            selection,
            pass_graphs=tuple(g for g in selection.pass_graphs if g in graphs),
            run_graphs=tuple(g for g in selection.run_graphs if g in graphs),
        )

    def _add_table(
        self, results: SuiteResults, kind: str, compute: Callable[[Any, Selection], Table]
    ) -> None:
        recording = QueryRecorder(self.catalogue)
        with contextlib.suppress(QueryError):  # the suite lacks the tasks of this table
            table = compute(recording.store(), results.selection)
            if table.rows:
                results.tables[kind] = self.clean_table(table)
                self._keep_queries(results, kind, recording)

    def _count_outcomes(self, results: SuiteResults) -> None:
        recording = QueryRecorder(self.catalogue)
        selection = results.selection
        counts = answer_endings(recording.store(), selection.pass_graphs, latest=selection.latest)
        for (model, _), endings in counts.items():
            results.endings.setdefault(model, Counter()).update(endings)
        self._keep_queries(results, _OUTCOMES, recording)

    def _find_passes(self, results: SuiteResults) -> None:
        database, selected = self._view.database, set(results.selection.pass_graphs)
        for run in self._parts.runs:
            models: set[Any] = {
                quad.object
                for execution in neighbours.of_run(database, ox.NamedNode(run.run))
                for quad in database.quads_for_pattern(execution, _MODEL, None)
            }
            for graph in (graph for _, graph in run.passes if graph in selected):
                for model in models:
                    evaluated = database.quads_for_pattern(None, _MODEL, model, ox.NamedNode(graph))
                    if next(iter(evaluated), None) is not None:
                        passes = results.passes.setdefault(self.published(model.value), set())
                        passes.add(self.published(graph))

    def _keep_queries(self, results: SuiteResults, kind: str, recording: QueryRecorder) -> None:
        files = query_files(recording.queries, self._addresses.published)
        results.queries[kind] = {path: name for path, (name, _) in files.items()}
        results.texts.update((path, text) for path, (_, text) in files.items())

    def _compasses(self) -> list[str]:
        compasses = things.instances(self._view, KGB.Compass)
        return sorted(filter(None, (things.text(self._view, c, SKOS.notation) for c in compasses)))

    def clean_table(self, table: Table) -> Table:
        """Return the table with all texts in their published form."""
        cleaned = self.cleaned
        return replace(
            table,
            rows=tuple(
                tuple(cleaned(v) if isinstance(v, str) else v for v in r) for r in table.rows
            ),
            notes=tuple(map(self._outgoing.clean, table.notes)),
            reason=None if table.reason is None else self._outgoing.clean(table.reason),
        ).with_iris(
            {
                column: {cleaned(name): iri for name, iri in iris.items()}
                for column, iris in table.iris.items()
            }
        )

    def published(self, iri: str) -> str:
        """Return the published IRI of what the store calls ``iri``."""
        return self._outgoing.node(iri).value

    def cleaned(self, text: str) -> str:
        """Return the published form of a name in a table; different names stay different."""
        if text.startswith(self._addresses.store):
            return self._addresses.published(text)
        return self._outgoing.model_name(text)


def names(view: View, measuring: ResultsBuilder) -> dict[str, str]:
    """Return the IRIs of models and tasks by the names that tables show."""
    from kgbench.pages import contents

    return {measuring.cleaned(name): iri for name, iri in contents.names(view).items()}


def as_sheet(
    results: SuiteResults, kind: str, table: Table, iris_by_name: Mapping[str, str], **options: str
) -> Sheet:
    """Return a table for a page, with the exact queries behind it."""
    named = table.with_iris(dict.fromkeys(table.names, iris_by_name))
    rendered = sheet(named, results.suite, **options)
    return rendered._replace(queries=filled_links(results.queries[kind]))


def filled_links(paths: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Return queries (names by path) in the form that pages link: each name with its path."""
    return [(name, {"path": path}) for path, name in paths.items()]


def of_model(
    suite_results: SuiteResults, name: str, iri: str, iris_by_name: Mapping[str, str]
) -> dict[str, Any] | None:
    """Return the results of a model in one suite, or ``None`` if it has none."""
    table = suite_results.part(TASKS, "model", name)
    if table is None:
        return None
    scores = as_sheet(suite_results, TASKS, table, iris_by_name, hide="model")
    spokes = []
    compass_kind = drawn_compass(suite_results)
    if compass_kind is not None:
        axes = suite_results.part(compass_kind, "model", name)
        records = [] if axes is None else axes.records()
        spokes = drawing.spokes([(str(r["label"]), _number(r["mean"])) for r in records])
    leaderboard = suite_results.board
    outcomes = _outcomes(suite_results.endings.get(iri, {}))
    return {
        "suite": suite_results.suite,
        "label": suite_results.label,
        "name": name,
        "facts": [] if leaderboard is None else list(_facts(leaderboard, name)),
        "results": results(table, {}, "task"),
        "sheet": scores,
        "boxes": [drawing.box(record) for record in scores.records],
        "spokes": spokes,
        "outline": drawing.outline(spokes),
        "compass_queries": []
        if compass_kind is None
        else list(suite_results.queries[compass_kind].items()),
        "outcomes": as_sheet(suite_results, _OUTCOMES, outcomes, iris_by_name)
        if outcomes.rows
        else None,
    }


def of_task(
    suite_results: SuiteResults,
    name: str,
    iris_by_name: Mapping[str, str],
    display: Mapping[str, str],
) -> dict[str, Any] | None:
    """Return the results of one task in one suite; ``display`` has the display names of models."""
    table = suite_results.part(TASKS, "task", name)
    if table is None:
        return None
    context = exercises.of_suite(table, display, suite_results.suite, suite_results.label)
    return {**context, "sheet": as_sheet(suite_results, TASKS, table, iris_by_name, hide="task")}


def of_suite(suite_results: SuiteResults | None, view: View, suite: str) -> dict[str, Any]:
    """Return the context of a suite's page, with the exact queries behind its results."""
    table = None if suite_results is None else suite_results.tables.get(TASKS)
    context = exercises.of_tasks(view, suite, table, fetch.tasks(view).values())
    if suite_results is not None and context["heat"] is not None:
        context["heat"] = context["heat"]._replace(
            queries=filled_links(suite_results.queries[TASKS])
        )
    return {
        **context,
        "board": None if suite_results is None else f"leaderboard/{suite_results.slug}/",
    }


def drawn_compass(results: SuiteResults) -> str | None:
    """Return the compass on pages of models: that of the suite, or else any that has results."""
    kinds = [kind for kind in results.tables if kind.startswith(COMPASS)]
    preferred = f"{COMPASS}{compass_of(results.selection.suite).name}"
    return preferred if preferred in kinds else next(iter(kinds), None)


def _compass(name: str, store: Any, selection: Selection) -> Table:
    return compass_table(store, selection, find_compass(name))


def _facts(leaderboard: Board, name: str) -> Iterator[tuple[str, str]]:
    """Yield titles and values of what the leaderboard says about a model."""
    entry = next((row for row in leaderboard.places if row["model"] == name), None)
    if entry is None or entry["score"] is None:
        return
    ranked = sum(row["rank"] is not None for row in leaderboard.places)
    yield "Rank", "none" if entry["rank"] is None else f"{entry['rank']} of {ranked}"
    yield "Score", f"{entry['score']:.3f}"
    if entry["ci_low"] is not None and entry["ci_high"] is not None:
        about = "" if leaderboard.about is None else f" ({leaderboard.about})"
        yield "95 % interval", f"{entry['ci_low']:.3f} to {entry['ci_high']:.3f}{about}"
    yield "Tasks", f"{entry['tasks']} of {leaderboard.tasks}"
    yield "Scores", f"{entry['n']:,}"
    if entry["unreadable"] is not None:
        yield "Unreadable", f"{100 * entry['unreadable']:.1f} %"
    for title, count in (("Failed", entry["failed"]), ("Not judged", entry["not_judged"])):
        if count:
            yield title, f"{count:,}"


def _outcomes(endings: Mapping[Ending, int]) -> Table:
    total = sum(endings.values())
    counts = [(ending.words, count) for ending, count in endings.items()]
    rows: list[tuple[Value, ...]] = [
        (words, count, count / total)
        for words, count in sorted(counts, key=lambda item: (-item[1], item[0]))
    ]
    return Table(
        "Outcomes of answers",
        (
            Column("outcome", "Outcome"),
            Column("count", "Answers", Kind.COUNT),
            Column("share", "Share", Kind.SHARE),
        ),
        tuple(rows),
    )


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None
