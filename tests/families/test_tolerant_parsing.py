# SPDX-License-Identifier: Apache-2.0
"""The tolerant parser of Turtle, and expected documents."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.errors import EvaluationError
from kgbench.families import tolerant_parsing
from kgbench.model import ParsedGraph
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor

EXECUTOR = PlainExecutor()
SAMPLE = "@prefix : <http://e.org/> .\n:a :b :c .\n:d :e :f ."


@pytest.mark.parametrize(
    ("text", "triples", "removed", "lines"),
    [
        (SAMPLE, 2, 0, 0),
        (f"Here you are:\n{SAMPLE}\nDone.", 2, 18, 2),
        (f"```turtle\n{SAMPLE}\n```", 2, 12, 2),
        (SAMPLE.replace(":a :b :c", ":a :b"), 1, 7, 1),
        ("not Turtle at all", 0, 17, 1),
        ("", 0, 0, 0),
    ],
)
def test_lines_are_removed_until_it_parses(
    text: str, triples: int, removed: int, lines: int
) -> None:
    """Lines with reported errors are removed until the text parses, and counted in characters."""
    found = tolerant_parsing.parse(text, EXECUTOR)
    assert (len(found.triples), found.removed, found.lines) == (triples, removed, lines)
    assert (found.error is None) == (lines == 0)


@given(st.text(alphabet='ab:<>"._;, \n#@[]()', max_size=200))
def test_repairing_ends(text: str) -> None:
    """The repair of any text ends with a text that parses."""
    found = tolerant_parsing.parse(text, EXECUTOR)
    assert EXECUTOR.parse(found.text, "turtle").triples is not None
    assert found.removed <= len(text)


def test_repairing_is_bounded() -> None:
    """After 500 removed lines the repair gives up without triples."""
    text = "no Turtle\n" * (tolerant_parsing.MOST_REMOVED + 5)
    found = tolerant_parsing.parse(text, EXECUTOR)
    assert found.triples == ()
    assert found.lines == tolerant_parsing.MOST_REMOVED


@pytest.mark.parametrize("blank", ["\u00a0", "\x0c", "\u2028 "])
def test_white_space_that_turtle_does_not_know_is_removed(blank: str) -> None:
    """A line of white space unknown to Turtle is removed without the line before it."""
    found = tolerant_parsing.parse(SAMPLE.replace(".\n", f".\n{blank}\n"), EXECUTOR)
    assert (len(found.triples), found.lines, found.removed) == (2, 2, 2 * len(blank))


class TakesNothing(PlainExecutor):
    """An executor that refuses every document, for example without memory."""

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Return an error message only."""
        return ParsedGraph(None, f"no {rdf_format} of {len(text)} characters")


def test_repairing_ends_where_no_document_is_taken() -> None:
    """If every document is refused, the repair ends when all lines with text are removed."""
    found = tolerant_parsing.parse("a\n\nbc\n", TakesNothing())
    assert found == ((), "", 3, 2, "no turtle of 6 characters")


def test_an_expected_document_that_does_not_parse_is_a_defect_of_the_case() -> None:
    """A case whose expected document does not parse is an error that names the case."""
    case = catalogue.make_case("s", "TurtleErrorsStatic", {}, {"optimal": "<a"})
    with pytest.raises(EvaluationError, match=f"'optimal' of the case {case.iri} does not parse"):
        tolerant_parsing.expected_triples(case, EXECUTOR)
    with pytest.raises(EvaluationError, match=f"{case.iri} has no 'optimal'"):
        tolerant_parsing.expected_triples(replace(case, data={}), EXECUTOR)


@given(st.lists(st.text("a \r", max_size=3), min_size=1, max_size=5), st.data())
def test_a_line_is_cut_out_as_by_joining_the_others(lines, data):
    """Removing a line leaves what joining the other lines gives, also at both ends."""
    number = data.draw(st.integers(0, len(lines) - 1))
    others = lines[:number] + lines[number + 1 :]
    text = "\n".join(lines)
    assert tolerant_parsing.without_line(text, number, lines) == "\n".join(others)
