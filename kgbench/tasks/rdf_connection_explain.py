# SPDX-License-Identifier: Apache-2.0
"""RdfConnectionExplainStatic: list the resources on the shortest path between two nodes.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.1; Meyer et al.,
LLM-KG-Bench 3.0, ESWC 2025. ``task.ttl`` decides the points that they leave open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Outcome, Task, Verdict
from kgbench.scoring.agreement import agreement
from kgbench.tasks import catalogue, formats, organisation, texts

NAME = "RdfConnectionExplainStatic"

_NAMESPACE = "https://abc.def/ghi/"
PATH = ("anne", "researchDep", "wonderOrg", "marketingDep", "bob")
ENDS = ("Anne", "Bob")
"""The names of the persons at both ends of the path in the prompt."""

# Names of vocabulary terms, which are not resources of the path.
_OTHER_NAMES = ("Home", "Organization", "OrganizationalUnit", "Person")

# The white space before `$` is greedy on purpose: it stays in the capture, with the final line
# break, and makes the difference between the untrimmed and the trimmed scores.
_LIST_LINE = re.compile(rf"^[-*:]?[ \t]*({re.escape(_NAMESPACE)}\w*\s*)$", re.MULTILINE)
_ANYWHERE = re.compile(rf"{re.escape(_NAMESPACE)}\w+")


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG001 - static
    """Return the only case: the organisational graph in the format of ``task``."""
    graph_format = task.parameters["graphFormat"]
    graph = organisation.in_format(organisation.turtle(), graph_format)
    data = {"graphFormat": graph_format, "graph": graph}
    case = catalogue.make_case(suite, NAME, task.parameters, data, uid="organisation")
    return [case][:count]


def prompt(case: Case) -> str:
    """Return the question with the graph of ``case`` as a prompt.

    Raises :class:`~kgbench.errors.TaskError` if the case has no graph.
    """
    if "graph" not in case.data:
        raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
    title = formats.TITLES[formats.canonical_format(case.data["graphFormat"])]
    path, ends = _path(case), case.data.get("ends", ENDS)
    return texts.filled(
        NAME,
        "prompt.txt",
        format=title,
        graph=case.data["graph"],
        first=ends[0],
        last=ends[1],
        first_iri=_NAMESPACE + path[0],
        last_iri=_NAMESPACE + path[-1],
    )


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no parsing
    """Compare the lines, the IRIs and the names of the answer with the path."""
    return verdict(answers[-1], precision_of_no_names=1.0, path=_path(case))


def verdict(answer: str, *, precision_of_no_names: float, path: Sequence[str] = PATH) -> Verdict:
    """Return the verdict on an answer; ``precision_of_no_names`` differs between versions."""
    expected = {_NAMESPACE + name for name in path}
    lines = len(answer.splitlines())
    listed: list[str] = _LIST_LINE.findall(answer)
    plain = len(expected.intersection(listed))
    trimmed = len(expected.intersection(line.strip() for line in listed))
    iris: list[str] = _ANYWHERE.findall(answer)
    right_iris = len(expected.intersection(iris))
    right_names = sum(name in answer for name in path)
    all_names = right_names + sum(name in answer for name in _OTHER_NAMES)
    scores: dict[str, float] = {}
    for prefix, right, given, precision_of_nothing in (
        ("list", plain, lines, 1.0),
        ("listTrim", trimmed, lines, 1.0),
        ("textHttp", right_iris, len(iris), precision_of_no_names),
        ("textShort", right_names, all_names, precision_of_no_names),
    ):
        scores_of_kind = agreement(
            right, given, len(path), precision_of_nothing=precision_of_nothing
        )
        scores |= scores_of_kind.named(prefix, f1="F1")
    scores["exact"] = float(scores["listTrimF1"] == 1)
    scores["lineBrevity"] = len(listed) / lines if lines else 0.0
    infos = {
        "lineCount": lines,
        "listLineCount": len(listed),
        "listCorrectCount": plain,
        "listTrimCorrectCount": trimmed,
        "textHttpCountCorrect": right_iris,
        "textHttpCount": len(iris),
        "textShortCountCorrect": right_names,
        "textShortCount": all_names,
    }
    return Verdict(scores, infos, _outcome(answer, listed))


def reference(case: Case) -> str:
    """Return the reference answer: the path, one IRI per line."""
    return "\n".join(_NAMESPACE + name for name in _path(case))


def _path(case: Case) -> Sequence[str]:
    """Return the names of the path of a case; published cases omit it because all have the same."""
    path: Sequence[str] = case.data.get("path", PATH)
    return path


def _outcome(answer: str, listed: Sequence[str]) -> Outcome:
    if not answer.strip():
        return Outcome.EMPTY
    return Outcome.SCORED if listed else Outcome.UNPARSABLE
