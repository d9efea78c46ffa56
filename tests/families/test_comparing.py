# SPDX-License-Identifier: Apache-2.0
"""Comparing sets of lines, and quoting them."""

from kgbench.families.comparing import LISTED, LONGEST, SHOWN, compare, quoted, readable


def test_all_lines_are_scored_and_few_are_listed():
    """Infos have a limited number of limited lines; scores and exactness are of all of them."""
    expected = {"right"}
    given = {"right", *(f"{n:03} {'x' * 2 * LONGEST}" for n in range(3 * LISTED))}
    compared = compare(expected, given)
    infos = compared.infos("missing", "surplus")

    assert compared.agreement.precision == 1 / len(given)
    assert (compared.agreement.recall, compared.exact) == (1.0, 0.0)
    assert infos["missing"] == []
    assert len(infos["surplus"]) == LISTED
    assert {len(line) for line in infos["surplus"]} == {LONGEST}
    assert len(compared.infos(listed=LISTED + 1)["invented"]) == LISTED + 1


def test_nothing_may_be_right():
    """Where nothing is expected, the caller decides on the precision of nothing."""
    assert compare(set(), set()).agreement.f1 == 0.0
    assert compare(set(), set(), precision_of_nothing=1.0).agreement.f1 == 1.0
    assert compare(set(), set()).exact == 1.0


def test_few_lines_are_quoted():
    """A few lines of each group are quoted, cut to a length, and the rest is mentioned once."""
    lines = [str(n) * 2 * LONGEST for n in range(SHOWN + 1)]

    assert quoted(["a"], ["b"]) == "* a\n* b"
    assert quoted(lines[:-1]).count("\n") == SHOWN - 1
    assert quoted(lines, lines).split("\n")[-1] == "* and more"
    assert quoted(lines, lines).count("\n") == 2 * SHOWN
    assert max(map(len, quoted(lines).split("\n"))) == LONGEST + 2


def test_terms_are_shortened_by_the_first_prefix_that_fits():
    """Other terms, such as literals, stay as they are."""
    prefixes = {"urn:a:b:": "b:", "urn:a:": "a:"}

    assert readable("<urn:a:b:c>", prefixes) == "b:c"
    assert readable("<urn:a:c>", prefixes) == "a:c"
    assert readable('"<urn:a:c>"', prefixes) == '"<urn:a:c>"'
