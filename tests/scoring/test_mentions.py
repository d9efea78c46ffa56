# SPDX-License-Identifier: Apache-2.0
"""Other forms of a mention, at the boundaries of each rule."""

from __future__ import annotations

import pytest

from kgbench.scoring.fact_extraction import MentionedIn, is_date, is_number

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
