# SPDX-License-Identifier: Apache-2.0
"""Exports the statements of a run as N-Quads, and its scores as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.vocab import RDFS, SKOS


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
