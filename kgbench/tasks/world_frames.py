# SPDX-License-Identifier: Apache-2.0
"""JsonLdFrameWorld: write the JSON-LD frame that turns a graph into a given tree.

Graphs and trees are generated from the seed of the plan (:mod:`kgbench.worlds.trees`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from typing import Any, Final

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.scoring import json_ld
from kgbench.scoring.agreement import Agreement, agreement
from kgbench.scoring.json_ld import IllFormedJsonLd
from kgbench.tasks import catalogue, json_ld_answers, serialising, texts, turtle_answers
from kgbench.tasks.world_contexts import CONTEXT, PREFIXES
from kgbench.worlds import trees
from kgbench.worlds.generator import world_of

NAME: Final = "JsonLdFrameWorld"
LOADS: Final = ("PyLD",)
_LISTED: Final = 50  # values of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one value that is listed
_MOST: Final = 4_000  # characters of a tree that feedback shows


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different trees from the seed's world.

    If the world is too small for so many, accessing the first surplus case raises
    :class:`~kgbench.errors.TaskError`.
    """
    # Built for the first case of the task, so that other tasks need not wait for it.
    sheet = cache(lambda: trees.sheet(world_of(task, seed), task.parameters["level"]))

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = sheet()[iteration]
        triples = turtle_answers.triples(exercise.triples)
        return {
            "graph": serialising.serialise(triples, "turtle", PREFIXES),
            "triples": list(exercise.triples),
            "context": _written(exercise.context),
            "tree": _written(exercise.tree),
            "frame": _written(exercise.frame),
            "features": [exercise.form],
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the graph, the context, and the expected tree."""
    shown = {name: case.data[name] for name in ("graph", "context", "tree")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - PyLD
    """Compare the tree made by the frame in the last answer with the expected tree."""
    answer = answers[-1]
    read = json_ld_answers.read(answer)
    error, tree = read.error, dict[str, Any]()
    nodes = json_ld.expanded(case.data["triples"])
    context = {CONTEXT: json.loads(case.data["context"])}
    if read.document is not None:
        try:
            tree = json_ld.framed(nodes, {**read.document, **context})
        except IllFormedJsonLd as refused:
            error = str(refused)
    expected_tree = json.loads(case.data["tree"])
    expected, given = set(json_ld.leaves(expected_tree)), set(json_ld.leaves(tree) if tree else ())
    agreed = _agreement(expected, given)
    exact = json_ld.sort_arrays(tree) == json_ld.sort_arrays(expected_tree)
    gain = float(exact)
    if agreed.f1 and not exact:
        unframed = set(json_ld.leaves(json_ld.framed(nodes, context)))
        gain = _gain(agreed.f1, _agreement(expected, unframed).f1)
    scores = {
        "answerParse": float(error is None),
        **agreed.named(),
        "gain": gain,
        "exact": float(exact),
    }
    infos: dict[str, Json] = {
        "parseError": error,
        "missing": [leaf[:_LONGEST] for leaf in sorted(expected - given)[:_LISTED]],
        "surplus": [leaf[:_LONGEST] for leaf in sorted(given - expected)[:_LISTED]],
    }
    outcome = turtle_answers.outcome(answer, usable=error is None)
    if exact or len(answers) >= turtle_answers.ROUNDS:
        return Verdict(scores, infos, outcome)
    if error is not None:
        return Verdict(scores, infos, outcome, *json_ld_answers.feedback(read, error))
    text = _written(tree)
    shown = text if len(text) <= _MOST else f"{text[:_MOST]}\n... and more"
    feedback = texts.filled(NAME, "feedback-tree.txt", tree=shown)
    return Verdict(scores, infos, outcome, feedback, "content")


def reference(case: Case) -> str:
    """Return the reference answer: the frame."""
    return f"```json\n{case.data['frame']}\n```"


def _agreement(expected: AbstractSet[str], given: AbstractSet[str]) -> Agreement:
    return agreement(len(expected & given), len(given), len(expected), precision_of_nothing=0.0)


def _gain(score: float, without: float) -> float:
    """Return the share of what a score ``without`` an answer lacks that the answer makes up.

    >>> _gain(0.75, 0.5)
    0.5
    >>> _gain(0.3, 0.5)
    0.0
    """
    return max(0.0, (score - without) / (1 - without)) if without < 1 else 0.0


def _written(tree: Json) -> str:
    return json.dumps(tree, indent=2)
