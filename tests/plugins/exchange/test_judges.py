# SPDX-License-Identifier: Apache-2.0
"""Verdicts of judges in records of Every Eval Ever and on the pages of dialogues."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyoxigraph as ox
import pytest

from kgbench.exports.outgoing_run import ExportRequest, read
from kgbench.pages.conversation import conversation, judgements
from kgbench.pages.snapshot import MemoryView
from kgbench.plugins.exchange import every_eval_ever
from kgbench.plugins.exchange.judge_scores import judge_cells
from kgbench.publish.redaction import RedactionLevel
from kgbench.run_selection import newest_judgeable_run
from kgbench.store import open_reader, open_store
from kgbench.vocab import BASE, KGB
from tests.support.commands import printed as call
from tests.support.judge_runs import ask, judged_run
from tests.support.stores import quads

LABEL = "RdfFriendCount-turtle-1"
NOISY = "baseline:noisy?rate=0.5&seed=3"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Return a store with a run of two models and two judges; one judge has three samples."""
    found = str(tmp_path_factory.mktemp("judged") / "store")
    with open_store(found) as store:
        of = judged_run(store, "baseline:oracle", NOISY, iterations=6, labels=[LABEL])
        ask(store, of, "correctness", "baseline:oracle")
        ask(store, of, "correctness", "baseline:noisy?rate=0&seed=1", samples=3)
        ask(store, of, "preference", "baseline:oracle")
        ask(store, of, "failure", "baseline:oracle")
    return found


def records(place):
    """Return the records of the judged run, by path."""
    with open_reader(place) as store:
        run = newest_judgeable_run(store)
        out = read(store, ExportRequest(run.iri, level=RedactionLevel.ANSWERS))
        cells = judge_cells(store, out, run.iri)
        return every_eval_ever.records(out, "us", "other", datetime.now(UTC), cells)


def test_judges_have_results_with_the_fields_of_the_format(place, tmp_path):
    """Each pair of judge and rubric with values is a result that the schema accepts."""
    found = records(place)
    every_eval_ever.check(found, None)

    assert len(found) == 2
    for record in found.values():
        judged = [
            one for one in record["evaluation_results"] if "llm_scoring" in one["metric_config"]
        ]
        executed = next(one for one in record["evaluation_results"] if one not in judged)
        assert executed["metric_config"]["metric_id"].startswith("kgbench.RdfFriendCount.")
        for one in judged:
            scoring = one["metric_config"]["llm_scoring"]
            assert one["metric_config"]["metric_id"] == "kgbench.judge.1.correctness"
            assert "$material" in scoring["input_prompt"]
            assert "Decide whether the answer does what" in scoring["input_prompt"]
            details = scoring["additional_details"]
            assert one["score_details"]["score"] == float(details["executed_mean"])
            assert one["score_details"]["uncertainty"]["num_samples"] == 6
            (judge,) = scoring["judges"]
            assert judge["model_info"]["name"] in (
                "baseline:oracle",
                "baseline:noisy?rate=0&seed=1",
            )
        assert any("aggregation_method" in o["metric_config"]["llm_scoring"] for o in judged)


def test_the_command_writes_them(place, tmp_path):
    """The records of the command include the judges' results."""
    with open_reader(place) as store:
        run = newest_judgeable_run(store).id
    call("export", "eee", run, "--store", place, "-o", tmp_path / "eee")
    found = [json.loads(path.read_text()) for path in (tmp_path / "eee").rglob("*.json")]

    assert any(
        "llm_scoring" in one["metric_config"]
        for record in found
        for one in record["evaluation_results"]
    )


def test_the_run_that_was_judged_is_exported_by_default(place, tmp_path):
    """Without RUN, the newest run that is not of judges is exported, with the judges' results."""
    with open_reader(place) as store:
        assert read(store, ExportRequest()).info == newest_judgeable_run(store)
    call("export", "eee", "--store", place, "-o", tmp_path / "eee")
    found = [json.loads(path.read_text()) for path in (tmp_path / "eee").rglob("*.json")]

    assert any(
        "llm_scoring" in result["metric_config"]
        for record in found
        for result in record["evaluation_results"]
    )


def test_pages_of_dialogues_show_judges(place):
    """A dialogue has rubric, verdict, reason, cost and position; the judge's page links back."""
    database = ox.Store()
    database.extend(quads(place))
    view = MemoryView(database, BASE)
    about = {
        quad.object.value
        for kind in database.quads_for_pattern(None, None, ox.NamedNode(KGB.JudgedItem))
        for quad in database.quads_for_pattern(kind.subject, ox.NamedNode(KGB.dialogue), None)
    }
    dialogue = min(about)
    found = judgements(view, dialogue)
    page = conversation(view, dialogue, reveal=False)
    assert (page["judgements"], page["judged"]) == (found, [])
    assert {one.said.rubric.name for one in found} >= {"correctness", "preference"}
    for one, took in found:
        assert one.reason.startswith("VERDICT: ")
        assert one.reason.endswith(one.chosen)
        assert one.agrees in (True, None)
        assert took.endswith("0 USD")
        assert dialogue in conversation(view, one.call.asked, reveal=False)["judged"]
    places = {one.said.shown for one in found if one.said.rubric.name == "preference"}
    assert places == {"first answer", "second answer"}
