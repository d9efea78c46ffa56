# SPDX-License-Identifier: Apache-2.0
"""Two hundred hostile alignments have the outcomes of their kinds."""

from __future__ import annotations

from itertools import islice

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Outcome
from kgbench.tasks import world_alignments
from kgbench.testing import hostile
from kgbench.vocab import OWL
from kgbench.worlds.alignments import FIRST, SECOND
from tests.execution.judging.probing import PATIENCE, TASKS, listener, nobody_came
from tests.execution.judging.test_hostile import peak_of_children

PATIENT = JudgeLimits(PATIENCE, memory_bytes=900 << 20)
ANSWERS = 200
JUDGED = (Outcome.SCORED, Outcome.UNPARSABLE, Outcome.EMPTY)
MANY = range(20_000)
HEAD = f"@prefix a: <{FIRST}> . @prefix b: <{SECOND}> . @prefix owl: <{OWL}> ."


def fenced(text):
    """Return an answer with a document."""
    return f"```turtle\n{HEAD}\n{text}\n```"


def without_correspondences(url):
    """Yield documents without correspondences: large, deep, broken, or about remote resources."""
    yield " ".join(f"a:x{n} owl:equivalentClass b:y{n} ." for n in MANY)
    yield "a:Person owl:equivalentClass " + " , ".join(f"b:c{n}x" for n in MANY) + " ."
    yield "a:Person owl:equivalentClass " + "[ owl:complementOf " * 300 + "b:x" + " ]" * 300 + " ."
    yield "a:Person owl:equivalentClass " + "[ owl:complementOf " * 20_000 + " ."
    yield "a:Person owl:equivalentClass ( " + "b:x " * 20_000 + ") ."
    yield f"<{url}> owl:imports <{url}> . a:Person owl:equivalentClass <{url}> ."
    yield "owl:equivalentClass owl:equivalentClass owl:equivalentClass ."
    yield f'a:Person owl:equivalentClass "{"x" * 1_000_000}" .'
    yield "a:Person owl:equivalentClass <<( a:Person owl:sameAs b:x )>> ."
    yield "a:Person owl:equivalentClass a:Person , a:Place . b:x owl:equivalentClass b:x ."
    yield "a:Person owl:sameAs a:Place . owl:sameAs owl:sameAs owl:differentFrom ."


def every(case):
    """Return correspondences of all classes and all properties of both ontologies."""
    first, second = (world_alignments._sorts(one) for one in case.data["triples"])
    return "\n".join(
        f"{one} <{OWL.equivalentClass if 'Class' in sort else OWL.equivalentProperty}> {other} ."
        for one, sort in first.items()
        for other in second
    )


def test_every_hostile_answer_has_its_outcome():
    """Each is judged or refused, without connections, in bounded memory; none is right."""
    cases = [
        world_alignments.cases(TASKS[f"{world_alignments.NAME}-natural-{level}"], "own", 7, 1)[0]
        for level in (2, 4)
    ]
    with listener() as server:
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        own = [fenced(text) for text in without_correspondences(url)]
        references = [world_alignments.reference(case) for case in cases]
        beside = [
            one.replace("\n```", f"\n{text}\n```")
            for one in references
            for text in (
                *(f"{HEAD} {document}" for document in without_correspondences(url)),
                *map(every, cases),
            )
        ]
        generic = islice((text for _, text in hostile.answers(references, 400, url=url)), ANSWERS)
        chosen = [*own, *beside, *(text for text in generic if text not in references)]
        requests = [JudgeRequest(case, (text,)) for case in cases for text in chosen]
        with peak_of_children() as peak:
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
        mine = judged[start : start + len(own) + len(beside)]
        assert all(one.outcome is Outcome.UNPARSABLE for one in mine[: len(own)])
        assert all(one.scores["exact"] == 0.0 for one in mine)
        assert all(one.scores["f1"] == 0.0 for one in mine[: len(own)])


def test_what_takes_too_many_steps_is_not_coherent():
    """An alignment of everything with everything is judged within limits and scores low."""
    (case,) = world_alignments.cases(TASKS[f"{world_alignments.NAME}-natural-4"], "own", 7, 1)
    (verdict,) = judge_batch([JudgeRequest(case, (fenced(every(case)),))], PATIENT)

    assert verdict.outcome is Outcome.SCORED
    assert (verdict.scores["coherent"], verdict.scores["oneToOne"]) == (0.0, 0.0)
    assert verdict.scores["f1"] < 0.3
