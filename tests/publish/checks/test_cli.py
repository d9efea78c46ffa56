# SPDX-License-Identifier: Apache-2.0
"""``kgbench publish --check``: its output, its exit codes, and its documentation."""

from __future__ import annotations

import gzip
import json
import os
import re
import zipfile
from pathlib import Path

import pytest
import pyzipper
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.importers.rdf import parsing
from kgbench.publish.checks import Report, check
from kgbench.publish.settings import PASSWORD
from kgbench.secrets import published_keys
from tests.publish.checks.published_folder import NAMES, Copy, unpacked

RUNNER = CliRunner()
PAGE = Path(__file__).parents[3] / "docs" / "publish.md"


def asked(*arguments: str) -> tuple[int, str]:
    """Return exit code and output of a command."""
    done = RUNNER.invoke(app, ["publish", *arguments])
    return done.exit_code, done.output


@pytest.fixture
def dump(site: Path, tmp_path: Path) -> Path:
    """Return the unpacked dump of all data."""
    path = tmp_path / "all.nq"
    path.write_bytes(unpacked(site / "data" / "all.nq.zst"))
    return path


def test_checklist_of_a_good_dump(dump: Path) -> None:
    """Every entry is listed with its verdict, and the exit code is 0."""
    code, said = asked("--check", str(dump))
    assert code == 0
    assert said.splitlines()[-1] == "no faults"
    assert all(line.startswith("passed") for line in said.splitlines()[:-1])


def test_faults_are_told_and_fail(dump: Path) -> None:
    """A fault is one line under its entry, the exit code is 1, and JSON agrees."""
    outcome = "ns#outcome> <https://w3id.org/kgbench/outcome/"
    dump.write_text(dump.read_text().replace(f"{outcome}unparsable>", f"{outcome}unheard-of>", 1))
    code, said = asked("--check", str(dump))
    assert code == 1
    told = r"^failed .*shapes\n(?:    .*\n)*?    \S+/Evaluation In: https://\S+ in all\.nq: "
    assert re.search(told, said, re.MULTILINE)
    assert said.splitlines()[-1].endswith("faults")
    code, said = asked("--check", str(dump), "--json")
    read = json.loads(said)
    assert (code, read["passed"]) == (1, False)
    fault = next(f for entry in read["checklist"] for f in entry["faults"])
    assert {"constraint", "node", "file", "message", "remedy"} < set(fault)


def test_many_faults_of_a_kind_are_counted(dump: Path) -> None:
    """The first hundred faults of each constraint are listed, and all are counted."""
    dump.write_text(re.sub(r'"[^"]*"@en', '"without a language"', dump.read_text()))
    report = check(dump, names=NAMES)
    entry = next(entry for entry in report.entries if entry.name == "results")
    constraint, count = max(entry.counts.items(), key=lambda pair: pair[1])
    assert count > 100
    assert sum(fault.constraint == constraint for fault in entry.faults) == 100
    assert f"    {constraint}: {count - 100} more" in list(report.lines())


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--check"], 2, "--out and --base are required"),
        (["here"], 2, "need --check"),
        (["--check", "nowhere"], 1, "nothing to check at nowhere"),
        (["--check", str(PAGE)], 1, "is not an RDF file by its name"),
        (["--check", str(PAGE.parent)], 1, "is not a publication: it has none of SHA256SUMS"),
        (
            ["--check", str(PAGE), str(PAGE.parent)],
            1,
            "name one published folder to check, or files",
        ),
    ],
)
def test_wrong_use_is_told(arguments: list[str], code: int, words: str) -> None:
    """Input that cannot be checked is refused with a message."""
    done = RUNNER.invoke(app, ["publish", *arguments])
    said = done.output + str(done.exception or "")
    assert (done.exit_code, words in re.sub(r"[\s│]+", " ", said)) == (code, True)


