# SPDX-License-Identifier: Apache-2.0
"""Data sets are installed completely or not at all, and their tasks can then be run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import descriptions, home
from kgbench.datasets.install import install
from kgbench.datasets.text2kgbench import parts, read_part
from kgbench.errors import ImportRefused, ResourceError, TaskError
from kgbench.families.text2kg import content_of
from kgbench.tasks import catalogue
from tests.publish.static import serving
from tests.support import text2kg_data
from tests.support.commands import printed
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

NAME = "text2kgbench"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return invented data, with an empty folder for installations."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    return text2kg_data.write(tmp_path / "data")


def described(folder: Path, url: str) -> descriptions.Description:
    """Return the description of a data set with the files of ``folder`` at ``url``."""
    files = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    return replace(descriptions.describe(NAME), url=f"{url}/", files=files)


run = partial(printed, "datasets")


def test_declared_data_sets_are_described() -> None:
    """Each data set has a pinned address, checksums and licences."""
    for name in descriptions.names():
        found = descriptions.describe(name)
        assert found.files
        assert all(len(checksum) == 64 for checksum in found.files.values())
        assert found.rights
        if found.url:
            assert found.url.startswith("https://")
            assert found.version in found.url
    assert any("NonCommercial" in remark for remark in descriptions.describe(NAME).rights)
    with pytest.raises(ResourceError, match="no data set"):
        descriptions.describe("x")


def test_a_copy_is_installed_and_its_tasks_run(data: Path) -> None:
    """A local copy becomes tasks; changed or missing files are named."""
    said = run("install", NAME, "--from", str(data), "--json")
    report = json.loads(said)
    assert (report["tasks"], report["files"]) == (
        3,
        len([p for p in data.rglob("*") if p.is_file()]),
    )
    assert "LICENSE" in report["missing"]
    task = catalogue.labelled_tasks()["Text2KG-wikidata-bridge-revised"]
    cases = catalogue.module("Text2KG").cases(task, "s", 0, 3)
    assert [case.uid for case in cases] == [text2kg_data.test_id(k) for k in range(3)]
    assert "installed" in run("list")
    assert "Text2KGRdf-wikidata-bridge" in run("show", NAME)


def test_nothing_is_installed_from_a_damaged_copy(data: Path, tmp_path: Path) -> None:
    """A damaged copy is refused, and the earlier installation stays."""
    run("install", NAME, "--from", str(data))
    before = sorted((tmp_path / "home").rglob("*"))
    (data / "wikidata_tekgen/train/ont_1_bridge_train.jsonl").write_text('{"id"', encoding="utf-8")
    with pytest.raises(ImportRefused, match=r"train\.jsonl:1: the line is not valid JSON"):
        CliRunner().invoke(
            app, ["datasets", "install", NAME, "--from", str(data)], catch_exceptions=False
        )
    assert sorted((tmp_path / "home").rglob("*")) == before


def test_another_folder_is_refused(data: Path, tmp_path: Path) -> None:
    """A folder without the data is refused with the expected files."""
    with pytest.raises(ImportRefused, match="none of"):
        install(descriptions.describe(NAME), tmp_path / "home", lambda _: [])


def test_files_are_fetched_and_checked(data: Path) -> None:
    """Files come from the pinned address; one wrong checksum ends the installation."""
    with serving(data) as url:
        wanted = described(data, url.rstrip("/"))
        done = install(wanted, None, lambda root: [{"root": str(root)}])
        assert done.files == len(wanted.files)
        assert read_part(home.folder_of(NAME), *parts(home.folder_of(NAME))[0]).name == "bridge"
        name = next(iter(wanted.files))
        changed = replace(wanted, files={**wanted.files, name: "0" * 64})
        with pytest.raises(ImportRefused, match="another SHA-256"):
            install(changed, None, lambda _: [])
        with pytest.raises(ImportRefused, match=r"cannot be fetched"):
            install(replace(wanted, files={"absent": "0" * 64}), None, lambda _: [])
    assert home.installation_record(NAME) is not None
    with pytest.raises(ImportRefused, match="is not an https URL"):
        install(replace(wanted, url="http://192.0.2.1/"), None, lambda _: [])


def letters(text: str) -> list[float]:
    """Return the counts of the letters a to z."""
    return [float(text.lower().count(chr(97 + c))) for c in range(26)]


def test_examples_by_embeddings(data: Path) -> None:
    """Example lists made from embeddings choose the examples of tasks that use them."""
    run("install", NAME, "--from", str(data))
    with LoopbackServer(OpenAISpeech(embed=letters)) as server:
        options = ("--url", server.url, "--model", "letters", "--count", "2")
        said = run("similar", NAME, *options)
        unknown = CliRunner().invoke(
            app, ["datasets", "similar", NAME, *options, "--ontology", "x"]
        )
    assert "wikidata_tekgen bridge" in said
    assert "(by letters-2025-01-01)" in said
    assert isinstance(unknown.exception, TaskError)
    part = read_part(home.folder_of(NAME), "wikidata_tekgen", "bridge")
    (made_by,) = home.folder_of(NAME).rglob("*_bridge.made-by.json")
    assert json.loads(made_by.read_text()) == {
        "requested": "letters",
        "model": "letters-2025-01-01",
        "address": server.url,
        "count": 2,
    }
    assert all(len(ids) == 2 for ids in part.similar("embeddings").values())
    task = catalogue.make_task(
        "Text2KG",
        "x",
        {
            "dataset": "wikidata_tekgen",
            "ontology": "bridge",
            "exampleSelection": "embeddings",
        },
    )
    case = catalogue.module("Text2KG").cases(task, "s", 0, 2)[1]
    ((example, _),) = content_of(case).examples
    # The nearest one is the sentence itself, which may not be shown.
    assert example == "Toll Bridge spans the Wend."
