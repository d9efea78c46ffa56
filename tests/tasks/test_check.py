# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks check``: findings in damaged packages, and none in kgbench's own classes."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench import resources
from kgbench.cli import app
from kgbench.errors import ResourceError
from kgbench.execution.judging import JudgeLimits
from kgbench.tasks import catalogue
from kgbench.testing import checking, packages, scaffold
from kgbench.testing.checking import check_folder
from kgbench.testing.declaration_faults import check_declaration

NAMES = (
    *("declaration", "vocabulary", "levels", "code", "wheel", "cases", "prompts"),
    *("reference answers", "hostile answers"),
)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a new package with the task class TeaGarden, which is not installed."""
    scaffold.make("TeaGarden", tmp_path / "tea-garden")
    return tmp_path / "tea-garden"


def spoil(package: Path, file: str, found: str, instead: str) -> None:
    """Replace a piece of a file, which must exist."""
    path = package / "tea_garden" / file
    text = path.read_text(encoding="utf-8")
    assert found in text
    path.write_text(text.replace(found, instead), encoding="utf-8")


def faults(folder: Path, limits: JudgeLimits = checking.LIMITS) -> list[tuple[str, str]]:
    """Return the name of the check and the message of each fault, except those of wheels."""

    def none(project: Path) -> dict[str, bytes]:
        raise packages.NotBuiltHereError(project)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packages, "contents", none)
        return [(c.name, f.message) for c in check_folder(folder, limits=limits) for f in c.faults]


def test_a_new_package_has_no_faults(package: Path) -> None:
    """All checks run from the folder or the file of the declaration, and leave no trace."""
    path, modules = list(sys.path), set(sys.modules)
    for place in (package, package / "tea_garden" / "task.ttl"):
        checks = list(check_folder(place))
        assert tuple(check.name for check in checks) == NAMES
        assert not [check for check in checks if check.faults or check.skipped]
        assert checks[-1].looked_at.startswith("200 answers: ")
    assert sys.path == path
    assert not [name for name in set(sys.modules) - modules if name.startswith("tea_garden")]
    assert "TeaGarden" not in catalogue.task_classes()


@pytest.mark.parametrize(
    ("found", "instead", "expected", "in_line"),
    [
        ("kgb:labelledTask", "kgb:labeledTask", "no term kgb:labeledTask: did you mean", True),
        ("kgb:relationalComplexity", "kgb:relationlComplexity", "did you mean kgb:relat", True),
        ("template:f1 ,", "template:f2 ,", "no template https://w3id.org/kgbench/te", False),
        ('"understand"', '"understanding"', 'be "understanding": did you mean underst', True),
        ('kgb:reads "graph"', 'kgb:reads "graf"', 'be "graf": did you mean graph', True),
        ('"low"', '"none"', "known are high, low, medium", True),
        ("skos:definition", "skos:defnition", "it cannot have the property skos:def", False),
        ("kgb:mainMetric metric:f1 ;", "", "kgb:mainMetric is missing", False),
        ("kgb:maxRounds 1 ;", "kgb:maxRounds 2 ;", "is a score of each round", False),
        ("metric:recall", 'metric:recall kgb:unbounded "above" ;', "recall: it fits none", False),
        ("kgb:maxRounds 1 ;\n", "kgb:maxRounds 1 ", "cannot be read: Parser error", True),
    ],
)
def test_declarations(
    package: Path, found: str, instead: str, expected: str, *, in_line: bool
) -> None:
    """A misspelt, unknown, missing or broken term is found, with the nearest name and its line."""
    spoil(package, "task.ttl", found, instead)
    path = package / "tea_garden" / "task.ttl"
    lines = path.read_text(encoding="utf-8").splitlines()
    line = next(k for k, text in enumerate(lines, 1) if instead in text) if in_line else None
    told = [fault for part in check_declaration(path) for fault in part]
    assert [fault.line for fault in told if expected in fault.message][:1] == [line], told


def test_a_typo_is_one_finding(package: Path) -> None:
    """A misspelt term is not reported again as an unexpected property."""
    spoil(package, "task.ttl", "kgb:labelledTask", "kgb:labeledTask")
    told = check_declaration(package / "tea_garden" / "task.ttl")
    assert [len(part) for part in told] == [0, 1, 0, 0]


REFERENCE = "    def reference("
PROMPT = """    def prompt(self, case):
        return case.data["question"] + TEXT

"""
MORE_CASES = """    def cases(self, task, suite, seed, count):
        return super().cases(task, suite, seed, count + 1)

