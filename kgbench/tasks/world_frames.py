# SPDX-License-Identifier: Apache-2.0
"""JsonLdFrameWorld: write the JSON-LD frame that makes a wanted tree of a graph.

Graphs and trees follow from the seed of the plan (:mod:`kgbench.worlds.trees`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.scoring import json_ld
from kgbench.scoring.agreement import agreement
from kgbench.scoring.json_ld import IllFormedJsonLd
from kgbench.tasks import catalogue, json_ld_answers, serialising, texts, turtle_answers
from kgbench.tasks.world_contexts import CONTEXT, PREFIXES
from kgbench.tasks.world_questions import world_of
from kgbench.worlds import trees

NAME: Final = "JsonLdFrameWorld"
LOADS: Final = ("PyLD",)
_LISTED: Final = 50  # values of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one value that is listed
_MOST: Final = 4_000  # characters of a tree that feedback shows


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """``count`` different trees from the world of a seed.

    Raises :class:`~kgbench.errors.TaskError` where the world is too small for so many, once the
    first that is too much is asked for.
    """
    chosen = task.parameters
    sheet = trees.sheet(world_of(task, seed), chosen["level"])

    def data(iteration: int) -> Mapping[str, Json]:
        wanted = sheet.tree(iteration)
        triples = turtle_answers.triples(wanted.triples)
        return {
            "graph": serialising.serialise(triples, "turtle", PREFIXES),
            "triples": list(wanted.triples),
            "context": _written(wanted.context),
            "tree": _written(wanted.tree),
            "frame": _written(wanted.frame),
            "features": [wanted.form],
        }

    return catalogue.generated(task, suite, count, data)


def prompt(case: Case) -> str:
    """The graph, the context, and the tree that is wanted."""
    shown = {name: case.data[name] for name in ("graph", "context", "tree")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - PyLD
    """Compare the tree that the frame in the last answer makes with the one that is wanted."""
    answer = answers[-1]
    read = json_ld_answers.read(answer)
    error, tree = read.error, dict[str, Any]()
    if read.document is not None:
        try:
            nodes = json_ld.expanded(case.data["triples"])
            context = json.loads(case.data["context"])
            tree = json_ld.framed(nodes, {**read.document, CONTEXT: context})
        except IllFormedJsonLd as refused:
            error = str(refused)
    wanted = json.loads(case.data["tree"])
    expected, found = set(json_ld.leaves(wanted)), set(json_ld.leaves(tree) if tree else ())
    agreed = agreement(len(expected & found), len(found), len(expected), precision_of_nothing=0.0)
    exact = json_ld.ordered(tree) == json_ld.ordered(wanted)
    scores = {"answerParse": float(error is None), **agreed.named(), "exact": float(exact)}
    infos: dict[str, Json] = {
        "parseError": error,
        "missing": [one[:_LONGEST] for one in sorted(expected - found)[:_LISTED]],
        "surplus": [one[:_LONGEST] for one in sorted(found - expected)[:_LISTED]],
    }
    outcome = turtle_answers.outcome(answer, usable=error is None)
    if exact or len(answers) >= turtle_answers.ROUNDS:
        return Verdict(scores, infos, outcome)
    if error is not None:
        return Verdict(scores, infos, outcome, *json_ld_answers.feedback(read, error))
    text = _written(tree)
    shown = text if len(text) <= _MOST else f"{text[:_MOST]}\n... and more"
    said = texts.filled(NAME, "feedback-tree.txt", tree=shown)
    return Verdict(scores, infos, outcome, said, "content")


def reference(case: Case) -> str:
    """The frame."""
    return f"```json\n{case.data['frame']}\n```"


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    json_ld_answers.prepare()


def _written(tree: Json) -> str:
    return json.dumps(tree, indent=2)
