# SPDX-License-Identifier: Apache-2.0
"""W3cRdf12: the W3C tests of syntax and evaluation of RDF 1.2 and SPARQL 1.2.

They come from the installed data set ``rdf-tests``. The W3C's expected results are the reference,
even where the engine of other tasks deviates from them: nothing is executed here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

import kgbench.api as kb
from kgbench.plugins.challenges import w3c_tests
from kgbench.plugins.challenges.w3c_tests import EVALUATION, SYNTAX, W3cTest
from kgbench.policies.blank_nodes import Row, compare_rows
from kgbench.rdf.quads import cells
from kgbench.scoring.single_words import read_word

VERDICTS: Final = ("valid", "invalid")
_DEEPEST: Final = 200  # brackets; parsers descend recursively
_BRACKET: Final = re.compile(r"<<\(|\)>>|[\[\]{}]")
_NAMES: Final = {
    "n-triples": "N-Triples 1.2 document",
    "n-quads": "N-Quads 1.2 document",
    "turtle": "Turtle 1.2 document",
    "trig": "TriG 1.2 document",
    "rdf-xml": "RDF 1.2 XML document",
    "query": "SPARQL 1.2 query",
    "update": "SPARQL 1.2 update",
}


class ParsedAnswer(NamedTuple):
    """The content of an answer to an evaluation test: rows, or the parser's message."""

    rows: frozenset[Row] | None
    error: str | None = None


class W3cRdf12(kb.Family):
    """Tests of syntax and evaluation."""

    def cases(self, task: kb.Task, suite: str, seed: int, count: int) -> Sequence[kb.Case]:
        """Return the tests of the kind and the language of ``task``, at most ``count``.

        Raises :class:`~kgbench.errors.TaskError` if the data set is not installed, or has no such
        test.
        """
        kind, language = task.parameters["kind"], task.parameters["language"]
        chosen = [
            test for test in w3c_tests.installed() if (test.kind, test.language) == (kind, language)
        ]
        if not chosen:
            raise kb.TaskError(
                f"{w3c_tests.NAME} has no tests of {kind} in the language '{language}'"
            )
        return [self.case(task, suite, _data(test)) for test in chosen[:count]]

    def prompt(self, case: kb.Case) -> str:
        """Return the question about the text of the test."""
        language, text = case.parameters["language"], case.data["text"].strip("\n")
        if case.parameters["kind"] == SYNTAX:
            return self.text("prompt-syntax", language=_NAMES[language], text=text)
        base = case.data["base"]
        if language not in {"query", "update"}:
            return self.text("prompt-triples", language=_NAMES[language], base=base, text=text)
        data = "(The dataset is empty.)"
        if "data" in case.data:
            language_name = _NAMES[case.data["dataLanguage"]]
            data = f"{language_name}:\n```\n{case.data['data'].strip(chr(10))}\n```"
        name = "update" if language == "update" else case.data["form"]
        return self.text(f"prompt-{name}", base=base, text=text, data=data)

    def judge(self, case: kb.Case, answers: Sequence[str], executor: kb.Executor) -> kb.Verdict:
        """Compare the verdict, the graph or the result in the last answer with the expected one."""
        answer = answers[-1]
        if case.parameters["kind"] == SYNTAX:
            return _judged_verdict(case, answer)
        expected = read(case.data["form"], case.data["expected"])
        assert expected.rows is not None, expected.error
        given = (
            read(case.data["form"], answer_text(answer)) if answer.strip() else ParsedAnswer(None)
        )
        if given.rows is None:
            scores = dict.fromkeys(("correct", "answerParse", "f1"), 0.0)
            outcome = kb.Outcome.UNPARSABLE if answer.strip() else kb.Outcome.EMPTY
            return kb.Verdict(scores, {"parseError": given.error}, outcome)
        compared = compare_rows(expected.rows, given.rows)
        is_right = not compared.missing and not compared.surplus
        f1 = 1.0 if is_right else compared.agreement.f1
        scores = {"correct": float(is_right), "answerParse": 1.0, "f1": f1}
        infos = {"missing": len(compared.missing), "surplus": len(compared.surplus)}
        return kb.Verdict(scores, infos)

    def reference(self, case: kb.Case) -> str:
        """Return the right word, or the expected graph or result in a fenced block."""
        if case.parameters["kind"] == SYNTAX:
            return str(case.data["expected"])
        return f"```\n{case.data['expected'].strip()}\n```"

    def prepare(self) -> None:
        """Load libraries for judging processes, which cannot open files."""
        read("graph", "")
        compare_rows({("_:a",)}, {("_:b",)})


