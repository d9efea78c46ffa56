# SPDX-License-Identifier: Apache-2.0
"""The same answers judged otherwise: under comparison policies, and on variants of their graphs.

It reads the last pass of each policy over each run (``kgbench reevaluate --policy NAME``, or
``--variants K``). Of a dialogue with several answers, the last one counts. Variants check the cases
and reference queries of a benchmark.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Annotated, Any, TypeAlias

from kgbench.analysis.outcomes import count_errors, dialogue_counts
from kgbench.analysis.registry import Option, Purpose, analysis
from kgbench.execution.on_variants import FAILING, VariantOutcome
from kgbench.model import TOLERANCE
from kgbench.policies.policy import ON_VARIANTS, Policy, mean, unanswered
from kgbench.policies.policy import policies as all_policies
from kgbench.policies.policy import policy as find_policy
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.reevaluation.variant_outcomes import (
    SUSPECT,
    AnswerOnVariants,
    answer_on_variants,
    command,
    counts,
    mark_suspects,
)
from kgbench.scores import catalogue
from kgbench.scores.reading import score_rows
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Kind, Ref, Table, Value
from kgbench.tables import ranks as ranks_of

_LONGEST_QUERY = 200  # characters of a query in a cell
_NONE = (
    "These dialogues have not been judged by a comparison policy yet: run "
    "'kgbench reevaluate --policy NAME'."
)
_NONE_ON_VARIANTS = (
    "These dialogues have not been judged on variants yet: run "
    "'kgbench reevaluate --variants 10 --seed 1'."
)


_FINDINGS = {
    "suspect": SUSPECT,
    "disputed": VariantOutcome.ACCIDENT,
    "untestable": VariantOutcome.UNTESTABLE,
}
"""The findings about a reference, the gravest first, by the outcome of an answer that shows it."""


@dataclass(slots=True)
class PolicyScores:
    """One answer under one policy: its scores by short name, and the notes of the judge."""

    scores: dict[str, float] = field(default_factory=dict)
    infos: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JudgedDialogue:
    """A dialogue: its model and task (IRIs) and its case."""

    model: str
    task: str
    case: str


_ByPolicy: TypeAlias = dict[str, dict[str, PolicyScores]]
"""Answers by policy and dialogue."""


@analysis("policies", Purpose.COMPARE, reads=("policy-passes",))
def policies(
    store: Store,
    selection: Selection,
    *,
    cells: Annotated[
        bool, Option("Show the answers that policies score differently, with the reasons.")
    ] = False,
) -> Table:
    """Compare the means and ranks that the same answers get under several comparison policies.

    >>> results = kgbench.open("kgbench-results")
    >>> results.policies().names
    ('model', 'n')
    """
    return differing_cells(store, selection) if cells else ranks(store, selection)


def ranks(store: Store, selection: Selection) -> Table:
    """Tabulate the mean and rank of each model under each policy, sorted by the first policy.

    Means follow the rule of each policy, which also says how dialogues without an answer count.
    Answers to which a policy gives no score are left out of its mean, and a note says so. A model
    has no mean under a policy that has not judged all its answers.
    """
    judged, dialogues = read_passes(store, selection)
    judging = [policy for name, policy in all_policies().items() if name in judged]
    models = catalogue.models(store)
    missing = _by_model(
        {
            cell: each.failed
            for cell, each in count_errors(store, selection, catalogue.tasks(store)).items()
        }
    )
    counts = _by_model(dialogue_counts(store, selection))
    of_models = sorted({dialogue.model for dialogue in dialogues.values()})
    notes: list[str] = [] if judging else [_NONE]
    cells: dict[str, dict[str, Value]] = {
        model: {"model": models.name(model), "n": counts[model]} for model in of_models
    }
    for policy in judging:
        means: dict[str, float] = {}
        for model in of_models:
            answers = [a for d, a in judged[policy.name].items() if dialogues[d].model == model]
            scored = [answer for answer in answers if answer.scores]
            lacking = missing[model]
            if len(answers) + lacking < counts[model]:
                notes.append(
                    f"{policy.name} has judged {len(answers)} of {counts[model] - lacking} answers "
                    f"of {models.name(model)}."
                )
                continue
            if len(scored) < len(answers):
                notes.append(
                    f"{policy.name} gives {len(answers) - len(scored)} answers of "
                    f"{models.name(model)} no score."
                )
            scores = [answer.scores for answer in scored] + [unanswered(policy)] * lacking
            ordered = [bool(answer.infos.get("ordered")) for answer in scored] + [False] * lacking
            if scores:
                means[model] = mean(policy, scores, ordered)[policy.main]
        for model, rank in zip(of_models, ranks_of([*map(means.get, of_models)]), strict=True):
            cells[model] |= {policy.name: means.get(model), f"{policy.name}_rank": rank}
    columns = [Column("model", "Model"), Column("n", "n", Kind.COUNT)]
    for policy in judging:
        columns.append(Column(policy.name, policy.label, Kind.SCORE))
        columns.append(Column(f"{policy.name}_rank", f"Rank ({policy.label})", Kind.COUNT))

    def order(row: Mapping[str, Value]) -> tuple[list[Any], str]:
        return [row[f"{policy.name}_rank"] or inf for policy in judging], str(row["model"])

    return Table.of(
        "Ranks under comparison policies",
        columns,
        sorted(cells.values(), key=order),
        notes=tuple(notes),
        reason=None if judging else _NONE,
        queries=(
            "policy-passes",
            "policy-verdicts",
            "score-rows",
            "dialogue-counts",
            "failed-dialogues",
        ),
        context=selection.context,
    )


def differing_cells(store: Store, selection: Selection) -> Table:
    """List the answers that policies score differently, with the query and each policy's reason.

    Those with the greatest difference come first.
    """
    judged, dialogues = read_passes(store, selection)
    judging = [policy for name, policy in all_policies().items() if name in judged]
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    entries: list[tuple[float, tuple[Value, ...]]] = []
    for dialogue, where in dialogues.items():
        answers = {p.name: judged[p.name].get(dialogue, PolicyScores()) for p in judging}
        values = [answers[p.name].scores.get(p.main) for p in judging]
        present = [value for value in values if value is not None]
        spread = max(present, default=0.0) - min(present, default=0.0)
        if spread <= TOLERANCE:
            continue
        row = (
            tasks[where.task].name,
            Ref(where.case.rpartition("/")[2], where.case),
            models.name(where.model),
            Ref.below(store.iris.base, dialogue),
            *values,
            _query(answers.values()),
            "; ".join(
                f"{name}: {judged_answer.infos['reason']}"
                for name, judged_answer in answers.items()
                if judged_answer.infos
            ),
        )
        entries.append((spread, row))
    entries.sort(key=lambda item: (-item[0], item[1][:4]))
    columns = (
        Column("task", "Task"),
        Column("case", "Case"),
        Column("model", "Model"),
        Column("dialogue", "Dialogue"),
        *(Column(policy.name, policy.label, Kind.SCORE) for policy in judging),
        Column("answer", "Answer"),
        Column("reasons", "Reasons"),
    )
    return Table(
        "Answers that comparison policies score differently",
        columns,
        tuple(row for _, row in entries),
        notes=() if judging else (_NONE,),
        reason=None if judging else _NONE,
        queries=("policy-passes", "policy-verdicts", "score-rows"),
        context=selection.context,
    )


def read_passes(
    store: Store, selection: Selection, wanted: Iterable[Policy] | None = None
) -> tuple[_ByPolicy, dict[str, JudgedDialogue]]:
    """Read the last answer of every dialogue under every policy that judged it.

    The ``wanted`` policies are by default all but that on variants. Returns the judged answers by
    policy and dialogue, and model, task and case of each dialogue.
    """
    judged: _ByPolicy = {}
    dialogues: dict[str, JudgedDialogue] = {}
    for policy, graphs in _passes(store, selection, wanted):
        answers: dict[str, PolicyScores] = {}
        rounds: dict[str, int] = {}
        of_pass = replace(selection, pass_graphs=graphs, latest=None)
        noted = {
            row["evaluation"].value: row["infos"].value
            for row in queries.run(store, "policy-verdicts", passGraph=list(graphs))
        }
        names = {metric.iri: name for name, metric in policy.answer_metrics.items()}
        cells: dict[str, tuple[int, str, JudgedDialogue, dict[str, float]]] = {}
        for row in score_rows(store, of_pass, names):
            where = JudgedDialogue(row.model, row.task, row.case)
            cell = cells.setdefault(row.evaluation, (row.round or 0, row.dialogue, where, {}))
            cell[3][names[row.metric]] = row.value
        for evaluation, (k, dialogue, where, scores) in cells.items():
            if k >= rounds.get(dialogue, 0):
                rounds[dialogue] = k
                answers[dialogue] = PolicyScores(scores, json.loads(noted[evaluation]))
                dialogues[dialogue] = where
        judged[policy.name] = answers
    return judged, dialogues


def _passes(
    store: Store, selection: Selection, wanted: Iterable[Policy] | None
) -> list[tuple[Policy, tuple[str, ...]]]:
    """Return the graphs of the last pass of each policy over each run."""
    by_iri = {policy.iri: policy for policy in wanted or all_policies().values()}
    graphs_of: dict[str, dict[str, str]] = defaultdict(dict)
    for row in queries.run(store, "policy-passes", suite=selection.suite):
        if row["runGraph"].value in selection.run_graphs and row["policy"].value in by_iri:
            graphs_of[row["policy"].value][row["runGraph"].value] = row["passGraph"].value
    return [(by_iri[iri], tuple(sorted(graphs.values()))) for iri, graphs in graphs_of.items()]


def _by_model(counts: Mapping[tuple[str, str], int]) -> Counter[str]:
    """Add up counts by model and task to counts by model."""
    by_model = Counter[str]()
    for (model, _), count in counts.items():
        by_model[model] += count
    return by_model


def _query(answers: Iterable[PolicyScores]) -> str:
    """Return the query of an answer on one line, cut off; it is the same under every policy."""
    for answer in answers:
        text = " ".join(str(answer.infos.get("sparql") or "").split())
        if text:
            return text if len(text) <= _LONGEST_QUERY else f"{text[:_LONGEST_QUERY]}…"
    return ""


def on_variants(answers: Sequence[AnswerOnVariants]) -> Table:
    """Count the answers of each model by their outcomes on the graph and on its variants."""
    counts_of_models = counts(answers)
    names = list(next(iter(counts_of_models.values()), {}))
    return Table(
        "Answers on variants",
        (
            Column("model", "Model"),
            *(Column(name, name.replace("-", " ").capitalize(), Kind.COUNT) for name in names),
        ),
        tuple((model, *(row[name] for name in names)) for model, row in counts_of_models.items()),
        (),
    )


@analysis("references", Purpose.UNDERSTAND, reads=("policy-passes",))
def references(store: Store, selection: Selection) -> Table:
    """List cases whose reference query becomes doubtful on variants of the graph.

    A case is *suspect* if right answers of two models, by different queries, agree with each other
    but not with the reference on a variant; *untestable* if the reference has the same result on
    all variants; *disputed* if any answer fails for no known reason.

    >>> results = kgbench.open("kgbench-results")
    >>> results.references().names
    ('task', 'case', 'finding', 'exact', 'failing', 'variant', 'reason', 'command')
    """
    answers = answers_on_variants(store, selection)
    by_case: dict[str, list[AnswerOnVariants]] = defaultdict(list)
    for answer in mark_suspects(answers):
        by_case[answer.case].append(answer)
    rows = [
        row for case, of_case in by_case.items() if (row := _row(store, case, of_case)) is not None
    ]
    rows.sort(key=lambda row: ([*_FINDINGS].index(str(row[2])), str(row[1])))
    judged = f"{len(answers):,} answers to {len(by_case):,} cases were judged on variants."
    return Table(
        "References that variants call in question",
        (
            Column("task", "Task"),
            Column("case", "Case"),
            Column("finding", "Finding"),
            Column("exact", "Right on the graph", Kind.COUNT),
            Column("failing", "Failing on a variant", Kind.COUNT),
            Column("variant", "Variant"),
            Column("reason", "Reason"),
            Column("command", "Command"),
        ),
        tuple(rows),
        notes=(judged if answers else _NONE_ON_VARIANTS,),
        reason=None if answers else _NONE_ON_VARIANTS,
        queries=("policy-passes", "policy-verdicts", "score-rows"),
        context=selection.context,
    )


def _row(store: Store, case: str, answers: Sequence[AnswerOnVariants]) -> tuple[Value, ...] | None:
    outcomes = Counter(answer.outcome for answer in answers)
    exact = outcomes.total() - outcomes[VariantOutcome.WRONG]
    failing = sum(outcomes[kind] for kind in (*FAILING, SUSPECT))
    finding = next((name for name, outcome in _FINDINGS.items() if outcomes[outcome]), None)
    if finding is None:
        return None
    example = next(answer for answer in answers if answer.outcome == _FINDINGS[finding])
    return (
        example.task,
        reading.case(store, case).uid or case,
        finding,
        exact,
        failing,
        example.variant,
        example.reason,
        command(example),
    )


def answers_on_variants(store: Store, selection: Selection) -> list[AnswerOnVariants]:
    """Return the last answer of each selected dialogue in the last pass on variants of its run."""
    judged, dialogues = read_passes(store, selection, [find_policy(ON_VARIANTS)])
    tasks, models = catalogue.tasks(store), catalogue.models(store)
    labels = reading.model_labels(store)
    return [
        answer_on_variants(
            dialogue,
            where.case,
            (str(models.name(where.model)), labels.get(where.model, "")),
            tasks[where.task].label,
            answer.infos,
        )
        for dialogue, answer in judged.get(ON_VARIANTS, {}).items()
        for where in (dialogues[dialogue],)
    ]
