# SPDX-License-Identifier: Apache-2.0
"""JudgeVerdict: give one verdict from a rubric's closed set about a stored dialogue.

:mod:`kgbench.judges` makes the cases from stored dialogues. A case holds the data for reading a
verdict (the options as shown, with their values) and references to the dialogue, but no text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kgbench.errors import TaskError
from kgbench.model import Case, Executor, Outcome, Task, Verdict

NAME = "JudgeVerdict"

# Ignores Markdown emphasis around the words.
_VERDICT = re.compile(r"[*_`#> \t]*VERDICT[*_`]*[ \t]*:[*_` \t]*([A-Za-z-]{1,40})[*_`. \t]*")


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:  # noqa: ARG001 - none
    """Return no cases.

    Cases are made from dialogues in a store, which a configuration cannot select.
    """
    return ()


def prompt(case: Case) -> str:
    """Raise :class:`~kgbench.errors.TaskError`: prompts need the texts of stored dialogues."""
    raise TaskError(f"{case.iri} is about stored dialogues: ask with `kgbench judge`")


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:  # noqa: ARG001 - no execution
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


def stated_verdict(answer: str) -> str | None:
    r"""Return the verdict in the last line of an answer, in lower case; ``None`` if there is none.

    >>> stated_verdict("The answer says VERDICT: right, but it is not.\n**VERDICT: wrong**\n")
    'wrong'
    """
    last = answer.rstrip()[-400:].splitlines()[-1:]
    match = _VERDICT.fullmatch(last[0]) if last else None
    return None if match is None else match[1].lower().strip("-")


def reference(case: Case) -> str:
    """Return the reference answer.

    This is the verdict that executing the judged answer implies, or undecided.
    """
    return f"VERDICT: {case.data['executed'] or case.data['undecided']}"


def _grouping_data(case: Case) -> dict[str, object]:
    """Return data to record with a verdict, so that grouping verdicts needs no cases."""
    names = ("rubric", "options", "order", "executed", "items", "calibration")
    return {name: case.data[name] for name in names if name in case.data}
