# SPDX-License-Identifier: Apache-2.0
"""Neighbours of a dialogue: the previous and next one in its run, and others about its case.

Dialogues of a run are ordered by model, task and iteration.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby, islice
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.rdf.quads import Quads
from kgbench.store.fragments import recorded_iri
from kgbench.vocab import DCTERMS, KGB, RDF, XSD

_TYPE, _PART_OF = ox.NamedNode(RDF.type), ox.NamedNode(DCTERMS.isPartOf)
_DIALOGUE, _EXECUTION = ox.NamedNode(KGB.Dialogue), ox.NamedNode(KGB.TaskExecution)
_CASE, _MODEL, _ITERATION = (ox.NamedNode(KGB[n]) for n in ("case", "model", "iteration"))
_MANY = 1_000  # dialogues of an execution: reading one takes 40 µs in a store larger than memory
_GAP = 100  # missing iterations, as of invalidated dialogues or of an import
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


def first_of_execution(database: Quads, execution: ox.NamedNode, limit: int) -> list[ox.NamedNode]:
    """Return the first ``limit`` dialogues of a task execution, by iteration.

    Of a large execution, dialogues are found by their iterations, which is faster than all.
    """
    graph = _graph_of_many(database, execution)
    found: list[ox.NamedNode] = []
    for iteration in range(limit + _GAP if graph is not None else 0):
        found += _of_iteration(database, execution, graph, iteration)
        if len(found) >= limit:
            return found[:limit]
    return of_execution(database, execution)[:limit]


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
    siblings = _siblings(database, execution, node)
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
        found = _end(database, executions[index], step)
        if found is not None:
            return found
        index += step
    return None


def _end(database: Quads, execution: ox.NamedNode, step: int) -> ox.NamedNode | None:
    """Return the first dialogue of an execution, or (step -1) the last."""
    if step > 0:
        return next(iter(first_of_execution(database, execution, 1)), None)
    graph = _graph_of_many(database, execution)
    if graph is not None:
        return _last_of_many(database, execution, graph)
    return next(reversed(of_execution(database, execution)), None)


def others(database: Quads, dialogue: str) -> list[tuple[str, list[Other]]]:
    """Return dialogues about the case of ``dialogue`` by other models; see :func:`by_others`."""
    node = ox.NamedNode(dialogue)
    case, model = _object(database, node, _CASE), _object(database, node, _MODEL)
    if case is None:
        return []
    return by_others(of_case(database, case), "" if model is None else model.value)


def of_case(database: Quads, case: ox.NamedNode) -> tuple[Other, ...]:
    """Return the dialogues about a case, by model and iteration.

    At most 2,000 statements about the case are read.
    """
    dialogues = []
    for quad in islice(database.quads_for_pattern(None, _CASE, case), _MOST):
        node: Any = quad.subject
        if not _is_dialogue(database, node):
            continue
        model = _object(database, node, _MODEL)
        iteration = _object(database, node, _ITERATION)
        if model is not None:
            number = "" if iteration is None else iteration.value
            dialogues.append(Other(node.value, model.value, number))
    return tuple(sorted(dialogues, key=lambda dialogue: (dialogue.model, natural(dialogue.iri))))


def any_of_case(database: Quads, case: ox.NamedNode) -> str | None:
    """Return a dialogue (IRI) about a case, always the same one; ``None`` if there is none."""
    subjects = (quad.subject for quad in database.quads_for_pattern(None, _CASE, case))
    among: Iterator[Any] = islice(subjects, _MOST)
    return next((node.value for node in among if _is_dialogue(database, node)), None)


def _is_dialogue(database: Quads, node: Any) -> bool:
    """Return whether a node that names a case is a dialogue, not an evaluation."""
    return next(database.quads_for_pattern(node, _TYPE, _DIALOGUE), None) is not None


def by_others(dialogues: Sequence[Other], model: str) -> list[tuple[str, list[Other]]]:
    """Group dialogues of models other than ``model`` by model; at most 60 in total."""
    selected = [dialogue for dialogue in dialogues if dialogue.model != model][:_MOST_SHOWN]
    return [
        (name, list(group))
        for name, group in groupby(selected, key=lambda dialogue: dialogue.model)
    ]


def _siblings(database: Quads, execution: ox.NamedNode, node: ox.NamedNode) -> list[ox.NamedNode]:
    """Return the dialogues of an execution; of a large one, those that surround ``node``."""
    graph = _graph_of_many(database, execution)
    if graph is None:
        return of_execution(database, execution)
    iteration = natural(node.value)[1]
    return [
        *_next_iteration(database, execution, graph, iteration, -1),
        *_of_iteration(database, execution, graph, iteration),
        *_next_iteration(database, execution, graph, iteration, 1),
    ]


def _graph_of_many(database: Quads, execution: ox.NamedNode) -> Any:
    """Return the graph of an execution that has many dialogues; ``None`` for any other."""
    quads = list(islice(database.quads_for_pattern(None, _PART_OF, execution), _MANY + 1))
    return quads[0].graph_name if len(quads) > _MANY else None


def _of_iteration(
    database: Quads, execution: ox.NamedNode, graph: Any, iteration: int
) -> list[ox.NamedNode]:
    """Return the dialogues of an iteration of an execution, in order; their IRIs are below its."""
    number = ox.Literal(str(iteration), datatype=ox.NamedNode(XSD.integer))
    below = f"{execution.value}/"
    # Oxigraph 0.5 also finds other numbers if the last byte of a number is 255.
    nodes: Iterator[Any] = (
        quad.subject
        for quad in database.quads_for_pattern(None, _ITERATION, number, graph)
        if quad.object == number
    )
    return sorted(
        (node for node in nodes if node.value.startswith(below)),
        key=lambda node: natural(node.value),
    )


def _next_iteration(
    database: Quads, execution: ox.NamedNode, graph: Any, iteration: int, step: int
) -> list[ox.NamedNode]:
    """Return the dialogues of the next iteration in the direction of ``step`` that has any."""
    for distance in range(1, _GAP + 1):
        found = _of_iteration(database, execution, graph, iteration + step * distance)
        if found or iteration + step * distance < 0:
            return found
    return []


def _last_of_many(database: Quads, execution: ox.NamedNode, graph: Any) -> ox.NamedNode | None:
    """Return the last dialogue of a large execution, by bisection of its iterations."""

    def reaches(iteration: int) -> bool:
        return bool(_next_iteration(database, execution, graph, iteration - 1, 1))

    beyond = 1
    while reaches(beyond):
        beyond *= 2
    last = beyond // 2
    while beyond - last > 1:
        middle = (last + beyond) // 2
        if reaches(middle):
            last = middle
        else:
            beyond = middle
    return next(reversed(_of_iteration(database, execution, graph, last)), None)


def _near(database: Quads, execution: ox.NamedNode, step: int) -> ox.NamedNode | None:
    run = _object(database, execution, _PART_OF)
    executions = [] if run is None else of_run(database, run)
    return near(database, executions, execution, step) if execution in executions else None


def _parts(database: Quads, parent: ox.NamedNode, kind: ox.NamedNode) -> Iterator[ox.NamedNode]:
    quads: Iterator[Any] = database.quads_for_pattern(None, _PART_OF, parent)
    for quad in islice(quads, _MANY):
        if next(database.quads_for_pattern(quad.subject, _TYPE, kind), None) is not None:
            yield quad.subject
    rest = next(quads, None)
    if rest is not None:  # one search for all is faster than so many
        of_kind = database.quads_for_pattern(None, _TYPE, kind, rest.graph_name)
        known = {quad.subject for quad in of_kind}
        yield from (quad.subject for quad in chain((rest,), quads) if quad.subject in known)


def _object(database: Quads, node: ox.NamedNode, predicate: ox.NamedNode) -> Any:
    quad = next(database.quads_for_pattern(node, predicate, None), None)
    return None if quad is None else quad.object


def natural(iri: str) -> tuple[str, int, str]:
    """Sort key of dialogues: by iteration, which precedes the digest in the last path segment."""
    head, _, last = recorded_iri(iri).rpartition("/")
    number = last.partition("-")[0]
    return head, int(number) if number.isdecimal() else -1, last
