# SPDX-License-Identifier: Apache-2.0
"""Withheld data are in no file: texts by level, keys, hosts, people, paths."""

from __future__ import annotations

import json
import re

import pyoxigraph as ox
import pytest

from kgbench.errors import PublicationRefused, StoreError
from kgbench.publish import redaction
from kgbench.publish.redaction import DigestVeil, RedactionLevel
from kgbench.rdf import digest
from kgbench.store import open_reader, open_store
from kgbench.store.publication_keys import FILE, PublicationKey
from kgbench.vocab import BASE as STORE
from kgbench.vocab import KGB, PROV, RDF, RDFS, SCHEMA
from tests.publish.conftest import addresses, command, left_out, publish
from tests.publish.reading import dump, everything, triples
from tests.serve import stores
from tests.support.stores import copied
from tests.support.validation import assert_conforms

pytestmark = pytest.mark.usefixtures("quick")
PROMPT = "PLANTED-PROMPT which dragon speaks Runic"
ANSWER = "PLANTED-ANSWER it is the grey one"
GOLD = "PLANTED-GOLD SELECT ?d WHERE { ?d :speaks :Runic }"
QUESTION = "PLANTED-QUESTION of the case"
KEY = "sk-planted0123456789abcdef"
HOST = "gpu-seventeen.lab.planted.org"
PERSON = "plantedperson"
PATH = f"/home/{PERSON}/secret-project/run.yaml"
MESSAGE = (
    f"401 for {KEY} from http://{HOST}:8000/v1/chat as {PERSON}@{HOST} in {PATH} (10.1.2.3), "
    f"expected {GOLD}; host='gpu-seventeen'"
)
SECRETS = (KEY, HOST, "gpu-seventeen", PERSON, "secret-project", "10.1.2.3")
TEXT = "https://w3id.org/kgbench/run/1/text/"


def _node(path):
    return ox.NamedNode(path if path.startswith("http") else STORE + path)


def _planted(folder):
    """Return a hand-written store with planted texts in every place where they can occur."""
    data = {"question": QUESTION, "refSparql": GOLD, "uid": "q1"}
    infos = {"diffSparql": f"- {GOLD}", "syntaxError": f"not {GOLD}", "sparql": "SELECT 1", "n": 3}
    configuration = (
        f'[] <{KGB.spec}> "openai:big@http://{HOST}:8000/v1", "vllm:/home/{PERSON}/models/big" ; '
        f'<{KGB.params}> [ <https://w3id.org/kgbench/parameter#hint> "{GOLD}" ] . # {PATH} {KEY}'
    )
    texts = {
        "Spell anne.": PROMPT,
        "a-n-n-e": ANSWER,
        '{"word":"anne"}': "",  # JSON literals are added as quads below
        "[] a <https://w3id.org/kgbench/ns#Configuration> .": configuration,
        "500 Internal Server Error": MESSAGE,
        "Parrot": f"openai:big@http://{HOST}:8000/v1",
        "parrot-2": f"vllm:/home/{PERSON}/models/big",
        "http://127.0.0.1:9/v1": f"http://{HOST}:8000/v1",
        "another model answered": f"the run in {PATH} used {KEY}",
    }
    del texts['{"word":"anne"}']
    stores.make(folder, texts=texts)
    case = "case/kgbench-1/Spell/case/a1"
    evaluation = "pass/1/oracle/Spell-10/0-d1d1d1d1/0"
    with open_store(str(folder)) as store:
        for graph, node, predicate, value in (
            ("graph/catalogue", case, KGB.caseData, data),
            ("graph/pass/1", evaluation, KGB.infos, infos),
        ):
            literal = ox.Literal(json.dumps(value), datatype=ox.NamedNode(RDF.JSON))
            store.update(
                f"DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} INSERT {{ GRAPH ?g {{ ?s ?p {literal} }} }} "
                f"WHERE {{ BIND ({_node(graph)} AS ?g) BIND ({_node(node)} AS ?s) "
                f"BIND ({ox.NamedNode(predicate)} AS ?p) GRAPH ?g {{ ?s ?p ?o }} }}"
            )
        said = f"{_node(evaluation)} <{KGB.rationale}> {ox.Literal(GOLD)}"
        store.update(f"INSERT DATA {{ GRAPH {_node('graph/pass/1')} {{ {said} }} }}")
    return folder


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    """Return the store with planted texts."""
    return _planted(tmp_path_factory.mktemp("planted") / "store")


