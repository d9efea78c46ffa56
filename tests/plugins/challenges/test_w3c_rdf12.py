# SPDX-License-Identifier: Apache-2.0
"""The W3C tests are installed from a copy, asked, and judged as the W3C specifies.

The small copy is invented, in the layout of ``w3c/rdf-tests``; the real tests are read from the
folder of published data.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from kgbench.datasets import descriptions, home
from kgbench.errors import ImportRefused, TaskError
from kgbench.execution.engines import engine
from kgbench.families.W3cRdf12.judge import family
from kgbench.model import Outcome
from kgbench.plugins.challenges import w3c_tests
from kgbench.tasks import catalogue
from kgbench.testing import contract
from kgbench.testing.hostile import NO_ANSWERS
from kgbench.testing.judging import PlainExecutor
from tests.support.commands import printed as command

NAME = "W3cRdf12"
PAGE = Path(__file__).parents[3] / "docs" / "challenges.md"
HEAD = """\
@prefix mf: <http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#> .
@prefix qt: <http://www.w3.org/2001/sw/DataAccess/tests/test-query#> .
@prefix rdft: <http://www.w3.org/ns/rdftest#> .
"""
TRIPLE = "<http://e/a> <http://e/b> <http://e/c>"
REIFIES = f"<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies> <<( {TRIPLE} )>> ."
FILES = {
    "rdf/rdf12/turtle/manifest.ttl": HEAD
    + """
<#good> a rdft:TestTurtlePositiveSyntax ; mf:action <good.ttl> .
<#bad> a rdft:TestTurtleNegativeSyntax ; mf:action <bad.ttl> .
<#same> a rdft:TestTurtlePositiveSyntax ; mf:action <same.ttl> .
<#lost> a rdft:TestTurtlePositiveSyntax ; mf:action <lost.ttl> .
<#outside> a rdft:TestTurtlePositiveSyntax ; mf:action <../../../../secret.ttl> .
<#means> a rdft:TestTurtleEval ; mf:action <means.ttl> ; mf:result <means.nt> .
<#follows> a mf:PositiveEntailmentTest ; mf:action <good.ttl> ; mf:result <means.nt> .
""",
    "rdf/rdf12/turtle/good.ttl": "# This one is fine.\n<a> <b> <<( <c> <d> <e> )>> .\n",
    "rdf/rdf12/turtle/same.ttl": "<a> <b> <<( <c> <d> <e> )>> .\n",
    "rdf/rdf12/turtle/bad.ttl": "  # Not legal.\n<a> <b> <<( <c> <d> )>> .\n",
    "rdf/rdf12/turtle/means.ttl": "<a> <b> <c> {| <says> <d> |} .\n",
    "rdf/rdf12/turtle/means.nt": f"{TRIPLE} .\n_:r {REIFIES}\n_:r <http://e/says> <http://e/d> .\n",
    "sparql/sparql12/small/manifest.ttl": HEAD
    + """
<#rows> a mf:QueryEvaluationTest ;
    mf:action [ qt:query <rows.rq> ; qt:data <rows.ttl> ] ; mf:result <rows.srj> .
