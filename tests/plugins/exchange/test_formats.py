# SPDX-License-Identifier: Apache-2.0
"""Exports for other communities: provenance, RO-Crate, Croissant, Every Eval Ever."""

from __future__ import annotations

import importlib.resources
import importlib.util
import json
import shutil
import socket
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pyoxigraph as ox
import pytest
from prov.model import ProvDocument
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import ExportRequest, read
from kgbench.plugins.exchange import every_eval_ever, ro_crate
from kgbench.plugins.exchange.tables import atomic_path
from kgbench.store import open_reader
from kgbench.vocab import KGB, PROV, RDF
from tests.queries.engines.engines import Missing
from tests.support.commands import printed as call
from tests.validators.programs import python

OURS = [
    "--licence",
    "CC-BY-4.0",
    "--creator",
    "Ann Example <https://orcid.org/0000-0002-1825-0097>",
]


def validator(*arguments):
    """Return the output of a validator of another community; skip if it is not installed."""
    try:
        return python(*arguments)
    except Missing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def run(small):
    """Return the run of the small store, redacted for export."""
    with open_reader(str(small)) as store:
        return read(store, ExportRequest())


@pytest.fixture(scope="module")
def dialogue(run):
    """Return the IRI of a dialogue with feedback."""
    return next(one.iri for one in run.dialogues if len(one.turns) > 1)


@pytest.fixture(scope="module")
def exported(small, tmp_path_factory):
    """Return a folder with the run as crate, data set, records and provenance."""
    folder = tmp_path_factory.mktemp("exported")
    call("export", "rocrate", "--store", small, "-o", folder / "crate", *OURS)
    call("export", "croissant", "--store", small, "-o", folder / "data", *OURS)
    call("export", "eee", "--store", small, "-o", folder / "eee", "--relation", "third_party")
    call("export", "prov", "--store", small, "-o", folder / "a.provn")
    return folder


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")  # of prov
def test_provenance_comes_back_in_every_syntax(small, dialogue, tmp_path):
    """PROV-JSON, PROV-XML and PROV-O agree when read by the library that writes PROV-N."""
    read_back = {}
    for form, options in (("json", {}), ("xml", {}), ("rdf", {"rdf_format": "turtle"})):
        path = tmp_path / form
        call("export", "prov", dialogue, "--store", small, "--format", form, "-o", path)
        content = path.read_bytes()
        read_back[form] = ProvDocument.deserialize(
            content=content if form == "xml" else content.decode(), format=form, **options
        )
    text = call("export", "prov", dialogue, "--store", small)

    assert read_back["json"] == read_back["xml"] == read_back["rdf"]
    assert len(text.splitlines()) > len(list(read_back["json"].get_records()))
    assert text.startswith("document\n")


def test_provenance_of_a_run_is_that_of_the_store(small, run, tmp_path):
    """In PROV-O, activities have the start times of the store, and answers their calls."""
    call("export", "prov", "--store", small, "--format", "rdf", "-o", tmp_path / "run.ttl")
    found = ox.Store()
    found.bulk_load(path=str(tmp_path / "run.ttl"), format=ox.RdfFormat.TURTLE)

    def pairs(predicate, quads):
        return {(q.subject.value, q.object.value) for q in quads if q.predicate.value == predicate}

    # Relations of one entity to two others may be qualified nodes; generation is always plain.
    assert pairs(PROV.wasGeneratedBy, run.statements.quads) == {
        (s, o) for s, o in pairs(PROV.wasGeneratedBy, found) if s.startswith(run.info.iri)
    }
    starts = {s for s, _ in pairs(PROV.startedAtTime, found)}
    recorded = (*run.statements.quads, *run.judged.quads)
    assert starts == {s for s, _ in pairs(PROV.startedAtTime, recorded)}


def test_a_crate_is_valid(exported):
    """roc-validator finds every requirement of RO-Crate 1.3 satisfied."""
    check = Path(__file__).parent / "crate_check.py"
    found = json.loads(validator(check, exported / "crate", "ro-crate-1.3"))

    assert [issue for issue in found if "REQUIRED" in issue[0]] == []
    # Recommended, but unknown: the publisher, the authors' affiliations, the contact.
    unknown = ("ffiliation", "publisher", "contactPoint")
    # The validator adds its own type to formats, and then misses the types that they have.
    unknown += ("Encoding format entities",)
    assert {m for _, m in found if not any(word in m for word in unknown)} == set()


