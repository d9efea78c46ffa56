# SPDX-License-Identifier: Apache-2.0
"""The dialogues on which judges disagree with execution or with each other.

A verdict disagrees if it differs from the executed outcome, or where that is unknown from the
adjudication by people, or else from the verdict of most judges. The column ``judged`` has a
dialogue of a disagreeing judge, which ``kgbench show`` prints with the reason.
"""

from __future__ import annotations

from typing import Annotated

from kgbench.analysis.registry import Option
from kgbench.analysis.verdicts import ADJUDICATION, QUERIES, Judgement, judgements, verdicts
from kgbench.api import Column, Kind, Purpose, Ref, Selection, Store, Table, Value, analysis
from kgbench.plugins.judging.agreement import NO_JUDGES
from kgbench.scores import catalogue

_COLUMNS = (
    Column("rubric", "Rubric"),
    Column("task", "Task"),
    Column("model", "Model"),
    Column("execution", "Execution"),
    Column("verdicts", "Verdicts"),
    Column("disagreeing", "Disagree", Kind.COUNT),
    Column("judges", "Judges", Kind.COUNT),
    Column("dialogue", "Dialogue"),
    Column("other", "Other dialogue"),
    Column("judged", "Judge's dialogue"),
)


@analysis("disagreements", Purpose.JUDGES, reads=("judge-passes",))
def disagreements(
    store: Store,
    selection: Selection,
    *,
    most: Annotated[
        int, Option("The greatest number of rows.", metavar="N", min=1, panel="Limits")
    ] = 50,
) -> Table:
    """List the dialogues on which judges disagree with execution or with each other.

    >>> results = kgbench.open("kgbench-results")
    >>> results.disagreements().rows
    ()
    """
    all_judgements = judgements(verdicts(store, selection))
    disputed = sorted(
        (
            (len(against), judgement, against)
            for judgement in all_judgements
            if (against := _against(judgement))
        ),
        key=lambda entry: (-entry[0], entry[1].rubric.name, entry[1].first.about),
    )
    models, tasks = catalogue.models(store), catalogue.tasks(store)
    rows: list[tuple[Value, ...]] = []
    for count, judgement, against in disputed[:most]:
        first, *others = judgement.first.about
        texts = ", ".join(f"{models.name(j)}: {v}" for j, v in sorted(judgement.by_judge.items()))
        of_judge = next(verdict for verdict in judgement.verdicts if verdict.judge == against[0])
        by_iri = {item.dialogue: item.model for item in judgement.first.items}
        rows.append(
            (
                judgement.rubric.name,
                tasks[judgement.first.items[0].task].name,
                ", ".join(models.name(by_iri[iri]) for iri in judgement.first.about),
                judgement.executed,
                texts,
                count,
                len(judgement.by_judge),
                _path(store, first),
                _path(store, others[0]) if others else None,
                _path(store, of_judge.source),
            )
        )
    note = (
        f"{len(disputed):,} of {len(all_judgements):,} judged items are disputed, and "
        f"{len(rows):,} of these shown; of a pair, 'first' is the dialogue in the column Dialogue."
    )
    return Table(
        title=f"Disagreements of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(note,) if all_judgements else (NO_JUDGES,),
        reason=None if all_judgements else NO_JUDGES,
        queries=QUERIES,
        context={**selection.context, "most": most},
    )


def _against(judgement: Judgement) -> list[str]:
    """Return the judges that disagree with execution, else the adjudication, else the majority."""
    by_judge = judgement.by_judge
    if not by_judge:
        return []
    votes = sorted(by_judge.values())
    settled = judgement.executed or by_judge.get(ADJUDICATION)
    common = settled or max(votes, key=votes.count)
    return sorted(judge for judge, verdict in by_judge.items() if verdict != common)


def _path(store: Store, iri: str) -> str:
    return Ref.below(store.iris.base, iri)
