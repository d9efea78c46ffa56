# SPDX-License-Identifier: Apache-2.0
"""Differences of two graphs up to blank nodes: unique and minimal, judged by triples."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.execution.engines import engine
from kgbench.model import Outcome
from kgbench.tasks import world_differences
from kgbench.testing.executor import PlainExecutor
from kgbench.worlds import differences
from kgbench.worlds.matching import Difference, is_isomorphic, is_rigid, only_difference
from tests.support.families import cases

NAME = world_differences.NAME
LEVELS = range(1, differences.LEVELS + 1)
LABELS = [f"{NAME}-{names}-{level}" for names in ("natural", "opaque") for level in LEVELS]
NAME_OF = "<https://example.org/name>"


def changed(label, number=20):
    """Return the first case of a labelled task with removed and added triples."""
    return next(
        case for case in cases(label, number) if case.data["removed"] and case.data["added"]
    )


def judged(case, *answers):
    """Return the verdict on the last answer."""
    return world_differences.judge(case, answers, PlainExecutor())


def fenced(*lines):
    """Return lines as an answer."""
    return "\n".join(["```diff", *lines, "```"])


def rows(*lines):
    """Return triples as the matcher represents them."""
    return frozenset(tuple(line.split()) for line in lines)


def canonical(lines):
    """Return a graph as canonical N-Triples."""
    dataset = ox.Dataset(
        ox.Quad(q.subject, q.predicate, q.object)
        for q in ox.parse("\n".join(f"{line} ." for line in lines), ox.RdfFormat.N_TRIPLES)
    )
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(map(str, dataset))


@pytest.mark.parametrize("label", LABELS)
def test_equal_graphs_are_some_and_known_by_one_word(label):
    """Prompts hide the changes; "same" is right just where there are none, and most differ."""
    without = 0
    for case in cases(label, 20):
        said = world_differences.prompt(case)
        assert world_differences.reference(case) not in said
        assert not any(f"{sign} {row} ." in said for sign in "-+" for row in case.data["removed"])
        changes = case.data["removed"] + case.data["added"]
        without += not changes
        same = judged(case, fenced("same"))
        assert same.scores["verdict"] == same.scores["f1"] == float(not changes)
        for variant in ("Same", "SAME", "same.", "# nothing else\n Same."):
            assert judged(case, fenced(variant)).scores == same.scores
    assert without <= 3 + 20 / 4


@pytest.mark.parametrize("label", LABELS)
def test_texts_are_what_their_triples_say(label):
    """Both documents contain the triples of the case and differ as stated.

    Isomorphism is decided by the canonical form (RDFC-1.0) of another engine.
    """
    for case in cases(label, 15):
        for text, lines in zip(
            (case.data["first"], case.data["second"]), case.data["triples"], strict=True
        ):
            parsed = [str(quad.triple) for quad in ox.parse(text, ox.RdfFormat.TURTLE)]
            assert canonical(parsed) == canonical(lines)
        first, second = map(set, case.data["triples"])
        removed, added = set(case.data["removed"]), set(case.data["added"])
        assert removed <= first
        assert added <= second
        assert canonical(first - removed) == canonical(second - added)
        assert (canonical(first) == canonical(second)) == (not removed | added)


def test_levels_have_what_they_are_said_to_have():
    """Blank nodes, lists and zeros occur on the right levels, and every kind of change occurs."""
    met = {level: set() for level in LEVELS}
    for level in LEVELS:
        for case in cases(f"{NAME}-natural-{level}", 80):
            met[level] |= set(case.data["features"])
            assert ("_:" in "".join(case.data["triples"][0])) == (level > 1)
    values = {"value removed", "value added", "value changed", "link changed"}
    nodes = {"node added", "node removed"}
    assert met[1] == values
    assert met[2] == values | nodes | {"flat"}
    assert met[3] == met[2] | {"nested", "list", "list lengthened"}
    assert met[4] == met[3] | {"shared", "alike", "zeros", "number written otherwise"}


def test_a_part_of_the_difference_has_points():
    """A missing or invented triple lowers the score; feedback says what an engine can know."""
    case = changed(f"{NAME}-natural-2")
    lines = world_differences.reference(case).split("\n")[1:-1]

    less = judged(case, fenced(*lines[1:]))
    assert 0 < less.scores["f1"] < 1
    assert (less.scores["leads"], less.scores["verdict"]) == (0.0, 1.0)
    assert "does not lead" in less.next_prompt
    more = judged(case, fenced(*lines, f"- <urn:a> {NAME_OF} 1 ."))
    assert 0 < more.scores["f1"] < 1
    assert "<urn:a>" in more.next_prompt
    assert more.feedback == "content"
    assert judged(case, *3 * [fenced(*lines[1:])]).next_prompt is None


def test_a_difference_that_is_not_the_least_leads():
    """Replacing the whole graph gives the second graph, but not the minimal difference."""
    case = changed(f"{NAME}-natural-3")
    first, second = case.data["triples"]
    verdict = judged(case, fenced(*(f"- {r} ." for r in first), *(f"+ {r} ." for r in second)))

    assert verdict.scores["leads"] == 1.0
    assert verdict.scores["recall"] == 1.0
    assert verdict.scores["exact"] == 0.0
    assert "more triples than are needed" in verdict.next_prompt


def test_answers_may_be_written_in_other_ways():
    """Prefixes, comments, abbreviations and escapes are read; blank node labels matter."""
    case = changed(f"{NAME}-natural-4")
    lines = world_differences.reference(case).split("\n")[1:-1]
    world = "https://w3id.org/kgbench/world/"
    short = [
        line.replace(f"<{world}population>", "w:population").replace("e", "e") for line in lines
    ]
    for text in (
        fenced(f"@prefix w: <{world}> .", "# changes", "", *short),
        fenced(f"PREFIX w: <{world}>", *reversed(short)),
        fenced(*(line.replace("world/", "w\\u006Frld/") for line in lines)),
    ):
        assert judged(case, text).scores["exact"] == 1.0, text
    if any("_:" in line for line in lines):
        other = judged(case, fenced(*(line.replace("_:b", "_:x") for line in lines)))
        assert other.scores["exact"] == 0.0


def test_blank_nodes_in_texts_are_none():
    """A blank node label within a literal is left unchanged."""
    first = world_differences._canonical(['<urn:a> <urn:p> "_:b1 is no <node>"'])

    assert first == {'<urn:a> <urn:p> "_:b1 is no <node>"'}


@pytest.mark.parametrize(
    ("answer", "error", "kind"),
    [
        ("no block", "no fenced block", "format"),
        ("```\n```", "no triples", "syntax"),
        ("```\n# nothing\n```", "no triples", "syntax"),
        ("```\nThey are the same.\n```", "line 1 begins with neither", "syntax"),
        ("```\n- <urn:a> <urn:b> <urn:c> .\n\n+ <urn:a> <urn:b> .\n```", "lines with +", "syntax"),
        ("```\nsame\nsame\n```", "line 1", "syntax"),
    ],
)
def test_what_cannot_be_used_is_asked_for_again(answer, error, kind):
    """The model is told why its answer cannot be used, which has no points."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, answer)

    assert verdict.outcome is Outcome.UNPARSABLE
    assert error in verdict.infos["parseError"]
    assert set(verdict.scores.values()) == {0.0}
    assert verdict.feedback == kind
    assert verdict.next_prompt


