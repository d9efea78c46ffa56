# SPDX-License-Identifier: Apache-2.0
"""Facts in answers: how they are found, the value of each metric, and other forms of mentions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgbench.scoring.fact_extraction import (
    MentionedIn,
    _Mentioned,
    is_date,
    is_mentioned,
    is_number,
    known_types,
    mention_context,
    own_scores,
    published_scores,
)
from kgbench.scoring.facts import (
    Concept,
    Fact,
    Ontology,
    Relation,
    facts_from,
    facts_json,
    ontology_from,
    parse,
)

ONTOLOGY = Ontology(
    "o",
    "Bridges",
    (Concept("B", "bridge"), Concept("R", "river"), Concept("P", "person"), Concept("D", "Date")),
    (
        Relation("1", "spans", "B", "R"),
        Relation("2", "designed by", "B", "P"),
        Relation("3", "near", "B", "B"),
        Relation("4", "closed on", "B", "D"),
        Relation("5", "near", "R", "R"),
    ),
)
SENTENCE = "Larn Bridge, which spans the Ossel, was designed by Mira Holt for the EU."
TRUTH = (
    Fact("Larn Bridge", "spans", "Ossel"),
    Fact("Larn Bridge", "designed by", "Mira Holt"),
    Fact("Larn Bridge", "stands in", "Northland"),
)

# --- finding facts ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "triples"),
    [
        (r"designed\_by(A\_B,M\_H)", [("A_B", "designed_by", "M_H")]),
        ("r(s,o)(", [("s", "r", "o")]),
        ("r(s,o)q(t,u)", [("s", "r", "o"), ("t", "q", "u")]),
        ("r(,q(s,o)", [("s", "q", "o")]),
        ("r(s,)q(t,u)", [("t", "q", "u")]),
        ("r(s,o", []),
        ("r(s", []),
        ("r(q(s,o)", [("q(s", "r", "o")]),
        ("r(s,o,p)", [("s", "r", "o,p")]),
        ("r(s),o)", [("s)", "r", "o")]),
        (")r(s,o)", [("s", "r", "o")]),
    ],
)
def test_where_facts_begin_and_end(answer: str, triples: list[tuple[str, str, str]]) -> None:
    """A subject ends at the first comma, an object at the first closing bracket after it."""
    assert list(parse(answer).triples) == triples


@pytest.mark.parametrize(
    ("answer", "lines", "unparsed"),
    [
        ("", 0, 0),
        ("no fact", 1, 1),
        ("r(s,o)", 1, 0),
        ("r(s,o)\nno\nr(s,o)", 3, 1),
        ("r(s,\no)\nno", 3, 1),
        ("r(s,o\n)\nno", 3, 1),
        ("r(s,\n\no)\n \nno\nno", 4, 2),
        ("no\nno\nr(s,o) and r(s,o)", 3, 2),
        ("no\nno\nno r(s,o)\nno", 4, 3),
    ],
)
def test_lines_with_and_without_facts(answer: str, lines: int, unparsed: int) -> None:
    """Non-blank lines are counted, and so are those without any part of a fact."""
    found = parse(answer)

    assert (found.lines, found.unparsed) == (lines, unparsed)


# --- the published metrics --------------------------------------------------------------------


@pytest.mark.parametrize("answer", ["", "near(Larn Bridge,Ossel)"])
def test_silence_has_seven_scores(answer: str) -> None:
    """Without a fact, or a relation of the reference, only conformance is 1, as published."""
    assert published_scores(parse(answer).triples, TRUTH, SENTENCE, ONTOLOGY) == {
        "precision": 0.0,
        "recall": 0.0,
        "f1": 0.0,
        "onto_conf": 1.0,
        "rel_halluc": 0.0,
        "sub_halluc": 0.0,
        "obj_halluc": 0.0,
    }


@pytest.mark.parametrize(
    ("entity", "mentioned"),
    [
        ("Larn Bridges", True),
        ("for the EU.bridge", True),
        ("river person", True),
        ("person river", False),
        ("01 January Ossel", True),
        ("02 January Ossel", False),
    ],
)
def test_context_of_the_published_hallucination(entity: str, mentioned: bool) -> None:
    """Entities are sought in the sentence directly followed by the labels, without "01 January"."""
    assert is_mentioned(entity, mention_context(SENTENCE, ONTOLOGY)) is mentioned


# --- our own metrics --------------------------------------------------------------------------

FIVE = (
    ("Larn Bridge", "spans", "Lune"),
    ("Larn Bridge", "designed_by", "European Union"),
    ("Quill", "likes", "Ossel"),
    ("Ossel", "spans", "Larn Bridge"),
    ("Zed", "spans", "Ossel"),
)


def test_own_scores_are_shares_of_the_facts() -> None:
    """Of five facts four have a known relation, three fit it, two subjects and one object are new.

    The fourth fact has its relation in the wrong direction.
    """
    assert own_scores(FIVE, TRUTH, SENTENCE, ONTOLOGY) == {
        "exact": 0.0,
        "answeredConf": 4 / 5,
        "strictConf": 3 / 5,
        "subHallucAware": 2 / 5,
        "objHallucAware": 1 / 5,
    }


@pytest.mark.parametrize(
    ("entity", "known"),
    [("Northland", True), ("bridges", True), ("European Union", True), ("Quill", False)],
)
def test_each_kind_of_mention_suffices(entity: str, known: bool) -> None:
    """An entity is known by the reference, by its stems, or by another form of its name."""
    assert _Mentioned(TRUTH, SENTENCE, ONTOLOGY).knows(entity) is known


def test_known_types_are_domains_and_ranges() -> None:
    """An entity has the classes of its positions; an unknown relation gives none."""
    assert known_types(TRUTH, ONTOLOGY) == {
        "larnbridge": {"B"},
        "ossel": {"R"},
        "miraholt": {"P"},
    }


def strict(subject: str, relation: str, object_: str, truth: tuple[Fact, ...] = TRUTH) -> bool:
    """Return whether a single fact conforms."""
    scores = own_scores(((subject, relation, object_),), truth, SENTENCE, ONTOLOGY)
    return scores["strictConf"] == 1.0


def test_dates_by_the_label_of_their_class() -> None:
    """A range whose label is "date" requires a digit, whatever its id and the label's case."""
    assert strict("Larn Bridge", "closed_on", "in 1950")
    assert not strict("Larn Bridge", "closed_on", "long ago")


