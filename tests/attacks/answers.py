# SPDX-License-Identifier: Apache-2.0
"""Hostile answers to every task that ships with kgbench, judged as in a run.

Each answer is the best answer or a hostile document, query or text, mutated from a seed. Every
answer must get an outcome in bounded memory. Many answers name a listener, which must receive no
connection.
"""

from __future__ import annotations

import random
import resource
import time
from collections import Counter
from typing import NamedTuple

from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.tasks import catalogue
from kgbench.testing import example
from kgbench.testing.hostile import mutate
from tests.execution.judging.probing import listener, nobody_came

MEMORY = 700 << 20  # bytes of address space of a judging process
_SECONDS = 2.0
_BATCH = 50


class Judged(NamedTuple):
    """The number of judged answers, their outcomes and the cost.

    ``without`` counts answers without an outcome; ``megabytes`` is the maximal memory of a judging
    process; ``visited`` is true if a query or document reached the listener.
    """

    answers: int
    outcomes: Counter[str]
    without: int
    seconds: float
    megabytes: int
    visited: bool


def attack(answers: int, seed: int = 0) -> Judged:
    """Judge this number of hostile answers, spread evenly over all labelled tasks."""
    chance = random.Random(seed)
    labels = sorted(catalogue.labelled_tasks())
    outcomes: Counter[str] = Counter()
    without, began = 0, time.monotonic()
    with listener() as elsewhere:
        url = f"http://127.0.0.1:{elsewhere.getsockname()[1]}/"
        for begin in range(0, answers, _BATCH):
            batch = []
            for number in range(begin, min(begin + _BATCH, answers)):
                one = example(labels[number % len(labels)])
                batch.append(JudgeRequest(one.case, (mutate(one.reference, url, chance),)))
            verdicts = judge_batch(batch, JudgeLimits(_SECONDS, MEMORY))
            without += len(batch) - len(verdicts)
            outcomes.update(str(verdict.outcome) for verdict in verdicts)
        end_child()
        visited = not nobody_came(elsewhere)
    megabytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
    return Judged(answers, outcomes, without, time.monotonic() - began, megabytes, visited)
