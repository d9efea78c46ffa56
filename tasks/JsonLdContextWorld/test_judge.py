# SPDX-License-Identifier: Apache-2.0
"""JSON-LD contexts for documents about generated worlds: judged by the resulting triples."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.api import Outcome, PlainExecutor
from kgbench.execution.judging import JudgeRequest, judge_batch
from kgbench.families.JsonLdContextWorld import cases as documents
from kgbench.families.JsonLdContextWorld import judge
from kgbench.scoring.json_ld import rows
from kgbench.worlds.model import NAMESPACE
from tests.execution.judging import harm
from tests.execution.judging.hostile import Hostile
from tests.support.families import cases, generated

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, documents.LEVELS + 1)
LABELS = generated()[NAME]
NEW = {
    2: {"dates", "digits", "language", "base", "prefix"},
    3: {"languages", "ids", "noise"},
    4: {"reverse", "nest", "index"},
    5: {"homonyms"},
}


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a text or a JSON value."""
    texts = [one if isinstance(one, str) else f"```json\n{json.dumps(one)}\n```" for one in answers]
    return family.judge(case, texts, PlainExecutor())


@pytest.mark.parametrize("label", LABELS)
def test_levels_have_their_features_and_prompts_hide_the_context(label):
    """A case has a feature of its level; its prompt has no part of the context."""
    level = int(label[-1])
    for case in cases(label, 12):
        assert level == 1 or NEW[level] & set(case.data["features"])
        said = family.prompt(case)
        context = json.loads(case.data["context"])["@context"]
        assert all(json.dumps(value) not in said for value in context.values() if value == "@id")
        assert "@container" not in said


@pytest.mark.parametrize("label", LABELS)
def test_every_term_of_a_context_matters(label):
    """Every term of a reference that has a meaning is needed."""
    for case in cases(label, 3):
        context = json.loads(case.data["context"])["@context"]
        for term, meant in context.items():
            if meant is None:
                continue
            less = {name: value for name, value in context.items() if name != term}
            verdict = judged(case, {"@context": less})
            assert verdict.scores["exact"] == 0.0, (term, case.data)


def test_oxigraph_agrees_with_pyld():
    """Both processors give the same triples, except for terms that Oxigraph forgets in @nest."""
    compared = 0
    for label in LABELS:
        for case in cases(label, 40):
            if {"nest", "homonyms"} <= set(case.data["features"]):
                continue
            document = {**json.loads(case.data["context"]), **json.loads(case.data["document"])}
            found = ox.parse(json.dumps(document), ox.RdfFormat.JSON_LD)
            assert {str(quad.triple) for quad in found} == rows(document), case.data
            compared += 1
    assert compared > 300


def test_a_context_may_be_put_otherwise():
    """Compact IRIs and several contexts are as good, because only the triples count.

    Terms like keywords are ignored, without a warning, which would be an error here.
    """
    (case,) = cases(f"{NAME}-natural-1", 1)
    short = json.loads(case.data["context"].replace(NAMESPACE, "w:"))["@context"]
    more = {"w": NAMESPACE, "name": "w:other", "@later": "w:other"}
    verdict = judged(case, {"@context": [more, short]})

    assert verdict.scores["exact"] == 1.0, verdict.infos


@pytest.mark.parametrize(
    ("answer", "error", "kind"),
    [
        ("```json\n{\n```", "no JSON", "syntax"),
        ("```json\n[1]\n```", "no JSON object", "syntax"),
        ({"a": 1}, 'no "@context"', "format"),
        ({"@context": "http://127.0.0.1:9/"}, "nothing is fetched", "syntax"),
        ({"@context": {"@import": "http://127.0.0.1:9/"}}, "nothing is fetched", "syntax"),
        ({"@context": {"name": {"@type": 5}}}, "Invalid JSON-LD syntax", "syntax"),
        ({"@context": {"a": "b:c", "b": "a:c"}}, "Cyclical", "syntax"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again(answer, error, kind):
    """The model is told why its answer cannot be used, which has no points."""
    (case,) = cases(f"{NAME}-natural-2", 1)
    verdict = judged(case, answer)

    assert verdict.outcome is Outcome.UNPARSABLE
    assert error in verdict.infos["parseError"]
    assert (verdict.scores["answerParse"], verdict.scores["f1"]) == (0.0, 0.0)
    assert verdict.feedback == kind
    assert verdict.next_prompt
    assert judged(case, answer, answer, answer).next_prompt is None


def test_differences_are_told():
    """A context with other triples is asked for again, with missing and surplus triples."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    context = json.loads(case.data["context"])["@context"]
    verdict = judged(case, {"@context": {**context, "name": "http://example.org/name"}})

    assert 0 < verdict.scores["f1"] < 1
    assert verdict.feedback == "content"
    assert "* missing: <" in verdict.next_prompt
    assert "<http://example.org/name>" in verdict.next_prompt
    assert verdict.infos["missing"]
    assert verdict.infos["surplus"]


def test_only_the_context_of_an_answer_counts():
    """Statements beside the context neither extend nor replace the document."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    answer = json.loads(case.data["context"])
    told = {"name": "other", "@graph": [{"@id": "http://example.org/a"}]}

    assert judged(case, {**answer, **told}).scores["exact"] == 1.0


def fenced(*contexts):
    """Return contexts as answers."""
    return tuple(f"```json\n{json.dumps({'@context': one})}\n```" for one in contexts)


def reaching():
    """Yield remote contexts, in every place where a context is allowed."""
    url = harm.URL
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


@pytest.mark.parametrize("level", [1, 5])
def test_hostile_answers_do_no_harm(level):
    """Contexts that are remote, large or deep are judged or refused."""
    more = ("```json\n" + "[" * 50_000 + "]" * 50_000 + "\n```", "```json\n" + "9" * 5_000)
    kind = Hostile((*fenced(*reaching(), *heavy()), *more), harm.JUDGED)
    harm.assert_outcomes(f"{NAME}-natural-{level}", [kind])


def test_a_context_is_judged_in_a_child():
    """The late imports of PyLD are done before the child process gives up its descriptors."""
    case = harm.question(f"{NAME}-natural-3")
    answers = (family.reference(case), *fenced({"name": {"@type": 5}}, "urn:x"))
    requests = [JudgeRequest(case, (one,)) for one in answers]
    right, refused, remote = judge_batch(requests, harm.LIMITS)

    assert (right.outcome, right.scores["exact"]) == (Outcome.SCORED, 1.0)
    assert (refused.outcome, remote.outcome) == (Outcome.UNPARSABLE, Outcome.UNPARSABLE)
    assert "nothing is fetched" in remote.infos["parseError"]
