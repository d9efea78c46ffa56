# SPDX-License-Identifier: Apache-2.0
"""The Turtle tasks of 2023: repair, counts, and a comparison with published scores."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.errors import EvaluationError
from kgbench.execution.engines import engine
from kgbench.importers import published_cases
from kgbench.importers.records import read_record
from kgbench.model import Case, Outcome, ParsedGraph, Verdict
from kgbench.tasks import (
    catalogue,
    fact_extract,
    normal_triples,
    tolerant_parsing,
    turtle_errors,
    turtle_sample,
)
from kgbench.tasks.first_generation import CONNECTION, FRIEND_COUNT, FirstGeneration
from kgbench.testing import contract as checks
from kgbench.testing.executor import PlainExecutor

EXECUTOR = PlainExecutor()
SAMPLE = "@prefix : <http://e.org/> .\n:a :b :c .\n:d :e :f ."


def case_of(name: str, **parameters: object) -> Case:
    """Return the only case of a task class."""
    task = catalogue.make_task(name, "test", parameters)
    (case,) = catalogue.module(name).cases(task, "test", 0, 5)
    return case


# --- repair -----------------------------------------------------------------------------------


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
        normal_triples.expected_triples(case, EXECUTOR)
    with pytest.raises(EvaluationError, match=f"{case.iri} has no 'optimal'"):
        normal_triples.expected_triples(replace(case, data={}), EXECUTOR)


# --- TurtleErrorsStatic -----------------------------------------------------------------------


def errors(answer: str) -> Verdict:
    """Return the verdict on an answer about the faulty document."""
    return turtle_errors.judge(case_of("TurtleErrorsStatic"), [answer], EXECUTOR)


def test_the_faulty_document_does_not_parse() -> None:
    """The only case has two faults, and its correct document parses."""
    case = case_of("TurtleErrorsStatic")
    assert EXECUTOR.parse(case.data["task"], "turtle").triples is None
    assert EXECUTOR.parse(case.data["optimal"], "turtle").triples is not None
    assert len(case.data["optimal"]) - len(case.data["task"]) == 4


def test_the_unchanged_document_improves_nothing() -> None:
    """DiffRatio is relative to the faulty document, and negative for less similar texts."""
    case = case_of("TurtleErrorsStatic")
    unchanged = errors(case.data["task"]).scores
    assert unchanged["diffRatio"] < 0
    assert unchanged["onlyTurtle"] < 1
    assert errors(case.data["optimal"]).scores["diffRatio"] == 1.0


def test_prose_around_turtle_costs_only_turtle() -> None:
    """Prose around the document lowers onlyTurtle only."""
    optimal = case_of("TurtleErrorsStatic").data["optimal"]
    scores = errors(f"Of course!\n{optimal}").scores
    assert scores["normAnswerF1Score"] == 1.0
    assert scores["onlyTurtle"] == 1 / 11


def test_nothing_parsable() -> None:
    """Without a triple, precision and recall are 0 and the outcome is unparsable."""
    verdict = errors("I see no errors.")
    assert verdict.outcome is Outcome.UNPARSABLE
    assert verdict.scores["normAnswerPrecision"] == verdict.scores["normAnswerRecall"] == 0.0
    assert verdict.scores["parsableTripleRatio"] == 0.0


def test_more_triples_than_asked_for() -> None:
    """ParsableTripleRatio is not clamped."""
    optimal = case_of("TurtleErrorsStatic").data["optimal"]
    scores = errors(f"{optimal}\n:x :y :z .").scores
    assert scores["parsableTripleRatio"] > 1
    assert scores["normAnswerPrecision"] < 1


def test_published_cases_without_their_document() -> None:
    """A case whose correct document was not published cannot be judged, and the error says so."""
    case = catalogue.make_case("llm-kg-bench-1", turtle_errors.NAME, {}, {"task": "x"})
    with pytest.raises(EvaluationError, match="it was not published"):
        turtle_errors.judge(case, ["x"], EXECUTOR)


# --- TurtleSampleGeneration -------------------------------------------------------------------

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
    verdict = turtle_sample.judge(case_of("TurtleSampleGeneration", size=3), [answer], EXECUTOR)
    names = ("persons_relative_error", "min_friends_ok", "max_friends_ok")
    assert tuple(verdict.scores[name] for name in names) == pytest.approx(expected)
    assert verdict.scores["parsable"] == 1.0
    assert verdict.scores["persons_agreement"] == pytest.approx(1 - abs(expected[0]))


@pytest.mark.parametrize("persons", [3, 10, 80])
def test_references_of_all_sizes(persons: int) -> None:
    """The reference answer meets all demands for any number of persons."""
    case = case_of("TurtleSampleGeneration", size=persons)
    assert f"{persons} different persons" in turtle_sample.prompt(case)
    scores = dict(turtle_sample.judge(case, [turtle_sample.reference(case)], EXECUTOR).scores)
    assert scores.pop("persons_relative_error") == 0.0
    assert set(scores.values()) == {1.0}


# --- FactExtractStatic ------------------------------------------------------------------------


def extracted(answer: str) -> dict[str, float]:
    """Return the scores of an answer about the data sheet."""
    case = case_of("FactExtractStatic")
    return dict(fact_extract.judge(case, [answer], EXECUTOR).scores)


def test_the_reference_states_what_the_sheet_says() -> None:
    """Every material and number of the reference is in the data sheet."""
    case = case_of("FactExtractStatic")
    sheet, reference = case.data["sheet"], case.data["optimal"]
    materials = [part.strip(" ,;") for part in reference.split("mat:")[2:]]
    assert len(materials) == 11
    for name in materials:
        assert name.split()[0].replace("_", " ") in sheet
    for number in ("582", "617.5", "1040"):
        assert number in sheet


def test_parts_are_compared_apart() -> None:
    """A missing material, another unit and another number lower only their own scores."""
    reference = case_of("FactExtractStatic").data["optimal"]
    scores = extracted(
        reference.replace("mat:PLA , ", "", 1)
        .replace("unit:MilliM", "unit:CentiM", 1)
        .replace('"617.5"', '"617"')
    )
    assert scores["printMat_precision"] == 1.0
    assert scores["printMat_recall"] == 7 / 8
    assert scores["supportMat_f-measure"] == 1.0
    assert scores["DimUnit_recall"] == scores["DimValues_recall"] == pytest.approx(2 / 3)


def test_numbers_are_compared_as_numbers() -> None:
    """582 and 582.0 are the same value of a dimension, although not the same triple."""
    reference = case_of("FactExtractStatic").data["optimal"]
    scores = extracted(reference.replace('"582.0"^^xsd:double', "582"))
    assert scores["DimValues_f-measure"] == 1.0
    assert scores["norm_f-measure"] < 1.0


def test_empty_answers_have_precision() -> None:
    """An empty answer has precision 1 and recall 0."""
    scores = extracted("")
    for name in ("norm", "printMat", "supportMat", "DimValues", "DimUnit"):
        assert [scores[f"{name}_{kind}"] for kind in ("precision", "recall")] == [1.0, 0.0]


# --- published scores -------------------------------------------------------------------------


@pytest.mark.parametrize("module", [CONNECTION, FRIEND_COUNT], ids=lambda module: module.NAME)
def test_first_versions_keep_the_contract(module: FirstGeneration) -> None:
    """The Turtle-only versions fulfil the contract for cases, prompts and references."""
    task_class = catalogue.task_class(module.NAME)
    task = catalogue.make_task(module.NAME, "old", {})
    for case in module.cases(task, checks.SUITE, 0, 3):
        judge = checks.judge_here(module, EXECUTOR)
        assert list(checks.faults_of_case(task, case)) == []
        assert list(checks.faults_of_prompt(module, case)) == []
        assert list(checks.faults_of_reference(task_class, module, case, judge)) == []


def test_the_first_version_had_no_precision_for_nothing() -> None:
    """In the first version, the precision of an answer without an IRI is 0, later 1."""
    case = case_of("TurtleConnectionExplainStatic")
    scores = CONNECTION.judge(case, ["I do not know."], EXECUTOR).scores
    assert scores["textHttpPrecision"] == scores["textShortPrecision"] == 0.0


JUDGES = {
    "TurtleConnectionExplainStatic": CONNECTION,
    "TurtleErrorsStatic": turtle_errors,
    "TurtleFriendCount": FRIEND_COUNT,
    "SyntheticDatasetGeneration": turtle_sample,
}


@pytest.fixture(scope="module")
def shares(external_data: Path) -> dict[tuple[str, bool], tuple[int, int]]:
    """Return the reproduced scores by task and by whether the answer parses as a whole."""
    right: Counter[tuple[str, bool]] = Counter()
    total: Counter[tuple[str, bool]] = Counter()
    executor = engine("oxigraph")
    for path in sorted((external_data / "llm-kg-bench-v1").glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        records = [read_record(each, path.name, k) for k, each in enumerate(raw)]
        corrected: dict[str, str] = {}
        for record in records:
            published_cases.note_corrected_graph(record, corrected)
        for record in records:
            judge = JUDGES.get(record.task_class)
            if judge is None or record.flat is None:
                continue
            data = published_cases.case_data(record, corrected)
            case = catalogue.make_case("llm-kg-bench-1", judge.NAME, {}, data)
            verdict = judge.judge(case, [each.answer for each in record.exchanges], executor)
            key = (record.task_class, verdict.infos.get("syntaxError") is None)
            for name, value in record.flat.items():
                total[key] += 1
                right[key] += abs(verdict.scores[name] - value) < 1e-9
    return {key: (right[key], count) for key, count in total.items()}


def test_published_scores_of_2023(shares: dict[tuple[str, bool], tuple[int, int]]) -> None:
    """Scores of friends and connections are exact, of samples if they parse; others nearly."""
    assert shares["TurtleConnectionExplainStatic", True] == (520, 520)
    assert shares["TurtleFriendCount", True] == (1600, 1600)
    assert shares["SyntheticDatasetGeneration", True] == (708, 708)
    for key, least in (
        (("SyntheticDatasetGeneration", False), 0.99),
        (("TurtleErrorsStatic", True), 0.90),
        (("TurtleErrorsStatic", False), 0.55),
    ):
        right, total = shares[key]
        assert right / total >= least, (key, right, total)


@given(st.lists(st.text("a \r", max_size=3), min_size=1, max_size=5), st.data())
def test_a_line_is_cut_out_as_by_joining_the_others(lines, data):
    """Removing a line leaves what joining the other lines gives, also at both ends."""
    number = data.draw(st.integers(0, len(lines) - 1))
    others = lines[:number] + lines[number + 1 :]
    text = "\n".join(lines)
    assert tolerant_parsing.without_line(text, number, lines) == "\n".join(others)
