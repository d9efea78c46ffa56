# SPDX-License-Identifier: Apache-2.0
"""Two hundred hostile JSON-LD contexts and frames have the outcomes of their kinds."""

from __future__ import annotations

import json
from itertools import islice

import pytest

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import world_contexts, world_frames
from kgbench.testing import hostile
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children

PATIENT = JudgeLimits(PATIENCE, memory_bytes=700 << 20)
ANSWERS = 200
JUDGED = (Outcome.SCORED, Outcome.UNPARSABLE, Outcome.EMPTY)


def fenced(context):
    """Return an answer with a context."""
    return framed({"@context": context})


def framed(frame):
    """Return an answer with a JSON object."""
    return f"```json\n{json.dumps(frame)}\n```"


def frames():
    """Yield frames that are large, deep, or request everything."""
    yield from ({}, {"@embed": "@always"}, {"@embed": "@always", "@explicit": False, "@id": {}})
    yield {f"key{n}": {} for n in range(20_000)}
    yield {"type": [f"urn:c:{n}" for n in range(20_000)]}
    yield {"name": {"@default": "x" * 500_000}}
    yield {"maker": {"@default": [{"@id": f"urn:d:{n}"} for n in range(5_000)]}}
    deep = at = {}
    for _ in range(400):
        at["maker"] = {"@embed": "@always", "makerOf": {}}
        at = at["maker"]["makerOf"]
    yield deep
    yield {"@graph": {"@graph": {"@graph": {}}}}
    yield {"@reverse": {"https://w3id.org/kgbench/world/maker": {"@embed": "@always"}}}
    yield {"@included": {}, "@nest": {}, "@omitDefault": "maybe", "@requireAll": [True]}


def reaching(url):
    """Yield remote contexts, in every place where a context is allowed."""
    yield from (url, [url], [{}, url], {"@import": url}, {"@version": 1.1, "@import": url})
    yield from ({"device": {"@context": url}}, {"device": {"@id": "urn:d", "@context": [url]}})
    yield from ({"name": {"@id": "urn:n", "@context": {"@import": url}}}, {"@base": url})
    yield from ({"@vocab": url, "@propagate": False}, url.replace("http", "file"), "/etc/passwd")


def heavy():
    """Yield contexts that are large, deep, or expand a lot."""
    yield {f"term{n}": f"urn:x:{n}" for n in range(20_000)}
    yield [{"a": "urn:a"}] * 5_000
    yield {f"t{n}": f"t{n + 1}:" for n in range(900)}
    yield {f"t{n}": {"@id": "urn:t", "@context": {f"t{n + 1}": "urn:u"}} for n in range(2_000)}
    deep = at = {}
    for _ in range(300):
        at["name"] = {"@id": "urn:n", "@context": {}}
        at = at["name"]["@context"]
    yield deep
    yield {"@vocab": "x" * 500_000}
    yield {"@vocab": "urn:v:", "name": {"@id": "urn:n", "@type": "@json"}}
    yield {"@vocab": "urn:v:", "name": {"@id": "urn:n", "@container": ["@graph", "@id"]}}
    yield {"@vocab": "urn:v:", "@language": "x" * 100_000, "@direction": "rtl"}
    yield {"": "urn:e", " ": "urn:s", "\ud800": "urn:lone", "\x00": "urn:nul"}


@pytest.mark.parametrize("module", [world_contexts, world_frames])
def test_every_hostile_answer_has_its_outcome(module):
    """Each is judged or refused, without connections, in bounded memory; no remote one is right."""
    cases = [
        module.cases(TASKS[f"{module.NAME}-natural-{level}"], "own", 7, 1)[0] for level in (1, 5)
    ]
    with listener() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        chosen = [fenced(one) for one in (*reaching(url), *heavy())]
        chosen += map(framed, frames())
        chosen += ["```json\n" + "[" * 50_000 + "]" * 50_000 + "\n```", "```json\n" + "9" * 5_000]
        references = [module.reference(case) for case in cases]
        chosen += islice((text for _, text in hostile.answers(references, 400, url=url)), ANSWERS)
        requests = [
            JudgeRequest(case, (text,))
            for case in cases
            for text in chosen
            if text not in references
        ]
        with peak_of_children() as peak:
            judged = judge_batch(requests, PATIENT)
        assert nobody_came(server)
    assert 0 < max(peak) < PATIENT.memory_bytes
    assert len(judged) >= 2 * ANSWERS
    wrong = [
        (asked.answers[0][:200], verdict.outcome, verdict.scores)
        for asked, verdict in zip(requests, judged, strict=True)
        if verdict.outcome not in JUDGED
    ]
    assert not wrong, wrong
    remote = judged[: len(list(reaching(url)))]
    assert all(one.scores["exact"] == 0.0 for one in remote)
    if module is world_contexts:  # a frame's answer does not choose the context
        assert sum("nothing is fetched" in str(one.infos["parseError"]) for one in remote) >= 6


def test_a_context_is_judged_in_a_child():
    """The late imports of PyLD are done before the child process gives up its descriptors."""
    (case,) = world_contexts.cases(TASKS[f"{world_contexts.NAME}-natural-3"], "own", 7, 1)
    answers = (world_contexts.reference(case), fenced({"name": {"@type": 5}}), fenced("urn:x"))
    right, refused, remote = judge_batch([JudgeRequest(case, (one,)) for one in answers], PATIENT)

    assert (right.outcome, right.scores["exact"]) == (Outcome.SCORED, 1.0)
    assert (refused.outcome, remote.outcome) == (Outcome.UNPARSABLE, Outcome.UNPARSABLE)
    assert "nothing is fetched" in remote.infos["parseError"]
