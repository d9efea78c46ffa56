# SPDX-License-Identifier: Apache-2.0
"""Analyses behind pages, by name; they run in a worker.

Each takes a snapshot and the parameters of the page, and returns the content of its template in
types that can be pickled. Missing data raise :class:`~kgbench.errors.QueryError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kgbench.analysis import dialogues
from kgbench.analysis.compare import compare
from kgbench.analysis.index import ANALYSES as DECLARED
from kgbench.analysis.leaderboard import leaderboard, standings_table
from kgbench.analysis.matching import Match, matches, sides
from kgbench.analysis.stored_results import basis, stored_or_computed, stored_table
from kgbench.analysis.task_scores import task_scores
from kgbench.pages import contents, runs, score_tables, things
from kgbench.pages.contents import filled_query
from kgbench.pages.score_tables import bar, board, heat_map
from kgbench.pages.things import View, moment
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.record.identity import find_dialogue
from kgbench.scores import catalogue, declared
from kgbench.scores.catalogue import display_names
from kgbench.scores.inference import AVAILABLE, DIALOGUES, find_estimand
from kgbench.scores.selection import ALL, FIRST, LATEST, default_suite, select
from kgbench.scores.selectors import with_left_out_notes
from kgbench.serve.dialogue_lists import all_judged, listed_dialogues, with_text
from kgbench.tables import Table, render

_MANY = (
    "There are too many values to compute intervals for this page; "
    "`kgbench analyze leaderboard --significance --keep` computes and stores them."
)

_MOST_CASES = 50
_LEVEL = 0.05  # of significance
_LEAST_P = 1e-4  # smaller values are not told apart


def _leaderboard(
    view: View, suite: str | None, score_set: str = "main", pass_: str = FIRST
) -> dict[str, Any]:
    """Return the leaderboard of a suite by a score set and a pass, and the scores by task."""
    selection = select(view, suite, pass_)
    combined = declared.score_set(score_set)
    tasks = task_scores(view, selection, estimand=DIALOGUES)
    # The same arguments as `kgbench analyze leaderboard --significance --keep`, to share its table.
    arguments = leaderboard.arguments(set=score_set, significance=True)
    if score_tables.are_many(tasks):
        table = stored_table(view, basis(view, selection, leaderboard, arguments))
        if table is None:
            table = standings_table(view, selection, combined)
            table = replace(table, notes=(*table.notes, _MANY))
    else:
        table = stored_or_computed(view, selection, leaderboard, arguments)
    display = display_names(view)
    order = [str(name) for name in table.column("model")]
    return {
        "board": board(table, display),
        "heat": heat_map(tasks, order, display),
        "described": combined.description,
    }


def _standings(view: View, suite: str | None, model: str | None, task: str | None) -> str:
    """Return the leaderboard as a Markdown table, of models and tasks that match the globs."""
    selection = select(view, suite, tasks=task or ALL, models=model or ALL)
    arguments = leaderboard.arguments(significance=True)
    table = stored_or_computed(view, selection, leaderboard, arguments)
    return render(table, "markdown")


def _transcript(view: View, iri: str) -> dict[str, Any]:
    """Return a dialogue, by IRI, path or short name, as ``kgbench show --json`` prints it."""
    return dialogues.view(view, find_dialogue(view, iri)).as_json()


def _choices(view: View, suite: str | None) -> dict[str, Any]:
    """Return what the forms about a suite offer, with labels: score sets, passes, models, tasks.

    All first passes are one pass_, ``first``. Only models and tasks with dialogues are offered.
    """
    passes = [(FIRST, "First (live or published)"), (LATEST, "Latest of each dialogue")]
    for iri, _, kind, started, _, _, of_suite in queries.rows(view, "list-passes"):
        if of_suite == suite and kind not in reading.ORIGINAL:
            label = str(kind).replace("reevaluation", "Re-evaluation")
            passes.append((str(iri), f"{label} of {moment(started)}"))
    models, tasks = catalogue.models(view), catalogue.tasks(view)
    graphs = [run.graph for run in reading.runs(view) if run.suite == suite]
    executed = [each for graph in graphs for each in reading.executions(view, graph)]
    asked = [models[iri] for iri in {each.model for each in executed} & set(models)]
    given = [tasks[iri] for iri in {each.task for each in executed} & set(tasks)]
    return {
        "sets": declared.score_sets(),
        "passes": passes,
        "models": sorted(((m.iri, m.name, m.shown) for m in asked), key=lambda m: m[2].lower()),
        "tasks": sorted(((task.iri, task.name) for task in given), key=lambda task: task[1]),
    }


def _thing(view: View, iri: str, reveal: bool) -> dict[str, Any]:
    """Return the content of a resource's page, without its statements."""
    _, build = contents.template(things.kinds(view, iri))
    return {} if build is None else build(view, iri, reveal=reveal)


def _table(
    view: View, name: str, arguments: Mapping[str, Any], **selectors: Any
) -> tuple[Table, dict[str, str]]:
    """Return the table of the analysis ``name``, and the display names of models."""
    analysis = DECLARED[name]
    selection = select(view, **selectors)
    table = stored_or_computed(view, selection, analysis, analysis.arguments(**arguments))
    return with_left_out_notes(view, table), display_names(view)


