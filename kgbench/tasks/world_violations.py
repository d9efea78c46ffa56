# SPDX-License-Identifier: Apache-2.0
"""ShaclVerdictWorld: list the constraint violations in a part of a generated world.

Graphs, shapes and faults are generated from the seed of the plan
(:mod:`kgbench.worlds.shape_cases`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Outcome, Task, Verdict
from kgbench.scoring.agreement import compare_sets
from kgbench.tasks import catalogue, serialising, texts, turtle_answers
from kgbench.vocab import SH
from kgbench.worlds import shape_cases
from kgbench.worlds.generator import world_of

NAME: Final = "ShaclVerdictWorld"
_FOCUS: Final = ox.NamedNode(SH.focusNode)
_COMPONENT: Final = ox.NamedNode(SH.sourceConstraintComponent)
_SUFFIX: Final = "ConstraintComponent"
_MOST: Final = 200  # violations of one answer that the infos list; all are scored


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: faulty graphs, each from another part of the seed's world."""
    parameters = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        faulty = shape_cases.draw_faulty_graph(world, parameters["level"], iteration)
        return {
            "shapes": faulty.rules.text,
            "graph": serialising.serialise(faulty.scene.triples, "turtle", shape_cases.PREFIXES),
            "violations": [list(pair) for pair in faulty.violations],
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the shapes and the graph."""
    shown = {name: case.data[name] for name in ("shapes", "graph")}
    return texts.filled(case.task_class, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the results of the report in the last answer with the actual violations."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    given = reported_violations(read.triples or ())
    expected = {f"{focus} {component}" for focus, component in case.data["violations"]}
    agreement = compare_sets(expected, given)
    precision = agreement.precision if given else 0.0
    scores = {
        "answerParse": float(read.triples is not None),
        "precision": precision,
        "recall": agreement.recall,
        "f1": agreement.f1,
        "exact": float(given == expected),
    }
    infos: dict[str, Json] = {
        "parseError": read.error,
        "missed": sorted(expected - given),
        "invented": sorted(given - expected)[:_MOST],
    }
    verdict = Verdict(scores, infos, turtle_answers.outcome(answer, usable=bool(given)))
    if verdict.outcome is Outcome.SCORED or len(answers) >= turtle_answers.ROUNDS:
        return verdict
    feedback = (texts.text(NAME, "feedback-no-results.txt"), "format")
    if read.triples is None:
        feedback = read.feedback
    return Verdict(scores, infos, verdict.outcome, *feedback)


def reported_violations(triples: Iterable[ox.Triple]) -> set[str]:
    """Node and component of each result in a report with exactly one of each."""
    foci: dict[object, set[str]] = {}
    components: dict[object, set[str]] = {}
    for triple in triples:
        if triple.predicate == _FOCUS:
            foci.setdefault(triple.subject, set()).add(str(triple.object))
        elif triple.predicate == _COMPONENT and isinstance(triple.object, ox.NamedNode):
            name = triple.object.value.removeprefix(str(SH)).removesuffix(_SUFFIX)
            components.setdefault(triple.subject, set()).add(name)
    return {
        f"{min(focus)} {min(components[node])}"
        for node, focus in foci.items()
        if len(focus) == 1 and len(components.get(node, ())) == 1
    }


def reference(case: Case) -> str:
    """Return the reference answer: the complete validation report."""
    results = [
        f"[] a sh:ValidationResult ; sh:focusNode {focus} ; "
        f"sh:sourceConstraintComponent sh:{component}{_SUFFIX} ."
        for focus, component in case.data["violations"]
    ]
    return "\n".join(["```turtle", f"@prefix sh: <{SH}> .", *results, "```"])
