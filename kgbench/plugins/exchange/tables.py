# SPDX-License-Identifier: Apache-2.0
"""The files of exports: N-Quads and CSV of a run; each file or folder is written as a whole."""

from __future__ import annotations

import contextlib
import csv
import io
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.api import RDFS, OutgoingRun
from kgbench.errors import PublicationRefused
from kgbench.vocab import SKOS


class Field(NamedTuple):
    """A column: its name, description and schema.org data type."""

    name: str
    says: str
    datatype: str


FIELDS = (
    Field("dialogue", "IRI of the dialogue.", "sc:URL"),
    Field("model", "Label of the model.", "sc:Text"),
    Field("task", "Label of the task.", "sc:Text"),
    Field("case", "IRI of the case.", "sc:URL"),
    Field(
        "iteration", "Position among the dialogues of this model and task, from 0.", "sc:Integer"
    ),
    Field("round", "Position of the answer in the dialogue, from 0; -1: the whole.", "sc:Integer"),
    Field("outcome", "How the judging ended.", "sc:Text"),
    Field("metric", "IRI of the metric.", "sc:URL"),
    Field("metric_name", "Short name of the metric.", "sc:Text"),
    Field("score", "Value of the metric.", "sc:Float"),
)


def rows(run: OutgoingRun) -> Iterator[Sequence[object]]:
    """Yield a row for each score of a run, with the columns of :data:`FIELDS`."""
    for dialogue in run.dialogues:
        model = run.catalogue.required(dialogue.model, RDFS.label)
        task = run.catalogue.required(dialogue.task, SKOS.notation)
        for verdict in run.verdicts[dialogue.iri]:
            round_ = -1 if verdict.round is None else verdict.round
            for metric, value in verdict.scores.items():
                name, _ = run.metrics[metric]
                yield (
                    dialogue.iri,
                    model,
                    task,
                    dialogue.case,
                    dialogue.iteration,
                    round_,
                    verdict.outcome,
                    metric,
                    name,
                    repr(value),
                )


def scores_csv(run: OutgoingRun) -> bytes:
    """Return the scores of a run as CSV with a header."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in FIELDS])
    writer.writerows(rows(run))
    return out.getvalue().encode("utf-8")


def statements(run: OutgoingRun) -> bytes:
    """Return the run, its passes, and the catalogue entries that they refer to, as N-Quads."""
    quads = [*run.statements.quads, *run.judged.quads]
    needed = {quad.object.value for quad in quads if isinstance(quad.object, ox.NamedNode)}
    needed |= {quad.predicate.value for quad in run.judged.quads}
    while True:
        further = {
            quad.object.value
            for quad in run.catalogue.quads
            if isinstance(quad.subject, ox.NamedNode)
            and quad.subject.value in needed
            and isinstance(quad.object, ox.NamedNode)
        }
        if further <= needed:
            break
        needed |= further
    graphs = {run.info.graph, *(pass_.graph for pass_ in run.passes)}
    quads += [
        quad
        for quad in run.catalogue.quads
        if isinstance(quad.subject, ox.NamedNode) and quad.subject.value in needed | graphs
    ]
    content = ox.serialize(sorted(quads, key=str), format=ox.RdfFormat.N_QUADS)
    assert content is not None
    return content


@contextlib.contextmanager
def atomic_path(out: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``out`` that is renamed to it at the end.

    Raises :class:`~kgbench.errors.PublicationRefused` if ``out`` already exists or cannot be
    written.
    """
    if out.exists():
        raise PublicationRefused(f"{out} already exists: choose another path, or remove it")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent) as scratch:
            unfinished = Path(scratch) / out.name
            yield unfinished
            unfinished.rename(out)
    except OSError as error:
        raise PublicationRefused(f"{out} cannot be written: {error.strerror or error}") from error


def write_folder(out: Path, files: Mapping[str, bytes]) -> None:
    """Write a folder with ``files`` (name to content); raises like :func:`atomic_path`."""
    with atomic_path(out) as folder:
        folder.mkdir()
        for name, content in files.items():
            (folder / name).write_bytes(content)
