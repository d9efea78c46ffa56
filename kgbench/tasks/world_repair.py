# SPDX-License-Identifier: Apache-2.0
"""ShaclRepairWorld: repair a part of a generated world so that it conforms to shapes again.

Graphs, shapes and faults are generated from the seed of the plan
(:mod:`kgbench.worlds.shape_cases`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.errors import EvaluationError
from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.tasks import catalogue, serialising, texts, turtle_answers
from kgbench.validation import IllFormedShapes
from kgbench.validation.foreign import Finding, ForeignShapes
from kgbench.worlds import shape_cases
from kgbench.worlds.generator import world_of

NAME: Final = "ShaclRepairWorld"
_MOST: Final = 10  # violations in feedback


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: faulty graphs, each from another part of the seed's world."""
    parameters = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        faulty = shape_cases.draw_faulty_graph(world, parameters["level"], iteration)
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

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the shapes and the graph."""
    shown = {name: case.data[name] for name in ("shapes", "graph")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Validate the graph in the last answer, and count its needless changes."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    if not read.triples:
        scores = {"answerParse": float(read.triples is not None)}
        scores |= {"conforms": 0.0, "mended": 0.0, "repair": 0.0, "exact": 0.0}
        feedback = (texts.text(NAME, "feedback-no-triples.txt"), "format")
        if read.triples is None:
            feedback = read.feedback
        infos: dict[str, Json] = {"parseError": read.error}
        outcome = turtle_answers.outcome(answer, usable=False)
        return Verdict(scores, infos, outcome, *(feedback if _goes_on(answers) else (None, None)))
    findings = _shapes(case, executor).findings(read.triples)
    needless = _needless(case, read.triples, executor)
    least = sum(fault["least"] for fault in case.data["faults"])
    conforms = float(not findings)
    expected = {(focus, component) for focus, component in case.data["violations"]}
    scores = {
        "answerParse": 1.0,
        "conforms": conforms,
        "mended": len(expected - {finding.pair for finding in findings}) / len(expected),
        "needless": float(needless),
        "repair": conforms * least / (least + needless),
        "exact": float(not findings and not needless),
    }
    infos = {
        "parseError": None,
        "violations": sorted({f"{focus} {component}" for focus, component in map(_pair, findings)})[
            :50
        ],
    }
    if not findings or not _goes_on(answers):
        return Verdict(scores, infos, Outcome.SCORED)
    return Verdict(scores, infos, Outcome.SCORED, _violation_feedback(findings), "content")


def reference(case: Case) -> str:
    """Return the reference answer: the graph with the fewest changes that make it conform."""
    return f"```turtle\n{case.data['repaired']}\n```"


def _needless(case: Case, triples: Sequence[ox.Triple], executor: Executor) -> int:
    """Return the number of changed triples beyond those that the faults require."""
    changed = set(triples) ^ set(_parsed(case, "graph", executor))
    sites = {
        (subject, predicate): number
        for number, fault in enumerate(case.data["faults"])
        for subject, predicate in fault["sites"]
    }
    allowed = [fault["least"] for fault in case.data["faults"]]
    needless = 0
    for triple in changed:
        number = sites.get((str(triple.subject), triple.predicate.value))
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


def _pair(finding: Finding) -> tuple[str, str]:
    return finding.pair


def _violation_feedback(findings: Sequence[Finding]) -> str:
    """Return the feedback on remaining violations."""
    lines = sorted(
        f"* {finding.focus}{'' if finding.path is None else f', {finding.path}'}: "
        f"{finding.message} "
        f"(sh:{finding.component}ConstraintComponent)"
        for finding in findings
    )
    remaining = [f"* and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    violations = "\n".join([*lines[:_MOST], *remaining])
    return texts.filled(NAME, "feedback-violations.txt", violations=violations)


def _written(triples: Sequence[ox.Triple]) -> str:
    return serialising.serialise(triples, "turtle", shape_cases.PREFIXES)
