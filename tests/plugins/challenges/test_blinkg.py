# SPDX-License-Identifier: Apache-2.0
"""BLINKG is installed from a copy, run, and judged by the output of the mappings.

The small copy is invented, in the layout of ``citiususc/blinkg``; the published scenarios are read
from the folder of published data.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kgbench.datasets import descriptions, home
from kgbench.errors import ImportRefused, TaskError
from kgbench.families.BlinkgMappings.judge import family
from kgbench.model import Case, Outcome, Verdict
from kgbench.plugins.challenges import blinkg
from kgbench.tasks import catalogue
from kgbench.testing import contract
from kgbench.testing.hostile import NO_ANSWERS
from kgbench.testing.judging import PlainExecutor
from tests.support.commands import printed as command

NAME = "BlinkgMappings"
PAGE = Path(__file__).parents[3] / "docs" / "challenges.md"
#: Published graphs that no mapping produces from their files: F1 of the reference, and why.
NOT_MADE = {
    "1E": (20 / 24, "four first and last names; the files have whole names, which RML cannot split")
}
GRAPH = """\
<http://e/b/7> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/Boat> .
<http://e/b/7> <http://e/name> "Ida"@de .
<http://e/b/7> <http://e/length> "9"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""
FILES = {
    "LICENSE": "Free.\n",
    "scenarios/scenario1/1A/expected-graph.nt": GRAPH,
    "scenarios/scenario1/1A/ontology.ttl": "@prefix e: <http://e/> .\ne:Boat e:is e:Class .\n",
    "scenarios/scenario1/1A/boats.json": '{"boats": [{"no": 7, "called": "Ida", "long": 9}]}\n',
    "scenarios/scenario1/1A/boats.xml": "<a><boat><no>7</no><called>Ida</called></boat></a>",
    "scenarios/scenario1/1B/expected-graph.nt": GRAPH,
    "scenarios/scenario1/1B/ontology.ttl": "",
    "scenarios/scenario1/1B/none.json": "{}",
}
UNUSED = {
    "scenarios/scenario1/1A/expected_table.md": "| a |\n",
    "scenarios/scenario1/1C/ontology.ttl": "",
    "scenarios/scenario2/2A/boats.json": "{}",
}


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the invented copy, with an empty folder for installations."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    for name, text in {**FILES, **UNUSED}.items():
        path = tmp_path / "copy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "copy"


def install(copy: Path) -> dict[str, object]:
    """Return the report of installing a copy."""
    found: dict[str, object] = json.loads(
        command("datasets", "install", "blinkg", "--from", str(copy), "--json")
    )
    return found


def cases(form: str) -> list[Case]:
    """Return the cases of the installed copy in a format."""
    task = catalogue.labelled_tasks()[f"{NAME}-{form}"]
    return list(family.cases(task, "own", 0, 1000))


def judged(case: Case, *answers: str) -> Verdict:
    """Return the verdict on the last answer."""
    return family.judge(case, answers, PlainExecutor())


def test_scenarios_are_installed(copy: Path, tmp_path: Path) -> None:
    """Files that cases need are installed; other files and those outside the copy are not."""
    (tmp_path / "secret.json").write_text('{"boats": []}', encoding="utf-8")
    (copy / "scenarios/scenario1/1A/link.json").symlink_to(tmp_path / "secret.json")
    said = install(copy)

    there = {
        path.relative_to(tmp_path / "home" / "blinkg").as_posix()
        for path in (tmp_path / "home").rglob("*")
        if path.is_file()
    }
    assert there == {*FILES, "installed.json"}
    assert (said["files"], said["tasks"]) == (len(FILES), 2)
    declared = descriptions.describe("blinkg").files
    assert set(said["differing"]) == FILES.keys() & declared.keys()  # type: ignore[call-overload]
    assert len(said["missing"]) == len(declared.keys() - FILES.keys())  # type: ignore[arg-type]
    assert said["remarks"] == [
        "triples of 1A that follow from no record in xml, and are not asked for: 1",
        "triples of 1B that follow from no record in json, and are not asked for: 3",
    ]
    assert [label for label in catalogue.labelled_tasks() if label.startswith(NAME)] == [
        f"{NAME}-json",
        f"{NAME}-xml",
    ]
    assert [case.uid for form in blinkg.FORMATS for case in cases(form)] == ["1A", "1A"]


