# SPDX-License-Identifier: Apache-2.0
"""The same answers under several comparison policies: means, ranks, and where they differ.

Read are the last passes of each policy over each run (``kgbench reevaluate --policy NAME``). Of a
dialogue with several answers the last one counts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kgbench.analysis import scores as fetch
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.policies.means import mean, unanswered
from kgbench.policies.policy import Policy, policies
from kgbench.rdf import queries
from kgbench.store.protocol import Store

_TOLERANCE = 1e-9
_LONGEST_QUERY = 200  # characters that a cell of a table shows
_NONE = (
    "no pass by a comparison policy judges these dialogues: 'kgbench reevaluate --policy NAME' "
    "makes one"
)


@dataclass(slots=True)
class Judged:
    """One answer under one policy: its scores by short name, and what the judge noted."""

    scores: dict[str, float] = field(default_factory=dict)
    infos: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _About:
    """A dialogue: its model and task (IRIs) and its case."""

    model: str
    task: str
    case: str


_ByPolicy: TypeAlias = dict[str, dict[str, Judged]]
"""Answers by policy and dialogue."""


def ranks(store: Store, selection: Selection) -> Table:
    """For each model its mean and rank under each policy, best under the first policy first.

    Means follow the rule of each policy. Dialogues that ended without an answer count as each
    policy says; those that a policy gives no score are left out of its mean, and a note says so. A
    model has no mean under a policy that has not judged all its other dialogues.
    """
    judged, about = read(store, selection)
    known = [policy for name, policy in policies().items() if name in judged]
    models = fetch.models(store)
    missing = _missing(store, selection)
    of_models = sorted({one.model for one in about.values()})
    notes: list[str] = [] if known else [_NONE]
    means: dict[str, dict[str, float]] = {}
    counts = _counts(store, selection)
    for policy in known:
        means[policy.name] = {}
        for model in of_models:
            answers = [a for d, a in judged[policy.name].items() if about[d].model == model]
            scored = [one for one in answers if one.scores]
            lacking = missing.get(model, 0)
            scores = [one.scores for one in scored] + [unanswered(policy)] * lacking
            ordered = [bool(one.infos.get("ordered")) for one in scored] + [False] * lacking
            if len(answers) + lacking < counts[model]:
                notes.append(
                    f"{policy.name} has judged {len(answers)} of {counts[model] - lacking} answers "
                    f"of {models.name(model)}"
                )
                continue
            if len(scored) < len(answers):
                notes.append(
                    f"{policy.name} gives {len(answers) - len(scored)} answers of "
                    f"{models.name(model)} no score"
                )
            if scores:
                means[policy.name][model] = mean(policy, scores, ordered)[policy.main]
    placed = {name: _ranks(found) for name, found in means.items()}
    order = sorted(of_models, key=lambda model: _order(model, known, placed, models.name(model)))
    rows = tuple(
        (
            models.name(model),
            counts[model],
            *(
                cell
                for policy in known
                for cell in (means[policy.name].get(model), placed[policy.name].get(model))
            ),
        )
        for model in order
    )
    columns = (
        Column("model", "Model"),
        Column("n", "n", Kind.COUNT),
        *(
            column
            for policy in known
            for column in (
                Column(policy.name, policy.label, Kind.SCORE),
                Column(f"{policy.name}_rank", f"Rank ({policy.label})", Kind.COUNT),
            )
        ),
    )
    return Table(
        "Ranks under comparison policies",
        columns,
        rows,
        notes=tuple(notes),
        queries=(
            *("policy-passes", "policy-verdicts", "score-rows"),
            *("dialogue-counts", "failed-dialogues"),
        ),
        context=selection.context,
        iris={"model": {models.name(model): model for model in of_models}},
    )


def cells(store: Store, selection: Selection) -> Table:
    """The answers that policies score differently, with the query and the reason of each policy.

    Those with the greatest difference come first.
    """
    judged, about = read(store, selection)
    known = [policy for name, policy in policies().items() if name in judged]
    tasks, models = fetch.tasks(store), fetch.models(store)
    found: list[tuple[float, tuple[Value, ...]]] = []
    for dialogue, where in about.items():
        answers = {p.name: judged[p.name].get(dialogue, Judged()) for p in known}
        values = [answers[p.name].scores.get(p.main) for p in known]
        given = [value for value in values if value is not None]
        spread = max(given, default=0.0) - min(given, default=0.0)
        if spread <= _TOLERANCE:
            continue
        row = (
            tasks[where.task].name,
            where.case.rpartition("/")[2],
            models.name(where.model),
            dialogue.removeprefix(store.iris.base),
            *values,
            _query(answers.values()),
            "; ".join(
                f"{name}: {one.infos['reason']}" for name, one in answers.items() if one.infos
            ),
        )
        found.append((spread, row))
    found.sort(key=lambda item: (-item[0], item[1][:4]))
    columns = (
        *(Column("task", "Task"), Column("case", "Case"), Column("model", "Model")),
        Column("dialogue", "Dialogue"),
        *(Column(policy.name, policy.label, Kind.SCORE) for policy in known),
        *(Column("answer", "Answer"), Column("reasons", "Reasons")),
    )
    return Table(
        "Answers that comparison policies score differently",
        columns,
        tuple(row for _, row in found),
        notes=() if known else (_NONE,),
        queries=("policy-passes", "policy-verdicts", "score-rows"),
        context=selection.context,
    )


def read(store: Store, selection: Selection) -> tuple[_ByPolicy, dict[str, _About]]:
    """The last answer of every dialogue under every policy that judged it."""
    judged: _ByPolicy = {}
    about: dict[str, _About] = {}
    for policy, graphs in _passes(store, selection):
        answers: dict[str, Judged] = {}
        rounds: dict[str, int] = {}
        of_pass = replace(selection, pass_graphs=graphs, latest=None)
        noted = {
            row["evaluation"].value: row["infos"].value
            for row in queries.run(store, "policy-verdicts", passGraph=list(graphs))
        }
        names = {metric.iri: name for name, metric in policy.answer_metrics.items()}
        cells: dict[str, tuple[int, str, _About, dict[str, float]]] = {}
        for row in fetch.score_rows(store, of_pass, names):
            where = _About(row.model, row.task, row.case)
            held = cells.setdefault(row.evaluation, (row.round or 0, row.dialogue, where, {}))
            held[3][names[row.metric]] = row.value
        for evaluation, (k, dialogue, where, scores) in cells.items():
            if k >= rounds.get(dialogue, 0):
                rounds[dialogue] = k
                answers[dialogue] = Judged(scores, json.loads(noted[evaluation]))
                about[dialogue] = where
        judged[policy.name] = answers
    return judged, about


def _passes(store: Store, selection: Selection) -> list[tuple[Policy, tuple[str, ...]]]:
    """The graphs of the last pass of each declared policy over each run."""
    by_iri = {policy.iri: policy for policy in policies().values()}
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for row in queries.run(store, "policy-passes", suite=selection.suite):
        if row["runGraph"].value in selection.run_graphs and row["policy"].value in by_iri:
            found[row["policy"].value][row["runGraph"].value] = row["passGraph"].value
    return [(by_iri[iri], tuple(sorted(graphs.values()))) for iri, graphs in found.items()]


def _missing(store: Store, selection: Selection) -> dict[str, int]:
    """How many dialogues of each model ended without an answer."""
    found: dict[str, int] = defaultdict(int)
    for (model, _), errors in fetch.errors(store, selection, fetch.tasks(store)).items():
        found[model] += errors.failed
    return found


def _counts(store: Store, selection: Selection) -> dict[str, int]:
    """How many dialogues of each model there are."""
    found: dict[str, int] = defaultdict(int)
    selected = fetch.selection_test(store, selection)
    for row in queries.run(store, "dialogue-counts", runGraph=list(selection.run_graphs)):
        if selected(row["model"].value, row["task"].value):
            found[row["model"].value] += int(row["count"].value)
    return found


def _ranks(means: Mapping[str, float]) -> dict[str, int]:
    """Ranks from 1; equal means share the better one."""
    values = sorted(means.values(), reverse=True)
    return {model: values.index(value) + 1 for model, value in means.items()}


def _order(
    model: str, known: Sequence[Policy], placed: Mapping[str, Mapping[str, int]], name: str
) -> tuple[list[int], str]:
    last = len(name) + 1_000_000  # behind all that have a rank
    return [placed[policy.name].get(model, last) for policy in known], name


def _query(answers: Iterable[Judged]) -> str:
    """The query of an answer on one line, cut off; the same under every policy."""
    for one in answers:
        text = " ".join(str(one.infos.get("sparql") or "").split())
        if text:
            return text if len(text) <= _LONGEST_QUERY else f"{text[:_LONGEST_QUERY]}…"
    return ""