def test_a_crate_is_a_process_run_crate(exported, tmp_path):
    """A copy that declares RO-Crate 1.1, the only version of the profile, satisfies the profile."""
    copy = tmp_path / "crate"
    shutil.copytree(exported / "crate", copy)
    path = copy / "ro-crate-metadata.json"
    path.write_text(path.read_text().replace("/ro/crate/1.3", "/ro/crate/1.1"))
    check = Path(__file__).parent / "crate_check.py"
    found = json.loads(validator(check, copy, "process-run-crate-0.5"))

    assert [issue for issue in found if "REQUIRED" in issue[0]] == []


def test_every_term_of_a_crate_is_defined(exported):
    """The context of RO-Crate 1.3, as in the package rocrate, defines every term of the crate."""
    crate = json.loads((exported / "crate" / "ro-crate-metadata.json").read_text())
    assert crate["@context"] == "https://w3id.org/ro/crate/1.3/context"
    file = importlib.resources.files("rocrate") / "data" / "ro-crate.jsonld"
    context = {"@context": json.loads(file.read_text(encoding="utf-8"))["@context"]}
    used = {
        name
        for node in crate["@graph"]
        for name in (*node, *([node["@type"]] if isinstance(node["@type"], str) else node["@type"]))
        if not name.startswith("@")
    }
    assert used <= set(context["@context"])
    found = ox.Store()
    text = json.dumps({**context, "@graph": crate["@graph"]})
    found.load(text, ox.RdfFormat.JSON_LD, base_iri="https://example.org/crate/")
    sums = found.quads_for_pattern(None, ox.NamedNode("http://schema.org/sha256"), None)
    assert len(list(sums)) == 3


def test_ends_in_crates_are_recorded_ones(run, tmp_path):
    """An action ends with its last dialogue; while a dialogue is open, the action has no end."""
    ends = [dialogue.ended for dialogue in run.dialogues]
    open_ = replace(run)
    open_.__dict__["dialogues"] = [replace(run.dialogues[0], ended=None), *run.dialogues[1:]]
    for number, (held, wanted) in enumerate(((run, max(ends)), (open_, None))):
        ro_crate.write(held, tmp_path / str(number), "CC-BY-4.0", [])
        text = (tmp_path / str(number) / "ro-crate-metadata.json").read_text()
        actions = [n for n in json.loads(text)["@graph"] if n["@type"] == "CreateAction"]
        assert len(actions) == 2
        for action in actions:
            assert ("actionStatus" in action) == (wanted is not None)
            assert action.get("endTime") == (
                None if wanted is None else wanted.isoformat(timespec="milliseconds")
            )


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")  # of prov
def test_agents_are_of_their_class(small, tmp_path):
    """In PROV-O, software is of the class prov:SoftwareAgent, and no type is a string."""
    call("export", "prov", "--store", small, "--format", "rdf", "-o", tmp_path / "a.ttl")
    found = set(ox.parse(path=tmp_path / "a.ttl", format=ox.RdfFormat.TURTLE))
    agents = {q.subject for q in found if q.object == ox.NamedNode(PROV.SoftwareAgent)}
    assert len(agents) > 2
    types = {q.object for q in found if q.predicate == ox.NamedNode(RDF.type)}
    assert not any(isinstance(one, ox.Literal) for one in types)