def side_by_side(view: View, suite: str | None, names: Sequence[str]) -> dict[str, Any]:
    """Return the content of the comparison page: the first of ``names`` against the others.

    Raises :class:`~kgbench.errors.QueryError` if a name is unknown or the sides share no task.
    """
    selection = select(view, suite)
    others = names[1:] or names[:1]
    pairs = [sides(view, names[0], other) for other in others]
    first = pairs[0][0]
    values = [matches(view, selection, first, other) for _, other in pairs]
    estimand = find_estimand(AVAILABLE)
    comparisons = [
        {task: of_task.match(estimand) for task, of_task in of_tasks.items()} for of_tasks in values
    ]
    tables = [compare(match, *pair) for match, pair in zip(values, pairs, strict=True)]
    cases = _cases(comparisons)
    differing = sorted(
        (case for case in cases if case["spread"] > 0),
        key=lambda case: (-case["spread"], case["task"], case["case"]),
    )
    return {
        "sides": [(side.iri, side.shown) for side in (first, *(other for _, other in pairs))],
        "cases": differing[:_MOST_CASES],
        "disagreeing": len(differing),
        "compared": len(cases),
        "tasks": _tasks(comparisons),
        "summaries": [
            summary(table, *(side.shown for side in pair))
            for table, pair in zip(tables, pairs, strict=True)
        ],
        "tests": [
            replace(table, context={**table.context, "suite": selection.suite}) for table in tables
        ],
        "queries": [("score-rows", {"suite": selection.suite})],
    }


def _cases(comparisons: Sequence[Mapping[str, Match]]) -> list[dict[str, Any]]:
    """Return each case that all sides have, with their mean scores and the spread of these."""
    rows: dict[str, list[tuple[str, float]]] = {}
    case_of: dict[str, tuple[str, str]] = {}
    for index, of_tasks in enumerate(comparisons):
        for task, match in of_tasks.items():
            for pair in match.pairs:
                a, b = (
                    (answers[0].dialogue, value)
                    for answers, value in zip(pair, pair.means, strict=True)
                )
                row = rows.setdefault(a[0], [a])
                case_of[a[0]] = (task, pair.a[0].case)
                if len(row) == index + 1:  # all previous sides have this case
                    row.append(b)
    complete = (row for row in rows.values() if len(row) == len(comparisons) + 1)
    return [
        {
            "task": case_of[row[0][0]][0],
            "case": case_of[row[0][0]][1],
            "scores": row,
            "spread": max(value for _, value in row) - min(value for _, value in row),
        }
        for row in complete
    ]


def _tasks(comparisons: Sequence[Mapping[str, Match]]) -> list[dict[str, Any]]:
    """Return each side's mean on each shared task, the largest differences first."""
    shared = [task for task in comparisons[0] if all(task in other for other in comparisons)]
    rows = []
    for task in shared:
        of_task = [match[task] for match in comparisons]
        known = [of_task[0].means[0], *(match.means[1] for match in of_task)]
        rows.append(
            {
                "task": task,
                "n": len(of_task[0].compared_rows()[0]),
                "paired": all(match.paired for match in of_task),
                "means": [(mean, bar(mean)) for mean in known],
                "spread": max(known) - min(known),
            }
        )
    return sorted(rows, key=lambda row: (-float(str(row["spread"])), str(row["task"])))


def summary(table: Table, a: str, b: str) -> str:
    """Say in a sentence how A and B compare over all tasks; ``table`` compares them.

    It gives both means, their difference with its interval, and whether it may be due to chance.
    """
    row = table.records()[-1]  # that of all tasks, if there are several
    means = [row["mean_a"], row["mean_b"], row["difference"]]
    if not all(isinstance(mean, float) for mean in means):
        return f"{a} and {b} have no common score."
    mean_a, mean_b, difference = means
    said = f"{a} scores {mean_a:.3f}, {b} {mean_b:.3f}: a difference of {difference:+.3f}"
    if row["ci_low"] is not None:
        said += f" (95 % interval {row['ci_low']:+.3f} to {row['ci_high']:+.3f})"
    p, reason = row["p"], row.get("no_claim")
    if reason or not isinstance(p, float):
        return f"{said}. No claim{f': {reason}' if reason else ' can be tested'}."
    chance = "It may be due to chance" if p >= _LEVEL else "It is hardly due to chance"
    return f"{said}. {chance} (p {'< 0.0001' if p < _LEAST_P else f'= {p:.4f}'})."


ANALYSES: Mapping[str, Callable[..., Any]] = {
    "overview": runs.overview,
    "choices": _choices,
    "suites": runs.suites,
    "default_suite": default_suite,
    "dialogues": listed_dialogues,
    "judged": all_judged,
    "text": with_text,
    "leaderboard": _leaderboard,
    "standings": _standings,
    "table": _table,
    "transcript": _transcript,
    "comparison": side_by_side,
    "thing": _thing,
    "example": filled_query,
}
