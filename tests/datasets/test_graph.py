# SPDX-License-Identifier: Apache-2.0
"""``kgbench datasets install beastiary``: an external graph, installed from a copy."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import descriptions, home
from kgbench.errors import ImportRefused, ResourceError
from kgbench.tasks import graphs

GRAPH = """<?xml version="1.0"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://example.org/">
  <rdf:Description rdf:about="http://example.org/owlbear"><e:eats>honey</e:eats></rdf:Description>
</rdf:RDF>
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder for installations."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    return tmp_path / "home" / "beastiary"


def datasets(*arguments: str | Path) -> str:
    """Return the output of the command."""
    words = ["datasets", *map(str, arguments)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_it_is_listed_and_described() -> None:
    """The graph is listed with its source, and with a note that its licence is unknown."""
    listed = {each["name"]: each for each in json.loads(datasets("list", "--json"))}
    assert listed["beastiary"] == {"name": "beastiary", "title": "Beastiary", "installed": False}
    said = json.loads(datasets("show", "beastiary", "--json"))
    assert (said["licences"], said["files"], said["installed"]) == ([], 1, None)
    assert "No licence is known" in said["rights"][0]
    assert said["page"].startswith("https://")


def test_a_copy_is_installed(tmp_path: Path, place: Path) -> None:
    """A file, an archive or a folder with either is installed; a changed file is named."""
    file = tmp_path / "beastiary_kg.rdf"
    file.write_text(GRAPH)
    archive = tmp_path / "beastiary_kg.rdf.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.write(file, file.name)
    for source in (file, archive, tmp_path):
        said = json.loads(datasets("install", "beastiary", "--from", source, "--json"))
        assert said["place"] == str(place)
        assert (said["files"], said["tasks"]) == (1, 0)
        assert said["differing"] == ["beastiary_kg.rdf"]
        assert (place / "graph.nt").read_text().count("honey") == 1
    assert "honey" in graphs.text("beastiary")
    assert "(installed)" in datasets("list")
    assert "1 file other than declared" in datasets("install", "beastiary", "--from", file)


def test_it_is_not_fetched(place: Path) -> None:
    """Without a copy the message names its source; nothing is downloaded."""
    with pytest.raises(ImportRefused, match=r"beastiary_kg.rdf from https://.*--from PATH"):
        datasets("install", "beastiary")
    assert not place.exists()


def test_a_damaged_copy_is_refused(tmp_path: Path, place: Path) -> None:
    """A damaged copy is refused, and the earlier installation stays."""
    file = tmp_path / "beastiary_kg.rdf"
    file.write_text(GRAPH)
    datasets("install", "beastiary", "--from", file)
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    file.write_text(GRAPH[:-40])
    with pytest.raises(ResourceError, match="cannot be read"):
        datasets("install", "beastiary", "--from", file)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before


@pytest.mark.external
def test_the_published_file_is_the_declared_one(external_data: Path, place: Path) -> None:
    """The published archive has the declared checksum and about 98,000 triples."""
    said = json.loads(
        datasets("install", "beastiary", "--from", external_data / "text2sparql", "--json")
    )
    assert said["differing"] == []
    assert len((place / "graph.nt").read_text().splitlines()) > 98_000
    (checksum,) = descriptions.describe("beastiary").files.values()
    assert json.loads((place / home.RECORD).read_text())["sha256"] == checksum