def _found_in(folder, text, password=None):
    raw = text.encode("utf-8")
    return [str(path) for path, data in everything(folder, password) if raw in data]


LEVELS = {
    RedactionLevel.NONE: (),
    RedactionLevel.GOLD: (GOLD,),
    RedactionLevel.PROMPTS: (GOLD, QUESTION, PROMPT),
    RedactionLevel.ANSWERS: (GOLD, QUESTION, PROMPT, ANSWER),
}


@pytest.mark.parametrize("level", list(RedactionLevel))
def test_levels_leave_out_what_they_say(planted, tmp_path, level):
    """At each level, exactly the planted texts of that level are in no file, dumps included."""
    out = tmp_path / "site"
    publish(planted, out, level=level, runs=("1",))
    for text in (GOLD, QUESTION, PROMPT, ANSWER):
        # Formats escape texts differently; a part without special characters is the same in all.
        part = text.partition(" SELECT")[0]
        assert (not _found_in(out, part)) is (text in LEVELS[level]), text
    for secret in SECRETS:
        assert not _found_in(out, secret), secret
    whole = dump(out, "all.nq")
    if level >= RedactionLevel.PROMPTS:
        for text in (PROMPT, ANSWER) if level == RedactionLevel.ANSWERS else (PROMPT,):
            assert KGB.redacted in {q.predicate.value for q in whole}, text
    for text in LEVELS[level]:
        assert not _found_in(out, digest(text)), text
    data = [json.loads(value) for value in _values(whole, KGB.caseData, "uid")]
    assert data
    assert all(("refSparql" in case) is (level < RedactionLevel.GOLD) for case in data)


def _values(store, predicate, part):
    found = store.quads_for_pattern(None, ox.NamedNode(predicate), None)
    return (quad.object.value for quad in found if part in quad.object.value)


def test_a_publication_without_texts_conforms(recorded, tmp_path):
    """Where texts are left out, their nodes, cases, dialogues and configurations say so."""
    out = tmp_path / "site"
    publish(recorded, out, level=RedactionLevel.ANSWERS)
    found = dump(out, "all.nq")
    redacted = {q.subject for q in found.quads_for_pattern(None, ox.NamedNode(KGB.redacted), None)}
    kinds = {
        q.object.value
        for node in redacted
        for q in found.quads_for_pattern(node, ox.NamedNode(RDF.type), None)
    }
    assert kinds >= {KGB.Text, KGB.Case, KGB.Dialogue, KGB.Configuration}
    assert_conforms(found)


def test_no_digest_of_what_is_left_out_is_told(recorded, tmp_path):
    """No file or IRI has a digest of a withheld text, or of an object made from one."""
    with open_reader(str(recorded)) as store:
        rows = store.query(
            f"SELECT ?s ?d WHERE {{ GRAPH ?g {{ ?s <{KGB.digest}> ?d }} "
            f"FILTER NOT EXISTS {{ GRAPH ?h {{ ?s a <{PROV.Entity}> . "
            f"FILTER NOT EXISTS {{ ?s a <{KGB.Configuration}> }} }} }} }}"
        )
        digests = {row["d"].value for row in rows}
        rows = store.query(f"SELECT ?text WHERE {{ GRAPH ?g {{ ?text a <{KGB.Text}> }} }}")
        digests |= {row["text"].value.rpartition("/")[2] for row in rows}
        rows = store.query(f"SELECT ?case WHERE {{ GRAPH ?g {{ ?case a <{KGB.Case}> }} }}")
        cases = {row["case"].value.rpartition("/")[2] for row in rows}
    out = tmp_path / "site"
    publish(recorded, out, level=RedactionLevel.ANSWERS)
    told = b"\n".join(str(path).encode() + data for path, data in everything(out))
    found = set(re.findall(rb"(?<![0-9a-z])[0-9a-f]{8,64}(?![0-9a-z])", told))
    digests.discard(digest(""))  # of an empty answer, and of an empty file in the checksums
    assert len(digests) > 30
    assert not {one for one in digests if one.encode() in found}
    assert not {one for one in digests if re.search(rb"[/-]" + one[:8].encode() + rb"\b", told)}
    assert not {one for one in cases if one.encode() in found}


