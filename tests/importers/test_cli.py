# SPDX-License-Identifier: Apache-2.0
"""``kgbench import llm-kg-bench`` on the command line."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app, import_
from kgbench.errors import ImportRefused
from kgbench.record import reading
from kgbench.store import open_reader
from tests.support.archives import as_json, record_v1, record_v3, write_json, write_zip
from tests.support.commands import printed

run = partial(printed, "import", "llm-kg-bench")


def test_import_says_what_it_brought(tmp_path: Path) -> None:
    """The command prints counts for each file, then the sum and the location of the store."""
    first = write_json(tmp_path / "a.json", [record_v3(), record_v3()])
    second = write_json(tmp_path / "b.json", [record_v1()])
    said = run(first, second, "--store", tmp_path / "store").splitlines()
    assert said == [
        "a.json: 2 dialogues, 1 task label, 4 scores of parrot-2 (suite llm-kg-bench-3)",
        "b.json: 1 dialogue, 1 task label, 2 scores of parrot-2 (suite llm-kg-bench-1)",
        "imported 2 runs: 3 dialogues, 6 scores",
        f"store  {tmp_path / 'store'}",
    ]
    again = run(first, "--store", tmp_path / "store").splitlines()
    assert again[0].endswith("(already there)")
    assert again[1] == "imported 0 runs: 0 dialogues, 0 scores; 1 already there"


def test_a_large_import_recommends_to_optimise(tmp_path: Path, monkeypatch) -> None:
    """The hint comes after many new dialogues, and not after an import that brought none."""
    monkeypatch.setattr(import_, "_MANY", 2)
    path = write_json(tmp_path / "a.json", [record_v3(), record_v3()])
    hint = "hint   kgbench store optimize makes so large a store faster and smaller"
    assert run(path, "--store", tmp_path / "store").splitlines()[-1] == hint
    assert hint not in run(path, "--store", tmp_path / "store")


@pytest.mark.parametrize("way", ["option", "environment"])
def test_password_by_option_or_environment(tmp_path: Path, way: str) -> None:
    """The password comes from --password or KGBENCH_ARCHIVE_PASSWORD, and is never printed."""
    path = write_zip(tmp_path / "a.zip", {"a.json": as_json([record_v3()])}, "open sesame")
    by_option = way == "option"
    said = run(
        path,
        "--store",
        tmp_path / "store",
        *(["--password", "open sesame"] if by_option else []),
        env=None if by_option else {"KGBENCH_ARCHIVE_PASSWORD": "open sesame"},
    )
    assert said.startswith("a.zip/a.json: 1 dialogue,")
    assert "sesame" not in said


def test_json_report(tmp_path: Path) -> None:
    """With --json the summaries are one JSON object; --suite names the suite."""
    path = write_json(tmp_path / "a.json", [record_v3()])
    said = json.loads(run(path, "--store", tmp_path / "store", "--suite", "mine", "--json"))
    assert said["store"] == str(tmp_path / "store")
    (one,) = said["runs"]
    assert (one["suite"], one["dialogues"], one["already_there"]) == ("mine", 1, False)


def test_members_that_are_not_read_are_said(tmp_path: Path) -> None:
    """The files of an archive that are not read are named, in both forms of the report."""
    members = {"a_result.json": as_json([record_v3()]), "b.json": as_json([record_v1()])}
    path = write_zip(tmp_path / "a.zip", members)
    said = run(path, "--store", tmp_path / "store").splitlines()
    assert said[1] == "not read: a.zip/b.json"
    report = json.loads(run(path, "--store", tmp_path / "store", "--json"))
    assert report["not_read"] == ["a.zip/b.json"]


def test_refused_file_leaves_those_before_it(tmp_path: Path) -> None:
    """A malformed file is refused as a whole by name; earlier files stay imported."""
    good = write_json(tmp_path / "a.json", [record_v3()])
    broken = record_v3()
    del broken["interactions"]
    members = {"1.json": as_json([record_v1()]), "2.json": as_json([record_v1(), broken])}
    bad = write_zip(tmp_path / "b.zip", members)
    with pytest.raises(ImportRefused, match=r"b\.zip/2\.json: record 1 .*interactions is missing"):
        run(good, bad, "--store", tmp_path / "store")
    with open_reader(str(tmp_path / "store")) as reader:
        assert [info.label for info in reading.runs(reader)] == ["a"]


def test_suite_must_be_a_name(tmp_path: Path) -> None:
    """A suite name that is invalid in an IRI is wrong usage."""
    path = write_json(tmp_path / "a.json", [record_v3()])
    result = CliRunner().invoke(
        app, ["import", "llm-kg-bench", str(path), "--suite", "a b", "--store", "memory:"]
    )
    assert result.exit_code == 2


def test_dialogues_of_another_file_are_reported(tmp_path: Path) -> None:
    """A file that was rewritten or continued says which run has how many of its dialogues."""
    first, second, third = (record_v3(texts=("Ask.", answer)) for answer in ("1", "2", "3"))
    store = tmp_path / "store"
    write_json(tmp_path / "a.json", [first, second])
    rewritten = tmp_path / "b.json"
    rewritten.write_text(json.dumps([second, first], indent=3, sort_keys=True))
    write_json(tmp_path / "c.json", [second, third])
    write_json(tmp_path / "d.json", [third, third])
    run(tmp_path / "a.json", "--store", store)
    report = json.loads(run(rewritten, tmp_path / "c.json", "--store", store, "--json"))
    said = run(tmp_path / "a.json", tmp_path / "d.json", "--store", store).splitlines()
    again = run(tmp_path / "a.json", "--store", store)
    with open_reader(str(store)) as opened:
        iris = {info.label: info.iri for info in reading.runs(opened)}

    assert [one["repeated"] for one in report["runs"]] == [
        {iris["a"]: 2},
        {iris["a"]: 1, iris["b"]: 1},
    ]
    assert said[0].endswith("(already there)")
    assert said[2].startswith(f"  warning: the run {iris['c']} has 2 dialogues of this file, which")
    assert said[2].endswith("remove the run of the smaller one: kgbench store drop")
    assert "warning" not in said[1] + again


def test_copies_in_one_archive_are_reported_once(tmp_path: Path) -> None:
    """Of two files that are imported together, one names the other."""
    copies = {"a.json": as_json([record_v3()]), "b.json": as_json([record_v3()]) + b" "}
    path = write_zip(tmp_path / "a.zip", copies)
    first, second = json.loads(run(path, "--store", tmp_path / "store", "--json"))["runs"]

    assert (first["repeated"], second["repeated"]) == ({second["run"]: 1}, {})


@pytest.mark.parametrize("kind", ["llm-kg-bench", "inspect", "rdf", "grasp", "text2sparql"])
@pytest.mark.parametrize("existing", [[], ["deep"], ["deep", "deep/store"]])
def test_a_refused_import_leaves_no_store(tmp_path: Path, kind: str, existing: list[str]) -> None:
    """Folders that the refused import would have filled are removed, and no others."""
    for name in existing:
        (tmp_path / name).mkdir()
    source = tmp_path / "in.json"
    source.write_text("[]")
    if kind in ("grasp", "text2sparql"):
        source = tmp_path / "in"
        source.mkdir()
    before = sorted(tmp_path.rglob("*"))
    store = tmp_path / "deep" / "store"
    result = CliRunner().invoke(app, ["import", kind, str(source), "--store", str(store)])
    assert isinstance(result.exception, ImportRefused)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_refused_import_keeps_what_is_there(tmp_path: Path) -> None:
    """A store with the results of a file before the refused one is kept, and so is an old one."""
    good = write_json(tmp_path / "a.json", [record_v3()])
    bad = write_json(tmp_path / "b.json", [])
    for files in ([good, bad], [bad]):
        arguments = ["import", "llm-kg-bench", *files, "--store", tmp_path / "store"]
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert isinstance(result.exception, ImportRefused)
        with open_reader(str(tmp_path / "store")) as store:
            assert len(reading.runs(store)) == 1
