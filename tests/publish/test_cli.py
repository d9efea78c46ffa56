# SPDX-License-Identifier: Apache-2.0
"""The command ``publish``: its output, and its refusals before it writes."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import KgbenchError, PublicationRefused
from kgbench.publish import settings, site
from kgbench.publish.checks import check
from tests.publish.conftest import BASE, command, publish
from tests.publish.reading import dump, page

pytestmark = pytest.mark.usefixtures("quick")
DESCRIPTION = """
@prefix dcat: <http://www.w3.org/ns/dcat#> .
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
[] a dcat:Dataset ; dcterms:title "Of a file"@en ; dcterms:license <https://example.org/licence> ;
  dcterms:creator [ a foaf:Person ; foaf:name "Grace" ] , "Bob" ; dcat:keyword "b" , "a" ;
  dcterms:source <https://doi.org/10.5281/zenodo.1> .
"""


def _refused(*arguments, env=None):
    result = CliRunner().invoke(app, [str(a) for a in arguments], env=env or {})
    assert isinstance(result.exception, KgbenchError), (result.output, result.exception)
    return str(result.exception)


def test_json_report(recorded, tmp_path):
    """--json prints the numbers of the publication."""
    out = tmp_path / "site"
    arguments = ("publish", "--store", recorded, "--out", out, "--base", BASE.rstrip("/"))
    report = json.loads(command(*arguments, "--json"))
    assert report["base"] == BASE
    assert report["dialogues"] == 12
    assert report["triples"] == len(dump(out, "all.nq"))
    assert any("--licence" in note for note in report["notes"])
    again = command(
        *arguments, "--licence", "CC-BY-4.0", "--creator", "Ada <https://example.org/a>"
    )
    assert "version  1" in again
    assert "note" not in again


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], ["no licence is given", "no creator or publisher is named"]),
        (["--publisher", "Ada"], ["no licence is given", "no creator is named:"]),
        (["--creator", "Ada", "--licence", "CC0-1.0"], []),
    ],
)
def test_what_is_missing_is_told_before_it_begins(recorded, tmp_path, arguments, told):
    """Missing metadata is reported even if nothing can be published."""
    given = ["publish", "--store", recorded, "--out", tmp_path, "--base", BASE, "--run", "nobody"]
    result = CliRunner().invoke(app, [*map(str, given), *arguments])
    assert result.exit_code == 1
    notes = [line for line in result.stderr.splitlines() if line.startswith("note")]
    assert len(notes) == len(told)
    assert all(words in note for words, note in zip(told, notes, strict=True))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--base", "bench/"], "is not an IRI"),
        (["--base", "ftp://example.org/"], "not an http or https address"),
        (["--base", "https://a b/"], "is not an IRI"),
        (["--base", "https://example.org/?x=1"], "has a user, a query or a fragment"),
        (["--licence", "free for all"], "neither the IRI nor the SPDX identifier"),
        (["--creator", "<https://example.org/>"], "has no name"),
        (["--endpoint", "localhost"], "is not an IRI"),
        (["--about", "nowhere.ttl"], "cannot be read"),
        (["--encrypt"], "at least 8 characters in KGBENCH_PUBLISH_PASSWORD"),
        (["--run", "nobody"], "names no run"),
    ],
)
def test_refusals_leave_nothing_behind(recorded, tmp_path, arguments, words):
    """Invalid arguments are refused with a message before anything is written."""
    out = tmp_path / "site"
    base = [] if "--base" in arguments else ["--base", BASE]
    given = ["publish", "--store", recorded, "--out", out, *base, *arguments]
    assert words in _refused(*given, env={"KGBENCH_PUBLISH_PASSWORD": "short"})
    assert not out.exists()


def test_servers_are_refused(recorded, tmp_path, monkeypatch):
    """A store on a server has no snapshot to read; the message names the command to use."""
    monkeypatch.setattr(site, "SnapshotReader", type("Other", (), {}))
    given = ("publish", "--store", recorded, "--out", tmp_path / "site", "--base", BASE)
    assert "copy the store first (kgbench store copy)" in _refused(*given)


def test_a_description_of_ones_own(recorded, tmp_path):
    """A Turtle file describes the data set; options override it; gzip can be chosen."""
    file = tmp_path / "about.ttl"
    file.write_text(DESCRIPTION, encoding="utf-8")
    out = tmp_path / "site"
    given = ("publish", "--store", recorded, "--out", out, "--base", BASE, "--about", file)
    command(*given, "--title", "Of an option", "--compress", "gzip")
    (found,) = page((out / "index.html").read_text(encoding="utf-8")).scripts
    assert found["name"] == "Of an option"
    assert [one["name"] for one in found["creator"]] == ["Bob", "Grace"]
    assert found["license"] == "https://example.org/licence"
    assert len(dump(out, "all.nq")) > 5_000
    file.write_text("<a> a <b> .", encoding="utf-8")
    with pytest.raises(KgbenchError, match="must describe one Dataset, not 0"):
        settings.read(file)


def test_what_was_just_written_is_checked(recorded, tmp_path):
    """With --check, the checklist follows the report or is part of it; faults exit with 1."""
    out = tmp_path / "site"
    given = ("publish", "--store", recorded, "--out", out, "--base", BASE, "--check")
    said = json.loads(command(*given, "--json", code=1))
    told = command(*given, code=1)

    assert said["out"] == str(out)
    assert said["check"]["passed"] is False
    assert told.index(f"folder   {out}") < told.index("failed ")
    assert told.splitlines()[-1].endswith(" faults")


@pytest.mark.parametrize("base", ["http://localhost:8000/bench/", "http://10.1.2.3/b/"])
def test_bases_on_private_networks_work(recorded, tmp_path, base):
    """Everything is published below a base on a private network, which nothing else reveals."""
    report = publish(recorded, tmp_path / "site", base=base)
    assert report.dialogues == 12
    found = check(tmp_path / "site").faults
    assert [str(fault) for fault in found if fault.constraint in ("private", "secret")] == []


def test_people_below_the_base_are_refused(recorded, tmp_path):
    """A creator with an IRI that no document would describe is refused before anything is made."""
    about = settings.DatasetDescription(creators=(settings.Agent("Ada", f"{BASE}ada"),))
    with pytest.raises(PublicationRefused, match=r"Ada has the IRI .* below --base"):
        publish(recorded, tmp_path / "site", metadata=about)
    assert not (tmp_path / "site").exists()
