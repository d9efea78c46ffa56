# SPDX-License-Identifier: Apache-2.0
"""Mutants are made, woven and counted as ``make mutant-rates`` says."""

import ast

import pytest

from tests import mutant_rates
from tests.support import code_mutants, mutant_trials

SOURCE = '''"""A module."""
from __future__ import annotations

LIMIT = 3

def first(rows: list[int], most=2, *, strict: bool = True) -> int | None:
    """Describe 1 + 1 < 3."""
    found = {"rows": 0}
    for row in rows:
        if row > most and strict:
            print(f"{row + 1}")
            found["rows"] += 1
            break
    return found["rows"] if rows else None
'''


def changes(source):
    """Return what becomes what in a source."""
    return {(mutant.was, mutant.becomes) for mutant in code_mutants.found(source)}


def switched(mutants, number):
    """Return the function of the source with one mutant on, and the mutants that it reaches."""
    reached = set()

    def chosen(place, noted=1):
        reached.update([place] if noted else [])
        return place == number

    tree = ast.parse(code_mutants.woven(SOURCE, dict(enumerate(mutants))))
    tree.body = [node for node in tree.body if getattr(node, "module", "") in ("", "__future__")]
    names = {"__m__": chosen, "print": lambda _: None}
    exec(compile(tree, "woven", "exec"), names)
    return names["first"], reached


def test_what_is_changed():
    """Functions are changed, but no annotations, docstrings, messages or code outside of them."""
    assert changes(SOURCE) == {
        ("2", "3"),
        ("True", "False"),
        ("'rows'", "'XXrows'"),
        ("0", "1"),
        ("row > most and strict", "not (row > most and strict)"),
        ("row > most and strict", "row > most or strict"),
        ("row > most", "row >= most"),
        ("print(f'{row + 1}')", "None"),
        ("found['rows'] += 1", "found['rows'] -= 1"),
        ("1", "2"),
        ("break", "continue"),
        ("found['rows'] if rows else None", "None"),
        ("rows", "not rows"),
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a == b", {"a != b"}),
        ("not a", {"a"}),
        ("a < b < c", {"a <= b < c", "a < b <= c"}),
        ("-1", {"1", "2"}),
        ("'text'", set()),
        ("a is 'text'", {"a is not 'text'", "'XXtext'"}),
    ],
)
def test_expressions(source, expected):
    """Operators are swapped, ``not`` is removed, numbers and compared texts change."""
    assert {becomes for _, becomes in changes(f"def f():\n    x = {source}")} == expected


def test_a_mutant_is_on_or_off():
    """Without a mutant the function is the original, and each mutant changes what it says."""
    mutants = code_mutants.found(SOURCE)
    numbers = {(mutant.was, mutant.becomes): n for n, mutant in enumerate(mutants)}
    plain, reached = switched(mutants, None)

    assert (plain([1, 3, 4]), plain([]), plain([3], strict=False)) == (1, None, 0)
    assert reached == set(range(len(mutants)))
    for change, expected in {
        ("break", "continue"): 2,
        ("found['rows'] += 1", "found['rows'] -= 1"): -1,
        ("1", "2"): 2,
        ("2", "3"): 1,  # 4 is still more
        ("True", "False"): 0,
        ("rows", "not rows"): None,
    }.items():
        assert switched(mutants, numbers[change])[0]([1, 3, 4]) == expected, change


def test_what_is_not_executed_is_not_reached():
    """Only the places that a call comes by are reached; a default value is, with its function."""
    mutants = code_mutants.found(SOURCE)
    plain, reached = switched(mutants, None)
    reached.clear()

    plain([])

    kinds = {(mutants[n].was, mutants[n].becomes) for n in reached}
    assert kinds >= {("2", "3"), ("True", "False"), ("rows", "not rows")}
    assert not kinds & {("break", "continue"), ("row > most", "row >= most")}


def test_a_seed_gives_the_same_sample():
    """A sample depends on the sources and the seed alone, and has no mutant twice."""
    sources = {"b.py": SOURCE, "a.py": SOURCE}
    one, again = (
        mutant_trials.sample(dict(s), 9, "7") for s in (sources, reversed(sources.items()))
    )

    assert one == again
    assert len(set(one)) == 9
    assert mutant_trials.sample(sources, 9, "8") != one
    assert len(mutant_trials.sample(sources, 99, "7")) == 2 * len(code_mutants.found(SOURCE))


def fate(reached="quick wide", **noticed):
    """Return a mutant of the results."""
    return {"reached": reached.split(), "noticed": noticed}


def test_rates():
    """What wide tests notice of the mutants that were not tried is estimated from the others."""
    mutants = [
        *4 * [fate(quick="t")],
        fate("quick", quick="", wide=""),
        fate(quick="", wide="t"),
        fate(quick="", wide=""),
        fate(quick=""),
        fate(),
    ]
    rate = mutant_rates.rate(mutants, "both")

    assert rate == mutant_rates.Rate(tried=8, quick=4, wide=1, untried=1, all=5.5)
    assert rate.ratio == 4 / 5.5
    assert mutant_rates.rate([fate("all", all="t"), fate("", all="")], "all").all == 1.0
    assert mutant_rates.rate(mutants, "quick").quick == 4