def test_the_least_difference_is_found_whatever_labels_there_are():
    """Blank nodes are paired so that as few triples as possible are removed."""
    first = rows("_:a <p> 1", "_:a <q> 2", "_:b <p> 1", "_:b <q> 3", "<s> <l> _:a")
    second = rows("_:x <p> 1", "_:x <q> 3", "_:y <p> 1", "_:y <q> 4", "<s> <l> _:y")

    found = only_difference(first, second, 4)

    assert found == Difference(rows("_:a <q> 2"), rows("_:y <q> 4"))
    assert only_difference(first, second, 0) is None


def test_two_least_differences_are_none():
    """If one of two equal nodes may have changed, there is no unique difference."""
    first = rows("_:a <p> 1", "_:b <p> 1")
    second = rows("_:x <p> 1", "_:x <q> 2", "_:y <p> 1")

    # Removing nothing, <q> is added to x; both nodes give the same result.
    assert only_difference(first, second, 2) == Difference(rows(), rows("_:x <q> 2"))
    # In the other direction, <q> is removed from the one node that has it.
    assert only_difference(second, first, 2) == Difference(rows("_:x <q> 2"), rows())
    alike = rows("_:x <p> 1")
    assert only_difference(first, alike, 2) is None
    # Two differences that are not minimal do not matter.
    third = rows("_:a <p> 1", "_:a <q> 2", "_:b <p> 1", "_:b <q> 3")
    fourth = rows("_:x <p> 1", "_:x <q> 2", "_:x <r> 4", "_:y <p> 1")
    assert only_difference(third, fourth, 9) == Difference(rows("_:b <q> 3"), rows("_:x <r> 4"))


def test_nodes_that_nothing_tells_apart_are_known():
    """A graph is rigid if no other pairing with itself keeps it."""
    assert is_rigid(rows("_:a <p> _:b", "_:b <q> 1"))
    assert not is_rigid(rows("_:a <p> _:b", "_:b <p> _:a"))
    assert not is_rigid(frozenset((f"_:{n}", "<p>", "1") for n in range(30)))


def test_isomorphism_is_told():
    """Exactly the graphs that are equal up to labels are isomorphic."""
    ring = rows("_:a <p> _:b", "_:b <p> _:c", "_:c <p> _:a")
    other = rows("_:x <p> _:z", "_:z <p> _:y", "_:y <p> _:x")

    assert is_isomorphic(ring, other) is True
    assert is_isomorphic(ring, rows("_:x <p> _:z", "_:z <p> _:y", "_:x <p> _:y")) is False
    assert is_isomorphic(ring, rows("_:x <p> _:x")) is False


def test_a_line_without_a_dot_is_read():
    """A final dot may be missing anywhere; the other lines are read as before."""
    (case,) = cases(f"{NAME}-natural-2", 1)
    lines = world_differences.reference(case).split("\n")
    for number, line in enumerate(lines):
        if line.endswith(" ."):
            given = "\n".join([*lines[:number], line.removesuffix(" ."), *lines[number + 1 :]])
            assert judged(case, given).scores["exact"] == 1, given


@pytest.mark.parametrize(
    ("lines", "number", "reason"),
    [
        (["- <urn:a> <urn:b> 1", "+ <urn:a> <urn:b> 2 .", "- <urn:a> x 2 ."], 3, "x is not"),
        (["@prefix : <urn:> .", "# y", "+ :a :b _:b1 z .", "+ :a :b 1 ."], 3, "z is not"),
        (["- <urn:a> <urn:b> 1 .", '- <urn:a> <urn:b> "1 .', "- <urn:a> <urn:b> 2 ."], 2, ""),
    ],
)
def test_messages_name_the_line_of_the_block(lines, number, reason):
    """An error is that of the first line of the block that cannot be read, in its own words."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    answer = "\n".join(["```diff", *lines, "```"])
    verdict = world_differences.judge(case, [answer], engine("oxigraph"))

    assert f"line {number}: {reason}" in verdict.infos["parseError"]
    assert "kgbench" not in verdict.infos["parseError"]
