# SPDX-License-Identifier: Apache-2.0
"""Neighbours of a dialogue: the previous and next one in its run, and others about its case.

Dialogues of a run are ordered by model, task and iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from itertools import groupby, islice
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.rdf.quads import Quads
from kgbench.store.fragments import recorded_iri
from kgbench.vocab import DCTERMS, KGB, RDF

_TYPE, _PART_OF = ox.NamedNode(RDF.type), ox.NamedNode(DCTERMS.isPartOf)
_DIALOGUE, _EXECUTION = ox.NamedNode(KGB.Dialogue), ox.NamedNode(KGB.TaskExecution)
_CASE, _MODEL, _ITERATION = (ox.NamedNode(KGB[n]) for n in ("case", "model", "iteration"))
_MOST = 2_000  # statements about a case that are read
_MOST_SHOWN = 60


class Adjacent(NamedTuple):
    """IRIs of the previous and next dialogue in a run; ``None`` at the ends."""

    before: str | None
    after: str | None


class Other(NamedTuple):
    """A dialogue about the same case."""

    iri: str
    model: str
    iteration: str


def of_execution(database: Quads, execution: ox.NamedNode) -> list[ox.NamedNode]:
    """Return the dialogues of a task execution, by iteration."""
    return sorted(parts_of(database, execution), key=lambda node: natural(node.value))


def parts_of(database: Quads, execution: ox.NamedNode) -> Iterator[ox.NamedNode]:
    """Yield the dialogues of a task execution, in no order."""
    return _parts(database, execution, _DIALOGUE)


def of_run(database: Quads, run: ox.NamedNode) -> list[ox.NamedNode]:
    """Return the task executions of a run, by model and task."""
    return sorted(_parts(database, run, _EXECUTION), key=lambda node: natural(node.value))


def beside(database: Quads, dialogue: str) -> Adjacent:
    """Return the previous and next dialogue of a dialogue (IRI)."""
    node = ox.NamedNode(dialogue)
    execution = _object(database, node, _PART_OF)
    if execution is None:
        return Adjacent(None, None)
    siblings = of_execution(database, execution)
    index = siblings.index(node) if node in siblings else 0
    before = siblings[index - 1] if index > 0 else _near(database, execution, -1)
    after = siblings[index + 1] if index + 1 < len(siblings) else _near(database, execution, 1)
    return Adjacent(
        *(None if neighbour is None else neighbour.value for neighbour in (before, after))
    )


def near(
    database: Quads, executions: list[ox.NamedNode], execution: ox.NamedNode, step: int
) -> ox.NamedNode | None:
    """Return the last dialogue before ``execution`` (step -1), or the first after it (step 1)."""
    index = executions.index(execution) + step
    while 0 <= index < len(executions):
        dialogues = of_execution(database, executions[index])
        if dialogues:
            return dialogues[-1 if step < 0 else 0]
        index += step
    return None


def others(database: Quads, dialogue: str) -> list[tuple[str, list[Other]]]:
    """Return dialogues about the case of ``dialogue`` by other models; see :func:`by_others`."""
    node = ox.NamedNode(dialogue)
    case, model = _object(database, node, _CASE), _object(database, node, _MODEL)
    if case is None:
        return []
    return by_others(of_case(database, case), "" if model is None else model.value)


def of_case(
    database: Quads, case: ox.NamedNode, graph: ox.NamedNode | None = None
) -> tuple[Other, ...]:
    """Return the dialogues about a case, by model and iteration, optionally only of ``graph``.

    At most 2,000 statements about the case are read.
    """
    dialogues = []
    quads: Iterable[ox.Quad] = database.quads_for_pattern(None, _CASE, case, graph)
    if graph is not None:  # sorted, so that every copy of the data gives the same selection
        quads = nsmallest(_MOST, quads, key=str)
    for quad in islice(quads, _MOST):
        node: Any = quad.subject
        # Evaluations also name the case; only dialogues count.
        if next(database.quads_for_pattern(node, _TYPE, _DIALOGUE), None) is None:
            continue
        model = _object(database, node, _MODEL)
        iteration = _object(database, node, _ITERATION)
        if model is not None:
            number = "" if iteration is None else iteration.value
            dialogues.append(Other(node.value, model.value, number))
    return tuple(sorted(dialogues, key=lambda dialogue: (dialogue.model, natural(dialogue.iri))))


def by_others(dialogues: Sequence[Other], model: str) -> list[tuple[str, list[Other]]]:
    """Group dialogues of models other than ``model`` by model; at most 60 in total."""
    selected = [dialogue for dialogue in dialogues if dialogue.model != model][:_MOST_SHOWN]
    return [
        (name, list(group))
        for name, group in groupby(selected, key=lambda dialogue: dialogue.model)
    ]


def _near(database: Quads, execution: ox.NamedNode, step: int) -> ox.NamedNode | None:
    run = _object(database, execution, _PART_OF)
    executions = [] if run is None else of_run(database, run)
    return near(database, executions, execution, step) if execution in executions else None


def _parts(database: Quads, parent: ox.NamedNode, kind: ox.NamedNode) -> Iterator[ox.NamedNode]:
    for quad in database.quads_for_pattern(None, _PART_OF, parent):
        node: Any = quad.subject
        if next(database.quads_for_pattern(node, _TYPE, kind), None) is not None:
            yield node


def _object(database: Quads, node: ox.NamedNode, predicate: ox.NamedNode) -> Any:
    quad = next(database.quads_for_pattern(node, predicate, None), None)
    return None if quad is None else quad.object


def natural(iri: str) -> tuple[str, int, str]:
    """Sort key of dialogues: by iteration, which precedes the digest in the last path segment."""
    head, _, last = recorded_iri(iri).rpartition("/")
    number = last.partition("-")[0]
    return head, int(number) if number.isdecimal() else -1, last
