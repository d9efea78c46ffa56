# SPDX-License-Identifier: Apache-2.0
"""Errors in external data are found and named, and unusable data is refused."""

from __future__ import annotations

import codecs
import json
import socket
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from kgbench.datasets import descriptions, home, install, json_files
from kgbench.datasets.text2kgbench import Concept, Fact, Part, Relation, Sentence, read_part
from kgbench.datasets.text2kgbench_prompts import write_lists
from kgbench.errors import ImportRefused, ResourceError, TaskError
from kgbench.importers.text2kgbench_catalogue import Problem, ontology_lines, problems
from kgbench.store.iris import Iris
from kgbench.vocab import VOID
from tests.datasets.test_install import data, described
from tests.publish.static import serving
from tests.support import text2kg_data

__all__ = ["data"]  # a fixture: invented data, with an empty folder for installations

TOP = "wikidata_tekgen"
ID = "ont_1_bridge"


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> Part:
    """Return the invented data, read."""
    return read_part(text2kg_data.write(tmp_path_factory.mktemp("data")), TOP, "bridge")


def new(part: Part, **changes: object) -> set[Problem]:
    """Return the additional problems of a changed part."""
    return set(problems(replace(part, **changes))) - set(problems(part))


def test_faults_of_an_ontology_are_named(part: Part) -> None:
    """Repeated ids and labels, and labels with outer blanks, are problems."""
    of = part.ontology
    odd = replace(
        of,
        concepts=(*of.concepts, Concept("Q1", "quay ")),
        relations=(*of.relations, Relation("P5", "spans", "", "")),
    )

    assert new(part, ontology=odd) == {
        Problem("duplicate-concept-id", ID, "Q1 occurs 2 times"),
        Problem("duplicate-relation-label", ID, "'spans' occurs 2 times"),
        Problem("blank-in-label", ID, "'quay '"),
    }


def test_files_may_begin_with_a_byte_order_mark(tmp_path: Path) -> None:
    """A byte order mark at the beginning of a file, and only there, is not part of its text."""
    root = text2kg_data.write(tmp_path)
    plain = read_part(root, TOP, "bridge")
    for path in (root / TOP).rglob("*"):
        if path.is_file():
            path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert read_part(root, TOP, "bridge") == plain

    lines = tmp_path / "lines.jsonl"
    lines.write_bytes(codecs.BOM_UTF8 + b'{}\n"\xff"')
    with pytest.raises(ImportRefused, match="byte 7 is not UTF-8"):
        list(json_files.read_json_lines(lines))
    lines.write_bytes(b"{}\n" + codecs.BOM_UTF8 + b"{}")
    with pytest.raises(ImportRefused, match="jsonl:2: the line is not valid JSON"):
        list(json_files.read_json_lines(lines))


def test_subsets_have_the_size_of_their_sentences(part: Part) -> None:
    """The size of the verified subset counts sentences, not the ids of a list."""
    listed = replace(part, verified=part.verified | {"none"})
    (verified,) = (
        line
        for line in ontology_lines(Iris(), listed, {})
        if "/verified> <" in line and VOID.entities in line
    )
    assert '"1"' in verified


def test_faults_of_sentences_are_named(part: Part) -> None:
    """Repeated ids and facts, unresolved names and differing texts are problems."""
    first = part.test[0]
    fact = Fact("Larn Bridge", "spans", "Ossel")
    odd = (Sentence(first.id, first.text, (fact, fact)), *part.test[1:])
    again = replace(part.train[0], id=first.id, text="Another.")
    lists = {"similarity-list": {first.id: ("nobody",)}}
    asked = {**part.test_texts, part.test[1].id: "Another text.", "new": "A text."}

    assert new(part, test=odd) == {Problem("duplicate-fact", first.id, "'spans' 2 times")}
    assert new(part, validation=(again,)) == {
        Problem("duplicate-id", first.id, "occurrence 2 in test")
    }
    assert new(part, lists=lists) == {Problem("unknown-training-id", first.id, "nobody")}
    assert new(part, verified=part.verified | {"none"}) == {
        Problem("unknown-verified-id", ID, "none")
    }
    assert new(part, test_texts=asked) == {
        Problem("test-file-differs", part.test[1].id, "the text differs"),
        Problem("test-file-differs", "new", "one lacks it"),
    }
    assert new(part, test_texts={}) == set()


