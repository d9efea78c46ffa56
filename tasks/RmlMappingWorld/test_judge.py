# SPDX-License-Identifier: Apache-2.0
"""Mappings for sources about generated worlds: judged by the resulting triples."""

from __future__ import annotations

import re

import pytest

from kgbench.families.RmlMappingWorld import cases as mappings
from kgbench.families.RmlMappingWorld import judge
from kgbench.families.RmlMappingWorld.aspects import FORMATS
from kgbench.model import Outcome
from kgbench.testing.executor import PlainExecutor
from tests.support.families import cases

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, mappings.LEVELS + 1)
LABELS = [
    f"{NAME}-{names}-{form}-{level}"
    for names in ("natural", "opaque")
    for form in FORMATS
    for level in LEVELS
]
NEW = {
    1: {"link"},
    2: {"datatype", "language", "constant", "classes"},
    3: {"join", "nested", "pairs", "inline"},
    4: {"blank", "languages", "iri", "caption", "graph", "several", "filter"},
}
FOREIGN = """@prefix r: <http://w3id.org/rml/> .
<urn:m> r:logicalSource [ r:source [ r:path "/etc/passwd" ] ; r:referenceFormulation r:CSV ] ;
    r:subject <urn:s> ."""
PART = re.compile(r" ;\n    r:predicateObjectMap \[(?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*\]")


def judged(case, *answers):
    """Return the verdict on the last answer; an answer is a mapping."""
    texts = [f"```turtle\n{one}\n```" for one in answers]
    return family.judge(case, texts, PlainExecutor())


def test_the_words_say_which_triples_are_in_named_graphs():
    """Triples from other sources about things of a named graph are outside, as the words say."""
    outside = 0
    for form in ("csv", "table"):
        for case in cases(f"{NAME}-natural-{form}-4", 40):
            rows = case.data["expected"]["shown"]
            named = {row[0] for row in rows if len(row) == 4}
            if any(len(row) == 3 and row[0] in named for row in rows):
                outside += 1
                words = case.data["words"][-1]
                assert "its own entry" in words
                assert "nor what another source says" in words
    assert outside > 3


@pytest.mark.parametrize("label", LABELS)
def test_levels_have_their_features_and_prompts_hide_the_mapping(label):
    """A case has a feature of its level; its prompt has neither mapping nor triples."""
    level = int(label[-1])
    for case in cases(label, 5):
        assert NEW[level] & set(case.data["features"])
        said = family.prompt(case)
        assert case.data["mapping"] not in said
        for rows in case.data["expected"].values():
            assert not any(" ".join(row) in said for row in rows)


@pytest.mark.parametrize("label", LABELS)
def test_every_part_of_a_mapping_matters(label):
    """A mapping without one of its parts has some points, but is not exact."""
    for case in cases(label, 2):
        parts = PART.findall(case.data["mapping"])
        assert parts
        for part in parts:
            verdict = judged(case, case.data["mapping"].replace(part, "", 1))
            assert verdict.scores["exact"] == 0.0, (part, case.data)
            assert 0.0 < verdict.scores["f1"] < 1.0


@pytest.mark.parametrize("form", ["csv", "json", "xml"])
def test_constants_are_found_out(form):
    """A mapping that writes the shown graph as constants is right there, and nowhere else."""
    (case,) = cases(f"{NAME}-natural-{form}-1", 1)
    source = case.data["mapping"].partition("r:logicalSource")[2].partition("r:subjectMap")[0]
    maps = [
        f"m:a{n} a r:TriplesMap ; r:logicalSource {source} r:subject {s} ;\n"
        f"    r:predicateObjectMap [ r:predicate {p} ; r:object {o} ] ."
        for n, (s, p, o) in enumerate(case.data["expected"]["shown"])
    ]
    head = case.data["mapping"].partition("\n\n")[0]
    verdict = judged(case, "\n".join([head, *maps]))

    assert verdict.scores["shownF1"] == 1.0
    assert verdict.scores["f1"] < 0.2
    assert verdict.scores["exact"] == 0.0
    assert verdict.feedback == "content"
    assert "other data" in verdict.next_prompt
    assert not any(" ".join(row) in verdict.next_prompt for row in case.data["expected"]["hidden"])


@pytest.mark.parametrize(
    ("answer", "error", "parses"),
    [
        ("<urn:a>", "", 0.0),
        ("<urn:a> <urn:b> <urn:c> .", "no triples map", 1.0),
        (FOREIGN, "a source that the case does not have: /etc/passwd", 1.0),
    ],
)
def test_what_cannot_be_executed_is_asked_for_again(answer, error, parses):
    """The model is told why its answer cannot be used, which has no points."""
    (case,) = cases(f"{NAME}-natural-csv-2", 1)
    verdict = judged(case, answer)

    assert verdict.outcome is Outcome.UNPARSABLE
    assert error in (verdict.infos["engineError"] or verdict.infos["parseError"])
    assert (verdict.scores["answerParse"], verdict.scores["executes"]) == (parses, 0.0)
    assert (verdict.scores["f1"], verdict.feedback) == (0.0, "syntax")
    assert verdict.next_prompt
    assert judged(case, answer, answer, answer).next_prompt is None


def test_differences_are_told():
    """A mapping with another graph is asked for again, with missing and surplus triples."""
    (case,) = cases(f"{NAME}-natural-json-1", 1)
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    verdict = judged(case, case.data["mapping"].replace(label, "http://example.org/name"))

    assert 0 < verdict.scores["f1"] < 1
    assert "* missing: <" in verdict.next_prompt
    assert "<http://example.org/name>" in verdict.next_prompt
    assert verdict.infos["missing"]
    assert verdict.infos["surplus"]


def test_the_older_vocabulary_is_read():
    """A mapping in the older RML, mostly with terms of R2RML, gives the same graph."""
    (case,) = cases(f"{NAME}-natural-csv-2", 1)
    name = next(iter(case.data["shown"]))
    old = case.data["mapping"].replace("http://w3id.org/rml/", "http://www.w3.org/ns/r2rml#")
    old = re.sub(r"\[ a r:RelativePathSource[^\]]*\]", f'"{name}"', old)
    old = re.sub(r"r:(logicalSource|source|referenceFormulation|reference)\b", r"o:\1", old)
    old = "@prefix o: <http://semweb.mmlab.be/ns/rml#> .\n" + old.replace(
        "r:CSV", "<http://semweb.mmlab.be/ns/ql#CSV>"
    )

    assert judged(case, old).scores["exact"] == 1.0
