# SPDX-License-Identifier: Apache-2.0
"""TEXT2SPARQL data sets are installed from copies of any form, checked, and then run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import home
from kgbench.errors import ImportRefused
from kgbench.plugins.challenges import question_files
from kgbench.store import open_reader
from kgbench.tasks import catalogue, graphs
from tests.support import text2sparql_data as data
from tests.support.validation import assert_conforms


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the invented data set, with an empty folder for installations."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    return data.write_data_set(tmp_path / "data")


def install(source: object, *options: str, name: str = data.NAME) -> dict[str, object]:
    """Return the report of the command."""
    arguments = ["datasets", "install", name, "--from", str(source), "--json", *options]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    found: dict[str, object] = json.loads(result.stdout)
    return found


def test_questions_are_read_with_all_languages(folder: Path) -> None:
    """Texts, queries and required orders are read; a repeated key is a remark."""
    found = question_files.read(folder / "questions.yml")

    assert (found.dataset, found.prefix, found.year) == (data.DATASET, data.NAME, 2025)
    assert found.languages == ("en", "de")
    assert [one.is_ordered for one in found.questions] == [False, False, True, False]
    assert found.key(found.questions[0], "de") == "ck25:1-de"
    (remark,) = found.remarks
    assert "questions.yml, line 4: the key 'prefix' is repeated" in remark


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ("dataset:", "database:", "has no mapping 'dataset'"),
        ("prefix: ck25", "prefix: '../x'", "prefix"),
        ("id: https://example.org/2025/office/", "id: office", "the IRI of the data set"),
        ("- id: 2", "- id: 1", "two questions have the id 1"),
        ("- id: 2", "- number: 2", "the id of question 2"),
        ("de: Wer arbeitet im Verkauf?", "'no tag': x", "is not a language tag"),
        ("en: Who works in sales?", "en: ", "the text in 'en' is empty"),
        ('query: {sparql: "ASK', 'answer: {sparql: "ASK', "no mapping 'query'"),
        ("features: [SELECT,", "features: [[SELECT],", "not a list of texts"),
        ("questions:", "questions: [", "not YAML"),
    ],
)
def test_what_is_no_question_file_is_refused(
    folder: Path, before: str, after: str, why: str
) -> None:
    """The first error of a question file is named with its place."""
    assert before in data.QUESTIONS
    (folder / "questions.yml").write_text(data.QUESTIONS.replace(before, after), encoding="utf-8")
    with pytest.raises(ImportRefused, match=why.replace("(", r"\(")):
        question_files.read(folder / "questions.yml")


def test_hostile_yaml_makes_no_object_and_no_gigabytes(folder: Path) -> None:
    """YAML tags construct nothing; aliases that expand exponentially are refused."""
    path = folder / "questions.yml"
    trap = folder / "trap"
    path.write_text(f"a: !!python/object/apply:pathlib.Path.touch ['{trap}']\n", encoding="utf-8")
    with pytest.raises(ImportRefused):
        question_files.read(path)
    assert not trap.exists()
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 10)}]" for k in range(1, 12)]
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(ImportRefused, match="aliases expanded"):
        question_files.read(path)


def test_another_checksum_is_refused(folder: Path, tmp_path: Path) -> None:
    """A copy with another checksum needs an option, and is then named."""
    arguments = ["datasets", "install", data.NAME, "--from", str(folder)]
    with pytest.raises(ImportRefused, match=r"another SHA-256.*--unverified"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert list((tmp_path / "home").iterdir()) == []
    assert install(folder, "--unverified")["differing"] == [
        "graphs/prod-inst.ttl",
        "questions.yml",
    ]
    refused = CliRunner().invoke(app, ["datasets", "install", "text2kgbench", "--unverified"])
    assert refused.exit_code == 2


def test_a_copy_is_a_folder(folder: Path, tmp_path: Path) -> None:
    """A folder anywhere above the files is a copy; an archive is refused with what to do."""
    (tmp_path / "above").mkdir()
    folder.rename(tmp_path / "above" / "ck25-main")
    assert install(tmp_path / "above", "--unverified")["tasks"] == 10
    (tmp_path / "a.zip").write_bytes(b"PK")
    with pytest.raises(ImportRefused, match="unpack an archive first"):
        install(tmp_path / "a.zip", "--unverified")


def test_a_copy_without_a_file_is_refused(folder: Path) -> None:
    """A missing file, or an unreadable graph, is named, and nothing is installed."""
    graph = folder / "graphs" / "prod-inst.ttl"
    graph.write_text("no Turtle", encoding="utf-8")
    with pytest.raises(ImportRefused, match=r"the graph .* cannot be read"):
        install(folder, "--unverified")
    graph.write_text("", encoding="utf-8")
    with pytest.raises(ImportRefused, match="has no triples"):
        install(folder, "--unverified")
    graph.unlink()
    with pytest.raises(ImportRefused, match=r"has no file graphs/prod-inst\.ttl"):
        install(folder, "--unverified")
    assert home.installation_record(data.NAME) is None


def test_questions_without_a_graph_bring_no_task(folder: Path) -> None:
    """A data set without its graph is installed without tasks, and the reason is a remark."""
    text = data.QUESTIONS.replace(f"prefix: {data.NAME}", "prefix: db25")
    (folder / "questions_db25.yaml").write_text(text, encoding="utf-8")
    said = install(folder, "--unverified", name="db25")
    assert said["tasks"] == 0
    assert any("queries are not executed" in str(one) for one in said["remarks"])  # type: ignore[attr-defined]
    (folder / "questions_db25.yaml").write_text(data.QUESTIONS, encoding="utf-8")
    with pytest.raises(ImportRefused, match="those of ck25"):
        install(folder, "--unverified", name="db25")


def test_questions_without_a_declared_checksum_are_noted(folder: Path) -> None:
    """If only the graph's checksum is declared, that of the questions is reported and kept."""
    text = data.QUESTIONS.replace(f"prefix: {data.NAME}", "prefix: ck26")
    (folder / "questions_ck26.yml").write_text(text, encoding="utf-8")
    said = install(folder, "--unverified", name="ck26")
    expected = hashlib.sha256(text.encode()).hexdigest()
    assert any(expected in str(one) for one in said["remarks"])  # type: ignore[attr-defined]
    arguments = ["datasets", "install", "ck26"]
    with pytest.raises(ImportRefused, match="knows no address"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.mark.parametrize(
    "about",
    [
        f"  id: {data.DATASET}\n  prefix: office\n  prefix: ck26\n",
        f"  prefix: ck26\n  defaultNamespace: {data.SPACE}\n  id: {data.DATASET}\n",
        f"  id: {data.DATASET}\n  prefix: 'ck26'  # quoted\n",
        f'  {{id: "{data.DATASET}", "prefix": "ck26"}}\n',
    ],
)
def test_the_edition_of_2026_is_installed(folder: Path, about: str) -> None:
    """Questions in all languages are read, whatever the form of the data set's header."""
    body = data.QUESTIONS.partition("questions:")[2]
    text = f"dataset:\n{about}questions:{body}".replace(
        "{en: Who works in sales?, de: Wer arbeitet im Verkauf?}",
        "{en: Who works in sales?, de: Wer arbeitet im Verkauf?, pt-BR: Quem trabalha em vendas?}",
    )
    (folder / "benchmark").mkdir()
    (folder / "benchmark" / "questions_ck26.yaml").write_text(text, encoding="utf-8")
    (folder / "questions_other.yml").write_text("questions: [", encoding="utf-8")
    said = install(folder, "--unverified", name="ck26")
    installed = question_files.read(home.folder_of("ck26") / question_files.QUESTIONS)
    assert installed.languages == ("en", "de", "pt-BR")
    assert said["tasks"] == 3 * (2 + 3)  # languages: prompts without tools and with them
    assert said["differing"] == ["graphs/prod-inst.ttl"]


def test_question_files_that_contradict_each_other_are_refused(folder: Path) -> None:
    """Equal copies count as one; different or damaged question files are refused."""
    text = data.QUESTIONS.replace(f"prefix: {data.NAME}", "prefix: ck26")
    for name in ("questions_a.yml", "questions_b.yml"):
        (folder / name).write_text(text, encoding="utf-8")
    install(folder, "--unverified", name="ck26")
    (folder / "questions_b.yml").write_text(text.replace("attic?", "loft?"), encoding="utf-8")
    with pytest.raises(ImportRefused, match="several question files of ck26"):
        install(folder, "--unverified", name="ck26")
    for name in ("questions_a.yml", "questions_b.yml"):
        (folder / name).write_bytes(b"\xff")
    with pytest.raises(ImportRefused, match=r"'prefix: ck26' \(questions_[ab]\.yml cannot be read"):
        install(folder, "--unverified", name="ck26")


def test_the_schema_of_a_graph_is_that_of_its_triples(folder: Path) -> None:
    """The prompt has classes with their sizes, their properties, and the ranges of these."""
    install(folder, "--unverified")
    graphs.summary.cache_clear()
    label = "Text2SparqlQuestions-ck25-en-schema"
    task = catalogue.labelled_tasks()[label]
    module = catalogue.module(task.task_class)
    case = module.cases(task, "text2sparql", 0, 1)[0]
    prompt = module.prompt(case)
    assert "ns1:Person (instances: 3, label: Person)" in prompt
    assert "  ns1:worksIn -> ns1:Room" in prompt
    assert "  ns1:age -> xsd:integer" in prompt
    assert f"PREFIX ns1: <{data.SPACE}>" in prompt
    assert "Question: Who works in sales?" in prompt


RUN = """\
suite: text2sparql
tasks: ["Text2SparqlQuestions-*", "Text2SparqlTools-ck25-*"]
models: ["baseline:oracle", "baseline:noisy?rate=1", "baseline:silent"]
iterations: 4
"""


def test_questions_are_asked_judged_and_ranked(folder: Path, tmp_path: Path) -> None:
    """References are always right, for ASK and empty results, too; silence is wrong."""
    install(folder, "--unverified")
    graphs.summary.cache_clear()
    (tmp_path / "run.yaml").write_text(RUN, encoding="utf-8")
    store = str(tmp_path / "store")
    for arguments in (
        ["run", str(tmp_path / "run.yaml"), "--store", store, "--json"],
        ["analyze", "leaderboard", "--store", store, "--json"],
    ):
        result = CliRunner().invoke(app, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    rows = {row["model"]: row for row in json.loads(result.stdout)["rows"]}
    assert rows["baseline:oracle"]["score"] == 1.0
    assert rows["baseline:silent"]["score"] == 0.0
    assert rows["baseline:noisy?rate=1"]["score"] < 1.0
    assert rows["baseline:oracle"]["n"] == 40
    with open_reader(store) as opened:
        assert_conforms(opened)


def test_the_published_data_sets_are_the_declared_ones(
    external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CK25 and DB25 are installed as published, without a differing file."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    said = install(external_data / "ck25")
    assert (said["files"], said["tasks"], said["differing"]) == (2, 5, [])
    said = install(external_data / "text2sparql-2025", name="db25")
    assert (said["files"], said["tasks"], said["differing"]) == (1, 0, [])
    assert len(question_files.installed("db25").questions) == 100