@pytest.mark.parametrize(
    "values",
    [
        *("date", "year", "point in time"),
        *("number", "integer", "float", "double", "quantity"),
    ],
)
def test_ranges_that_want_a_digit(values: str) -> None:
    """If the range is a date or number and not a class, an object without a digit does not fit."""
    ontology = Ontology("o", "o", (Concept("B", "bridge"),), (Relation("1", "has", "B", values),))
    conforming = [
        own_scores((("Larn Bridge", "has", each),), (), SENTENCE, ontology)["strictConf"]
        for each in ("some 5", "five")
    ]

    assert conforming == [1.0, 0.0]


def test_relations_between_equals_have_no_direction() -> None:
    """If domain and range are the same class, the direction of a fact does not matter."""
    truth = (*TRUTH, Fact("Tarn Bridge", "spans", "Lune"))

    assert strict("Larn Bridge", "near", "Tarn Bridge", truth)
    assert strict("Ossel", "near", "Lune", truth)


def test_who_stands_in_both_places_may_stand_in_either() -> None:
    """A fact has the wrong direction only if neither entity is known in its position."""
    truth = (Fact("Lock", "spans", "Ossel"), Fact("Larn Bridge", "spans", "Lock"))

    assert strict("Lock", "spans", "Larn Bridge", truth)
    assert strict("Ossel", "spans", "Lock", truth)
    assert not strict("Ossel", "spans", "Larn Bridge", truth)


# --- ontologies and facts ---------------------------------------------------------------------


def test_relations_of_one_name() -> None:
    """Relations with the same name are all found under it, in their order."""
    named = replace(ONTOLOGY).relations_named

    assert [each.id for each in named["near"]] == ["3", "5"]
    assert [each.id for each in named["designed_by"]] == ["2"]


def test_facts_survive_json() -> None:
    """Facts and ontologies are unchanged after a round trip through the JSON of case data."""
    assert ontology_from(ONTOLOGY.as_json()) == ONTOLOGY
    assert facts_from(facts_json(TRUTH)) == TRUTH
    assert facts_json(TRUTH)[0] == ["Larn Bridge", "spans", "Ossel"]


OPENED = "It opened on 13 June 1899."
IN_DIGITS = "It opened on 3/6/1899."
TREATY = "The North Atlantic Treaty Organization met."
WORDS = "Alpha Bravo Charlie Delta Echo Foxtrot Golf Hotel India Juliett Kilo"


