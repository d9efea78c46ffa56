# SPDX-License-Identifier: Apache-2.0
"""ShaclRepairWorld: repair a part of a generated world so that it conforms to shapes again.

Graphs, shapes and faults follow from the seed of the plan (:mod:`kgbench.worlds.shape_cases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.tasks import catalogue, serialising, texts, turtle_answers, world_violations
from kgbench.tasks.world_questions import world_of
from kgbench.validation.foreign import Finding, ForeignShapes, IllFormedShapes, load_core
from kgbench.worlds import shape_cases

NAME: Final = "ShaclRepairWorld"
LOADS: Final = ("pySHACL",)
_MOST: Final = 10  # violations that feedback tells of


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` graphs with faults, each another part of the world of a seed."""
    chosen = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        faulty = shape_cases.faulty(world, chosen["level"], iteration)
        return {
            "shapes": faulty.rules.text,
            "graph": _written(faulty.scene.triples),
            "repaired": _written(faulty.repaired.triples),
            "violations": [list(pair) for pair in faulty.violations],
            "faults": [
                {"least": fault.least, "sites": sorted(map(list, fault.sites))}
                for fault in faulty.faults
            ],
        }

    return catalogue.generated(task, suite, count, data)


prompt = world_violations.prompt


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Validate the graph in the last answer, and count what it changes without need."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    if not read.triples:
        scores = {"answerParse": float(read.triples is not None)}
        scores |= {"conforms": 0.0, "mended": 0.0, "repair": 0.0, "exact": 0.0}
        said = (texts.text(NAME, "feedback-no-triples.txt"), "format")
        if read.triples is None:
            said = read.feedback
        infos: dict[str, Json] = {"parseError": read.error}
        outcome = turtle_answers.outcome(answer, usable=False)
        return Verdict(scores, infos, outcome, *(said if _goes_on(answers) else (None, None)))
    left = _shapes(case, executor).findings(read.triples)
    needless = _needless(case, read.triples, executor)
    least = sum(fault["least"] for fault in case.data["faults"])
    conforms = float(not left)
    before = {(focus, component) for focus, component in case.data["violations"]}
    scores = {
        "answerParse": 1.0,
        "conforms": conforms,
        "mended": len(before - {one.pair for one in left}) / len(before),
        "needless": float(needless),
        "repair": conforms * least / (least + needless),
        "exact": float(not left and not needless),
    }
    infos = {
        "parseError": None,
        "violations": sorted({f"{focus} {component}" for focus, component in map(_pair, left)})[
            :50
        ],
    }
    if not left or not _goes_on(answers):
        return Verdict(scores, infos, Outcome.SCORED)
    return Verdict(scores, infos, Outcome.SCORED, _told(left), "content")


def reference(case: Case) -> str:
    """The graph with as few changes as are needed."""
    return f"```turtle\n{case.data['repaired']}\n```"


def prepare() -> None:
    """Load what judging needs, for a process that cannot do so later."""
    turtle_answers.prepare()
    load_core()


def _needless(case: Case, given: Sequence[ox.Triple], executor: Executor) -> int:
    """How many triples differ from the graph that was shown beyond what its faults need."""
    changed = set(given) ^ set(_parsed(case, "graph", executor))
    places = {
        (subject, predicate): number
        for number, fault in enumerate(case.data["faults"])
        for subject, predicate in fault["sites"]
    }
    allowed = [fault["least"] for fault in case.data["faults"]]
    needless = 0
    for one in changed:
        number = places.get((str(one.subject), one.predicate.value))
        if number is not None and allowed[number]:
            allowed[number] -= 1
        else:
            needless += 1
    return needless


def _parsed(case: Case, name: str, executor: Executor) -> tuple[ox.Triple, ...]:
    parsed = executor.parse(case.data[name], "turtle")
    if parsed.triples is None:
        raise EvaluationError(f"the {name} of the case {case.iri} does not parse: {parsed.error}")
    return turtle_answers.triples(parsed.triples)


def _shapes(case: Case, executor: Executor) -> ForeignShapes:
    try:
        return ForeignShapes(_parsed(case, "shapes", executor))
    except IllFormedShapes as error:
        raise EvaluationError(f"the shapes of the case {case.iri}: {error}") from error


def _goes_on(answers: Sequence[str]) -> bool:
    return len(answers) < turtle_answers.ROUNDS


def _pair(found: Finding) -> tuple[str, str]:
    return found.pair


def _told(left: Sequence[Finding]) -> str:
    """The feedback about the violations that are left."""
    lines = sorted(
        f"* {one.focus}{'' if one.path is None else f', {one.path}'}: {one.message} "
        f"(sh:{one.component}ConstraintComponent)"
        for one in left
    )
    more = [f"* and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    said = "\n".join([*lines[:_MOST], *more])
    return texts.filled(NAME, "feedback-violations.txt", violations=said)


def _written(triples: Sequence[ox.Triple]) -> str:
    return serialising.serialise(triples, "turtle", shape_cases.PREFIXES)