def test_a_store_publishes_the_same_again(recorded, tmp_path):
    """The key stays private; a copy of the store has it and publishes the same."""
    publish(recorded, tmp_path / "one")
    key = recorded / FILE
    assert key.stat().st_mode & 0o077 == 0
    command("store", "copy", recorded, tmp_path / "copy")
    publish(tmp_path / "copy", tmp_path / "two")
    assert triples(dump(tmp_path / "one", "all.nq")) == triples(dump(tmp_path / "two", "all.nq"))
    content = json.loads(key.read_text())["key"]
    assert not _found_in(tmp_path / "one", content)


def test_a_key_that_cannot_be_used_is_told(tmp_path):
    """A damaged key, or a folder that cannot store one, is reported with the file."""
    (tmp_path / FILE).write_text('{"key": "00"}')
    with pytest.raises(StoreError, match=rf"{FILE} is damaged \(the key has 1 bytes\)"):
        PublicationKey.read(tmp_path)
    (tmp_path / FILE).write_text("oops")
    with pytest.raises(StoreError, match="is damaged"):
        PublicationKey.read(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="make the store's folder writable"):
        PublicationKey.read(tmp_path / "file")


def test_digits_depend_on_the_key():
    """Veiled digits have the same length, and are others under another key."""
    digits = digest("a prompt")
    one, other = (DigestVeil(PublicationKey(bytes([n] * 32))) for n in (0, 1))
    veiled = one.digits(digits)
    assert len(veiled) == len(digits) + 1
    assert len({digits, veiled, other.digits(digits)}) == 3
    assert one.digits("no digest") == "no digest"


def test_equal_cases_of_two_groups_keep_equal_iris(recorded, tmp_path):
    """A case that its published part identifies has an IRI that does not depend on the key."""
    copied(recorded, tmp_path / "other")
    (tmp_path / "other" / FILE).unlink(missing_ok=True)
    for level, least in ((RedactionLevel.GOLD, 3), (RedactionLevel.PROMPTS, 1)):
        one, two = (addresses(place, level).veil for place in (recorded, tmp_path / "other"))
        shared = set(one.cases.values()) & set(two.cases.values())
        assert one.key != two.key
        assert len(shared) >= least, level


def test_protected_suites_are_refused_in_the_clear(hostile, tmp_path):
    """Prompts of a protected suite are published only if --unprotected names the suite."""
    out = tmp_path / "site"
    for level in (RedactionLevel.NONE, RedactionLevel.GOLD):
        with pytest.raises(PublicationRefused, match=r"llm-kg-bench-3 is protected.*--unprotected"):
            publish(hostile, out, level=level)
    assert not out.exists()
    with pytest.raises(PublicationRefused, match="--unprotected names other"):
        publish(hostile, out, unprotected=frozenset({"other"}))
    publish(hostile, out, runs=("1",))
    assert not _found_in(out, "Spell bob.")
    publish(hostile, out, level=RedactionLevel.PROMPTS)
    assert not _found_in(out, "Spell bob.")
    publish(hostile, out, unprotected=frozenset({"llm-kg-bench-3"}))
    assert _found_in(out, "Spell bob.")


def test_other_protected_suites_in_the_store(recorded, tmp_path):
    """Unused cases are not published; a run with dialogues of a protected suite is refused."""
    place = copied(recorded, tmp_path / "store")
    suite, case = _node("suite/llm-kg-bench-3"), _node("case/llm-kg-bench-3/Spell/case/a1")
    says = f'a <{KGB.Case}> ; <{KGB.suite}> {suite} ; <{KGB.caseData}> "PLANTED-CASE"'
    with open_store(str(place)) as store:
        store.update(f"INSERT DATA {{ GRAPH {_node('graph/catalogue')} {{ {case} {says} }} }}")
    publish(place, tmp_path / "site", level=RedactionLevel.NONE)
    assert not _found_in(tmp_path / "site", "PLANTED-CASE")

    with open_store(str(place)) as store:
        store.update(
            f"INSERT {{ GRAPH ?run {{ ?dialogue <{KGB.suite}> {suite} }} }} "
            f"WHERE {{ GRAPH ?run {{ ?dialogue a <{KGB.Dialogue}> }} }}"
        )
    with pytest.raises(PublicationRefused, match=r"llm-kg-bench-3 is protected"):
        publish(place, tmp_path / "other")