@pytest.mark.parametrize(
    ("sentence", "entity", "mentioned"),
    [
        (OPENED, "1899-06-13", True),
        (OPENED, "1899-07-13", False),
        (OPENED, "13th June 1899", True),
        (OPENED, "June 13, 1899", True),
        ("It opened on 3 May 1899.", "1899-06-03", False),
        (IN_DIGITS, "1899-06-03", True),
        (IN_DIGITS, "June 3, 1899", True),
        (IN_DIGITS, "3rd June 1899", True),
        (IN_DIGITS, "June 4, 1899", False),
        (IN_DIGITS, "4 June 1899", False),
        (IN_DIGITS, "July 3, 1899", False),
    ],
)
def test_dates_need_year_month_and_day(sentence: str, entity: str, mentioned: bool) -> None:
    """A date is mentioned if its year, its month by name or number, and its day occur."""
    assert MentionedIn(sentence).mentions(entity) is mentioned


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ('"3 June 1899"', True),
        ("'June 3rd, 1899'", True),
        ("\t1899-6-3\n", True),
        ("\t3 Jun., 1899\n", True),
        ("\tJun.  3 1899\n", True),
        ("1st May 1899", True),
        ("May 2nd, 1899", True),
        ("4th May 1899", True),
        ("4nth May 1899", False),
        ("1899-06-03 or later", False),
        ("on 3 June 1899", False),
        ("on June 3, 1899", False),
        ("3 June 18990", False),
        ("18990-06-03", False),
        ("1899--03", False),
        ("1899-06-", False),
        ("1899-006-03", False),
        ("1899-06-003", False),
        ("3 Juno 1899", False),
        ("Juno 3, 1899", False),
        ("X3 June 1899", False),
        ("June 1899", False),
    ],
)
def test_what_is_a_date(text: str, date: bool) -> None:
    """Quotation marks around a date are ignored; a text without a month is not a date."""
    assert is_date(text) is date


@pytest.mark.parametrize(
    ("month", "number"),
    [
        *(("January", 1), ("February", 2), ("March", 3), ("April", 4), ("May", 5), ("June", 6)),
        *(("July", 7), ("August", 8), ("September", 9), ("October", 10), ("November", 11)),
        *(("December", 12), ("Jan", 1), ("Dec.", 12), ("Sept.", 9)),
    ],
)
def test_names_of_months(month: str, number: int) -> None:
    """A month has a full name and one of three letters; September also has "Sept"."""
    assert MentionedIn(f"It opened on 30/{number}/1899.").mentions(f"30 {month} 1899")
    assert MentionedIn(f"It opened on 30 {month} 1899.").mentions(f"1899-{number:02}-30")
    assert not MentionedIn("It opened on 30/13/1899.").mentions(f"30 {month} 1899")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,200", True),
        ('"1200"', True),
        (" 1200.5 ", True),
        ("X5", False),
        ("5X", False),
        ("1,20", False),
        ("1.", False),
    ],
)
def test_what_is_a_number(text: str, number: bool) -> None:
    """Thousands separators and quotation marks are allowed in a number, letters are not."""
    assert is_number(text) is number


@pytest.mark.parametrize(
    ("sentence", "entity", "mentioned"),
    [
        (TREATY, "N.A.T.O.", True),
        (TREATY, "XYZ", False),
        ("The European Union met.", "EU", True),
        ("The United States of America agreed.", "USA", True),
        ("The United States of America agreed.", "USOA", True),
        ("Nora met.", "N", False),
        ("Nora met.", "M", False),
        (WORDS, "ABCDEFGH", True),
        (WORDS, "ABCDEFGHI", False),
        (WORDS, "CDEFGHIJ", True),
        ("The N.A.T.O. met.", "North Atlantic Treaty Organization", True),
        ("The EU met.", "European Union", True),
        ("The USA agreed.", "United States of America", True),
        ("The USOA agreed.", "United States of America", True),
        ("Plan E failed.", "Europe", False),
        ("Holt drew it.", "Mira Holt", True),
        ("Lee drew it.", "Mira Lee", False),
        ("A bridge fell.", "the old bridge", False),
        ("The old bridge fell.", "Bridge, Old", True),
        ("A man drew it.", "(engineer)", False),
        ("It is 1200 metres long.", "1,200", True),
        ("It is 1200 metres long.", "1,201", False),
        ("9" * 299, "9" * 299, True),
        ("9" * 300, "9" * 300, False),
    ],
)
def test_acronyms_names_and_numbers(sentence: str, entity: str, mentioned: bool) -> None:
    """An acronym consists of the initials of two to eight consecutive words, and is expanded.

    A name is mentioned by all its words, or by a long capitalised last word. Numbers of less than
    300 digits are compared by value.
    """
    assert MentionedIn(sentence).mentions(entity) is mentioned
