# SPDX-License-Identifier: Apache-2.0
"""The dialogues on which judges disagree with execution or with each other."""

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
    """List disputed items, at most ``most``, those with the most disagreeing verdicts first.

    A verdict disagrees if it differs from the executed outcome, or where that is unknown from the
    adjudication by people, or else from the verdict of most judges. The column ``judged`` has a
    dialogue of a disagreeing judge, which ``kgbench show`` prints with the reason.
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
    """Return the judges that disagree with execution, else the adjudication, else the majority."""
    said = judgement.by_judge
    if not said:
        return []
    votes = sorted(said.values())
    settled = judgement.executed or said.get(ADJUDICATION)
    common = settled or max(votes, key=votes.count)
    return sorted(judge for judge, verdict in said.items() if verdict != common)


def _path(store: Store, iri: str) -> str:
    return iri.removeprefix(store.iris.base)