def test_what_is_no_copy_is_refused(copy: Path, tmp_path: Path) -> None:
    """No copy, a folder without scenarios, or damaged files install nothing."""
    with pytest.raises(ImportRefused, match=r"clone https://github.com/citiususc/blinkg"):
        command("datasets", "install", "blinkg")
    with pytest.raises(ImportRefused, match="no such file or folder"):
        install(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportRefused, match="has no scenarios"):
        install(tmp_path / "empty")
    folder = copy / "scenarios/scenario1/1A"
    for name, text in (("boats.json", "{"), ("boats.xml", "<a>"), ("expected-graph.nt", "<a")):
        whole = (folder / name).read_text(encoding="utf-8")
        (folder / name).write_text(text, encoding="utf-8")
        with pytest.raises(ImportRefused, match="cannot be read"):
            install(copy)
        (folder / name).write_text(whole, encoding="utf-8")
    assert list((tmp_path / "home").iterdir()) == []
    with pytest.raises(TaskError, match="is not installed"):
        blinkg.installed()


def test_the_prompt_states_what_nobody_can_guess(copy: Path) -> None:
    """The prompt has the IRI templates of classes, and datatypes and languages of properties."""
    install(copy)
    (case,) = cases("json")
    said = family.prompt(case)

    assert "* <http://e/Boat>: http://e/b/{no}\n" in said
    assert "* <http://e/name>: texts with the language de\n" in said
    assert (
        "* <http://e/length>: values with the datatype <http://www.w3.org/2001/XMLSchema#integer>"
        in said
    )
    assert "rml:JSONPath" in said
    for text in (case.data["ontology"], *case.data["files"].values()):
        assert text.strip() in said
    assert "http://e/length" not in family.prompt(cases("xml")[0])


def test_differences_and_errors_are_told(copy: Path) -> None:
    """A wrong graph, a failing mapping or invalid Turtle gets feedback, in two rounds."""
    install(copy)
    (case,) = cases("json")
    right = family.reference(case)
    best = judged(case, right)
    assert (best.scores["f1"], best.next_prompt) == (1.0, None)

    wrong = right.replace("http://e/name", "http://e/title")
    verdict = judged(case, wrong)
    assert verdict.scores == pytest.approx(
        {
            **dict.fromkeys(("precision", "recall", "f1", "publishedF1"), 2 / 3),
            "answerParse": 1.0,
            "executes": 1.0,
            "exact": 0.0,
        }
    )
    assert verdict.feedback == "content"
    assert verdict.next_prompt is not None
    assert '* missing: <http://e/b/7> <http://e/name> "Ida"@de' in verdict.next_prompt
    assert "* should not be there: <http://e/b/7> <http://e/title>" in verdict.next_prompt
    assert judged(case, wrong, wrong, wrong).next_prompt is None

    for answer, error, parses in (
        (right.replace("boats.json", "/etc/passwd"), "the case does not have: /etc/passwd", 1.0),
        (right.replace("$.boats[*]", "$.boats[?"), "$.boats[?", 1.0),
        (right.replace(" .\n", "\n", 1), "", 0.0),
    ):
        verdict = judged(case, answer)
        assert (verdict.outcome, verdict.feedback) == (Outcome.UNPARSABLE, "syntax")
        assert error in (verdict.next_prompt or "")
        assert (verdict.scores["answerParse"], verdict.scores["f1"]) == (parses, 0.0)


