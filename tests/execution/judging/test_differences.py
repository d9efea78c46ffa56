# SPDX-License-Identifier: Apache-2.0
"""Two hundred hostile lists of changes have the outcomes of their kinds."""

from __future__ import annotations

from itertools import islice

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import world_differences
from kgbench.testing import hostile
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children

PATIENT = JudgeLimits(PATIENCE, memory_bytes=700 << 20)
ANSWERS = 200
JUDGED = (Outcome.SCORED, Outcome.UNPARSABLE, Outcome.EMPTY)
MANY = range(20_000)


def fenced(*lines):
    """Return an answer of lines."""
    return "\n".join(["```diff", *lines, "```"])


def usable():
    """Yield readable lists that are large, odd, or about everything."""
    yield fenced(*(f"- <urn:s:{n}> <urn:p> {n} ." for n in MANY))
    yield fenced(*(f"+ _:b{n % 7} <urn:p> _:b{n % 5} ." for n in MANY))
    yield fenced("- <urn:s> <urn:p> " + " , ".join(map(str, MANY)) + " .")
    yield fenced("+ <urn:s> <urn:p> ( " + " ".join(map(str, MANY)) + " ) .")
    yield fenced(f'+ <urn:s> <urn:p> "{"x" * 1_000_000}" .')
    yield fenced("+ <urn:s> <urn:p> " + "[ <urn:p> " * 300 + "1" + " ]" * 300 + " .")
    yield fenced("- <urn:s> <urn:p> <<( <urn:s> <urn:p> 1 )>> .")
    yield fenced('- <urn:s> <urn:p> "a"@en--ltr .', "+ <urn:s> <urn:p> 'it\\'s _:b1' .")
    yield fenced("- <urn:x-kgbench-blank-node:b1> <urn:p> <urn:x-kgbench-blank-node:> .")
    yield fenced("- _:b1 <urn:p> _:b1 .", "+ _:b1 <urn:p> _:b1 .")


def refused():
    """Yield unreadable lists."""
    yield fenced('- <urn:s> <urn:p> "' + "\\" * 100_000)
    yield fenced("- " + '"' * 100_000, "+ " + "<" * 100_000)
    yield fenced("- " + "_:" * 100_000)
    yield fenced("- _:" + "a." * 100_000)
    yield fenced("- " + "[ " * 100_000)
    yield fenced(*("-" for _ in MANY))
    yield fenced(*("@prefix a: <urn:a:> ." for _ in MANY))
    yield fenced("same", "- <urn:s> <urn:p> 1 .")
    yield fenced("- <urn:s> <urn:p> 'unclosed .", "- <urn:t> <urn:p> 1 .")


def reaching(url):
    """Yield lists about a remote address."""
    yield fenced(f"@base <{url}> .", "- <a> <b> <c> .")
    yield fenced(f"@prefix x: <{url}> .", "- x:a <http://www.w3.org/2002/07/owl#imports> x:c .")


def test_every_hostile_answer_has_its_outcome():
    """Each is judged or refused, without connections, in bounded memory; none is right."""
    cases = [
        world_differences.cases(TASKS[f"{world_differences.NAME}-natural-{level}"], "own", 7, 1)[0]
        for level in (1, 4)
    ]
    with listener() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        read = [*usable(), *reaching(url)]
        own = [*read, *refused()]
        references = [world_differences.reference(case) for case in cases]
        # a right answer with long additions
        beside = [
            one.replace("\n```", f"\n{line}\n```")
            for one in references
            for line in (f'- <urn:s> <urn:p> "{"y" * 500_000}" .', "+ " + "[" * 9_000, "# " * 9_000)
        ]
        generic = islice((text for _, text in hostile.answers(references, 400, url=url)), ANSWERS)
        chosen = [*own, *beside, *(text for text in generic if text not in references)]
        with peak_of_children() as peak:
            requests = [JudgeRequest(case, (text,)) for case in cases for text in chosen]
            judged = judge_batch(requests, PATIENT)
        assert nobody_came(server)
    assert 0 < max(peak) < PATIENT.memory_bytes
    assert len(judged) >= 2 * ANSWERS
    wrong = [
        (asked.answers[0][:200], verdict.outcome, verdict.infos)
        for asked, verdict in zip(requests, judged, strict=True)
        if verdict.outcome not in JUDGED
    ]
    assert not wrong, wrong
    for start in (0, len(chosen)):
        mine = judged[start : start + len(own)]
        outcomes = [one.outcome for one in mine]
        assert outcomes == [Outcome.SCORED] * len(read) + [Outcome.UNPARSABLE] * len(
            list(refused())
        )
        assert all(one.scores["f1"] == one.scores["exact"] == 0.0 for one in mine)
