# SPDX-License-Identifier: Apache-2.0
"""JSON-LD contexts for documents of generated worlds: judged by the resulting triples."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.model import Outcome
from kgbench.scoring.json_ld import IllFormedJsonLd, ntriples_rows, rows
from kgbench.tasks import world_contexts
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import documents
from kgbench.worlds.model import NAMESPACE
from tests.support.families import cases

NAME = world_contexts.NAME
LEVELS = range(1, documents.LEVELS + 1)
LABELS = [f"{NAME}-{names}-{level}" for names in ("natural", "opaque") for level in LEVELS]
NEW = {
    2: {"dates", "digits", "language", "base", "prefix"},
    3: {"languages", "ids", "noise"},
    4: {"reverse", "nest", "index"},
    5: {"homonyms"},
}


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a text or a JSON value."""
    texts = [one if isinstance(one, str) else f"```json\n{json.dumps(one)}\n```" for one in answers]
    return world_contexts.judge(case, texts, PlainExecutor())


@pytest.mark.parametrize("label", LABELS)
def test_levels_have_their_features_and_prompts_hide_the_context(label):
    """A case has a feature of its level; its prompt has no part of the context."""
    level = int(label[-1])
    for case in cases(label, 12):
        assert level == 1 or NEW[level] & set(case.data["features"])
        said = world_contexts.prompt(case)
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
    """Compact IRIs and several contexts are as good, because only the triples count."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    short = json.loads(case.data["context"].replace(NAMESPACE, "w:"))["@context"]
    verdict = judged(case, {"@context": [{"w": NAMESPACE, "name": "w:other"}, short]})

    assert verdict.scores["exact"] == 1.0, verdict.infos


@pytest.mark.parametrize(
    ("answer", "error", "kind"),
    [
        ("no block", "no fenced block", "format"),
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


def test_triples_are_written_as_they_are_parsed():
    """Literals, languages, named graphs and blank nodes are written as in N-Triples."""
    found = rows(
        {
            "@context": {"@vocab": "http://e.org/"},
            "@id": "http://e.org/s",
            "a": ['say "x"\n', 1, True, 1.5, {"@value": "y", "@language": "EN"}],
            "b": {"c": "z"},
            "g": {"@id": "http://e.org/g", "@graph": {"@id": "http://e.org/t", "d": "in"}},
        }
    )
    lines = [one + " ." for one in found if "_:" not in one and not one.endswith("/g>")]

    assert ntriples_rows(lines) == {line.removesuffix(" .") for line in lines}
    assert len(lines) == 5
    assert sum("_:" in one for one in found) == 2
    assert '<http://e.org/t> <http://e.org/d> "in" <http://e.org/g>' in found


def test_errors_of_the_processor_are_refusals():
    """Errors that PyLD does not foresee, and deep nesting, are refused."""
    deep = at = {}
    for _ in range(3_000):
        at["@context"] = {"a": {"@context": {}}}
        at = at["@context"]["a"]
    twice = {"@id": "urn:a", "@index": "x"}
    for document, said in (
        ({"@context": deep, "a": 1}, "nested too deeply"),
        ({"@graph": [twice, twice]}, "a keyword has a value that it cannot have"),
    ):
        with pytest.raises(IllFormedJsonLd, match=said):
            rows(document)
