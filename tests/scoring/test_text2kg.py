# SPDX-License-Identifier: Apache-2.0
"""Facts are parsed and scored by the published rules and by kgbench's own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgbench.errors import EvaluationError
from kgbench.scoring import stems
from kgbench.scoring.fact_extraction import MentionedIn, own_scores, published_scores
from kgbench.scoring.facts import Concept, Fact, Ontology, Relation, parse

PUBLISHED = re.compile(r"(\w+)\(([^,]+),([^)]+)\)")
ONTOLOGY = Ontology(
    "o",
    "Bridges",
    (Concept("B", "bridge"), Concept("R", "river"), Concept("P", "person")),
    (
        Relation("spans", "spans", "B", "R"),
        Relation("by", "designed by", "B", "P"),
        Relation("on", "opened on", "B", "date"),
    ),
)
SENTENCE = (
    "Larn Bridge, which spans the Ossel, was designed by Mira Holt and opened on 3 June 1899."
)
TRUTH = (
    Fact("Larn Bridge", "spans", "Ossel"),
    Fact("Larn Bridge", "designed by", "Mira Holt"),
)
PIECES = st.sampled_from(
    [
        *("a", "B", "cats", "running", " ", " ", "  ", "\n", "\t", "\u00a0", ".", ",", ":", ";"),
        *("'", '"', "''", "``", "(", ")", "[", "]", "--", "...", "?", "!", "1", "2,5", "$"),
        *("can't", "cannot", "gonna", "'tis", "they'll", "U.S.", "\u201d", "\u2019"),
        *("\u00e9t\u00e9", "_", "%", "Sky", "-", "well-known", "(x", "y)", "z.", "Cannot,"),
        *("\u03a3", "\u01c5", "/", "&", "x.y", "\u2028"),
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join) | st.text(max_size=30)


@settings(max_examples=400)
@given(TEXTS)
def test_stems_are_those_of_the_whole_text(text: str) -> None:
    """Tokenising by pieces gives the same stems as tokenising the whole text."""
    tokenise, stem = stems._tools()

    assert stems.stemmed(text) == stems.folded("".join(map(stem, tokenise(text))))


@given(st.text(st.sampled_from("ab_ (),\\\n."), max_size=40))
def test_facts_are_the_matches_of_the_published_expression(answer: str) -> None:
    """The scan finds exactly the matches of the published expression."""
    found = PUBLISHED.findall(answer.replace("\\_", "_"))

    assert list(parse(answer).triples) == [(s, r, o) for r, s, o in found]


@pytest.mark.parametrize(
    ("cleaning", "expected"),
    [("none", ' "Mira\'s" '), ("strip", '"Mira\'s"'), ("strip-quotes", "Miras")],
)
def test_cleanings(cleaning: str, expected: str) -> None:
    """Each cleaning changes a part of a fact as its name says; an unknown one is refused."""
    assert parse('by(Larn, "Mira\'s" )', cleaning).triples[0][2] == expected
    with pytest.raises(EvaluationError, match=r"no cleaning 'wash' .*none, strip, strip-quotes"):
        parse("by(Larn, Mira)", "wash")


def test_published_scores() -> None:
    """Precision and recall use only relations of the reference; other metrics use every fact."""
    triples = parse("spans(Larn Bridge, Ossel)\ndesigned_by(larn bridge, Zed)\nlikes(Bo, bridges)")
    scores = published_scores(triples.triples, TRUTH, SENTENCE, ONTOLOGY)

    assert scores == pytest.approx(
        {
            "precision": 1 / 2,
            "recall": 1 / 2,
            "f1": 1 / 2,
            "onto_conf": 2 / 3,
            "rel_halluc": 1 / 3,
            "sub_halluc": 1 / 3,
            "obj_halluc": 1 / 3,
        }
    )


def test_without_a_reference_every_fact_is_wrong() -> None:
    """With an empty reference F1 is 0 (a published rule); silence is not exact."""
    triples = parse("spans(Larn Bridge, Ossel)").triples

    assert published_scores(triples, (), SENTENCE, ONTOLOGY)["f1"] == 0.0
    assert own_scores((), TRUTH, SENTENCE, ONTOLOGY) == {"exact": 0.0}


@pytest.mark.parametrize(
    ("fact", "conforms"),
    [
        ("spans(Larn Bridge, Ossel)", True),
        ("spans(Ossel, Larn Bridge)", False),
        ("designed_by(Other Bridge, Someone)", True),
        ("designed_by(Larn Bridge, 3 June 1899)", False),
        ("opened_on(Larn Bridge, 3 June 1899)", True),
        ("opened_on(Larn Bridge, yesterday)", False),
        ("opened_on(1899, 1900)", False),
        ("likes(Larn Bridge, Ossel)", False),
    ],
)
def test_strict_conformance(fact: str, conforms: bool) -> None:
    """A fact conforms if its relation exists and no known type contradicts domain or range."""
    scores = own_scores(parse(fact, "strip").triples, TRUTH, SENTENCE, ONTOLOGY)

    assert scores["strictConf"] == float(conforms)


def test_stated_classes_count() -> None:
    """Classes stated in an answer must be those of the relation."""
    triples = parse("spans(Quay, Ossel)", "strip").triples
    wrong = own_scores(triples, (), SENTENCE, ONTOLOGY, {"quay": {"P"}})

    assert wrong["strictConf"] == 0.0
    assert own_scores(triples, (), SENTENCE, ONTOLOGY, {"quay": {"B"}})["strictConf"] == 1.0


@pytest.mark.parametrize(
    ("sentence", "entity", "mentioned"),
    [
        ("NATO met in Oslo.", "North Atlantic Treaty Organization", True),
        ("The North Atlantic Treaty Organization met.", "NATO", True),
        ("The Bank of England met.", "BoE", False),
        ("NATO met in Oslo.", "Nordic Council", False),
        ("It opened on 3 June 1899.", "1899-06-03", True),
        ("It opened on June 3rd, 1899.", "03 June 1899", True),
        ("It opened on 3 June 1899.", "1899-06-04", False),
        ("It opened in 1899.", "01 January 1899", True),
        ("It opened in 1898.", "01 January 1899", False),
        ("It is 1,200 metres long.", "1200.0", True),
        ("It is 1,200 metres long.", "120", False),
        ("Holt drew it.", "Mira Holt", True),
        ("Jos\u00e9 drew it.", "Jose (engineer)", True),
        ("A man drew it.", "Mira Holt", False),
    ],
)
def test_other_forms_of_a_mention(sentence: str, entity: str, mentioned: bool) -> None:
    """Acronyms, dates, numbers and other names are recognised as mentions."""
    assert MentionedIn(sentence).mentions(entity) is mentioned


@given(TEXTS, TEXTS)
def test_mentions_never_fail(sentence: str, entity: str) -> None:
    """Any sentence and entity can be compared."""
    assert MentionedIn(sentence).mentions(entity) in {True, False}