def test_triples_that_no_record_has_are_not_asked_for(copy: Path) -> None:
    """The dialogue ends without triples that no record has; only publishedF1 counts them."""
    install(copy)
    (case,) = cases("xml")
    verdict = judged(case, family.reference(case))

    assert (verdict.scores["f1"], verdict.scores["exact"], verdict.next_prompt) == (1.0, 1.0, None)
    assert verdict.scores["publishedF1"] == pytest.approx(0.8)


def test_a_run_of_the_baselines(copy: Path, tmp_path: Path) -> None:
    """In a recorded run the oracle has full scores, and silence zero."""
    install(copy)
    store = ("--store", str(tmp_path / "store"))
    models = ("-m", "baseline:oracle", "-m", "baseline:silent")
    command("run", *models, "-t", f"{NAME}-*", "-n", "5", *store)
    table = json.loads(command("analyze", "tasks", *store, "--json"))
    means = {(row["task"], row["model"]): row["mean"] for row in table["rows"]}

    assert len(means) == 4
    assert all(mean == float("oracle" in model) for (_, model), mean in means.items())


def test_the_page_names_everything() -> None:
    """The page has every parameter, value and metric."""
    page = PAGE.read_text(encoding="utf-8")
    declared = catalogue.task_class(NAME)
    values = [value for each in declared.parameters.values() for value in each.allowed]
    for name in (*declared.parameters, *values, *declared.answer_metrics, declared.main_metric):
        assert f"`{name}`" in page, name


@pytest.fixture
def published(external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install the published scenarios."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    said = install(external_data / "blinkg")
    assert (said["differing"], said["missing"], said["further"]) == ([], [], 0)
    assert said["remarks"] == [
        f"triples of 1E that follow from no record in {form}, and are not asked for: 4"
        for form in blinkg.FORMATS
    ]


@pytest.mark.usefixtures("published")
def test_published_scenarios_are_asked_and_judged() -> None:
    """All cases keep the contract of task classes; references produce the expected graphs."""
    declared = catalogue.task_class(NAME)
    judge = contract.judge_here(family, PlainExecutor())
    found = [case for form in blinkg.FORMATS for case in cases(form)]
    assert [case.uid for case in found] == [f"1{letter}" for letter in "ABCDEFGH"] * 2
    assert len({case.digest for case in found}) == len({*map(family.prompt, found)}) == 16
    for case in found:
        assert list(contract.faults_of_prompt(family, case)) == []
        assert list(contract.faults_of_reference(declared, family, case, judge)) == []
        assert list(contract.faults_of_echo(declared, family, case, judge)) == []
        said = family.prompt(case)
        assert case.data["mapping"] not in said
        assert not any(" ".join(row) in said for row in case.data["expected"])
        scores = judged(case, family.reference(case)).scores
        most, _ = NOT_MADE.get(case.uid or "", (1.0, ""))
        assert scores["exact"] == 1.0
        assert scores["publishedF1"] == pytest.approx(most)
        assert set(judged(case, "").scores.values()) == {0.0}
    for answer in NO_ANSWERS.values():
        assert list(contract.faults_of_answer(declared, found[0], answer, judge)) == []


@pytest.mark.usefixtures("published")
def test_every_part_of_a_published_mapping_matters() -> None:
    """A reference without one of its properties or classes has a lower score."""
    for case in (case for form in blinkg.FORMATS for case in cases(form)):
        mapping = case.data["mapping"]
        parts = mapping.split("r:predicateObjectMap")[1:]
        assert len(parts) == sum(line.count("r:predicateObjectMap") for line in mapping.split("\n"))
        for part in parts:
            predicate = part[part.index("<") + 1 : part.index(">")]
            verdict = judged(
                case, f"```\n{mapping.replace(part, part.replace(predicate, 'urn:x'), 1)}\n```"
            )
            assert verdict.scores["executes"] == 1.0
            assert 0.0 < verdict.scores["f1"] < 1.0
