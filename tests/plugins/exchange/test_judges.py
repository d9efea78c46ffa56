# SPDX-License-Identifier: Apache-2.0
"""Verdicts of judges in records of Every Eval Ever and on the pages of dialogues."""

from __future__ import annotations

import json

import pyoxigraph as ox
import pytest

from kgbench.exports.outgoing_run import ExportRequest, read
from kgbench.pages.conversation import conversation, judgements
from kgbench.pages.things import MemoryView
from kgbench.scores.selection import newest_judgeable_run
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


def test_the_run_that_was_judged_is_exported_by_default(place, tmp_path):
    """Without RUN, the newest run that is not of judges is exported."""
    with open_reader(place) as store:
        run = newest_judgeable_run(store)
        assert read(store, ExportRequest()).info == run
    call("export", "eee", "--store", place, "-o", tmp_path / "eee")
    records = [json.loads(path.read_text()) for path in (tmp_path / "eee").rglob("*.json")]
    details = {one["source_metadata"]["additional_details"]["run"] for one in records}
    assert details == {run.iri}


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
