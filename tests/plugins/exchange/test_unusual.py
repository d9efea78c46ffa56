# SPDX-License-Identifier: Apache-2.0
"""Exports of imported, unfinished, rejudged and damaged runs."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kgbench.errors import PublicationRefused, StoreError
from kgbench.exports.outgoing_run import ExportRequest, StatementIndex, read
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.plugins.exchange import every_eval_ever, llm_kg_bench, prov_document
from kgbench.plugins.exchange.ro_crate import write
from kgbench.publish.redaction import RedactionLevel
from kgbench.store import Block, open_store
from kgbench.vocab import KGB, PROV, SCHEMA
from tests.support.analysis_store import iri, owned
from tests.support.archives import COMMIT, as_json, dialogue_v3, record_v3

SUITES = frozenset({"mine", "kgbench-1", "llm-kg-bench-3"})


def imported(*found):
    """Return the run of imported records, unredacted."""
    with open_store("memory:") as store:
        (run,) = read_runs(ResultFile("f.json", as_json(list(found))), store.iris, "mine")
        load(store, run)
        return read(store, ExportRequest(level=RedactionLevel.NONE, unprotected=SUITES))


@pytest.fixture(scope="module")
def published():
    """Return a published run: a dialogue of two answers, and a score without a declared metric."""
    return imported(dialogue_v3(), record_v3(scores={"recall": 1, "unheardOf": -0.5}))


@pytest.fixture(scope="module")
def recorded():
    """Yield a store with two runs: one judged twice, with failed calls, and a published one."""
    with owned("result") as store:
        yield store


def outgoing(store, **wanted):
    """Return a run of the store, unredacted."""
    return read(
        store, ExportRequest(**{"level": RedactionLevel.NONE, "unprotected": SUITES, **wanted})
    )


def without(said, predicate):
    """Return the statements without those of one property."""
    return StatementIndex(quad for quad in said.quads if quad.predicate.value != predicate)


def test_records_of_others_say_what_is_unknown(published):
    """Records of published results invent no platform, interval or bound, and are valid."""
    found = every_eval_ever.records(published, "us", "other", datetime.now(UTC))
    every_eval_ever.check(found, None)
    (record,) = found.values()
    assert "inference_platform" not in record["model_info"]
    assert record["model_info"]["developer"] == "unknown"
    results = {one["evaluation_result_id"]: one for one in record["evaluation_results"]}
    odd = results["RdfFriendCount-turtle-1/unheardOf"]
    assert (odd["metric_config"]["min_score"], odd["metric_config"]["max_score"]) == (
        *("-Infinity", "Infinity"),
    )
    assert odd["score_details"]["score"] == -0.5
    assert odd["score_details"]["uncertainty"] == {"num_samples": 1}


def test_unfinished_dialogues_keep_what_they_have(published):
    """A dialogue exports the verdicts it has: those of its rounds, of the whole, or both."""
    (mended,) = (one for one in published.dialogues if len(one.turns) > 1)
    found = copy(published.found)
    found.parts = {mended.iri: found.parts[mended.iri]}
    both = found.evaluations[mended.iri]
    for kept, groups in (((0, 1), {"0", "1"}), ((None,), {"mean", "max", "meanExt", "last"})):
        found.evaluations = {mended.iri: [e for e in both if found.evaluation(e).round in kept]}
        run = replace(published, found=found, dialogue=mended.iri)
        ((record,), left) = llm_kg_bench.records(run)
        assert record["scores"].keys() == groups
        assert ("0" in record["info"]) == (0 in kept)
        assert "last" not in record["info"] or None in kept
        assert left == 0


def test_the_commit_is_known_or_said_to_be_unknown(published):
    """Without a commit, the version takes its place; without software, it is "unknown"."""
    bare = replace(published, catalogue=without(published.catalogue, KGB.commit))
    nobody = replace(bare, statements=without(bare.statements, PROV.wasAssociatedWith))
    commits = [
        {record["taskInfo"]["gitCommit"] for record in llm_kg_bench.records(run)[0]}
        for run in (published, bare, nobody)
    ]
    assert commits[0] == {COMMIT}
    assert commits[2] == {"unknown"}
    (agent,) = bare.statements.values(bare.info.iri, PROV.wasAssociatedWith)
    assert commits[1] == {f"kgbench-{bare.catalogue.required(agent, SCHEMA.softwareVersion)}"}


def test_a_secret_in_published_infos_is_not_told(monkeypatch):
    """Published infos are exported unchanged, except those that contain a key of the exporter."""
    monkeypatch.setenv("OPENAI_API_KEY", "abcdefgh12345678")
    run = imported(
        record_v3(info={"note": "see /data/run.log"}),
        record_v3(info={"note": "key abcdefgh12345678 in /data/run.log"}, texts=("Who?", "I.")),
    )
    notes = {v.infos["note"] for verdicts in run.verdicts.values() for v in verdicts}
    assert notes == {"see /data/run.log", "key [key] in [path]"}


def test_damage_is_said():
    """A missing mandatory property is reported with its subject."""
    with pytest.raises(StoreError, match=r"<urn:a> has no urn:p: the store is damaged"):
        StatementIndex([]).required("urn:a", "urn:p")


def test_failed_calls_have_no_answer(recorded):
    """A dialogue with a failed call keeps its prompt and gets no record in a result file."""
    run = outgoing(recorded, run=iri("run/1"))
    (failed,) = (one for one in run.dialogues if one.iri.endswith("2-d4d4d4d4"))
    assert [turn.answer for turn in failed.turns] == [None]
    assert failed.turns[0].prompt == "Mend this:\n:a :b ."
    found, left = llm_kg_bench.records(run)
    assert left == sum(not any(one.answers) for one in run.dialogues) > 0
    assert len(found) + left == len(run.dialogues)


def test_the_pass_is_chosen(recorded):
    """A pass is chosen by IRI or number, or as first or latest; an unknown one is an error."""

    def f1(pass_):
        run = outgoing(recorded, run=iri("run/1"), pass_=pass_)
        return [
            value
            for verdicts in run.verdicts.values()
            for verdict in verdicts
            for metric, value in verdict.scores.items()
            if metric == iri("metric/Spell/1.0/f1")
        ]

    assert f1("first") == [1.0]
    assert f1("latest") == f1(iri("pass/2")) == f1("2") == [0.5]
    with pytest.raises(StoreError, match=r"'none' is not an evaluation pass .*pass/1, .*pass/2"):
        f1("none")


def test_a_dialogue_names_its_run(recorded):
    """A dialogue is exported with its run; an unknown dialogue is refused."""
    there = iri("run/2/parrot-2-2026-01-01/Spell-10/0-e1e1e1e1")
    run = outgoing(recorded, dialogue=there)
    assert run.info.iri == iri("run/2")
    with pytest.raises(StoreError, match="holds no dialogue <urn:none>"):
        outgoing(recorded, dialogue="urn:none")


def test_what_is_nothing_to_prov_is_left_out(recorded):
    """Subjects that are no activity, entity or agent are left out of PROV documents."""
    odd = ["<urn:odd:thing> <urn:odd:p> 1 .", "_:b <urn:odd:q> 2 ."]
    recorded.write([Block(iri("graph/run/2"), odd)])
    text = prov_document.document(outgoing(recorded, run=iri("run/2"))).get_provn()
    assert "e1e1e1e1/0/answer" in text
    assert "odd" not in text


def test_a_crate_may_have_no_creator(published, tmp_path):
    """A crate without creators names none; a crate that cannot be written is refused."""
    assert write(published, tmp_path / "crate", "CC0-1.0", []) == 2
    nodes = json.loads((tmp_path / "crate" / "ro-crate-metadata.json").read_text())["@graph"]
    assert not [node for node in nodes if "agent" in node or "author" in node]
    assert not [node for node in nodes if node["@type"] == "Person"]
    (tmp_path / "file").write_text("")
    with pytest.raises(PublicationRefused, match="cannot be written"):
        write(published, tmp_path / "file" / "crate", "CC0-1.0", [])
