# SPDX-License-Identifier: Apache-2.0
"""RdfConnectionExplainStatic: list the resources on the shortest path between two nodes.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.1; Meyer et al.,
LLM-KG-Bench 3.0, ESWC 2025. ``task.ttl`` decides the points that they leave open.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.api import Case, Executor, Json, ListedFamily, TaskError, Verdict, agreement, outcome
from kgbench.tasks import serialising

_NAMESPACE: Final = "https://abc.def/ghi/"

# Names of vocabulary terms, which are not resources of the path.
_OTHER_NAMES: Final = ("Home", "Organization", "OrganizationalUnit", "Person")

# The white space before `$` is greedy on purpose: it stays in the capture, with the final line
# break, and makes the difference between the untrimmed and the trimmed scores.
_LIST_LINE: Final = re.compile(rf"^[-*:]?[ \t]*({re.escape(_NAMESPACE)}\w*\s*)$", re.MULTILINE)
_ANYWHERE: Final = re.compile(rf"{re.escape(_NAMESPACE)}\w+")


class RdfConnectionExplainStatic(ListedFamily):
    """The shortest path through the organisational graph."""

    path: Final = ("anne", "researchDep", "wonderOrg", "marketingDep", "bob")
    """The local names of the path; published cases omit it because all have the same."""
    ends: Final = ("Anne", "Bob")
    """The names of the persons at both ends of the path in the prompt."""

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the only case: the organisational graph in the format of the task."""
        graph_format = parameters["graphFormat"]
        graph = serialising.in_format(self.file("graph.ttl", "organisation"), graph_format)
        return [{"graphFormat": graph_format, "graph": graph}]

    def uid(self, data: Mapping[str, Json]) -> str:
        """Return the name of the only case."""
        return "organisation"

    def prompt(self, case: Case) -> str:
        """Return the question with the graph of ``case``.

        Raises :class:`~kgbench.errors.TaskError` if the case has no graph.
        """
        if "graph" not in case.data:
            raise TaskError(f"the case {case.iri} has no graph, so nothing can be asked about it")
        path, ends = case.data.get("path", self.path), case.data.get("ends", self.ends)
        return self.text(
            "prompt",
            format=serialising.TITLES[serialising.canonical_format(case.data["graphFormat"])],
            graph=case.data["graph"],
            first=ends[0],
            last=ends[1],
            first_iri=_NAMESPACE + path[0],
            last_iri=_NAMESPACE + path[-1],
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the lines, the IRIs and the names of the answer with the path.

        The data ``precisionOfNoNames`` is the precision of an answer that names nothing, by default
        1; it differs between versions.
        """
        answer = answers[-1]
        path: Sequence[str] = case.data.get("path", self.path)
        precision_of_no_names: float = case.data.get("precisionOfNoNames", 1.0)
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
        return Verdict(scores, infos, outcome(answer, usable=bool(listed)))

    def reference(self, case: Case) -> str:
        """Return the path, one IRI per line."""
        return "\n".join(_NAMESPACE + name for name in case.data.get("path", self.path))


family: Final = RdfConnectionExplainStatic(__file__)
