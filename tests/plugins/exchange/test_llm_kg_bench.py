# SPDX-License-Identifier: Apache-2.0
"""``kgbench export llm-kg-bench``: an exported run is the same after import."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgbench import config
from kgbench.cli import app
from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import ExportRequest, read
from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import read_runs
from kgbench.importers.load import load
from kgbench.plugins.exchange import llm_kg_bench
from kgbench.publish.redaction import RedactionLevel
from kgbench.store import open_reader, open_store
from tests.support.archives import as_json, dialogue_v3, record_v1, record_v2, record_v3
from tests.support.commands import printed as call
from tests.support.published import archives, records

OPEN = ExportRequest(level=RedactionLevel.NONE)


def content(location):
    """Return the dialogues of a store's only run, in a form comparable between stores."""
    with open_reader(str(location)) as store:
        run = read(store, OPEN)
    found = {}
    for dialogue in run.dialogues:
        label = run.catalogue.required(
            dialogue.task, "http://www.w3.org/2004/02/skos/core#notation"
        )
        model = run.catalogue.required(dialogue.model, "http://www.w3.org/2000/01/rdf-schema#label")
        scores = {
            (verdict.round, metric): value
            for verdict in run.verdicts[dialogue.iri]
            for metric, value in verdict.scores.items()
        }
        infos = [
            (v.round, {k: i for k, i in v.infos.items() if k != "published"})
            for v in run.verdicts[dialogue.iri]
        ]
        texts = [(turn.prompt, turn.answer) for turn in dialogue.turns]
        calls = [turn.calls[-1] for turn in dialogue.turns]
        times = [(_plain(call.started), _plain(call.ended)) for call in calls]
        found[model, label, dialogue.iteration] = (
            dialogue.task, dialogue.case.rpartition("/")[2], texts, times,
            _plain(dialogue.ended), scores, infos,
        )  # fmt: skip
    return found


def _plain(moment):
    return moment.replace(tzinfo=None)


def test_a_run_comes_back_as_it_went(quick_start, tmp_path):
    """All tasks of the quick start come back: cases, texts, times, scores and infos."""
    path = tmp_path / "run.json"
    said = call(
        "export", "llm-kg-bench", "--store", quick_start, "--redact", "none", "-o", path, "--json"
    )
    call("import", "llm-kg-bench", path, "--suite", "kgbench-1", "--store", tmp_path / "store")
    before, after = content(quick_start), content(tmp_path / "store")

    assert json.loads(said)["records"] == len(before) == 3 * 2 * len(config.quick_start().tasks)
    assert before.keys() == after.keys()
    for key, dialogue in before.items():
        assert dialogue == after[key], key


def exported(found, *, suite):
    """Import records, export them again, and return the exported records."""
    with open_store("memory:") as store:
        (run,) = read_runs(ResultFile("f.json", as_json(found)), store.iris, suite)
        load(store, run)
        wanted = ExportRequest(level=RedactionLevel.NONE, unprotected=frozenset([suite]))
        return llm_kg_bench.records(read(store, wanted))[0]


def in_order(found):
    """Return records in order of model, label and time."""
    return sorted(found, key=lambda r: (r["modelId"], r["taskInfo"]["taskLabel"], r["startTime"]))


@pytest.mark.parametrize(
    "record",
    [
        record_v3(),
        dialogue_v3(),
        record_v3(texts=["lone \ud800", "sur\udfffrogate\r\n"]),
        record_v3(scores={"recall": 1, "unheardOf": -0.5}),
        dialogue_v3(scores={"0": {"f1": 0.0}, "1": {"f1": 1.0}, "median": {"f1": 0.5}}),
        {**record_v3(), "reevalOriginalTime": "2024-01-01T00:00:00", "more": {"deep": [None]}},
    ],
)
def test_records_come_back_as_they_came(record):
    """A record of generation 3 is unchanged by import and export."""
    assert exported([record], suite="mine") == [record]


@pytest.mark.parametrize("record", [record_v1(), record_v2()])
def test_earlier_generations_become_the_third(record):
    """Records of earlier generations keep all their fields; missing fields are added."""
    (found,) = exported([record], suite="mine")
    told = {k: v for k, v in record.items() if k not in ("taskInfo", "taskData")}

    assert found | told == found
    assert found["taskInfo"] | record["taskInfo"] == found["taskInfo"]
    assert "taskParameter" in found["taskInfo"]


@pytest.mark.parametrize("number", range(4))
def test_published_results_come_back(external_data, number):
    """Each published archive of generation 3 is unchanged by import and export."""
    found = list(records(archives(external_data)[number]))
    again = exported(found, suite="llm-kg-bench-3")
    pairs = zip(in_order(found), in_order(again), strict=True)
    differing = [number for number, (one, other) in enumerate(pairs) if one != other]

    assert differing == []


def test_reference_answers_are_left_out(quick_start):
    """By default, case data has no reference answers."""
    found = json.loads(call("export", "llm-kg-bench", "--store", quick_start))
    data = [record["taskData"] for record in found]

    assert any("question" in one for one in data)
    assert not any("refSparql" in one for one in data)


def test_protected_suites_are_refused(tmp_path):
    """Texts of a protected suite need --unprotected; an export without texts is refused."""
    (tmp_path / "a.json").write_bytes(as_json([record_v3()]))
    call("import", "llm-kg-bench", tmp_path / "a.json", "--store", tmp_path / "store")
    asked = ["export", "llm-kg-bench", "--store", tmp_path / "store"]
    with pytest.raises(PublicationRefused, match="--unprotected llm-kg-bench-3"):
        call(*asked, "--redact", "none")
    with pytest.raises(PublicationRefused, match="nothing would be left"):
        call(*asked, "--redact", "prompts")

    assert "RdfFriendCount" in call(*asked, "--unprotected", "llm-kg-bench-3")


def test_a_report_needs_a_file(tmp_path):
    """--json reports what was written to --out, and is wrong usage without --out."""
    result = CliRunner().invoke(app, ["export", "llm-kg-bench", "--json"])

    assert result.exit_code == 2
