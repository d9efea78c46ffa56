# SPDX-License-Identifier: Apache-2.0
"""Functions that read texts of models take time in proportion to the length."""

from __future__ import annotations

import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors import extraction
from kgbench.families import text2kg_turtle
from kgbench.families.ClaimCheckWorld import judge as claims
from kgbench.families.RdfFriendCount.judge import _PERSON
from kgbench.rdf import string
from kgbench.scoring import agreement, fact_extraction, facts, result_sets, single_words, stems
from kgbench.scoring.facts import Ontology
from kgbench.scoring.fences import fenced_blocks
from kgbench.scoring.result_sets import _tokens as tokens
from kgbench.scoring.result_sets import names
from kgbench.tasks import catalogue

LENGTH = 300_000  # characters; a quadratic function takes an hour for them
SHORT = 100_000  # characters; a quadratic function takes minutes for them
PATIENCE = 60  # seconds for an attack that takes a linear function less than three

# Repeated up to a length; a bar separates the text that comes at the end.
ATTACKS = (
    *("a", " ", "\n", "\t ", "a ", "a.", ".", "-", "a-", "'", '"', "\\", '\\"', "\\'", '"\\'),
    *('""', "1", "1.", "1,", "1,111", "0", "person-0", "person-", "<", ">", "<a", "_:", "_:a "),
    *(":", "a:", "(", ")", "a(", "a(,", "a(b,", ",", "/", "#", "a/", "%41", "\u0301\u0327"),
    *("\ufdfa", "\u1e9b", "PREFIX ", "PREFIX a:", "PREFIX a:<", "PREFIX a: <b>", "'''", '"""'),
    *('"""a', "'a", "don't ", "https://abc.def/ghi/", "https://abc.def/ghi/a "),
    *("- https://abc.def/ghi/a\n", "<think>", "</think>", "<think></think>", "</think> "),
    *("<think> \n", "``", "```", "````", "```\n", "```a\n", "```a", "a ```\n", "a: ```\n"),
    *("~~~\n", "````\n```\n", "> ", "> ```\n", "```` ```\n", "```markdown\n", "1. ", "1. ```\n"),
    *("    ```\n", "\r\n", "```\r\n", "{", "[", "...", "?!", "—", " | <think>", "\n|</think>"),
    *("'a| ", "a|(", "a(,|)", "a/|/", " |x", "not ", "not aly ", '"|\n', "0|!", ".\u201d|x"),
    *("> |```\n> a\n> ```", "```\n|a```", "\t|```\na\n```", "``` |\n", "#|/b"),
)

CONNECTION = catalogue.module("RdfConnectionExplainStatic")
CASE = catalogue.make_case("s", CONNECTION.NAME, {}, {})
# Functions by name; each is given a text of the attacker.
TARGETS: dict[str, Callable[[str], object]] = {
    "fences": fenced_blocks,
    "fence margins": lambda text: fenced_blocks(f"{text[:300_000]}```\n{text}\n```"),
    "answer lists": lambda text: result_sets.comparisons(["1"], text),
    "facts": facts.parse,
    "names in queries": lambda text: names(text, {"": "https://abc.def/ghi/"}),
    "result sets": lambda text: result_sets.term_value(f'"{text}"', {}),
    "graphs": lambda text: agreement.with_uniform_blank_nodes(
        f"_:a <http://e.org/b> {string(text)} ."
    ),
    "stems": stems.stemmed,
    "mentions": lambda text: fact_extraction.MentionedIn("A short sentence.").mentions(text),
    "dates and numbers": lambda text: (
        fact_extraction.is_date(f"1 {text}"),
        fact_extraction.is_number(text),
    ),
    "local names": lambda text: text2kg_turtle.read_facts(
        [f"<http://e.org/{_in_iri(text)}> <http://e.org/p> <http://e.org/{_in_iri(text)}> ."],
        Ontology("o", "O", (), ()),
    ),
    "lists of IRIs": lambda text: CONNECTION.judge(CASE, [text], None),
    "single words": lambda text: single_words.read_word(f"not {text}", ("entailed", "unknown")),
    "verdicts": lambda text: claims.read_verdict(f"leaves not {text} rules is {text}"),
    "persons": _PERSON.findall,
    "think blocks": extraction.after_think_blocks,
}


def attack(pattern: str, length: int) -> str:
    """Return ``pattern`` repeated up to a length; the text after a bar comes at the end."""
    unit, _, end = pattern.partition("|")
    return unit * (length // len(unit)) + end


def _in_iri(text: str) -> str:
    """Return the characters of ``text`` that may occur in an IRI."""
    return "".join(c for c in text if c.isalnum() or c in "/-._~:,")


CODE = """
import signal, sys
from tests.scoring.test_linear import ATTACKS, PATIENCE, TARGETS, attack
target = TARGETS[sys.argv[1]]
signal.signal(signal.SIGALRM, signal.SIG_DFL)
for pattern in ATTACKS:
    text = attack(pattern, int(sys.argv[2]))
    print(repr(pattern), flush=True)
    signal.alarm(PATIENCE)
    target(text)
"""


def survived(name: str, length: int) -> subprocess.CompletedProcess[str]:
    """Run all attacks on one function in a process that ends itself after a time limit."""
    words = [sys.executable, "-c", CODE, name, str(length)]
    root = Path(__file__).parents[2]
    return subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "length"),
    [
        *((name, SHORT) for name in ("facts", "graphs", "names in queries", "persons")),
        *((name, SHORT) for name in ("think blocks", "lists of IRIs")),
        *((name, LENGTH) for name in TARGETS),
    ],
)
def test_attacks_are_read_in_time(name: str, length: int) -> None:
    """Every attack of 100,000 or 300,000 characters ends within the time limit."""
    done = survived(name, length)
    assert done.returncode == 0, (done.stdout.splitlines()[-1:], done.stderr[-500:])


# The former single expression for the names of queries, which takes quadratic time.
BEFORE = re.compile(
    r"""(?P<string>\"\"\".*?\"\"\"|'''.*?'''|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')"""
    r"|<(?P<iri>[^<>\s]*)>"
    r"|(?P<name>(?<![\w?$:.-])[A-Za-z]?[\w.-]*:[\w%-]+(?:\.[\w%-]+)*)"
    r"|(?P<type>(?<![\w?$:<.-])a(?![\w:.-]))",
    re.DOTALL,
)


@given(st.text(alphabet="\"'\\\n a:.<>", max_size=40))
def test_names_in_queries_are_those_of_one_expression(text: str) -> None:
    """The linear scan finds the same names as the former single expression."""
    expected = [match.span() for match in BEFORE.finditer(text) if match["string"] is None]
    assert [match.span() for match in tokens(text)] == expected


@given(st.text(max_size=60))
def test_accents_go_as_from_the_whole_text(text: str) -> None:
    """Removing accents character by character gives the same as for the whole text."""
    decomposed = unicodedata.normalize("NFKD", text)
    whole = "".join(c for c in decomposed if not unicodedata.combining(c))
    assert fact_extraction._without_accents(text) == whole
