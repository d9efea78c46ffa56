# SPDX-License-Identifier: Apache-2.0
"""Differences of two graphs up to blank nodes: unique and minimal, judged by triples."""

from __future__ import annotations

import pyoxigraph as ox
import pytest

from kgbench.execution.engines import engine
from kgbench.families.DifferenceWorld import judge
from tests.execution.judging import harm
from tests.support.families import cases, generated, judged

NAME, family = judge.family.NAME, judge.family
LEVELS = range(1, 5)
LABELS = generated()[NAME]
MANY = range(20_000)


def changed(label, number=20):
    """Return the first case of a labelled task with removed and added triples."""
    return next(
        case for case in cases(label, number) if case.data["removed"] and case.data["added"]
    )


def fenced(*lines):
    """Return lines as an answer."""
    return "\n".join(["```diff", *lines, "```"])


def canonical(lines):
    """Return a graph as canonical N-Triples (RDFC-1.0, by another engine)."""
    dataset = ox.Dataset(
        ox.Quad(q.subject, q.predicate, q.object)
        for q in ox.parse("\n".join(f"{line} ." for line in lines), ox.RdfFormat.N_TRIPLES)
    )
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    return sorted(map(str, dataset))


@pytest.mark.parametrize("label", LABELS)
def test_texts_are_what_their_triples_say(label):
    """Both documents have the triples of the case and differ as stated; "same" is rarely right."""
    without = 0
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
        without += not removed | added
        for same in ("same", "Same", "SAME", "same.", "# nothing else\n Same."):
            scores = judged(case, fenced(same)).scores
            assert scores["verdict"] == scores["f1"] == float(not removed | added)
    assert without <= 3 + 15 / 4


def test_levels_have_what_they_are_said_to_have():
    """Blank nodes, lists and zeros occur on the right levels, and every kind of change occurs."""
    met = {level: set() for level in LEVELS}
    for level in LEVELS:
        for case in cases(f"{NAME}-natural-{level}", 80):
            met[level] |= set(case.data["features"])
            assert ("_:" in "".join(case.data["triples"][0])) == (level > 1)
    values = {"value removed", "value added", "value changed", "link changed"}
    assert met[1] == values
    assert met[2] == values | {"node added", "node removed", "flat"}
    assert met[3] == met[2] | {"nested", "list", "list lengthened"}
    assert met[4] == met[3] | {"shared", "alike", "zeros", "number written otherwise"}


def test_feedback_says_what_an_engine_can_know():
    """A missing, an unknown and a needless triple lower the score and are told apart."""
    case = changed(f"{NAME}-natural-2")
    lines = family.reference(case).split("\n")[1:-1]
    less = judged(case, fenced(*lines[1:]))
    more = judged(case, fenced(*lines, "- <urn:a> <urn:b> 1 ."))
    first, second = case.data["triples"]
    whole = judged(case, fenced(*(f"- {r} ." for r in first), *(f"+ {r} ." for r in second)))

    assert (less.scores["leads"], less.scores["verdict"]) == (0.0, 1.0)
    assert "does not lead" in less.next_prompt
    assert "<urn:a>" in more.next_prompt
    assert (whole.scores["leads"], whole.scores["recall"]) == (1.0, 1.0)
    assert "more triples than are needed" in whole.next_prompt
    assert all(0 < verdict.scores["f1"] < 1 for verdict in (less, more, whole))
    assert judged(case, *3 * [fenced(*lines[1:])]).next_prompt is None


def test_answers_may_be_written_in_other_ways():
    """Prefixes, comments, escapes and missing dots are read; blank node labels matter."""
    case = changed(f"{NAME}-natural-4")
    lines = family.reference(case).split("\n")[1:-1]
    world = "https://w3id.org/kgbench/world/"
    short = [line.replace(f"<{world}population>", "w:population") for line in lines]
    for text in (
        fenced(f"@prefix w: <{world}> .", "# changes", "", *short),
        fenced(f"PREFIX w: <{world}>", *reversed(short)),
        fenced(*(line.replace("world/", "w\\u006Frld/") for line in lines)),
        *(
            fenced(*lines[:k], one.removesuffix(" ."), *lines[k + 1 :])
            for k, one in enumerate(lines)
        ),
    ):
        assert judged(case, text).scores["exact"] == 1.0, text
    if any("_:" in line for line in lines):
        other = judged(case, fenced(*(line.replace("_:b", "_:x") for line in lines)))
        assert other.scores["exact"] == 0.0


