# SPDX-License-Identifier: Apache-2.0
"""Exports a run as a wide table: one row per dialogue, one column per score and info.

In dialogues with several rounds, scores of single answers are prefixed with the round (``0_f1``)
and those of whole dialogues with their aggregation (``max_f1``); tasks with one round have no
prefix. Infos and answer are those of the last round, with lone surrogates as JSON escapes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kgbench.characters import encodable
from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.model import Dialogue, Evaluation, Json
from kgbench.rdf import canonical_json
from kgbench.record.schema import disclosed
from kgbench.tables import Column, Kind, Table, Value
from kgbench.vocab import KGB, RDFS, SCHEMA, SKOS

if TYPE_CHECKING:
    import pyarrow as pa

#: The leading columns of every table.
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
    """Return the table of the valid dialogues of a run, by model, task and iteration.

    Cells of missing scores and of texts that were left out are empty.
    """
    leading = [_about(run, dialogue) for dialogue in run.dialogues]
    scores = [_scores(run, dialogue) for dialogue in run.dialogues]
    infos = [_infos(run.verdicts[dialogue.iri]) for dialogue in run.dialogues]
    answers = [_answer(dialogue) for dialogue in run.dialogues]
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
            *leading_values,
            *(of_scores.get(name) for name in named_scores),
            *(of_infos.get(name) for name in named_infos),
            *([answer] if ANSWER in columns else []),
        )
        for leading_values, of_scores, of_infos, answer in zip(
            leading, scores, infos, answers, strict=True
        )
    ]
    return Table(f"Dialogues of {run.info.label or run.info.id}", tuple(columns), tuple(rows))


def _about(run: OutgoingRun, dialogue: Dialogue) -> tuple[Value, ...]:
    catalogue, of_class = run.catalogue, run.class_of(dialogue.task)
    verdicts = run.verdicts[dialogue.iri]
    last = next((v for v in reversed(verdicts) if v.round is not None), None)
    started, ended = dialogue.started, dialogue.ended
    assert started is not None
    return (
        dialogue.iri,
        run.info.suite.rpartition("/")[2],
        catalogue.required(dialogue.model, RDFS.label),
        catalogue.required(dialogue.model, SKOS.notation),
        catalogue.required(dialogue.task, SKOS.notation),
        catalogue.required(of_class, SKOS.notation),
        catalogue.required(of_class, SCHEMA.softwareVersion),
        dialogue.case.rpartition("/")[2],
        dialogue.iteration,
        started.isoformat(),
        None if ended is None else (ended - started).total_seconds(),
        len(dialogue.turns),
        None if last is None else last.outcome.value,
    )


def _scores(run: OutgoingRun, dialogue: Dialogue) -> dict[str, float]:
    several = int(run.catalogue.value(run.class_of(dialogue.task), KGB.maxRounds) or 1) > 1
    scores: dict[str, float] = {}
    for verdict in run.verdicts[dialogue.iri]:
        before = f"{verdict.round}_" if several and verdict.round is not None else ""
        for metric, value in verdict.scores.items():
            scores[before + run.metrics[metric][0]] = value
    return scores


def _infos(verdicts: Sequence[Evaluation]) -> dict[str, Value]:
    for verdict in reversed(verdicts):
        if verdict.round is not None and verdict.infos:
            return {
                encodable(name): _cell(value)
                for name, value in verdict.infos.items()
                if name != "published"
            }
    return {}


def _cell(value: Json) -> Value:
    if isinstance(value, str):
        return encodable(value)
    return value if value is None or isinstance(value, int | float) else canonical_json(value)


def _answer(dialogue: Dialogue) -> str | None:
    answer = disclosed(dialogue.turns[-1].answer) if dialogue.turns else None
    return None if answer is None else encodable(answer)


def as_arrow(table: Table) -> bytes:
    """Serialise a table as an Arrow IPC file (Feather 2), with typed columns."""
    import pyarrow.feather

    out = io.BytesIO()
    pyarrow.feather.write_feather(_arrow(table), out, compression="zstd")
    return out.getvalue()


def as_parquet(table: Table) -> bytes:
    """Serialise a table as a Parquet file, with typed columns."""
    import pyarrow.parquet

    out = io.BytesIO()
    pyarrow.parquet.write_table(_arrow(table), out, compression="zstd")
    return out.getvalue()


def _arrow(table: Table) -> pa.Table:
    import pyarrow as pa

    columns = {name: _typed(table.column(name)) for name in table.names}
    return pa.table(columns, metadata={"title": table.title})


def _typed(values: list[Value]) -> pa.Array[Any]:
    """Convert values to an array of their common type: boolean, integer, float, or else string."""
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
