# SPDX-License-Identifier: Apache-2.0
"""The wide table of a run: one row for each dialogue, one column for each score and info.

Scores of single answers of dialogues with several rounds have the number of the round before their
name (``0_f1``); those of whole dialogues have their aggregation (``max_f1``); those of tasks with
one round have neither. Infos and the answer are those of the last answer.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.exports.outgoing_run import Held, OutgoingRun
from kgbench.model import Json
from kgbench.rdf import canonical_json
from kgbench.secrets.commitments import is_withheld
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS

if TYPE_CHECKING:
    import pyarrow as pa

#: The columns that every table begins with.
LEADING = (
    Column("dialogue", "Dialogue"),
    Column("suite", "Suite"),
    Column("model", "Model"),
    Column("model_id", "Model id"),
    Column("task", "Task"),
    Column("task_class", "Task class"),
    Column("version", "Version"),
    Column("case", "Case"),
    Column("iteration", "Iteration", Kind.COUNT),
    Column("started", "Started"),
    Column("seconds", "Seconds", Kind.SCORE),
    Column("rounds", "Rounds", Kind.COUNT),
    Column("outcome", "Outcome"),
)
ANSWER = Column("answer", "Last answer")
INFO = "info_"


def wide_table(run: OutgoingRun) -> Table:
    """The table of the dialogues of a run that count, by model, task and iteration.

    A score that a dialogue lacks is an empty cell, and so is what was left out of the run.
    """
    leading = [_about(run, held) for held in run.held]
    scores = [_scores(run, held) for held in run.held]
    infos = [_infos(held) for held in run.held]
    answers = [_answer(held) for held in run.held]
    named_scores = sorted({name for row in scores for name in row})
    named_infos = sorted({name for row in infos for name in row})
    columns = [
        *LEADING,
        *(Column(name, name, Kind.SCORE) for name in named_scores),
        *(Column(INFO + name, name) for name in named_infos),
        *([ANSWER] if any(answer is not None for answer in answers) else []),
    ]
    rows = [
        (
            *about,
            *(of_scores.get(name) for name in named_scores),
            *(of_infos.get(name) for name in named_infos),
            *([answer] if ANSWER in columns else []),
        )
        for about, of_scores, of_infos, answer in zip(leading, scores, infos, answers, strict=True)
    ]
    return Table(f"Dialogues of {run.info.label or run.info.id}", tuple(columns), tuple(rows))


def _about(run: OutgoingRun, held: Held) -> tuple[Value, ...]:
    catalogue, of_class = run.catalogue, run.class_of(held.task)
    last = next((v for v in reversed(held.verdicts) if v.round is not None), None)
    seconds = None if held.ended is None else (held.ended - held.started).total_seconds()
    return (
        held.iri,
        run.info.suite.rpartition("/")[2],
        catalogue.needed(held.model, RDFS.label),
        catalogue.needed(held.model, SKOS.notation),
        catalogue.needed(held.task, SKOS.notation),
        catalogue.needed(of_class, SKOS.notation),
        catalogue.needed(of_class, SCHEMA.softwareVersion),
        held.case.rpartition("/")[2],
        held.iteration,
        held.started.isoformat(),
        seconds,
        len(held.rounds),
        None if last is None else last.outcome,
    )


def _scores(run: OutgoingRun, held: Held) -> dict[str, float]:
    several = int(run.catalogue.one(run.class_of(held.task), KGB.maxRounds) or 1) > 1
    found: dict[str, float] = {}
    for verdict in held.verdicts:
        before = f"{verdict.round}_" if several and verdict.round is not None else ""
        for metric, value in verdict.scores.items():
            found[before + run.metrics[metric][0]] = value
    return found


def _infos(held: Held) -> dict[str, Value]:
    for verdict in reversed(held.verdicts):
        if verdict.round is not None and verdict.infos:
            return {
                name: _cell(value)
                for name, value in verdict.infos.items()
                if name != "published" and not is_withheld(value)
            }
    return {}


def _cell(value: Json) -> Value:
    return value if value is None or isinstance(value, str | int | float) else canonical_json(value)


def _answer(held: Held) -> str | None:
    return held.rounds[-1].answer_text if held.rounds else None


def as_arrow(table: Table) -> bytes:
    """The table as an Arrow IPC file (Feather 2), with a type for each column."""
    import pyarrow.feather

    out = io.BytesIO()
    pyarrow.feather.write_feather(_arrow(table), out, compression="zstd")
    return out.getvalue()


def as_parquet(table: Table) -> bytes:
    """The table as a Parquet file, with a type for each column."""
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(_arrow(table), out, compression="zstd")
    return out.getvalue()


def _arrow(table: Table) -> pa.Table:
    import pyarrow as pa

    columns = {name: _typed(table.column(name)) for name in table.names}
    return pa.table(columns, metadata={"title": table.title})


def _typed(values: list[Value]) -> pa.Array[Any]:
    """The values with their common type: truth values, whole numbers, numbers, else text."""
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return pa.array(values, pa.bool_())
    if kinds <= {int}:
        return pa.array(values, pa.int64())
    if kinds <= {int, float}:
        return pa.array(values, pa.float64())
    texts = [None if v is None else v if isinstance(v, str) else canonical_json(v) for v in values]
    return pa.array(texts, pa.string())
