# SPDX-License-Identifier: Apache-2.0
"""What every family of tasks must do with hostile answers, in processes under limits."""

from itertools import islice

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import hostile
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children

ANSWERS = 200  # of the generic ones; each family has others of its own
URL = "http://127.0.0.1:9/hostile"  # in answers of families, for the address of the listener
LIMITS = JudgeLimits(PATIENCE, memory_bytes=900 << 20)
JUDGED = {Outcome.SCORED, Outcome.UNPARSABLE, Outcome.EMPTY}


def assert_harmless(labels, usable, refused):
    """Assert that each answer is judged or refused, without connections, in bounded memory.

    The first cases of the tasks with ``labels`` are asked. Answers that are ``usable`` are scored,
    and those to be ``refused`` are unparsable; none of them has points. At the end of the block of
    a right answer they do no harm either, and those that are usable make it wrong.
    """
    cases = [
        catalogue.module(TASKS[one].task_class).cases(TASKS[one], "own", 7, 1)[0] for one in labels
    ]
    references = [catalogue.module(case.task_class).reference(case) for case in cases]
    with listener() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        own = [answer.replace(URL, url) for answer in (*usable, *refused)]
        additions = [answer.partition("\n")[2] for answer in own]
        beside = [f"{one.removesuffix('```')}{more}" for more in additions for one in references]
        generic = islice((text for _, text in hostile.answers(references, 400, url=url)), ANSWERS)
        chosen = [*own, *beside, *(text for text in generic if text not in references)]
        requests = [JudgeRequest(case, (text,)) for case in cases for text in chosen]
        with peak_of_children() as peak:
            judged = judge_batch(requests, LIMITS)
        assert nobody_came(server)
    assert 0 < max(peak) < LIMITS.memory_bytes
    wrong = [
        (request.answers[0][:200], verdict.outcome, verdict.infos)
        for request, verdict in zip(requests, judged, strict=True)
        if verdict.outcome not in JUDGED
    ]
    assert not wrong, wrong
    expected = [Outcome.SCORED] * len(usable) + [Outcome.UNPARSABLE] * len(refused)
    for start in range(0, len(judged), len(chosen)):
        alone = judged[start : start + len(own)]
        added = judged[start + len(own) : start + len(own) + len(usable) * len(references)]
        assert [verdict.outcome for verdict in alone] == expected
        assert not any(verdict.scores["f1"] for verdict in alone)
        assert not any(verdict.scores["exact"] for verdict in added)
