# SPDX-License-Identifier: Apache-2.0
"""Checks of hand-written folders and files, with faults that publishing never makes."""

from __future__ import annotations

import gzip
import os
import tempfile
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.publish import dumps
from kgbench.publish.checks import (
    Report,
    check,
    publication_files,
    shapes,
)
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.vocab import DCAT, DCTERMS, KGB, PROV, RDF, SKOS, SPDX, XSD
from tests.publish.checks.published_folder import NAMES

BASE = "https://w3id.org/example/bench/"
DATA, CATALOG = "data/other.nq", "catalog.ttl"
LD = '<script type="application/ld+json">{}</script>'
CATALOGUE = f"""
<{BASE}#catalog> <{DCAT.dataset}> <{BASE}#dataset> .
<{BASE}#dataset> <{DCAT.distribution}> <{BASE}{DATA}> , <{BASE}robots.txt> , <urn:away> .
<{BASE}{DATA}> <{DCAT.downloadURL}> <{BASE}{DATA}> ; <{DCAT.mediaType}> "application/n-quads" .
<urn:sum> <{SPDX.checksumValue}> "{"0" * 64}" .
<{BASE}robots.txt> <{DCAT.downloadURL}> <{BASE}robots.txt> ;
  <{DCAT.mediaType}> "application/n-quads" .
<urn:plain> <{DCAT.downloadURL}> <{BASE}index.html> .
<urn:away> <{DCAT.downloadURL}> <{BASE}../secret> , <{BASE}data/lost.nq> ; <{DCAT.byteSize}> 7 .
"""
LANDING = (
    LD.format("{oops")
    + LD.format("[" * 100_000)
    + LD.format('[{"@type": ["Thing", "Dataset"], "@id": "urn:d", "name": "n"}, 7]')
    + f'<a href="{BASE}lost/">a</a> <a href="{BASE}">b</a> <a href="http://[x/">c</a>'
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a dump, a catalogue and a landing page."""
    root = tmp_path / "site"
    (root / "data").mkdir(parents=True)
    (tmp_path / "secret").write_text("what nobody may see")
    (root / DATA).write_text("<urn:a> <urn:b> <urn:c> .\n")
    (root / CATALOG).write_text(CATALOGUE)
    (root / "robots.txt").write_text("User-agent: *\n")
    (root / "index.html").write_text(LANDING)
    return root


def told(report: Report, constraint: str) -> list[tuple[str, str]]:
    """Return file and message of each fault of a constraint."""
    return [(one.file, one.message) for one in report.faults if one.constraint == constraint]


def test_a_term_too_long_for_the_parser_is_unreadable(folder: Path) -> None:
    """A text of more than 16 MiB, at which the parser gives up, is reported with its file."""
    (folder / DATA).write_text(f'<urn:a> <urn:b> "{" " * (17 << 20)}" .\n')
    [(file, message)] = told(check(folder / DATA, names=NAMES), "readable")
    assert file == "other.nq"
    assert "buffer maximal size" in message


def test_links_by_the_address_of_the_site(folder: Path) -> None:
    """An absolute link into the site is followed like others, and an invalid link is reported."""
    links = [said for _, said in told(check(folder, names=NAMES), "dead-link") if "link" in said]
    assert f"The link {BASE}lost/ does not lead to a file." in links
    assert "The link http://[x/ is not a valid address." in links
    assert not [one for one in links if f"{BASE} " in one]


def test_links_are_reported_and_not_followed(folder: Path) -> None:
    """A link, to a file or a folder, and a pipe are faults; nothing behind them is read."""
    outside = folder.parent / "home"
    outside.mkdir()
    (outside / "run-1.nq").write_text("no quad")
    (outside / "mine.html").write_text("sk-abcdefghijklmnopqrstuvwxyz")
    for name, target in (("runs", outside), ("leaderboard", outside), ("a.html", "home/mine.html")):
        (folder / name).symlink_to(target)
    (folder / "data" / "run-1.nq").symlink_to(outside / "run-1.nq")
    os.mkfifo(folder / "data" / "run-2.nq")  # reading it would wait for ever
    (folder / "SHA256SUMS").write_text(f"{'0' * 64}  a.html\n{'0' * 64}  data/run-2.nq\n")
    report = check(folder, names=NAMES)
    message = "It is {}, but a publication has only files and folders."
    assert told(report, "readable") == [
        ("a.html", message.format("a symbolic link")),
        ("data/run-1.nq", message.format("a symbolic link")),
        ("data/run-2.nq", message.format("a named pipe")),
        ("leaderboard", message.format("a symbolic link")),
        ("runs", message.format("a symbolic link")),
    ]
    assert told(report, "secret") == []
    assert ("a.html", "SHA256SUMS lists a missing file.") in told(report, "checksum")


def test_list_of_checksums(folder: Path) -> None:
    """A missing list of checksums is reported, and so is each invalid line of one."""
    assert told(check(folder, names=NAMES), "checksum") == [
        ("SHA256SUMS", "There is no file of checksums.")
    ]
    (folder / "SHA256SUMS").write_text("dragons\n")
    assert told(check(folder, names=NAMES), "checksum") == [
        ("SHA256SUMS", "A line is not a checksum: dragons"),
        (CATALOG, "The file is not in SHA256SUMS."),
        (DATA, "The file is not in SHA256SUMS."),
        ("index.html", "The file is not in SHA256SUMS."),
        ("robots.txt", "The file is not in SHA256SUMS."),
    ]


def test_catalogue_of_nothing(folder: Path) -> None:
    """A catalogue without an IRI is a fault, because the publication's IRI derives from it."""
    (folder / CATALOG).write_text(f"[] <{DCAT.dataset}> <{BASE}#dataset> .")
    found = told(check(folder, names=NAMES), "catalogue")
    assert found == [(CATALOG, "No catalogue with an IRI has a data set.")]


def test_private_addresses_are_told(tmp_path: Path) -> None:
    """An IRI in a private network is reported with its file."""
    (tmp_path / "a.nt").write_text("<urn:a> <urn:b> <http://gpu-7:8000/v1> .\n")
    found = told(check(tmp_path / "a.nt", names=NAMES), "private")
    assert found == [("a.nt", "It reveals a private address: http://gpu-7:8000/v1...")]


@pytest.mark.parametrize(
    ("data", "clear"),
    [
        (
            '{"question": "which?", "uid": "q1", "none": null}',
            "question",
        ),
        ('["which?"]', "all"),
        ("no JSON", "all"),
        ("[" * 100_000, "all"),
        ('{"uid": "q1"}', None),
        ("{}", None),
    ],
)
def test_cases_in_the_clear(tmp_path: Path, data: str, clear: str | None) -> None:
    """Case data of a protected suite is reported in any form, but no identifier."""
    said: list[tuple[str, str, ox.NamedNode | ox.Literal]] = [
        ("urn:suite", RDF.type, ox.NamedNode(KGB.Suite)),
        ("urn:suite", KGB.protected, ox.Literal(value=True)),
        ("urn:suite", SKOS.notation, ox.Literal("secret-suite")),
        ("urn:case", KGB.suite, ox.NamedNode("urn:suite")),
        ("urn:case", KGB.caseData, ox.Literal(data)),
    ]
    quads = [ox.Quad(ox.NamedNode(s), ox.NamedNode(p), o) for s, p, o in said]
    path = tmp_path / "a.nq"
    ox.serialize(quads, path, format=ox.RdfFormat.N_QUADS)
    wanted = f"It reveals {clear} of a case of the protected suite secret-suite."
    found = told(check(path, names=NAMES), "protected-case")
    assert found == ([] if clear is None else [("a.nq", wanted)])
    assert told(check(path, names=NAMES, unprotected={"secret-suite"}), "protected-case") == []


def test_prompts_of_suites_that_may_be_told(tmp_path: Path) -> None:
    """The prompts of protected suites are reported, except those of the named suites."""
    lines = []
    for name in ("one", "one-more"):
        about = (
            ("suite", KGB.protected, '"true"^^xsd:boolean'),
            ("suite", SKOS.notation, f'"{name}"'),
        )
        lines += [f"<urn:{s}-{name}> <{p}> {o} ." for s, p, o in about]
        lines += [
            f"<urn:{subject}-{name}> <{predicate}> <{value}> ."
            for subject, predicate, value in (
                ("suite", RDF.type, KGB.Suite),
                ("dialogue", RDF.type, KGB.Dialogue),
                ("dialogue", KGB.suite, f"urn:suite-{name}"),
                ("call", DCTERMS.isPartOf, f"urn:dialogue-{name}"),
                ("call", PROV.used, f"urn:prompt-{name}"),
                ("prompt", KGB.text, f"urn:text-{name}"),
            )
        ]
        lines.append(f'<urn:text-{name}> <{PROV.value}> "which dragon?" .')
    (tmp_path / "a.ttl").write_text(f"@prefix xsd: <{XSD}> .\n" + "\n".join(lines))
    for names in (("one",), ("one-more",), ("one", "one-more")):
        report = check(tmp_path / "a.ttl", names=NAMES, unprotected=names)
        found = {one.node for one in report.faults if one.constraint == "protected-prompt"}
        assert found == {f"urn:prompt-{n}" for n in ("one", "one-more") if n not in names}


def test_large_dumps_are_kept_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of large dumps has the same result and leaves no files behind."""
    (tmp_path / "a.nq").write_text('<urn:a> <urn:b> "/home/ann/x" <urn:g> .\n')
    small = check(tmp_path / "a.nq", names=NAMES).as_json()
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    monkeypatch.setattr(publication_files, "_LARGE", 0)
    with PublicationFiles([tmp_path / "a.nq"]) as found:
        assert [path.name[:14] for path in scratch.iterdir()] == ["kgbench-check-"]
        assert len(found.quads) == 1
    assert check(tmp_path / "a.nq", names=NAMES).as_json() == small
    assert list(scratch.iterdir()) == []


def test_dumps_that_unpack_to_too_much_are_not_checked(tmp_path: Path) -> None:
    """A small dump that unpacks to more than the limit is refused, which names the option."""
    (tmp_path / "a.nq.gz").write_bytes(gzip.compress(b"<urn:a> <urn:b> <urn:c> .\n" * 50_000))
    with pytest.raises(PublicationRefused, match="--most"):
        check(tmp_path / "a.nq.gz", max_bytes=1_000_000)


def test_errors_of_readers_are_no_damage(tmp_path: Path) -> None:
    """An error of the code that reads a file's content is not reported as a damaged file."""
    (tmp_path / "a.nq").write_text("")
    with pytest.raises(KeyError, match="mine"), dumps.opened(tmp_path / "a.nq", None):
        raise KeyError("mine")


SHAPE = (
    "@prefix sh: <http://www.w3.org/ns/shacl#> . <urn:s> a sh:NodeShape ; sh:targetClass <urn:C> ; "
)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.txt", "no shapes", "a.txt cannot be read"),
        ("a.jsonld", "{", "a.jsonld cannot be read"),
        ("a.rdf", "<rdf", "a.rdf cannot be read"),
        ("a.ttl", SHAPE + "sh:pattern '(' .", "a.ttl: the shapes cannot be used"),
        ("a.ttl", SHAPE + "sh:sparql [ sh:select 'SELECT' ] .", "the query is not SPARQL"),
        ("a.ttl", SHAPE + "sh:sparql [ sh:select '{ ?x ?y ?z }' ] .", "is no SELECT query"),
        ("a.ttl", SHAPE + "sh:property [ sh:path <urn:p> ; sh:minCount 'x' ] .", "sh:minCount"),
    ],
)
def test_shapes_that_cannot_be_used_are_refused(
    tmp_path: Path, name: str, text: str, words: str
) -> None:
    """Invalid shapes of others are refused with a message."""
    (tmp_path / name).write_text(text)
    said = [ox.Quad(ox.NamedNode("urn:c"), ox.NamedNode(RDF.type), ox.NamedNode("urn:C"))]
    with pytest.raises(ResourceError, match=words):
        list(shapes.official(said, tmp_path / name, lambda _: ""))
