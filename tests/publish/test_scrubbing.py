# SPDX-License-Identifier: Apache-2.0
"""Statements that leave a store reveal no key, host, person or path, and the check finds any."""

from __future__ import annotations

import getpass
import socket
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest

from kgbench.publish import scrubbing
from kgbench.publish.checks import withheld
from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.redaction import Addresses, RedactionLevel
from kgbench.publish.scrubbing import Scrubber, hosts_and_people
from kgbench.secrets import SecretDetector, secrets_in_environment
from kgbench.store.publication_keys import PublicationKey
from kgbench.vocab import KGB, PROV, RDF, RDFS, XSD

KEY = "sk-proj-" + "Ab3" * 10
REMOVED = {
    "Bearer abcdef123456": "Bearer [key]",
    "?api_key=verysecret&x=1": "?api_key=[key]&x=1",
    r"C:\Users\ann\run.txt is missing": "[path] is missing",
    "File '/usr/lib/python3/x.py', line 3": "File '[path]', line 3",
    "~/models/llama and ../data/x/y": "[path] and [path]",
    "connect to [fe80::1]:80 or 192.168.0.1:8000": "connect to [address] or [address]",
    "at db.internal:5432 on localhost": "at [host] on [host]",
    "nothing on localhost": "nothing on [host]",
    "mail ann@example.net": "mail [address]",
    "file:///srv/x and postgres://u:p@h/db": "[address] and [address]",
    "https://u:p@api.openai.com/": "[address]",
}
PATHS = {  # these are found by the check as well
    "openai:gpt-5.2?mcp=python%20/home/ann/x.py": "openai:gpt-5.2?mcp=python%20[path]",
    "openai:gpt-5.2?mcp=python%3D/home/ann/x.py": "openai:gpt-5.2?mcp=python%3D[path]",
    "openai:gpt-5.2?mcp=python%3d/home/ann/x.py": "openai:gpt-5.2?mcp=python%3d[path]",
    "mcp=python%20%2Fhome%2Fann%2Fx.py&n=1": "mcp=python%20[path]&n=1",
    "path=%2fUsers%2fann%2fx": "path=[path]",
    "%252Fhome%252Fann%252Fx is encoded twice": "[path] is encoded twice",
    "C%3A%5CUsers%5Cann%5Cx.py": "[path]",
    "in ~ann/models/llama": "in [path]",
}
KEPT = (
    "https://api.openai.com/v1/chat said 429",
    "5/7 of TCP/IP, and/or 3:45:10, 1.2.3",
    "gpt-4o-mini-2024-07-18",
    "openai/gpt/oss of meta/home/page",
    "openai:meta-llama%2FLlama-3%2FInstruct",
    "50%2F50 of a%2Fb%2Fc",
    "/v1%2Fchat",
    "see http://example.org/~ann/page and ~5/7 of all",
)
RULES = RedactionRules(
    RedactionLevel.NONE, Scrubber(()), PublicationKey(bytes(32)), RedactionLevel.NONE
)
SECRET = "a+key/with=signs"
ANY_URI = ox.NamedNode(XSD.anyURI)
STORE, BASE = "https://w3id.org/kgbench/", "https://example.org/bench/"


@pytest.mark.parametrize("text", [*REMOVED, *PATHS, *KEPT])
def test_scrubbing(text: str) -> None:
    """Keys, hosts, paths and names are removed, also encoded ones, and similar texts stay."""
    scrubbed = Scrubber().text(text)
    assert scrubbed == {**REMOVED, **PATHS}.get(text, text)
    assert not list(Scrubber().private_parts(scrubbed))
    assert bool(list(Scrubber().private_parts(text))) or text not in PATHS


