# SPDX-License-Identifier: Apache-2.0
"""Opening result files: plain, zipped, encrypted, damaged."""

from __future__ import annotations

import codecs
import hashlib
from pathlib import Path

import pytest

from kgbench.errors import ImportRefused
from kgbench.importers import archives
from kgbench.importers.archives import ResultFile, open_results, result_files, unread_members
from tests.support.archives import as_json, record_v1, write_json, write_zip

RECORDS = [record_v1()]
MEMBERS = {
    "run_result_x.json": as_json(RECORDS),
    "run_modelLog_x.jsonl": b"{}",
    "run_result_x.yaml": b"- a",
    "run_result_x.txt": b"text",
    "settings.json": b"{}",
}


def test_plain_file_is_one_result(tmp_path: Path) -> None:
    """A plain JSON file is one result file with its own name and the digest of its bytes."""
    path = write_json(tmp_path / "a.json", RECORDS)
    (found,) = open_results(path)
    assert found.name == "a.json"
    assert found.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(found.records()) == RECORDS


@pytest.mark.parametrize("password", [None, "correct horse"])
def test_archive_gives_its_result_files_only(tmp_path: Path, password: str | None) -> None:
    """Only the result files of an archive are read, encrypted or not, not logs and settings."""
    path = write_zip(tmp_path / "a.zip", MEMBERS, password)
    (found,) = open_results(path, password)
    assert found.name == "a.zip/run_result_x.json"
    assert list(found.records()) == RECORDS
    assert [p.name for p in tmp_path.iterdir()] == ["a.zip"]


def test_digest_does_not_depend_on_the_archive(tmp_path: Path) -> None:
    """The same result has the same digest plain, zipped and encrypted."""
    content = {"a.json": as_json(RECORDS)}
    (plain,) = open_results(write_json(tmp_path / "a.json", RECORDS))
    (zipped,) = open_results(write_zip(tmp_path / "a.zip", content))
    (secret,) = open_results(write_zip(tmp_path / "b.zip", content, "pass"), "pass")
    assert plain.digest == zipped.digest == secret.digest


def test_archive_with_several_results(tmp_path: Path) -> None:
    """Every result file of an archive is found in any folder."""
    members = {"x/one.json": as_json(RECORDS), "two.json": as_json(RECORDS), "x/._one.json": b"?"}
    found = open_results(write_zip(tmp_path / "a.zip", members))
    assert [file.name for file in found] == ["a.zip/one.json", "a.zip/two.json"]


def test_a_folder_has_result_files_and_archives(tmp_path: Path) -> None:
    """A folder is read like an archive, with the archives in it; others stand for themselves."""
    for name in (
        "one/a_result.json",
        "one/a_result.yaml",
        "notes.txt",
        "settings.json",
        "two/b.zip",
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    found = result_files(tmp_path)

    assert found == [tmp_path / "one" / "a_result.json", tmp_path / "two" / "b.zip"]
    assert unread_members(tmp_path) == ["settings.json"]
    assert result_files(tmp_path / "notes.txt") == [tmp_path / "notes.txt"]
    (tmp_path / "two" / "settings.yml").write_bytes(b"")
    assert result_files(tmp_path / "two") == [tmp_path / "two" / "b.zip"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImportRefused, match="no result file"):
        result_files(tmp_path / "empty")


def test_names_of_members_may_be_in_any_case(tmp_path: Path) -> None:
    """Extensions and the word "result" are recognised in any case."""
    upper = write_zip(tmp_path / "a.zip", {"ONE.JSON": as_json(RECORDS)})
    assert [file.name for file in open_results(upper)] == ["a.zip/ONE.JSON"]
    members = {"RESULT.JSON": as_json(RECORDS), "RESULT.YAML": b"- a", "Results.YML": b"- a"}
    found = open_results(write_zip(tmp_path / "b.zip", members))
    assert [file.name for file in found] == ["b.zip/RESULT.JSON", "b.zip/Results.YML"]
    assert list(found[1].records()) == ["a"]


@pytest.mark.parametrize("password", [None, "secret"])
def test_members_that_are_not_read_are_listed(tmp_path: Path, password: str | None) -> None:
    """Documents beside those with "result" in their names are listed, and inner archives."""
    members = {**MEMBERS, "x/modelB.json": as_json(RECORDS), "x/more.ZIP": b"", "._x.json": b"?"}
    path = write_zip(tmp_path / "a.zip", members, password)
    assert unread_members(path) == ["settings.json", "x/modelB.json", "x/more.ZIP"]
    assert unread_members(write_json(tmp_path / "a.json", RECORDS)) == []


def test_missing_password_is_said(tmp_path: Path) -> None:
    """An encrypted archive without a password is refused with a hint how to give one."""
    path = write_zip(tmp_path / "a.zip", MEMBERS, "secret")
    with pytest.raises(ImportRefused, match="--password or set KGBENCH_ARCHIVE_PASSWORD"):
        open_results(path)


def test_wrong_password_is_said(tmp_path: Path) -> None:
    """An encrypted archive with a wrong password is refused without showing the password."""
    path = write_zip(tmp_path / "a.zip", MEMBERS, "secret")
    with pytest.raises(ImportRefused, match=r"a\.zip: the password is wrong") as caught:
        open_results(path, "guess")
    assert "guess" not in str(caught.value)


@pytest.mark.parametrize("password", [None, "secret"])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.99])
def test_truncated_archive_is_refused(tmp_path: Path, password: str | None, share: float) -> None:
    """A truncated archive is refused, wherever it was cut."""
    path = write_zip(tmp_path / "a.zip", MEMBERS, password)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(ImportRefused, match="truncated or damaged"):
        open_results(path, password)