def test_blank_nodes_in_texts_are_none():
    """A blank node label within a literal is left unchanged."""
    first = judge._canonical(['<urn:a> <urn:p> "_:b1 is no <node>"'])

    assert first == {'<urn:a> <urn:p> "_:b1 is no <node>"'}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no triples"),
        (["They are the same."], "line 1 begins with neither"),
        (["same", "same"], "line 1"),
        (["- <urn:a> <urn:b> <urn:c> .", "", "+ <urn:a> <urn:b> ."], "lines with +"),
        (["- <urn:a> <urn:b> 1", "+ <urn:a> <urn:b> 2 .", "- <urn:a> x 2 ."], "line 3: x is not"),
        (["@prefix : <urn:> .", "# y", "+ :a :b _:b1 z .", "+ :a :b 1 ."], "line 3: z is not"),
        (["- <urn:a> <urn:b> 1 .", '- <urn:a> <urn:b> "1 .', "- <urn:a> <urn:b> 2 ."], "line 2: "),
    ],
)
def test_messages_name_the_line_of_the_block(lines, message):
    """An error is that of the first line of the block that cannot be read, in its own words."""
    (case,) = cases(f"{NAME}-natural-1", 1)
    verdict = judged(case, fenced(*lines), executor=engine("oxigraph"))

    assert message in verdict.infos["parseError"]
    assert "kgbench" not in verdict.infos["parseError"]
    assert verdict.feedback == "syntax"
    assert set(verdict.scores.values()) == {0.0}


USABLE = [
    [f"- <urn:s:{n}> <urn:p> {n} ." for n in MANY],
    [f"+ _:b{n % 7} <urn:p> _:b{n % 5} ." for n in MANY],
    ["- <urn:s> <urn:p> " + " , ".join(map(str, MANY)) + " ."],
    ["+ <urn:s> <urn:p> ( " + " ".join(map(str, MANY)) + " ) ."],
    [f'+ <urn:s> <urn:p> "{"x" * 1_000_000}" .'],
    ["+ <urn:s> <urn:p> " + "[ <urn:p> " * 300 + "1" + " ]" * 300 + " ."],
    ["- <urn:s> <urn:p> <<( <urn:s> <urn:p> 1 )>> ."],
    ['- <urn:s> <urn:p> "a"@en--ltr .', "+ <urn:s> <urn:p> 'it\\'s _:b1' ."],
    ["- <urn:x-kgbench-blank-node:b1> <urn:p> <urn:x-kgbench-blank-node:> ."],
    ["- _:b1 <urn:p> _:b1 .", "+ _:b1 <urn:p> _:b1 ."],
    [f"@base <{harm.URL}> .", "- <a> <b> <c> ."],
    [f"@prefix x: <{harm.URL}> .", "- x:a <http://www.w3.org/2002/07/owl#imports> x:c ."],
]
REFUSED = [
    ['- <urn:s> <urn:p> "' + "\\" * 100_000],
    ["- " + '"' * 100_000, "+ " + "<" * 100_000],
    ["- " + "_:" * 100_000],
    ["- _:" + "a." * 100_000],
    ["- " + "[ " * 100_000],
    ["-" for _ in MANY],
    ["@prefix a: <urn:a:> ." for _ in MANY],
    ["same", "- <urn:s> <urn:p> 1 ."],
    ["- <urn:s> <urn:p> 'unclosed .", "- <urn:t> <urn:p> 1 ."],
]


def test_hostile_answers_do_no_harm():
    """Lists that are large, odd or about remote addresses have the outcomes of their kinds."""
    labels = [f"{NAME}-natural-{level}" for level in (1, 4)]
    harm.assert_harmless(
        labels, [fenced(*lines) for lines in USABLE], [fenced(*lines) for lines in REFUSED]
    )