def test_what_a_part_has_not_is_said(part: Part, tmp_path: Path) -> None:
    """A split without sentences, or a missing ontology, is refused by name."""
    assert [s.id for s in part.sentences("verified")] == [text2kg_data.test_id(0)]
    with pytest.raises(TaskError, match="bridge of wikidata_tekgen has no split 'unseen'"):
        part.sentences("unseen")
    root = text2kg_data.write(tmp_path)
    with pytest.raises(ImportRefused, match="has no ontology called 'ridge'"):
        read_part(root, TOP, "ridge")
    longer = root / TOP / "ontologies" / "0_old_bridge_ontology.json"
    longer.write_text("not read")
    assert read_part(root, TOP, "bridge") == part


def test_an_ontology_may_leave_ends_open(tmp_path: Path) -> None:
    """A relation whose domain is null has no domain."""
    root = text2kg_data.write(tmp_path)
    path = root / TOP / "ontologies" / "1_bridge_ontology.json"
    relation = {"pid": "P9", "label": "is near", "domain": None, "range": "Q1"}
    path.write_text(json.dumps({**text2kg_data.ONTOLOGY, "relations": [relation]}))

    assert read_part(root, TOP, "bridge").ontology.relations == (
        Relation("P9", "is near", "", "Q1"),
    )


def test_another_list_of_files_is_refused() -> None:
    """The list of a data set's files must have the declared checksum."""
    with pytest.raises(ResourceError, match="of text2kgbench is not the declared one: reinstall"):
        descriptions._files("text2kgbench", "0" * 64)


def test_the_nearest_sentences_are_listed(part: Part, tmp_path: Path) -> None:
    """Nearness is the cosine, ties keep the order of the data, a zero vector comes last."""
    vectors = {
        "Toll Bridge spans the Wend.": [0.0, 0.0],
        "Iva Rusk drew Kiln Bridge.": [3.0, 3.0],
        "Moss Bridge spans the Ure.": [7.0, 7.0],
    }
    path = write_lists(
        tmp_path,
        part,
        lambda texts: [vectors.get(text, [1.0, 2.0]) for text in texts],
        3,
        lambda: {"model": "mine"},
    )
    train = text2kg_data.train_id
    lists = json.loads(path.read_text())

    assert list(lists) == [sentence.id for sentence in part.test]
    assert lists[part.test[0].id] == [train(2), train(3), train(0)]
    said = json.loads(path.with_suffix(".made-by.json").read_text())
    assert said == {"count": 3, "model": "mine"}


def test_a_copy_takes_the_place_of_the_one_before(data: Path) -> None:
    """A new installation replaces all files; files with another checksum are named."""
    wanted = described(data, "https://example.org")
    told: list[int] = []
    first = install.install(wanted, data, lambda _: [], told.append)
    name = f"{TOP}/train/ont_1_bridge_train.jsonl"
    (data / name).write_text("other\n")
    (data / TOP / "test/ont_1_bridge_test.jsonl").unlink()
    second = install.install(wanted, data, lambda _: [])

    assert (first.differing, first.missing, first.further) == ([], [], [])
    assert told == list(range(1, len(wanted.files) + 1))
    assert second.differing == [name]
    assert second.missing == [f"{TOP}/test/ont_1_bridge_test.jsonl"]
    assert (home.folder_of(wanted.name) / name).read_text() == "other\n"
    assert not (home.folder_of(wanted.name) / TOP / "test").exists()
    assert [path.name for path in home.home().iterdir()] == [wanted.name]


def test_files_that_are_too_large_are_not_installed(data: Path, monkeypatch) -> None:
    """A download stops at the size limit of a file."""
    monkeypatch.setattr(install, "_LARGEST", 10)
    with (
        serving(data) as url,
        pytest.raises(ImportRefused, match="larger than 10 bytes: not fetched; 'install"),
    ):
        install.install(described(data, url.rstrip("/")), None, lambda _: [])
    assert home.installation_record("text2kgbench") is None


@pytest.mark.usefixtures("data")
def test_a_server_that_speaks_otherwise_is_no_traceback() -> None:
    """A response that is not HTTP is reported with an alternative."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(60)

        def answer() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(60)
                connection.recv(65_536)
                connection.sendall(b"220 mail.example ESMTP\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        wanted = replace(descriptions.describe("text2kgbench"), url=url)
        try:
            with pytest.raises(
                ImportRefused, match=r"fetched: .*220 mail.* ESMTP.*; 'install --from DIR"
            ):
                install.install(wanted, None, lambda _: [])
        finally:
            thread.join()