family: Final = W3cRdf12(__file__)


def _data(test: W3cTest) -> Mapping[str, kb.Json]:
    data: dict[str, kb.Json] = {"uid": test.name, "text": test.text, "expected": test.expected}
    if test.kind == EVALUATION:
        data["base"] = test.base
        data["form"] = "solutions" if test.asks_for_solutions else "graph"
    if test.data is not None:
        data |= {"data": test.data, "dataLanguage": test.data_language}
    return data


def _judged_verdict(case: kb.Case, answer: str) -> kb.Verdict:
    verdict = read_word(answer, VERDICTS)
    expected = case.data["expected"]
    correct = float(verdict == expected)
    scores = {"correct": correct, "answerParse": float(verdict is not None)}
    scores["validFound" if expected == "valid" else "invalidFound"] = correct
    infos = {"verdict": verdict, "expected": expected}
    if verdict is not None:
        return kb.Verdict(scores, infos)
    return kb.Verdict(scores, infos, kb.Outcome.UNPARSABLE if answer.strip() else kb.Outcome.EMPTY)


def answer_text(answer: str) -> str:
    """Return the first fenced block of an answer, or all of an answer that has none."""
    return next((block.body for block in kb.fenced_blocks(answer)), answer)


def read(form: str, text: str) -> ParsedAnswer:
    """Read ``text`` as rows: N-Quads if ``form`` is ``graph``, else a result in SPARQL JSON."""
    if _is_too_deep(text):
        return ParsedAnswer(None, f"brackets are nested deeper than {_DEEPEST} levels")
    try:
        if form == "graph":
            quads = ox.parse(text.encode("utf-8"), ox.RdfFormat.N_QUADS)
            return ParsedAnswer(frozenset(rows(quads)))
        result = ox.parse_query_results(text.encode("utf-8"), ox.QueryResultsFormat.JSON)
        return ParsedAnswer(frozenset(solutions(result)))
    except (SyntaxError, ValueError) as error:  # lone surrogates raise ValueError
        return ParsedAnswer(None, str(error.msg if isinstance(error, SyntaxError) else error))


def _is_too_deep(text: str) -> bool:
    """Return whether brackets are nested so deeply that a parser would exhaust its stack.

    Brackets within strings count, too, so the limit is far above the depth of any test.
    """
    depth = 0
    for match in _BRACKET.finditer(text):
        depth = depth + 1 if match[0] in {"<<(", "[", "{"} else max(depth - 1, 0)
        if depth > _DEEPEST:
            return True
    return False


def rows(quads: Iterable[ox.Quad]) -> Iterator[Row]:
    """Yield quads as rows of terms, with a separate cell for each part of a triple term."""
    return (tuple(cells(*quad.triple, quad.graph_name)) for quad in quads)


def solutions(result: ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples) -> Iterator[Row]:
    """Yield the solutions of a result as rows.

    A row has variables and terms, and the number of the duplicate. The truth value of an ASK
    becomes a single row; the triples of a CONSTRUCT become rows as in :func:`rows`.
    """
    if isinstance(result, ox.QueryBoolean):
        yield (str(bool(result)).lower(),)
        return
    if isinstance(result, ox.QueryTriples):
        yield from rows(ox.Quad(*triple) for triple in result)
        return
    names = sorted(variable.value for variable in result.variables)
    counted: Counter[Row] = Counter()
    for solution in result:
        terms = ((name, solution[name]) for name in names)
        row: Row = tuple(
            cell for name, term in terms if term is not None for cell in (f"?{name}", *cells(term))
        )
        counted[row] += 1
        yield (*row, f"#{counted[row]}")