def test_provenance_as_xml_needs_lxml(small, monkeypatch):
    """Without the package that writes PROV-XML, the command names the package to install."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == "lxml" else find(name, *a)
    )
    result = CliRunner().invoke(app, ["export", "prov", "--store", str(small), "--format", "xml"])
    assert result.exit_code != 0
    assert "-m pip install 'kgbench[publish]'" in str(result.exception) + "".join(
        result.output.split("\n")
    )


def test_a_crate_holds_what_it_says(small, tmp_path):
    """An archive contains the statements, scores and configuration of the run, with digests."""
    path = tmp_path / "crate.zip"
    call("export", "rocrate", "--store", small, "-o", path, *OURS)
    with zipfile.ZipFile(path) as archive:
        nodes = json.loads(archive.read("ro-crate-metadata.json"))["@graph"]
        files = [node for node in nodes if node["@type"] == "File"]
        for node in files:
            assert len(archive.read(node["@id"])) == int(node["contentSize"])
        quads = list(ox.parse(archive.read("results.nq"), ox.RdfFormat.N_QUADS))

    assert sorted(n["@id"].partition("-")[0] for n in files) == [
        *("configuration", "results.nq", "scores.csv")
    ]
    assert any(q.object == ox.NamedNode(KGB.Run) for q in quads)
    actions = [node for node in nodes if node["@type"] == "CreateAction"]
    assert len(actions) == 2


def test_the_statements_in_a_crate_can_be_imported(exported, tmp_path):
    """The statements in a crate can be imported into another store."""
    said = call("import", "rdf", exported / "crate" / "results.nq", "--store", tmp_path / "store")

    assert "imported 1 run, 1 pass" in said


def test_croissant_is_valid_and_can_be_read(exported, run):
    """The validator accepts the description and reads as many scores as the run has."""
    script = (
        "import sys, mlcroissant as m\n"
        "d = m.Dataset(sys.argv[1])\n"
        "assert not d.metadata.issues.errors, d.metadata.issues.errors\n"
        "print(sum(1 for _ in d.records('scores')))\n"
    )
    count = int(validator("-c", script, exported / "data" / "croissant.json"))

    assert count == sum(len(v.scores) for verdicts in run.verdicts.values() for v in verdicts)


def test_records_of_every_eval_ever(exported, run):
    """There is one valid record per model; its scores are within their bounds."""
    found = [json.loads(p.read_text()) for p in (exported / "eee").rglob("*.json")]

    assert len(found) == len({dialogue.model for dialogue in run.dialogues}) == 2
    for record in found:
        for result in record["evaluation_results"]:
            config, score = result["metric_config"], result["score_details"]["score"]
            assert float(config["min_score"]) <= score <= float(config["max_score"])


def test_records_that_break_a_schema_are_refused(run, tmp_path):
    """A record that violates our schema, or the given one, is refused before it is written."""
    found = every_eval_ever.records(run, "us", "other", datetime.now(UTC))
    path, record = next(iter(found.items()))
    broken = {path: {**record, "schema_version": "9"}}
    with pytest.raises(PublicationRefused, match="schema_version"):
        every_eval_ever.check(broken, None)
    (tmp_path / "strict.json").write_text('{"required": ["more"]}')
    with pytest.raises(PublicationRefused, match="'more' is a required property"):
        every_eval_ever.check(found, tmp_path / "strict.json")
    with pytest.raises(PublicationRefused, match="not a readable JSON schema"):
        every_eval_ever.check(found, tmp_path / "absent.json")


def test_nothing_is_overwritten(small, tmp_path):
    """A crate or data set is not written into an existing folder."""
    for name in ("rocrate", "croissant"):
        with pytest.raises(PublicationRefused, match="already exists"):
            call("export", name, "--store", small, "-o", tmp_path, *OURS)


def test_no_export_tells_of_this_machine(small, exported):
    """No export contains the host name or a path of this machine."""
    files = [path for path in exported.rglob("*") if path.is_file()]
    for path in files:
        content = path.read_text("utf-8")
        assert str(small) not in content
        assert f'"{socket.gethostname()}"' not in content
    assert {path.suffix for path in files} >= {".provn", ".nq", ".csv", ".json"}


def test_a_licence_is_needed(small, tmp_path):
    """A crate without a licence is refused."""
    asked = ["export", "rocrate", "--store", str(small), "-o", str(tmp_path / "crate")]

    assert CliRunner().invoke(app, asked).exit_code == 2


def test_a_folder_that_is_not_finished_takes_no_place(tmp_path):
    """An interrupted export leaves nothing behind and can be repeated."""
    out = tmp_path / "made" / "crate"

    def interrupted():
        with atomic_path(out) as unfinished:
            unfinished.mkdir()
            (unfinished / "one").write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(out.parent.iterdir()) == []

    with atomic_path(out) as folder:
        folder.mkdir()
    assert list(out.parent.iterdir()) == [out]
    with pytest.raises(PublicationRefused, match="already exists"), atomic_path(out):
        pass


@pytest.mark.parametrize(
    ("connector", "notation", "developer"),
    [
        ("vllm", "meta-llama/Llama-3.1-8B-Instruct", "meta-llama"),
        ("openai", "Qwen2.5-7B-Instruct", "Qwen"),
        (None, "gpt-4o-2024-11-20", "openai"),
        (None, "o1-preview-2024-09-12", "openai"),
        (None, "claude-3-5-sonnet-20241022", "anthropic"),
        ("baseline", "oracle", "kgbench"),
        ("vllm", "llm-from-somewhere", "unknown"),
        ("vllm", "opus-magnum", "unknown"),
    ],
)
def test_developers_are_named(connector, notation, developer):
    """The developer is the account in the model's name, or the one declared for such names."""
    assert every_eval_ever._developer(connector, notation) == developer
