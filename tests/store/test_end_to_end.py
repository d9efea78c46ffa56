# SPDX-License-Identifier: Apache-2.0
"""Every command has the same result on a server as on a folder."""

from __future__ import annotations

import json
import re

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import StoreError
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.record import reading
from kgbench.store import Block, open_reader, open_store, registry
from kgbench.store.copying import digest_of, local
from kgbench.store.publication_keys import carry, publication_key
from tests.support.archives import as_json, record_v3
from tests.support.validation import assert_conforms

pytestmark = pytest.mark.declared
TASK = "RdfFriendCount-turtle-1"
MODEL = "baseline:noisy?rate=0.5&seed=3"
#: Parts that differ from run to run: identifiers with a time, timestamps, durations, paths.
_CHANGING = re.compile(
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)?"
)


def kgbench(*arguments):
    """Return the output of a command that ends with exit code 0 or 3."""
    judges = ("--executor", "local:1") if arguments[0] in ("run", "reevaluate") else ()
    done = CliRunner().invoke(app, [*arguments, *judges])
    assert done.exit_code in (0, 3), (arguments, done.output, done.exception)
    return done.stdout


def steady(text, location):
    """Return ``text`` without the parts that differ from run to run."""
    plain = _CHANGING.sub("…", text.replace(location, "STORE"))
    return re.sub(r'("seconds": |"stamp": )[\d.]+', r"\1…", plain)


def through(location):
    """Return the outputs of all commands on one store."""
    store = ("--store", location)
    run = ("run", "--task", TASK, "--model", MODEL, "--iterations", "4", *store, "--json")
    said = {"run": json.loads(kgbench(*run))}
    said["resumed"] = json.loads(kgbench(*run))
    name = said["run"]["run"]
    for key in ("run", "resumed"):
        said[key].pop("totals")
    again = json.loads(kgbench("reevaluate", *store, "--json"))
    said["reevaluated"] = {k: v for k, v in again.items() if k != "pass"}
    said["leaderboard"] = json.loads(
        kgbench("analyze", "leaderboard", "--keep", "--format", "json", *store)
    )
    said["kept"] = json.loads(
        kgbench("analyze", "leaderboard", "--keep", "--format", "json", *store)
    )
    said["tasks"] = json.loads(kgbench("analyze", "tasks", "--keep", "--format", "json", *store))
    said["models"] = kgbench("query", "list-models", "--format", "csv", *store)
    said["status"] = [
        {k: v for k, v in one.items() if k not in ("sessions", "totals")}
        for one in json.loads(kgbench("status", "--json", *store))
    ]
    dialogue = "SELECT ?d WHERE { GRAPH ?g { ?d a <https://w3id.org/kgbench/ns#Dialogue> } }"
    with open_reader(location) as reader:
        first = min(row["d"].value for row in reader.query(dialogue))
    said["shown"] = kgbench("show", first, *store)
    kgbench("invalidate", name, "--reason", "a test", "--by", "nobody", *store)
    said["checked"] = json.loads(kgbench("store", "check", "--json", *store))
    parts = said["checked"].pop("parts")  # which only a folder has
    assert not any(parts.values())
    said["compacted"] = json.loads(kgbench("store", "compact", "--json", *store))
    return steady(json.dumps(said, indent=1, sort_keys=True), location)


def test_commands_say_the_same_of_both_back_ends(tmp_path, remote, monkeypatch):
    """All commands print the same on a server as on a folder."""
    monkeypatch.setenv("COLUMNS", "120")
    folder = str(tmp_path / "store")
    embedded, server = through(folder), through(remote)

    assert server == embedded
    found = json.loads(server)
    assert found["run"]["complete"] == found["resumed"]["complete"] == 4
    assert found["checked"]["problems"] == []
    assert found["compacted"]["analyses"] > 0  # the analyses that the invalidation made stale
    with open_store(remote) as store:
        assert_conforms(store)  # its lease included


def test_a_run_is_dropped(remote):
    """Once confirmed, a run goes with everything derived from it, and nothing else."""
    for iterations in ("1", "2"):
        kgbench(
            *("run", "--new", "--task", TASK, "--model", "baseline:oracle"),
            *("--iterations", iterations, "--store", remote, "--json"),
        )
    newest = json.loads(kgbench("status", "--store", remote, "--json"))[0]["run"]
    kgbench("analyze", "leaderboard", "--keep", "--store", remote)
    kgbench("invalidate", newest, "--reason", "a test", "--by", "nobody", "--store", remote)
    denied = CliRunner().invoke(app, ["store", "drop", newest, "--store", remote], input="n\n")
    assert denied.exit_code == 1
    gone = json.loads(kgbench("store", "drop", newest, "--yes", "--store", remote, "--json"))
    checked = json.loads(kgbench("store", "check", "--store", remote, "--json"))
    left = json.loads(kgbench("status", "--store", remote, "--json"))

    assert len(gone["graphs"]) >= 4
    assert checked["problems"] == []
    assert [one["run"] != newest for one in left] == [True]