<#ask> a mf:QueryEvaluationTest ; mf:action [ qt:query <ask.rq> ] ; mf:result <ask.srj> .
""",
    "sparql/sparql12/small/rows.rq": "SELECT ?o { ?s ?p ?o }\n",
    "sparql/sparql12/small/rows.ttl": "<urn:a> <urn:p> 1 . <urn:b> <urn:p> 1, [] .\n",
    "sparql/sparql12/small/rows.srj": json.dumps(
        {
            "head": {"vars": ["o"]},
            "results": {
                "bindings": [
                    *[
                        {
                            "o": {
                                "type": "literal",
                                "value": "1",
                                "datatype": "http://www.w3.org/2001/XMLSchema#integer",
                            }
                        }
                    ]
                    * 2,
                    {"o": {"type": "bnode", "value": "x"}},
                ]
            },
        }
    ),
    "sparql/sparql12/small/ask.rq": "ASK {}\n",
    "sparql/sparql12/small/ask.srj": '{"head": {}, "boolean": true}',
}
ONE = '{"o": {"type": "literal", "value": "1", "datatype": "http://www.w3.org/2001/XMLSchema#integer"}}'


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the invented copy; set an empty folder for installations."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    (tmp_path / "secret.ttl").write_text("<urn:a> <urn:b> <urn:c> .\n", encoding="utf-8")
    for name, text in FILES.items():
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "copy"


def install(copy: Path) -> dict[str, object]:
    """Install a copy and return the report."""
    found: dict[str, object] = json.loads(
        command("datasets", "install", "rdf-tests", "--from", str(copy), "--json")
    )
    return found


def cases(label: str):
    """Return the cases of a task of the installed copy."""
    return list(family.cases(catalogue.labelled_tasks()[label], "own", 0, 1000))


def judged(case, answer: str):
    """Return the verdict on an answer."""
    return family.judge(case, [answer], PlainExecutor())


def test_what_tests_need_is_installed(copy: Path, tmp_path: Path) -> None:
    """The files of the tests are installed, without others and those outside of the copy."""
    said = install(copy)

    there = {
        path.relative_to(tmp_path / "home" / "rdf-tests").as_posix()
        for path in (tmp_path / "home").rglob("*.*")
    }
    assert there == {*FILES, "installed.json"}
    assert (said["files"], said["tasks"], said["differing"]) == (len(FILES), 3, [])
    assert said["further"] == len(FILES)
    assert len(said["missing"]) == len(descriptions.describe("rdf-tests").files)
    assert said["remarks"] == ["2 tests lack a file and are left out"]
    labels = [task for task in catalogue.labelled_tasks() if task.startswith(NAME)]
    assert labels == [
        f"{NAME}-{x}" for x in ("syntax-turtle", "evaluation-turtle", "evaluation-query")
    ]


def test_what_is_no_copy_is_refused(copy: Path, tmp_path: Path) -> None:
    """A folder without tests, a damaged manifest and a missing copy are refused."""
    with pytest.raises(ImportRefused, match=r"clone https://github.com/w3c/rdf-tests"):
        command("datasets", "install", "rdf-tests")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportRefused, match="has no tests"):
        install(tmp_path / "empty")
    (copy / "rdf/rdf12/turtle/means.nt").write_text("<a", encoding="utf-8")
    with pytest.raises(ImportRefused, match="the test rdf12/turtle/means cannot be read"):
        install(copy)
    (copy / "rdf/rdf12/turtle/manifest.ttl").write_text("<a", encoding="utf-8")
    with pytest.raises(ImportRefused, match=r"the manifest .* cannot be read"):
        install(copy)
    assert list((tmp_path / "home").iterdir()) == []
    with pytest.raises(TaskError, match="is not installed"):
        w3c_tests.installed()


def test_comments_and_repetitions_are_not_shown(copy: Path) -> None:
    """Comments are removed from tests, and tests with equal texts are asked once."""
    install(copy)
    found = {case.uid: case for case in cases(f"{NAME}-syntax-turtle")}

    assert {name: case.data["expected"] for name, case in found.items()} == {
        "rdf12/turtle/bad": "invalid",
        "rdf12/turtle/good": "valid",
    }
    for case in found.values():
        assert "fine" not in family.prompt(case)
        assert "legal" not in family.prompt(case)


@pytest.mark.parametrize(
    ("answer", "scores", "outcome"),
    [
        ("invalid", {"correct": 1, "answerParse": 1, "invalidFound": 1}, Outcome.SCORED),
        ("**Invalid**.", {"correct": 1, "answerParse": 1, "invalidFound": 1}, Outcome.SCORED),
        ("valid", {"correct": 0, "answerParse": 1, "invalidFound": 0}, Outcome.SCORED),
        (
            "valid or invalid",
            {"correct": 0, "answerParse": 0, "invalidFound": 0},
            Outcome.UNPARSABLE,
        ),
        (" ", {"correct": 0, "answerParse": 0, "invalidFound": 0}, Outcome.EMPTY),
    ],
)
def test_verdicts(copy: Path, answer: str, scores: dict[str, float], outcome: Outcome) -> None:
    """One of the two words counts as the answer; undefined metrics have no score."""
    install(copy)
    (bad,) = (case for case in cases(f"{NAME}-syntax-turtle") if case.uid == "rdf12/turtle/bad")
    verdict = judged(bad, answer)

    assert (dict(verdict.scores), verdict.outcome) == (scores, outcome)


@pytest.mark.parametrize(
    ("answer", "correct", "f1"),
    [
        (f"```\n_:q <http://e/says> <http://e/d> .\n_:q {REIFIES}\n{TRIPLE} .\n```", 1, 1),
        (f"_:q <http://e/says> <http://e/d> .\n_:q {REIFIES}\n{TRIPLE} .", 1, 1),
        (f"```\n_:q <http://e/says> <http://e/d> .\n_:q {REIFIES}\n```", 0, 0.8),
        (f"```\n_:p <http://e/says> <http://e/d> .\n_:q {REIFIES}\n{TRIPLE} .\n```", 0, 2 / 3),
        (f"```\n{TRIPLE} <http://e/g> .\n```", 0, 0),
        ("```turtle\n<a> <b> <c> {| <says> <d> |} .\n```", 0, 0),
        (
            f"```\n<urn:a> <urn:b> {'<<( <urn:a> <urn:b> ' * 9999}<urn:c>{' )>>' * 9999} .\n```",
            0,
            0,
        ),
        ("\ud800", 0, 0),
    ],
)
def test_graphs(copy: Path, answer: str, correct: float, f1: float) -> None:
    """Graphs are compared up to the names of blank nodes."""
    install(copy)
    (case,) = cases(f"{NAME}-evaluation-turtle")
    verdict = judged(case, answer)

    assert verdict.scores["correct"] == correct
    assert verdict.scores["f1"] == pytest.approx(f1, abs=0.001)


@pytest.mark.parametrize(
    ("rows", "correct"),
    [
        (f'{{"o": {{"type": "bnode", "value": "z"}}}}, {ONE}, {ONE}', 1),
        (f'{{"o": {{"type": "bnode", "value": "z"}}}}, {ONE}', 0),
        (f'{{"o": {{"type": "uri", "value": "urn:z"}}}}, {ONE}, {ONE}', 0),
        (f'{{"p": {{"type": "bnode", "value": "z"}}}}, {ONE}, {ONE}', 0),
        ("[" * 9999, 0),
    ],
)
def test_solutions(copy: Path, rows: str, correct: float) -> None:
    """Solutions may have any order, but each must occur as often as expected."""
    install(copy)
    case = {case.uid: case for case in cases(f"{NAME}-evaluation-query")}["sparql12/small/rows"]
    answer = f'```json\n{{"head": {{"vars": ["o"]}}, "results": {{"bindings": [{rows}]}}}}\n```'

    assert judged(case, answer).scores["correct"] == correct


def test_truth_values(copy: Path) -> None:
    """The result of an ASK is true or false, and nothing else."""
    install(copy)
    case = {case.uid: case for case in cases(f"{NAME}-evaluation-query")}["sparql12/small/ask"]
    found = [judged(case, answer).scores["correct"] for answer in (
        '{"head": {}, "boolean": true}',
        '{"head": {}, "boolean": false}',
        '{"head": {"vars": []}, "results": {"bindings": [{}]}}',
        "true",
    )]  # fmt: skip

    assert found == [1, 0, 0, 0]


def test_a_run_of_the_baselines(copy: Path, tmp_path: Path) -> None:
    """In a recorded run the oracle has all points, and silence none."""
    install(copy)
    store = ("--store", str(tmp_path / "store"))
    models = ("-m", "baseline:oracle", "-m", "baseline:silent")
    command("run", *models, "-t", f"{NAME}-*", "-n", "5", *store)
    table = json.loads(command("analyze", "tasks", *store, "--json"))
    means = {(row["task"], row["model"]): row["mean"] for row in table["rows"]}

    assert len(means) == 6
    assert all(mean == float("oracle" in model) for (_, model), mean in means.items())


def test_the_page_names_everything() -> None:
    """The page names every parameter, value and metric."""
    page = PAGE.read_text(encoding="utf-8")
    declared = catalogue.task_class(NAME)
    values = [value for each in declared.parameters.values() for value in each.allowed]
    for name in (*declared.parameters, *values, *declared.metrics):
        assert f"`{name}`" in page, name


@pytest.fixture
def published(external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install and return the copy of the W3C tests."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    said = install(external_data / "rdf-tests")
    assert (said["differing"], said["missing"], said["further"], said["remarks"]) == ([], [], 0, [])
    return external_data / "rdf-tests"


def test_published_tests_are_asked_and_judged(published: Path) -> None:
    """All cases fulfil the contract of task classes and are as many as the page says."""
    declared, judge = catalogue.task_class(NAME), contract.judge_here(family, PlainExecutor())
    labels = [label for label in catalogue.labelled_tasks() if label.startswith(NAME)]
    found = {label: cases(label) for label in labels}
    for case in (case for each in found.values() for case in each):
        assert list(contract.faults_of_prompt(family, case)) == []
        assert list(contract.faults_of_reference(declared, family, case, judge)) == []
        assert set(judged(case, "").scores.values()) == {0.0}
    for each in found.values():
        for answer in NO_ANSWERS.values():
            assert list(contract.faults_of_answer(declared, each[0], answer, judge)) == []

    digests = {case.digest for each in found.values() for case in each}
    assert len(digests) == sum(map(len, found.values())) == 512
    page = PAGE.read_text(encoding="utf-8")
    numbers = {
        language: len(found.get(f"{NAME}-{w3c_tests.SYNTAX}-{language}", ()))
        for language in w3c_tests.LANGUAGES
    }
    assert "| syntax | " + " | ".join(map(str, numbers.values())) + " |" in page
    numbers = {
        language: len(found.get(f"{NAME}-{w3c_tests.EVALUATION}-{language}", ()))
        for language in w3c_tests.LANGUAGES
    }
    shown = " | ".join(str(number or "") for number in numbers.values()).replace("  ", " ")
    assert f"| evaluation | {shown} |".replace("|  |", "| |") in page
    valid = Counter(
        case.parameters["language"]
        for each in found.values()
        for case in each
        if case.data["expected"] == "valid"
    )
    shown = " | ".join(str(valid[language]) for language in w3c_tests.LANGUAGES)
    assert f"| of these valid | {shown} |" in page


def test_comments_do_not_change_what_is_valid(published: Path) -> None:
    """The engine judges a text the same with and without its comment lines."""
    changed = 0
    oxigraph = engine("oxigraph")
    for entry in w3c_tests.entries(published):
        if w3c_tests.kind_of(entry) == w3c_tests.SYNTAX and entry.action.suffix in {".rq", ".ttl"}:
            text = entry.action.read_text(encoding="utf-8")
            short = w3c_tests.without_comments(text)
            if short != text:
                changed += 1
                said = [
                    oxigraph.check(f"BASE <{entry.base}>\n{each}", {}) is None
                    if entry.action.suffix == ".rq"
                    else oxigraph.parse(each, "turtle").triples is not None
                    for each in (text, short)
                ]
                assert said[0] == said[1], entry.name

    assert changed == 22