"""


@pytest.mark.parametrize(
    ("file", "found", "instead", "expected"),
    [
        (
            *("judge.py", REFERENCE),
            PROMPT.replace("TEXT", "', '.join(case.data['answer'])") + REFERENCE,
            ("prompts", "the prompt of the case north-bed shows the field 'answer' of the case"),
        ),
        (
            *("judge.py", REFERENCE, PROMPT.replace("TEXT", "self.reference(case)") + REFERENCE),
            ("prompts", "the prompt of the case after-peas contains the reference answer"),
        ),
        (
            *("judge.py", 'return "\\n".join(case.data["answer"])', "return 'Leek'"),
            ("reference answers", "the case ines-waters gets f1 = 0.0, which is not the best"),
        ),
        (
            *("judge.py", "answer = answers[-1]", "answer = answers[-1].encode().decode()"),
            ("hostile answers", "the judge fails: UnicodeEncodeError"),
        ),
        (
            *("judge.py", "scores = compared.agreement.named()", "scores = {'f1': 1.0}"),
            ("hostile answers", "what is no answer gets the best score (f1 = 1.0)"),
        ),
        (
            *("judge.py", "compared.infos()", '{"found": object()}'),
            ("hostile answers", "the judge fails: the verdict is not JSON"),
        ),
        (
            *("judge.py", "compared.agreement.named()", "{'f1': 0.0, 'f2': 2.0}"),
            ("hostile answers", "the score f2 is not declared"),
        ),
        (
            *("judge.py", REFERENCE, MORE_CASES + REFERENCE),
            ("cases", "TeaGarden: cases() gives more cases than it was asked for"),
        ),
        (
            *("cases.json", "[\n  {", "{ "),
            ("cases", "cases.json is not valid JSON"),
        ),
        (
            *("judge.py", "(__file__)", "(__file__)\nfamily.NAME = 'Teagarden'"),
            ("code", "the module says NAME = 'Teagarden' instead of 'TeaGarden'"),
        ),
        (
            *("judge.py", "from kgbench", "import no_such_module\nfrom kgbench"),
            ("code", "No module named 'no_such_module'"),
        ),
        (
            *("judge.py", "def reference(", "def no_reference("),
            ("code", "abstract method"),
        ),
    ],
)  # fmt: skip
def test_code_and_cases(
    package: Path, file: str, found: str, instead: str, expected: tuple[str, str]
) -> None:
    """Faults in prompts, cases and judges are reported by the right check."""
    spoil(package, file, found, instead)
    told = faults(package)
    assert [message for name, message in told if name == expected[0] and expected[1] in message], (
        told
    )


FIELDS = """    kgb:referenceSet "answer" ; kgb:judgedSet "found" , "whole" ;
    kgb:referenceText "graph" ; kgb:judgedText "error" ;
    kgb:maxRounds 1 ;"""


@pytest.mark.parametrize(
    ("found", "instead", "expected"),
    [
        ("", "", None),
        ('"answer"', '"anwser"', "field 'anwser' of kgb:referenceSet: did you mean answer"),
        ('"graph"', '"grahp"', "field 'grahp' of kgb:referenceText: did you mean graph"),
        ('"found" , "whole"', '"foudn"', "field 'foudn' of kgb:judgedSet: did you mean found"),
        ('"error"', '"erorr"', "reference answer has the field 'erorr' of kgb:judgedText"),
        (' ; kgb:judgedSet "found" , "whole"', "", "has no effect without kgb:judgedSet"),
    ],
)  # fmt: skip
def test_fields_of_comparisons_exist(
    package: Path, found: str, instead: str, expected: str | None
) -> None:
    """Fields that neither a case nor a verdict has are reported with the nearest name."""
    infos = '{"found": sorted(names)[:9], "whole": [], "error": None}'
    spoil(package, "judge.py", "compared.infos()", infos)
    spoil(package, "task.ttl", "    kgb:maxRounds 1 ;", FIELDS.replace(found, instead, 1))
    told = faults(package)
    assert [name for name, _ in told] == ([] if expected is None else ["reference answers"])
    assert expected is None or expected in told[0][1]


def test_answers_in_feedback_and_nested_fields_are_leaks(tmp_path: Path) -> None:
    """Answers in nested fields of a case, and answers in feedback, are reported as leaks."""
    package = tmp_path / "new"
    scaffold.make("TeaGarden", package, kind="dialogue")
    path = package / "tea_garden" / "cases.json"
    cases = [
        {**case, "gold": {"names": case.pop("answer")}} for case in json.loads(path.read_text())
    ]
    path.write_text(json.dumps(cases), encoding="utf-8")
    spoil(package, "judge.py", 'case.data["answer"]', 'case.data["gold"]["names"]')
    assert faults(package) == []
    spoil(package, "judge.py", 'self.text("feedback", **counts)', "self.reference(case)")
    shown = PROMPT.replace("TEXT", "str(case.data['gold'])")
    spoil(package, "judge.py", REFERENCE, shown + REFERENCE)
    told = faults(package)
    assert {name for name, _ in told} == {"prompts", "hostile answers"}
    assert "north-bed shows the field 'gold/names' of the case" in told[0][1]
    assert "the feedback on it contains the reference answer" in told[-1][1]


def test_endless_judges_are_found(package: Path) -> None:
    """A judge that never ends is stopped and reported with the answer that caused it."""
    spoil(
        *(package, "judge.py", "        names ="),
        "        while answer.startswith('a.a.'):\n            pass\n        names =",
    )
    told = faults(package, JudgeLimits(seconds=1.0))
    assert [name for name, _ in told] == ["hostile answers"]
    assert "reaches the limit of time outside of queries (1 answer; the first: attack" in told[0][1]


def test_a_folder_without_its_project(package: Path) -> None:
    """A declaration alone is checked in part, and the checks that were skipped are named."""
    (package / "pyproject.toml").unlink()
    checks = list(check_folder(package / "tea_garden"))
    assert {check.name: check.skipped is None for check in checks} == dict.fromkeys(
        NAMES[:3], True
    ) | dict.fromkeys(NAMES[5:], False)
    done = CliRunner().invoke(app, ["tasks", "check", str(package)])
    assert done.exit_code == 0
    assert "not everything is checked: no pyproject.toml names its module" in done.output
    assert "no findings in 1 task class, but not everything is checked" in done.output


def test_a_misspelt_entry_point(package: Path) -> None:
    """A project without an entry point for the class is reported with the nearest name."""
    project = package / "pyproject.toml"
    project.write_text(project.read_text().replace("TeaGarden =", "TeaGardn ="), encoding="utf-8")
    ((name, message),) = faults(package)
    assert name == "code"
    assert "names no module for TeaGarden (kgbench.tasks): did you mean TeaGardn?" in message


def test_the_command(package: Path) -> None:
    """The exit code is 1 with findings and 0 without; --json prints both for programs."""
    words = ["tasks", "check", str(package)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert "no findings in 1 task class" in done.output
    spoil(package, "task.ttl", '"low"', '"lowly"')
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert 'task.ttl:27: levels: kgb:relationalComplexity cannot be "lowly"' in done.stderr
    done = CliRunner().invoke(app, [*words, "--json"])
    assert done.exit_code == 1
    said = json.loads(done.stdout)
    assert not said["passed"]
    assert [check["name"] for check in said["checks"]] == list(NAMES)
    assert [f["line"] for check in said["checks"] for f in check["faults"]] == [27]


def test_folders_without_declarations_are_refused(tmp_path: Path) -> None:
    """A folder without a declaration is refused."""
    for place in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(ResourceError, match=r"has no task\.ttl|is not a folder"):
            list(check_folder(place))


def test_a_copy_of_a_class_is_not_taken_for_it(tmp_path: Path) -> None:
    """A copy of a task folder is no pass, and not checked with the code of the original."""
    used = catalogue.folder("RdfFriendCount")
    shutil.copytree(used, tmp_path / "RdfFriendCount")
    ((name, message),) = faults(tmp_path)
    assert name == "code"
    assert message.startswith(f"RdfFriendCount is loaded from {used}: check that folder")
    assert {check.name for check in check_folder(tmp_path) if check.skipped} == set(NAMES[5:])


OWN = {path.parent.name: path.parent for path in resources.files("tasks", "*/task.ttl")}
#: Classes whose cases come with imports, or are stored dialogues.
WITHOUT_CASES = {
    *("BlinkgMappings", "GraspQuestions", "JudgeVerdict"),
    *("SpinachQuestions", "Text2SparqlQuestions", "W3cRdf12"),
}


def test_every_task_class_has_its_folder() -> None:
    """The classes that are checked below are all that have cases of their own."""
    assert set(OWN) == set(catalogue.task_classes())


@pytest.mark.parametrize("name", sorted(set(OWN) - WITHOUT_CASES))
def test_own_task_classes_pass(name: str) -> None:
    """A task class of kgbench is checked completely and has no faults."""
    checks = list(check_folder(OWN[name]))
    assert [(check.task_class, check.name) for check in checks if check.skipped] == []
    assert [(check.name, fault.message) for check in checks for fault in check.faults] == []
