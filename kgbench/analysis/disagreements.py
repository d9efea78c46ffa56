# SPDX-License-Identifier: Apache-2.0
"""The dialogues about which judges and execution, or judges among each other, disagree."""

from __future__ import annotations

from kgbench.analysis import scores as fetch
from kgbench.analysis.judge_agreement import NO_JUDGES
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.verdicts import ADJUDICATION, QUERIES, Judgement, judgements, verdicts
from kgbench.store.protocol import Store

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


def disagreements(store: Store, selection: Selection, *, most: int = 50) -> Table:
    """One row per item that is not judged alike, those with most disagreeing verdicts first.

    Where the executed outcome is known, judges disagree with it; else with the adjudication of
    people, else with what most of them say.
    ``judged`` is one of the disagreeing judge's dialogues, which ``kgbench show`` prints with the
    reason.
    """
    found = judgements(verdicts(store, selection))
    disputed = sorted(
        ((len(against), one, against) for one in found if (against := _against(one))),
        key=lambda entry: (-entry[0], entry[1].rubric.name, entry[1].first.about),
    )
    models, tasks = fetch.models(store), fetch.tasks(store)
    rows: list[tuple[Value, ...]] = []
    for count, one, against in disputed[:most]:
        first, *others = one.first.about
        said = ", ".join(f"{models.name(j)}: {v}" for j, v in sorted(one.by_judge.items()))
        of_judge = next(each for each in one.given if each.judge == against[0])
        by_iri = {item.dialogue: item.model for item in one.first.items}
        rows.append(
            (
                one.rubric.name,
                tasks[one.first.items[0].task].name,
                ", ".join(models.name(by_iri[iri]) for iri in one.first.about),
                one.executed,
                said,
                count,
                len(one.by_judge),
                _path(store, first),
                _path(store, others[0]) if others else None,
                _path(store, of_judge.source),
            )
        )
    note = (
        f"{len(disputed):,} of {len(found):,} judged items are disputed; {len(rows):,} are shown. "
        "Of a pair, 'first' is the dialogue of the column Dialogue."
    )
    return Table(
        title=f"Disagreements of judges ({selection.suite_name})",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(note,) if found else (NO_JUDGES,),
        queries=QUERIES,
        context={**selection.context, "most": most},
    )


def _against(judgement: Judgement) -> list[str]:
    """The judges that disagree with execution, else with the adjudication, else with most."""
    said = judgement.by_judge
    if not said:
        return []
    votes = sorted(said.values())
    settled = judgement.executed or said.get(ADJUDICATION)
    common = settled or max(votes, key=votes.count)
    return sorted(judge for judge, verdict in said.items() if verdict != common)


def _path(store: Store, iri: str) -> str:
    return iri.removeprefix(store.iris.base)
