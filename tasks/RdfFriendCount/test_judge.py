# SPDX-License-Identifier: Apache-2.0
"""Graphs of persons: their generation, their size, and the persons in answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.api import PlainExecutor, TaskError, make_task
from kgbench.families.RdfFriendCount.judge import FriendGraph, family
from kgbench.tasks import catalogue
from tests.support.families import cases

EXECUTOR = PlainExecutor()


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 40), st.integers(0, 30))
def test_one_person_is_known_by_more(knows: int, additional: int, special: int, more: int) -> None:
    """Each person is known by `knows` others, the special one by `additional` more."""
    persons = knows + additional + 1 + more
    places = tuple(range(persons))
    graph = FriendGraph(persons, knows, special % persons, additional, places, places)
    known = Counter(p for place in places for p in graph.known_by(place))
    assert known.pop(graph.special) == knows + additional
    assert set(known.values()) == {knows}
    for place in places:
        others = graph.known_by(place)
        assert place not in others
        assert len(set(others)) == len(others)
    assert len(graph.special_friends) == additional


def test_friends_are_the_same_in_every_format() -> None:
    """All formats have the same number of persons, fitted to the size in Turtle."""
    sizes = set()
    for label in ("turtle", "jsonld", "xml", "nt"):
        for case in cases(f"RdfFriendCount-{label}-2", 3):
            read = EXECUTOR.parse(case.data["graph"], case.data["graphFormat"])
            assert read.triples is not None, read.error
            n = case.data["n"]
            assert len(set(read.triples)) == len(read.triples) == n + n * 2 + 2
            sizes.add(n)
    assert len(sizes) == 1


@pytest.mark.parametrize("size", [800, 1000, 2000, 4000, 8000])
def test_the_prompt_fills_the_size(size: int) -> None:
    """A Turtle prompt has at most the wanted size, with no room for another person."""
    task = make_task("RdfFriendCount", "sized", {"size": size})
    (case,) = family.cases(task, "test", 0, 1)
    length = len(family.prompt(case))
    assert length <= size < length + 130


def test_a_size_that_is_too_small_is_refused() -> None:
    """A size that is too small is refused with the smallest possible one."""
    task = make_task("RdfFriendCount", "small", {"size": 600})
    with pytest.raises(TaskError, match="needs a size of at least"):
        family.cases(task, "test", 0, 1)


def test_seeds_and_iterations_make_different_graphs() -> None:
    """Different iterations, seeds and labels give different graphs."""
    task = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
    other = catalogue.labelled_tasks()["RdfFriendCount-turtle-2"]
    found = [
        case.digest
        for task, seed in ((task, 0), (task, 1), (other, 0))
        for case in family.cases(task, "test", seed, 20)
    ]
    assert len(set(found)) == 60
    specials = {c.data["specialNodeIri"] for c in family.cases(task, "test", 0, 40)}
    assert len(specials) > 3


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("{0}", {"f1": 1.0, "exact": 1.0, "brevity": 1.0}),
        ("<{0}>", {"f1": 1.0, "brevity": 1.0}),
        ("<{0}>\n", {"f1": 1.0, "brevity": 43 / 44}),
        ("{0} and not {1}", {"f1": 2 / 3, "precision": 0.5, "exact": 0.0, "noSpecialFriends": 0.0}),
        ("person-4", {"recall": 0.0, "precision": 0.0, "noSpecialFriends": 1.0}),
        ("{1}", {"f1": 0.0, "noSpecialFriends": 0.0}),
        ("", {"f1": 0.0, "noSpecialFriends": 1.0, "brevity": 1.0}),
    ],
)
def test_persons_in_answers(answer: str, expected: dict[str, float]) -> None:
    """The special person counts by its full name without other words."""
    (case,) = cases("RdfFriendCount-turtle-1", 1)
    special, friend = case.data["specialNodeIri"], case.data["specialFriends"][0]
    verdict = family.judge(case, [answer.format(special, friend)], EXECUTOR)
    assert {name: verdict.scores[name] for name in expected} == pytest.approx(expected)
