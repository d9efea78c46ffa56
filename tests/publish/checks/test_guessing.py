# SPDX-License-Identifier: Apache-2.0
"""Values left out of a publication cannot be guessed; the attack finds those that can."""

from __future__ import annotations

import hashlib
import itertools
import json
import re
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.publish.checks.publication_files import PublicationFiles
from kgbench.rdf import digest
from kgbench.vocab import BASE as STORE
from kgbench.vocab import KGB, PROV, RDF
from tests.publish.checks.guess_attack import Attack
from tests.publish.checks.published_folder import BASE, unpacked
from tests.publish.checks.test_faults import spoilt

CASE = "https://w3id.org/kgbench/case/llm-kg-bench-3/Spell/case/wf9a663d71632"
TEXT = f"{BASE}run/1/text/"


def faults(store: ox.Store, tmp_path: Path, *updates: str) -> list[str]:
    """Return what an attack finds in a dump after some updates."""
    with spoilt(store, *updates):
        store.dump(str(tmp_path / "spoilt.nq"), ox.RdfFormat.N_QUADS)
    with PublicationFiles([tmp_path / "spoilt.nq"]) as published:
        found = list(Attack(published).faults())
    return [f"{one.constraint} {one.node} {one.message}" for one in found]


def with_data(case: str, data: object) -> str:
    """Return an update that gives a case other data."""
    literal = ox.Literal(json.dumps(data), datatype=ox.NamedNode(RDF.JSON))
    return (
        f"DELETE {{ GRAPH ?g {{ <{case}> <{KGB.caseData}> ?o }} }} "
        f"INSERT {{ GRAPH ?g {{ <{case}> <{KGB.caseData}> {literal} }} }} "
        f"WHERE {{ GRAPH ?g {{ <{case}> <{KGB.caseData}> ?o }} }}"
    )


def test_a_protected_suite_gives_nothing_back(site: Path) -> None:
    """No number, word of any file or order of names is a value that was left out."""
    with PublicationFiles([site]) as published:
        attack = Attack(published)
        assert list(attack.faults()) == []
    assert attack.guesses > 20_000
    assert attack.attacked
    texts = [
        unpacked(path).decode() if path.suffix == ".zst" else path.read_text("utf-8", "replace")
        for path in sorted(site.rglob("*"))
        if path.is_file()
    ]
    words = set(itertools.chain.from_iterable(re.findall(r"[\w'.-]+", text) for text in texts))
    words |= {str(number) for number in range(1000)} | {"Spell bob.", "anne", "bob", "a-n-n-e"}
    told = set(re.findall(r"[0-9a-f]{8,64}", "\n".join(texts)))
    told -= {digest("3"), digest("4")}  # the sample uses them as digest of a query and of a key
    # Texts that are published beside their digest are not left out.
    told -= {*re.findall(rf"#([0-9a-f]{{64}})> <{PROV.value}>", "\n".join(texts))}
    for word in words:
        for form in (word, json.dumps(word), json.dumps([word])):
            assert hashlib.sha256(form.encode()).hexdigest() not in told, word


@pytest.mark.parametrize(
    "value", [3, "bob", ["Cleo", "Anne", "Bert"], "No, it is Anne", 0.25, True], ids=str
)
@pytest.mark.parametrize("name", ["sha256", "digest"])
def test_an_unsalted_digest_is_guessed(
    value: object, name: str, quads: ox.Store, tmp_path: Path
) -> None:
    """A value behind an unsalted digest is guessed, whatever it is called."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
    planted = {"answer": {name: digest(text)}}
    said = '"Anne, Bert, Cleo", "bob" , "No, it is Anne"'
    hint = f"INSERT DATA {{ GRAPH <urn:g> {{ <urn:a> <{KGB.reason}> {said} }} }}"
    found = faults(quads, tmp_path, with_data(CASE, planted), hint)
    assert f"guessed {CASE} A value that was left out came back by guessing: {text!r}." in found
    unsalted = [one for one in found if one.startswith(f"unsalted-digest {CASE}")]
    assert bool(unsalted) is (name == "sha256")


def test_digests_that_nobody_guesses_are_told(quads: ox.Store, tmp_path: Path) -> None:
    """A digest in the IRI of a withheld text is a fault."""
    text = f"{TEXT}{'ef' * 32}"
    planted = f"INSERT DATA {{ GRAPH <{BASE}graph/run/1> {{ <{text}> <{KGB.redacted}> true }} }}"
    (found,) = faults(quads, tmp_path, planted)
    assert found.startswith(f"unsalted-digest {text} An unsalted digest of what was left out")


def test_targets_are_those_of_the_publication(site: Path) -> None:
    """Withheld texts are attacked; published texts are not."""
    with PublicationFiles([site]) as published:
        told = {node for _, node in Attack(published).targets()}
        clear = {
            q.subject
            for q in published.quads.quads_for_pattern(None, ox.NamedNode(PROV.value), None)
        }
        withheld = published.quads.quads_for_pattern(None, ox.NamedNode(KGB.redacted), None)
        assert {q.subject for q in withheld if "/text/" in q.subject.value} <= told
        assert not {n for n in clear & told if "/text/" in n.value}
    assert STORE not in BASE