def test_encrypted_dumps_have_all_and_pages_nothing(planted, tmp_path):
    """With a password, texts are only in the archives, and keys and hosts not even there."""
    out = tmp_path / "site"
    secret = "correct horse battery"
    report = publish(planted, out, level=RedactionLevel.NONE, password=secret, runs=("1",))
    for text in (PROMPT, ANSWER, QUESTION, "PLANTED-GOLD"):
        files = _found_in(out, text, secret)
        assert files
        assert all(path.startswith("data/") for path in files), text
    for text in SECRETS:
        assert not _found_in(out, text, secret), text
    assert not _found_in(out, secret, secret)
    packed = {p: p.read_bytes() for p in (out / "data").iterdir()}
    assert not [p for p, data in packed.items() if b"PLANTED" in data]
    again = publish(planted, out, level=RedactionLevel.NONE, password=secret, runs=("1",))
    assert (again.changed, again.version) == (0, report.version)
    assert packed == {p: p.read_bytes() for p in (out / "data").iterdir()}


def test_models_keep_apart_without_their_hosts(planted, tmp_path):
    """A model named by its host gets another IRI everywhere, and the shapes still hold."""
    out = tmp_path / "site"
    publish(planted, out, runs=("1",))
    found = dump(out, "all.nq")
    kind = (None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Model))
    models = {quad.subject.value for quad in found.quads_for_pattern(*kind)}
    labels = {
        q.object.value
        for model in models
        for q in found.quads_for_pattern(_node(model), _node(RDFS.label), None)
    }
    assert any(label.startswith("openai:big@[address] #") for label in labels)
    used = found.quads_for_pattern(None, ox.NamedNode(KGB.model), None)
    assert {quad.object.value for quad in used} <= models
    assert not list(found.quads_for_pattern(None, ox.NamedNode(KGB.baseUrl), None))


def test_declared_things_are_not_scrubbed(site, recorded):
    """Declarations are published unchanged."""
    found, unneeded = dump(site, "catalogue.nq"), left_out(recorded)
    with open_reader(str(recorded)) as store:
        rows = store.query(
            f"SELECT ?s ?p ?o WHERE {{ GRAPH <{STORE}graph/catalogue> {{ ?s ?p ?o "
            "FILTER (isLiteral(?o)) } }"
        )
        where = addresses(recorded)
        stored = {
            ox.Triple(ox.NamedNode(where.published(row[0].value)), row[1], row[2])
            for row in rows
            if "/graph/" not in row[0].value and row[0].value not in unneeded
        }
    kept = {quad.triple for quad in found}
    gone = {t for t in stored - kept if "/software/" not in t.subject.value}
    assert {t.predicate.value for t in gone} == {KGB.caseData, KGB.digest}


def test_cases_of_unknown_classes_are_withheld_whole():
    """Data of unknown task classes may be reference answers, so they are withheld."""
    data = {"question": "what?", "mySolution": "this", "steps": [1, 2], "uid": "u"}
    kept = {"question": "what?", "uid": "u"}
    assert redaction.public_fields(data, RedactionLevel.GOLD) == kept
    assert redaction.public_fields(data, RedactionLevel.PROMPTS) == {"uid": "u"}


def test_error_messages_are_not_repeated_with_prompts(planted, tmp_path):
    """With prompts left out, error messages and rationales are left out, as they may quote them."""
    out = tmp_path / "site"
    publish(planted, out, level=RedactionLevel.PROMPTS, runs=("1",))
    for of in (SCHEMA.error, KGB.rationale):
        found = [*dump(out, "all.nq").quads_for_pattern(None, ox.NamedNode(of), None)]
        assert found
        assert all(quad.object.value == "[withheld]" for quad in found)
