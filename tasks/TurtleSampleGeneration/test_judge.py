# SPDX-License-Identifier: Apache-2.0
"""Generated graphs of persons: persons and friends are counted."""

from __future__ import annotations

import pytest

from kgbench.api import PlainExecutor
from kgbench.families.TurtleSampleGeneration.judge import family
from tests.support.families import only_case

EXECUTOR = PlainExecutor()


PEOPLE = """@prefix : <http://e.org/> . @prefix foaf: <http://xmlns.com/foaf/0.1/> .
:a a foaf:Person ; foaf:knows :b , :c .
:b a foaf:Person ; foaf:knows :c , :a .
:c a foaf:Person ; foaf:knows :a , :b .
"""


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (PEOPLE, (0.0, 1.0, 1.0)),
        (PEOPLE.replace(":b , :c", ":b"), (0.0, 0.0, 1.0)),
        (PEOPLE.replace(":b , :c", ":b , :c , :d"), (0.0, 1.0, 0.0)),
        (PEOPLE + ":d a foaf:Person .", (1 / 3, 1.0, 1.0)),
        (PEOPLE.replace("foaf:Person", "foaf:person"), (-1.0, 0.0, 0.0)),
        ("", (-1.0, 0.0, 0.0)),
    ],
)
def test_persons_and_friends(answer: str, expected: tuple[float, ...]) -> None:
    """Persons are counted by their exact type, and friends by ``knows``."""
    verdict = family.judge(only_case("TurtleSampleGeneration", size=3), [answer], EXECUTOR)
    names = ("persons_relative_error", "min_friends_ok", "max_friends_ok")
    assert tuple(verdict.scores[name] for name in names) == pytest.approx(expected)
    assert verdict.scores["parsable"] == 1.0
    assert verdict.scores["persons_agreement"] == pytest.approx(1 - abs(expected[0]))


@pytest.mark.parametrize("persons", [3, 10, 80])
def test_references_of_all_sizes(persons: int) -> None:
    """The reference answer meets all demands for any number of persons."""
    case = only_case("TurtleSampleGeneration", size=persons)
    assert f"{persons} different persons" in family.prompt(case)
    scores = dict(family.judge(case, [family.reference(case)], EXECUTOR).scores)
    assert scores.pop("persons_relative_error") == 0.0
    assert set(scores.values()) == {1.0}