def test_file_names_of_others_are_told_on_one_line(tmp_path: Path) -> None:
    """A name with a line end, or that is not UTF-8, is escaped, as text and as JSON."""
    (tmp_path / "SHA256SUMS").write_text("")
    for name in (b"a\nno faults", b"\xff.txt"):
        (tmp_path / os.fsdecode(name)).write_text("")
    said = RUNNER.invoke(app, ["publish", "--check", str(tmp_path)]).stdout
    assert "a\\nno faults: The file is not in SHA256SUMS." in said
    assert "\\udcff.txt: The file" in said
    read = json.loads(RUNNER.invoke(app, ["publish", "--check", str(tmp_path), "--json"]).stdout)
    files = {fault["file"] for entry in read["checklist"] for fault in entry["faults"]}
    assert {"a\nno faults", "\udcff.txt"} < files


@pytest.mark.parametrize("spoil", [lambda data: data[:-9], lambda data: data[9:], lambda _: b"x"])
def test_damaged_files_are_faults(site: Path, tmp_path: Path, spoil) -> None:
    """A truncated file, or one that is no archive, is reported and fails the check."""
    path = tmp_path / "all.nq.zst"
    path.write_bytes(spoil((site / "data" / "all.nq.zst").read_bytes()))
    report = check(path, names=NAMES)
    assert "readable" in {fault.constraint for fault in report.faults}


DEEP = 20_000
NESTED = "<a:a> <a:b> " + "<<( <a:a> <a:b> " * DEEP + "<a:c>" + " )>>" * DEEP + " ."


def unread(report: Report) -> dict[str, str]:
    """Return the messages about unreadable files, by file."""
    return {one.file: one.message for one in report.faults if one.constraint == "readable"}


def test_files_that_overflow_parsers_are_faults(tmp_path: Path) -> None:
    """Each file with extreme nesting is reported, and the other files are checked."""
    (tmp_path / "deep.nt").write_text(NESTED)
    (tmp_path / "deep.jsonld").write_text('{"a:b":' * DEEP + '"x"' + "}" * DEEP)
    (tmp_path / "deep.trig.gz").write_bytes(gzip.compress(NESTED.encode()))
    (tmp_path / "flat.nq").write_text('<a:a> <a:b> "sk-abcdefghijklmnopqrstuvwxyz" <a:g> .\n')
    report = check(*sorted(tmp_path.iterdir()), names=NAMES)
    deep = ("deep.jsonld", "deep.nt", "deep.trig.gz")
    assert all("nested too deeply" in unread(report)[name] for name in deep)
    assert [f.file for f in report.faults if f.constraint == "secret"] == ["flat.nq"]


def test_catalogues_that_overflow_parsers_are_faults(tmp_path: Path) -> None:
    """A catalogue with extreme nesting is reported, and the rest of the folder is checked."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "all.nq").write_text("<a:a> <a:b> <a:c> <a:g> .\n")
    (tmp_path / "catalog.ttl").write_text(NESTED)
    report = check(tmp_path, names=NAMES)
    assert set(unread(report)) == {"catalog.ttl"}
    assert "catalogue" in {fault.constraint for fault in report.faults}


@pytest.mark.parametrize(
    ("bytes_more", "limit", "words"),
    [
        (0, ("SECONDS", 0.0), "keeps the parser busy for more than 0 seconds"),
        (2_000_000, ("SECONDS", 0.0), "keeps the parser busy for more than 0 seconds"),
        (0, ("MEMORY", 1 << 20), "the parser ended with exit status 1"),
    ],
)
def test_parsing_has_limits(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    bytes_more: int,
    limit: tuple[str, float],
    words: str,
) -> None:
    """A file that exceeds the parser's time or memory limit is reported as unreadable."""
    monkeypatch.setattr(parsing, *limit)
    (tmp_path / "a.jsonld").write_text('{"a:b": "c"}' + " " * bytes_more)
    assert words in unread(check(tmp_path / "a.jsonld", names=NAMES))["a.jsonld"]


def test_first_fault_of_a_long_file_is_told(tmp_path: Path) -> None:
    """A parse error in the first line is reported without reading the rest of the file."""
    (tmp_path / "a.jsonld").write_text("no JSON" + " " * 2_000_000)
    said = unread(check(tmp_path / "a.jsonld", names=NAMES))["a.jsonld"]
    assert "not JSON-LD: Parser error at line 1" in said


