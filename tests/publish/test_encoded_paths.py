# SPDX-License-Identifier: Apache-2.0
"""Encoded local paths, and keys in addresses, are removed, and found by the check."""

from __future__ import annotations

import pytest

from kgbench.publish.checks import withheld
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.scrubbing import Scrubber, hosts_and_people
from kgbench.vocab import KGB, PROV, RDF

KEY = "sk-proj-" + "Ab3" * 10


@pytest.mark.parametrize("sign", ["%20", "%3D", "%3d"])
def test_paths_after_encoded_signs(sign: str) -> None:
    """The space in a command of a spec is encoded, so the path follows a digit or letter."""
    spec = f"openai:gpt-5.2?mcp=python{sign}/home/ann/server.py"
    scrubbed = Scrubber().text(spec)
    assert scrubbed == f"openai:gpt-5.2?mcp=python{sign}[path]"
    assert list(Scrubber().private_parts(spec))
    assert not list(Scrubber().private_parts(scrubbed))


def test_words_around_slashes_remain() -> None:
    """A slash after an ordinary word starts no path."""
    assert Scrubber().text("openai/gpt/oss of meta/home/page") == "openai/gpt/oss of meta/home/page"


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("mcp=python%20%2Fhome%2Fann%2Fx.py&n=1", "mcp=python%20[path]&n=1"),
        ("path=%2fUsers%2fann%2fx", "path=[path]"),
        ("%252Fhome%252Fann%252Fx is encoded twice", "[path] is encoded twice"),
        ("C%3A%5CUsers%5Cann%5Cx.py", "[path]"),
        ("in ~ann/models/llama", "in [path]"),
    ],
)
def test_encoded_paths_and_homes(text: str, scrubbed: str) -> None:
    """Paths with encoded separators, and below the home of a named user, are local paths."""
    assert Scrubber().text(text) == scrubbed
    assert list(Scrubber().private_parts(text))
    assert not list(Scrubber().private_parts(scrubbed))


@pytest.mark.parametrize(
    "text",
    [
        "openai:meta-llama%2FLlama-3%2FInstruct",
        "50%2F50 of a%2Fb%2Fc",
        "/v1%2Fchat",
        "see http://example.org/~ann/page and ~5/7 of all",
    ],
)
def test_other_encoded_texts_remain(text: str) -> None:
    """Names with encoded slashes, numbers and public addresses are no local paths."""
    assert Scrubber().text(text) == text
    assert not list(Scrubber().private_parts(text))


def test_owners_of_encoded_homes_are_known() -> None:
    """The name of a home in an encoded path is a name of a person."""
    assert hosts_and_people(["mcp=python%20%2Fhome%2Fdragonann%2Fx.py"]) == {"dragonann"}


@pytest.mark.parametrize(
    ("predicate", "value", "kind"),
    [
        ("<urn:p>", f"<https://example.org/{KEY}/sparql>", "secret"),
        ("<urn:p>", "<https://example.org/sparql?token=0123456789abcdef>", "secret"),
        (f"<{PROV.value}>", '"file: /home/ann/x.ttl"', "private"),
    ],
)
def test_the_check_finds_them_in_dumps(tmp_path, predicate: str, value: str, kind: str) -> None:
    """Keys in IRIs and local paths in the texts of configurations are faults."""
    dump = tmp_path / "run-1.nq"
    dump.write_text(
        f"<urn:c> <{RDF.type}> <{KGB.Configuration}> .\n<urn:c> {predicate} {value} .\n"
    )
    with PublicationFiles([dump]) as published:
        [fault] = withheld.private(published, ())
    assert (fault.constraint, fault.node, fault.file) == (kind, "urn:c", "run-1.nq")


@pytest.mark.parametrize(
    "iri", [f"https://example.org/{KEY}", "urn:x:%2Fhome%2Fann", "http://gpu/"]
)
@pytest.mark.parametrize("statement", ["{} <p:> <o:>", "<s:> {} <o:>", "<s:> <p:> <o:> {}"])
def test_the_check_finds_iris_in_all_positions(tmp_path, statement: str, iri: str) -> None:
    """Subjects, predicates and graphs are searched as objects are, and each IRI is named once."""
    dump = tmp_path / "run-1.nq"
    line = statement.format(f"<{iri}>")
    dump.write_text(f"{line} .\n{line} .\n".replace(":>", ":x>"))
    with PublicationFiles([dump]) as published:
        [fault] = withheld.private(published, ())
    assert fault.constraint == ("secret" if KEY in iri else "private")
    assert fault.file == "run-1.nq"