@pytest.mark.parametrize("password", [None, "secret"])
def test_damaged_archive_is_refused(tmp_path: Path, password: str | None) -> None:
    """A damaged archive is refused and never read in part."""
    path = write_zip(tmp_path / "a.zip", {"a.json": as_json(RECORDS * 50)}, password)
    content = bytearray(path.read_bytes())
    for at in range(90, 140):
        content[at] ^= 0x5A
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=r"a\.zip"):
        open_results(path, password)


def test_archive_without_result_is_refused(tmp_path: Path) -> None:
    """An archive without JSON is refused with that reason."""
    path = write_zip(tmp_path / "a.zip", {"a.yaml": b"- a"})
    with pytest.raises(ImportRefused, match="no result file"):
        open_results(path)


def test_size_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file larger than the limit, packed or unpacked, is refused before it is unpacked."""
    bomb = write_zip(tmp_path / "a.zip", {"a.json": b"[" + b" " * 200_000 + b"]"})
    plain = tmp_path / "a.json"
    plain.write_bytes(b" " * 200_000)
    assert bomb.stat().st_size < 2_000
    monkeypatch.setattr(archives, "MAX_BYTES", 100_000)
    for path in (bomb, plain):
        with pytest.raises(ImportRefused, match="100000"):
            open_results(path)


def test_number_of_members_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An archive with too many files is refused."""
    path = write_zip(tmp_path / "a.zip", MEMBERS)
    monkeypatch.setattr(archives, "MAX_MEMBERS", 3)
    with pytest.raises(ImportRefused, match="too many"):
        open_results(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
    ],
)
def test_empty_file_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """An empty file is refused with that reason."""
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=message):
        open_results(path)


def test_missing_file_and_folder_are_refused(tmp_path: Path) -> None:
    """A missing file and a folder are refused by name."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ImportRefused, match="cannot be read"):
            open_results(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[{]", "not JSON"),
        (b'[{"a": 1}', "not JSON"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "not"),
        (b"[nan]", "not JSON"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" + b"9" * 5_000 + b"]", "not JSON"),
        (b'["\xff\xfe"]', "byte 2 is not valid utf-8"),
        (b'{"a": 1}', "a list of records was expected, found an object"),
        (b'"a"', "found a text"),
        (b"null", "found null"),
        (b"3", "found a number"),
        (b"true", "found a truth value"),
        (b"[]", "the list of records is empty"),
    ],
)
def test_what_is_no_list_of_records_is_refused(content: bytes, message: str) -> None:
    """Anything but a JSON list is refused with the file and the type found."""
    with pytest.raises(ImportRefused, match=message) as caught:
        list(ResultFile("a.json", content).records())
    assert str(caught.value).startswith("a.json: ")


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF8 + '["ä"]'.encode(),
        '["ä"]'.encode("utf-16"),
        '["ä"]'.encode("utf-16-le"),
    ],
)
def test_encodings_of_json_are_read(content: bytes) -> None:
    """JSON in UTF-16, or in UTF-8 with a byte order mark, is read."""
    assert list(ResultFile("a.json", content).records()) == ["ä"]


def test_control_characters_and_surrogates_survive() -> None:
    """Control characters and lone surrogates, escaped or as bytes, are kept unchanged."""
    raw = b'["a\tb\x01", "\\ud800", "' + "\udfff".encode("utf-8", "surrogatepass") + b'"]'
    assert list(ResultFile("a.json", raw).records()) == ["a\tb\x01", "\ud800", "\udfff"]
