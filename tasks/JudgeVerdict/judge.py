# SPDX-License-Identifier: Apache-2.0
"""JudgeVerdict: give one verdict from a rubric's closed set about a stored dialogue.

The plug-in ``judging`` makes the cases from stored dialogues. A case holds the data for reading a
verdict (the options as shown, with their values) and references to the dialogue, but no text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from kgbench.api import Case, Executor, Family, Outcome, Task, TaskError, Verdict

# Ignores Markdown emphasis around the words. Lines that Markdown shows as quotations or code
# (">", four spaces) are no verdicts.
_VERDICT = re.compile(
    r" {0,3}(?:#{1,6}[ \t]+)?[*_`]*VERDICT[*_`]*[ \t]*:[*_` \t]*([A-Za-z-]{1,40})[*_`. \t]*"
)
_LINE_END = re.compile(r"\r\n|\n|\r")  # those of Markdown; str.splitlines has eight more
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})")
_LONGEST = 400  # characters of the line with a verdict


class JudgeVerdict(Family):
    """Verdicts of models about dialogues in a store."""

    UNFINISHED: Final = Verdict({"decided": 0.0}, {}, Outcome.UNPARSABLE)

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Raise :class:`~kgbench.errors.TaskError`: cases are made from dialogues in a store."""
        raise TaskError(
            f"{task.label} has no cases of its own: `kgbench judge`, a command of the plug-in "
            f"judging, asks about stored dialogues"
        )

    def prompt(self, case: Case) -> str:
        """Raise :class:`~kgbench.errors.TaskError`: prompts need the texts of stored dialogues."""
        raise TaskError(
            f"{case.iri} is about stored dialogues: ask with `kgbench judge` (plug-in judging)"
        )

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Score the verdict in the last line of the answer that is not blank.

        The lines before are a justification and may quote anything, also other verdicts.
        """
        chosen = stated_verdict(answers[-1])
        order = list(case.data["order"])
        if chosen is None or chosen not in order:
            blank = not answers[-1].strip()
            return Verdict({"decided": 0.0}, {}, Outcome.EMPTY if blank else Outcome.UNPARSABLE)
        value = case.data["values"].get(chosen)
        scores = {"decided": float(chosen != case.data["undecided"])}
        if value is not None:
            scores["value"] = float(value)
        return Verdict(
            scores, {"verdict": chosen, "place": order.index(chosen), **_grouping_data(case)}
        )

    def reference(self, case: Case) -> str:
        """Return the verdict that executing the judged answer implies, or undecided."""
        return f"VERDICT: {case.data['executed'] or case.data['undecided']}"


family: Final = JudgeVerdict(__file__)


def stated_verdict(answer: str) -> str | None:
    r"""Return the verdict in the last line of an answer, in lower case; ``None`` if there is none.

    A verdict within a quotation or a fenced block is none.

    >>> stated_verdict("The answer says VERDICT: right, but it is not.\n**VERDICT: wrong**\n")
    'wrong'
    """
    *before, last = _LINE_END.split(answer.rstrip(" \t\r\n"))
    match = _VERDICT.fullmatch(last) if len(last) <= _LONGEST else None
    if match is None or _leaves_open_fence(before):
        return None
    return match[1].lower().strip("-")


def _leaves_open_fence(lines: Iterable[str]) -> bool:
    """Return whether a fenced block is still open after ``lines`` (CommonMark 0.31, 4.5)."""
    opening = ""
    for line in lines:
        mark = _FENCE.match(line)
        if mark is None:
            continue
        if not opening:
            opening = mark[1]
        elif mark[1].startswith(opening) and line.strip() == mark[1]:
            opening = ""
    return bool(opening)


def _grouping_data(case: Case) -> dict[str, object]:
    """Return data to record with a verdict, so that grouping verdicts needs no cases."""
    names = ("rubric", "options", "order", "executed", "items", "calibration")
    return {name: case.data[name] for name in names if name in case.data}