def test_damage_that_shows_while_a_file_is_tried(tmp_path: Path) -> None:
    """A truncated gzip file is reported as damaged, even if its parser has begun."""
    whole = gzip.compress(b'{"a:b": "c"}' + bytes(range(256)) * 1000)
    (tmp_path / "a.jsonld.gz").write_bytes(whole[:-20])
    said = unread(check(tmp_path / "a.jsonld.gz", names=NAMES))["a.jsonld.gz"]
    assert "cannot be read: Compressed file ended" in said


def test_many_triples_as_terms_are_no_fault(tmp_path: Path) -> None:
    """Many shallow triple terms are read like any other data."""
    flat = "".join(f'<a:{n}> <a:b> <<( <a:a> <a:b> "<< {n}" )>> <a:g> .\n' for n in range(60))
    (tmp_path / "a.nq").write_text(flat)
    (tmp_path / "b.nq").write_text(flat[: flat.index("<a:9>")])
    for name, number in (("a.nq", 60), ("b.nq", 9)):
        report = check(tmp_path / name, names=NAMES)
        assert unread(report) == {}
        assert report.entries[0].note == f"{number} quads"


def test_encrypted_dumps_need_the_password(
    dump: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Encrypted dumps are reported as not checked without the password; a wrong one is a fault."""
    path = tmp_path / "all.nq.zip"
    with pyzipper.AESZipFile(
        path, "w", compression=zipfile.ZIP_DEFLATED, encryption=pyzipper.WZ_AES
    ) as archive:
        archive.setpassword(b"dragonfire")
        archive.write(dump, "all.nq")
    code, said = asked("--check", str(path))
    assert (code, "not checked: all.nq.zip" in said) == (0, True)
    assert "results conform" not in said
    monkeypatch.setenv(PASSWORD, "dragonfire")
    assert "results conform" in asked("--check", str(path))[1]
    monkeypatch.setenv(PASSWORD, "waterfall")
    assert asked("--check", str(path))[0] == 1


def test_shapes_can_be_given(copy: Copy, tmp_path: Path) -> None:
    """The catalogue is also checked against the shapes of a given file, which faults name."""
    shapes = tmp_path / "official.ttl"
    shapes.write_text(
        "@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix dcat: <http://www.w3.org/ns/dcat#> . "
        "<urn:shape> a sh:NodeShape ; sh:targetClass dcat:Catalog ; "
        "sh:property [ sh:path dcat:record ; sh:minCount 1 ] ."
    )
    report = check(copy.path, names=NAMES, mldcat_shapes=shapes)
    (fault,) = {one.constraint: one for one in report.faults}.values()
    assert (fault.constraint, fault.file) == ("official.ttl MinCount", "catalog.ttl")
    shapes.write_text("no shapes")
    code, _ = asked("--check", str(copy.path), "--mldcat-shapes", str(shapes))
    assert code == 1


@pytest.mark.parametrize(
    ("text", "is_key"),
    [
        ("sk-proj-abcdefghijklmnopqrstuvwx", True),
        ("ghp_abcdefghijklmnopqrstuvwxyz012345", True),
        ("AKIAABCDEFGHIJKLMNOP", True),
        ("AIzaSyabcdefghijklmnopqrstuvwxyz0123456", True),
        ("Authorization: Bearer abcdefghijklmnopqrst", True),
        ("-----BEGIN RSA PRIVATE KEY-----", True),
        ("task-class/RdfFriendCount/4.4/something-else", False),
        ("the desk-and-chair-manufacturing-company", False),
        ("https://w3id.org/kgbench/task-executions-of-all-runs", False),
    ],
)
def test_what_is_taken_for_a_key(text: str, is_key: bool) -> None:
    """Provider keys are recognised by their prefixes; words that contain a prefix are no keys."""
    assert any(published_keys(f'say "{text}"')) is is_key
