# SPDX-License-Identifier: Apache-2.0
"""What every family of tasks must do with hostile answers, in processes under limits."""

from dataclasses import replace
from itertools import islice

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import catalogue
from kgbench.testing import hostile
from tests.execution.judging.hostile import Hostile
from tests.execution.judging.hostile_answers import JUDGED, JUDGED_OR_ENDED
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children, wrong

ANSWERS = 200  # of the generic ones; each family has others of its own
URL = "http://127.0.0.1:9/hostile"  # in answers of families, for the address of the listener
LIMITS = JudgeLimits(PATIENCE, memory_bytes=900 << 20)
ANYTHING = Hostile((), JUDGED_OR_ENDED)
HASTY = replace(LIMITS, seconds=4.0)  # for answers that are endless or may be slow


def question(label):
    """Return the first case of a labelled task."""
    task = TASKS[label]
    return catalogue.module(task.task_class).cases(task, "own", 7, 1)[0]


def assert_harmless(labels, usable, refused):
    """Assert that each answer is judged or refused, without connections, in bounded memory.

    The first cases of the tasks with ``labels`` are asked. Answers that are ``usable`` are scored,
    and those to be ``refused`` are unparsable; none of them has points. At the end of the block of
    a right answer they do no harm either, and those that are usable make it wrong.
    """
    cases = [question(label) for label in labels]
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
    unexpected = [
        (request.answers[0][:200], verdict.outcome, verdict.infos)
        for request, verdict in zip(requests, judged, strict=True)
        if verdict.outcome not in JUDGED
    ]
    assert not unexpected, unexpected
    expected = [Outcome.SCORED] * len(usable) + [Outcome.UNPARSABLE] * len(refused)
    for start in range(0, len(judged), len(chosen)):
        alone = judged[start : start + len(own)]
        added = judged[start + len(own) : start + len(own) + len(usable) * len(references)]
        assert [verdict.outcome for verdict in alone] == expected
        assert not any(verdict.scores["f1"] for verdict in alone)
        assert not any(verdict.scores["exact"] for verdict in added)


def assert_outcomes(label, kinds):
    """Assert that answers have the outcomes of their ``kinds``, within the same bounds.

    None of them is right, unless it may have any outcome, as generic answers, which are added. The
    first case of the task with a ``label`` is asked.
    """
    case = question(label)
    references = [catalogue.module(case.task_class).reference(case)]
    with listener() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        own = [(answer.replace(URL, url), kind) for kind in kinds for answer in kind.answers]
        generic = islice(hostile.answers(references, 400, seed=3, url=url), ANSWERS - len(own))
        answers = [*own, *((answer, ANYTHING) for _, answer in generic)]
        unexpected = []
        with peak_of_children() as peak:
            for limits in (HASTY, LIMITS):
                hasty = limits is HASTY
                chosen = [one for one in answers if (Outcome.TIMEOUT in one[1].outcomes) is hasty]
                verdicts = judge_batch([JudgeRequest(case, (one,)) for one, _ in chosen], limits)
                judged = list(zip(chosen, verdicts, strict=True))
                unexpected += [
                    f"{answer[:300]!r} is right"
                    for (answer, kind), verdict in judged
                    if kind.outcomes is not JUDGED_OR_ENDED and verdict.scores.get("exact")
                ]
                unexpected += [
                    f"{answer[:300]!r} -> {complaint}"[:900]
                    for (answer, kind), verdict in judged
                    if (complaint := wrong(kind, verdict)) is not None
                ]
        assert not unexpected, "\n".join(unexpected)
        assert nobody_came(server)
    assert 0 < max(peak) < LIMITS.memory_bytes
