# SPDX-License-Identifier: Apache-2.0
"""JudgeVerdict: one verdict of a rubric's closed set about a stored dialogue.

The cases are made of stored dialogues by :mod:`kgbench.judges`. A case holds what reading a verdict
needs (the options as they were shown, with their values) and what it is about, but no text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Outcome, Task, Verdict

NAME = "JudgeVerdict"

# Marks of emphasis around the words are no part of them.
_VERDICT = re.compile(r"[*_`#> \t]*VERDICT[*_`]*[ \t]*:[*_` \t]*([A-Za-z-]{1,40})[*_`. \t]*")


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG001 - none
    """None: what is judged is in a store, and a configuration cannot name it."""
    return ()


def prompt(case: Case) -> str:
    """Raises :class:`~kgbench.errors.TaskError`: the texts are those of stored dialogues."""
    raise TaskError(f"{case.iri} is about stored dialogues: ask with `kgbench judge`")


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no execution
    """The verdict in the last line of the answer that is not blank.

    What stands before the last line is a reason and may quote anything, also other verdicts.
    """
    chosen = stated(answers[-1])
    order = list(case.data["order"])
    if chosen is None or chosen not in order:
        blank = not answers[-1].strip()
        return Verdict({"decided": 0.0}, {}, Outcome.EMPTY if blank else Outcome.UNPARSABLE)
    value = case.data["values"].get(chosen)
    scores = {"decided": float(chosen != case.data["undecided"])}
    if value is not None:
        scores["value"] = float(value)
    return Verdict(scores, {"verdict": chosen, "place": order.index(chosen), **_about(case)})


def stated(answer: str) -> str | None:
    r"""The verdict that the last line of an answer states, in small letters; ``None`` without one.

    >>> stated("The answer says VERDICT: right, but it is not.\n**VERDICT: wrong**\n")
    'wrong'
    """
    last = answer.rstrip()[-400:].splitlines()[-1:]
    found = _VERDICT.fullmatch(last[0]) if last else None
    return None if found is None else found[1].lower().strip("-")


def reference(case: Case) -> str:
    """The verdict that executing the judged answer implies; else that no verdict is possible."""
    return f"VERDICT: {case.data['executed'] or case.data['undecided']}"


def _about(case: Case) -> dict[str, object]:
    """What is recorded with the verdict, so that it can be grouped without reading the case."""
    names = ("rubric", "options", "order", "executed", "items", "calibration")
    return {name: case.data[name] for name in names if name in case.data}
