# SPDX-License-Identifier: Apache-2.0
"""The list of mutants that no test can detect follows its rules (``make mutants``)."""

import ast
import tomllib
from functools import cached_property

from tests import mutants
from tests.mutants import Mutant

DECORATED = """
class Circle:
    radius = 2

    @cached_property
    def area(self):
        '''Two decorators of one kind, and a line that goes on.'''
        return (
            3 * self.radius**2
        )

@twice
@plus(1)
def number():
    return 4
"""


def test_decorators_are_applied_behind_their_functions():
    """Code without decorators behaves like the original."""
    source = mutants.undecorated(DECORATED)
    names = {
        "cached_property": cached_property,
        "twice": lambda function: lambda: 2 * function(),
        "plus": lambda more: lambda function: lambda: more + function(),
    }
    exec(compile(source, "decorated", "exec"), names)
    circle = names["Circle"]()

    assert "@" not in source
    assert circle.area == 12
    assert vars(circle) == {"area": 12}
    assert names["number"]() == 10


def test_the_scorers_without_decorators_are_whole(repository):
    """Each scorer still parses without its decorators, and has the same functions."""
    for path in (repository / mutants.SCORING).glob("*.py"):
        before, after = (
            [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)]
            for text in (path.read_text("utf-8"), mutants.undecorated(path.read_text("utf-8")))
        )
        assert before == after


def test_survivors_and_the_list_must_agree():
    """An unlisted survivor is reported, and so is a listed mutant that does not survive."""
    one, two = Mutant("a.f", "x", "y"), Mutant("a.g", "x", "z")

    assert mutants.complaints([one, two], [two, one]) == []
    assert mutants.complaints([one, one], [one]) == [
        "survived and is not justified: a.f\n  - x\n  + y"
    ]
    assert mutants.complaints([], [two]) == ["is justified and does not survive: a.g\n  - x\n  + z"]


def test_justified_mutants_change_what_is_there(repository):
    """Each entry quotes current lines of a scorer and has a reason."""
    listed = tomllib.loads(mutants.JUSTIFIED.read_text(encoding="utf-8")).get("mutant", [])

    for entry in listed:
        module = entry["function"].partition(".")[0]
        text = (repository / mutants.SCORING / f"{module}.py").read_text(encoding="utf-8")
        lines = {line.strip() for line in text.splitlines()}
        assert entry["was"]
        assert set(entry["was"].split("\n")) <= lines, entry
        assert set(entry) == {"function", "was", "becomes", "why"}
        assert entry["why"]