def test_own_names_and_secrets_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of the machine and its user, and keys in the environment, are removed."""
    monkeypatch.setattr(socket, "gethostname", lambda: "planted-host.example")
    monkeypatch.setattr(getpass, "getuser", lambda: "plantedlogin")
    monkeypatch.setenv("PLANTED_API_KEY", "a value like no other")
    secrets = SecretDetector(secrets_in_environment())
    found = Scrubber(scrubbing.local_names(), secrets)
    said = found.text("plantedlogin on planted-host: a value like no other")
    assert said == "[name] on [name]: [key]"
    assert found.tells("so: a value like no other.")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("http://llama.corp/v1 http://gpu-7.corp/v1", {"llama.corp", "gpu-7.corp", "gpu-7"}),
        ("mcp=python%20%2Fhome%2Fdragonann%2Fx.py", {"dragonann"}),
        (
            "https://[bad/ and https://ann:pw-1@gpu-7.lab:8000/v1",
            {"ann", "pw-1", "gpu-7.lab", "gpu-7"},
        ),
    ],
)
def test_hosts_and_people_are_known(text: str, names: set[str]) -> None:
    """Hosts, users and owners of homes are names; words that are names of models are none."""
    assert hosts_and_people([text]) == names


def test_words_are_not_taken_for_machines() -> None:
    """The host ``llama.corp`` does not remove the name of models called llama."""
    found = Scrubber(hosts_and_people(["http://llama.corp/v1", "http://gpu-7.corp/v1"]))
    assert found.text("llama-3 at llama.corp, gpu-7") == "llama-3 at [host], [name]"


@pytest.mark.parametrize(
    ("iri", "public", "private"),
    [
        ("https://[bad/", False, True),
        ("file:///etc/passwd", False, True),
        ("https://ann:secret@example.org/", False, True),
        ("urn:isbn:1", True, False),
        ("https://example.org/x", True, False),
        ("https://lab.example/x", False, False),
        ("http://10.0.0.1/", False, True),
    ],
)
def test_addresses_of_everyone_and_of_nobody(iri: str, *, public: bool, private: bool) -> None:
    """Unknown hosts are not public; unreadable and local addresses are private."""
    assert (scrubbing.is_public(iri), scrubbing.is_private(iri)) == (public, private)


@pytest.mark.parametrize(
    ("predicate", "value", "kind"),
    [
        ("<urn:p>", f"<https://example.org/{KEY}/sparql>", "secret"),
        ("<urn:p>", "<https://example.org/sparql?token=0123456789abcdef>", "secret"),
        (f"<{PROV.value}>", '"file: /home/ann/x.ttl"', "private"),
    ],
)
def test_the_check_finds_them_in_dumps(
    tmp_path: Path, predicate: str, value: str, kind: str
) -> None:
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
def test_the_check_finds_iris_in_all_positions(tmp_path: Path, statement: str, iri: str) -> None:
    """Subjects, predicates and graphs are searched as objects are, and each IRI is named once."""
    dump = tmp_path / "run-1.nq"
    line = statement.format(f"<{iri}>")
    dump.write_text(f"{line} .\n{line} .\n".replace(":>", ":x>"))
    with PublicationFiles([dump]) as published:
        [fault] = withheld.private(published, ())
    assert fault.constraint == ("secret" if KEY in iri else "private")
    assert fault.file == "run-1.nq"


def published(subject: str, *said: tuple[str, ox.NamedNode | ox.Literal]) -> set[ox.Triple]:
    """Return the published triples about a subject (relative to the base of the store)."""
    node = ox.NamedNode(STORE + subject)
    database = ox.Store()
    database.extend(
        ox.Quad(node, ox.NamedNode(name), value, ox.NamedNode(f"{STORE}graph/{subject}"))
        for name, value in said
    )
    outgoing = QuadRedactor(database, Addresses(STORE, BASE), RULES)
    quads = list(database.quads_for_pattern(node, None, None))
    return {quad.triple for quad in outgoing.subject(quads)}


def test_addresses_with_keys_are_left_out() -> None:
    """A statement whose object is an address with a key is not published."""
    public = ox.NamedNode("https://query.wikidata.org/sparql?format=json")
    secret = ox.NamedNode(f"{public.value}&token=0123456789abcdef0123")
    inside = ox.NamedNode(f"https://query.wikidata.org/sk-proj-{'Ab3' * 10}/sparql")
    said = [(KGB.caseEndpoint, node) for node in (public, secret, inside)]
    found = published("case/1", (RDF.type, ox.NamedNode(KGB.Case)), *said)
    assert {t.object for t in found if t.predicate.value == KGB.caseEndpoint} == {public}


REVEALING = (
    f"https://example.org/sk-proj-{'Ab3' * 10}/x",
    f"{STORE}thing/sk-proj-{'Ab3' * 10}",
    f"{STORE}thing/{SECRET.replace('+', '%2B')}",
    f"{STORE}thing/%2Fhome%2Fann%2Fx",
    "urn:x:/home/ann/x",
    "http://gpu-7:8000/v1",
    "https://dragonhost.uni-leipzig.de/v1",
    "file:///srv/x",
)


@pytest.mark.parametrize("iri", REVEALING)
@pytest.mark.parametrize("position", range(6))
def test_no_iri_of_a_statement_reveals_anything(iri: str, position: int) -> None:
    """Keys, hosts, paths and names are searched for in subject, predicate, object and graph.

    Datatypes and addresses as literals are searched, too.
    """
    node, revealing = ox.NamedNode(f"{STORE}case/1"), ox.NamedNode(iri)
    values = {4: ox.Literal("x", datatype=revealing), 5: ox.Literal(iri, datatype=ANY_URI)}
    terms: list[Any] = [node, ox.NamedNode(PROV.used), values.get(position, node), node]
    if position < len(terms):
        terms[position] = revealing
    database = ox.Store()
    database.add(ox.Quad(*terms))
    scrubber = Scrubber(["dragonhost"], SecretDetector([SECRET]))
    outgoing = QuadRedactor(database, Addresses(STORE, BASE), RULES._replace(scrubber=scrubber))
    assert list(outgoing.graph(terms[3].value)) == []


def test_names_in_public_iris_remain() -> None:
    """The name of a machine may be a word of the vocabulary or of a public address."""
    scrubber = Scrubber(["dragonhost"])
    for host in ("w3id.org/kgbench", "github.com"):
        assert scrubber.revealed(f"https://{host}/dragonhost") is None


def test_texts_of_other_datatypes_are_scrubbed() -> None:
    """A text with the datatype of others keeps it, and is searched as plain texts are."""
    datatype = ox.NamedNode("https://example.org/Note")
    found = published("case/1", (RDFS.comment, ox.Literal("in /home/ann/x", datatype=datatype)))
    assert [t.object for t in found] == [ox.Literal("in [path]", datatype=datatype)]