def test_what_is_wrong_is_said(remote):
    """A check reports problems with exit code 1; compacting removes graphs without an entry."""
    orphan = "https://w3id.org/kgbench/graph/run/orphan"
    kind = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
    with open_store(remote) as store:
        entry = f"<urn:lost> <{kind}> <https://w3id.org/kgbench/ns#ResultGraph> ."
        store.write([Block(store.iris.catalogue, [entry])])
        store._client.load(orphan, ["<urn:a> <urn:b> <urn:c> ."])
    done = CliRunner().invoke(app, ["store", "check", "--store", remote])
    kgbench("store", "compact", "--store", remote)
    after = CliRunner().invoke(app, ["store", "check", "--store", remote])

    assert done.exit_code == 1
    assert f"{orphan} has no registry entry" in done.stdout
    assert "urn:lost has no change stamp" in done.stdout
    assert orphan not in after.stdout


@pytest.mark.parametrize("command", [["serve"], ["store", "optimize"]])
def test_what_needs_a_folder_says_so(remote, command):
    """A command that needs a folder refuses a store on a server."""
    done = CliRunner().invoke(app, [*command, "--store", remote])

    assert isinstance(done.exception, StoreError)
    assert "is on a server" in str(done.exception)


def test_imports_are_the_same(tmp_path, remote):
    """Imported results have the same graphs on both back ends, and are imported once."""
    held = []
    for location in (str(tmp_path / "store"), remote):
        with open_store(location) as store:
            file = ResultFile("f.json", as_json([record_v3()]))
            (imported,) = read_runs(file, store.iris, None)
            assert not load(store, imported).already_there
            (again,) = read_runs(file, store.iris, None)
            assert load(store, again).already_there
            graphs = registry.graphs(store)
            held.append({graph: digest_of(store.triples(graph)).value for graph in graphs})

    assert held[0] == held[1]
    assert len(held[0]) == 2


def test_what_needs_a_folder_gets_a_copy(tmp_path, remote):
    """A store on a server is copied for readers that need a database; a folder is used directly."""
    kgbench(
        *("run", "--task", TASK, "--model", "baseline:oracle"),
        *("--iterations", "1", "--store", remote, "--json"),
    )
    check = ("store", "check", "--digests", "--json", "--store")
    before = json.loads(kgbench(*check, remote))
    with local(remote) as folder:
        there = json.loads(kgbench(*check, str(folder)))
        with local(str(folder)) as same:
            assert same == folder
    assert not folder.exists()
    assert there["digests"] == before["digests"]
    assert json.loads(kgbench(*check, remote)) == before


def test_what_is_exported_and_imported_is_the_same(tmp_path, remote):
    """Exports from a server equal those from a folder, and an import restores the same graphs."""
    folder = str(tmp_path / "store")
    options = ("--task", TASK, "--model", MODEL, "--iterations", "2")
    kgbench("run", *options, "--store", folder, "--json")
    with open_reader(folder) as store:
        name = store.iris.catalogue
        quads = (
            ox.Quad(*triple, ox.NamedNode(graph))
            for graph in (*registry.graphs(store), name)
            for triple in store.triples(graph)
        )
        (tmp_path / "all.nq").write_bytes(ox.serialize(quads, format=ox.RdfFormat.N_QUADS))
    said = json.loads(
        kgbench("import", "rdf", str(tmp_path / "all.nq"), "--store", remote, "--json")
    )
    with open_reader(folder) as ours, open_reader(remote) as theirs:
        (run,) = reading.runs(theirs)
        assert digest_of(ours.triples(run.graph)) == digest_of(theirs.triples(run.graph))
    assert said
    publication_key(folder)  # creates the key, without which IRIs differ
    carry(folder, remote)
    for form in ("llm-kg-bench", "eee", "prov"):
        written = []
        for place, location in (("folder", folder), ("server", remote)):
            out = tmp_path / f"{form}-{place}"
            kgbench("export", form, "--out", str(out), "--store", location)
            files = sorted(out.rglob("*")) if out.is_dir() else [out]
            texts = [f.read_text() for f in files if f.is_file()]
            written.append([re.sub(r'"retrieved_timestamp": "[\d.]+"', "", t) for t in texts])
        assert written[0] == written[1] != [], form
