# SPDX-License-Identifier: Apache-2.0
"""``kgbench status``: outcomes with their rates, open batches, and planned calls."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgbench import config
from kgbench.cli import app
from kgbench.record import batches, invalidation, reading
from kgbench.record.recorder import Recorder
from kgbench.store import open_store
from tests.support.runs import Stop, hold, planned

LABEL = "RdfFriendCount-turtle-1"
SELECTED = ("--model", "baseline:oracle", "--model", "baseline:silent", "--task", LABEL)


def kgbench(*arguments):
    """Return the result of a command in this process."""
    return CliRunner().invoke(app, list(map(str, arguments)))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a store with a run of two models, one of which says nothing."""
    monkeypatch.setenv("KGBENCH_STORE", str(tmp_path / "store"))
    done = kgbench("run", *SELECTED, "-n", "4", "--executor", "local:1")
    assert done.exit_code == 0, done.output
    return tmp_path / "store"


def test_outcomes_have_counts_and_rates(place):
    """Each model's answers are counted by outcome, as text and as JSON."""
    said = kgbench("status").output
    (state,) = json.loads(kgbench("status", "--json").output)

    assert "answers: scored 4 (100.0 %)" in said
    assert "answers: empty 4 (100.0 %)" in said
    assert state["outcomes"]["baseline:silent"] == {"empty": {"answers": 4, "rate": 1.0}}
    assert state["batches"] == []


def test_batches_under_way_are_named(place):
    """Open batches have the provider's id if known, and the command that collects them."""
    with open_store(str(place)) as store:
        (info,) = reading.runs(store)
        setup = config.model_setup("openai:m")
        recorder = Recorder(store.iris, info.id, "live")
        for number, name in (("0199aaaa", None), ("0199bbbb", "batch_7")):
            one = batches.Batch(f"{info.iri}/batch/{number}", setup.iri, 5, info.started, name)
            store.write(batches.intention_blocks(recorder, setup, one))
            if name is not None:
                store.write([batches.id_block(recorder, one)])
    said = kgbench("status").output
    (state,) = json.loads(kgbench("status", "--json").output)
    again = kgbench("run", *SELECTED, "-n", "4")

    assert "10 answers are pending in batches" in again.output
    assert "batch under way: m, 5 requests" in said
    assert "(batch_7); kgbench run --batch collects it" in said
    assert "not confirmed by the provider" in said
    assert [one["id"] for one in state["batches"]] == [None, "batch_7"]


def test_why_tells_of_invalidated_dialogues(place):
    """If nothing would be asked, invalidated dialogues are distinguished from complete ones."""
    (state,) = json.loads(kgbench("status", "--json").output)
    kgbench("invalidate", state["run"], "--reason", "a test", "--by", "me")
    said = kgbench("status", "--why").output

    assert "8 dialogues invalidated: run again with --redo-invalidated." in said
    assert "every other planned dialogue is complete" in said


def test_a_run_does_not_count_invalidated_dialogues(place):
    """A run and its estimate have the numbers of status, and say how to run the dialogues again."""
    hint = "Invalidated dialogues run again with --redo-invalidated."
    command = ("run", *SELECTED, "-n", "4")
    (state,) = json.loads(kgbench("status", "--json").output)
    kgbench("invalidate", state["run"], "--reason", "a test", "--by", "me")
    said = kgbench(*command).output
    told = json.loads(kgbench(*command, "--json").output)
    planned = kgbench(*command, "--dry-run").output
    redo = json.loads(kgbench(*command, "--dry-run", "--redo-invalidated", "--json").output)
    (state,) = json.loads(kgbench("status", "--json").output)

    assert "0 of 8 dialogues complete (0 now)" in said
    assert "  8 dialogues invalidated and not counted" in said
    assert hint in said
    assert (told["complete"], told["invalidated"]) == (0, 8)
    assert (state["complete"], state["invalid"]) == (0, 8)
    assert f"8 dialogues invalidated and not counted. {hint}" in planned
    assert (redo["invalidated"], redo["dialogues_to_do"]) == (0, 8)


def test_dialogues_that_were_not_begun_are_counted(place):
    """An interrupted run says how much of its plan was not begun, and how to continue."""
    plan = planned(LABEL, "baseline:oracle", iterations=3)
    stop = Stop()
    stop.request()
    with open_store(str(place)) as store:
        hold(store, plan, stop=stop, run=None)
    newest, complete = kgbench("status").output.split("baseline:oracle,", 1)

    assert "  0 of 3 dialogues complete, 0 open, 3 not begun\n" in newest
    assert "unless the run is under way, repeat its command to continue it" in newest
    assert "  8 of 8 dialogues complete, 0 open\n" in complete
    assert "repeat its command" not in complete


def test_invalidated_dialogues_are_told_from_those_that_were_not_begun(place):
    """Each planned dialogue is complete, open, invalidated or not begun, also once repeated."""
    plan = planned(LABEL, "baseline:oracle", "baseline:silent", iterations=5)
    stop = Stop()
    stop.request()
    with open_store(str(place)) as store:
        (info,) = reading.runs(store)
        found = reading.all_states(store, info.graph)
        for dialogue in sorted(state.iri for states in found.values() for state in states)[:2]:
            invalidation.invalidate(store, dialogue, "a test", "me")
        hold(store, plan, stop=stop, run=info)
    said = kgbench("status").output
    (state,) = json.loads(kgbench("status", "--json").output)
    kgbench("run", *SELECTED, "-n", "5", "--redo-invalidated")
    repeated = kgbench("status").output
    (after,) = json.loads(kgbench("status", "--json").output)

    assert "  6 of 10 dialogues complete, 0 open, 2 invalidated, 2 not begun\n" in said
    assert "  2 dialogues invalidated and not counted; kgbench run --redo-invalidated" in said
    assert (state["not_begun"], state["invalid"], state["invalid_to_repeat"]) == (2, 2, 2)
    assert "  10 of 10 dialogues complete, 0 open\n" in repeated
    assert "  2 dialogues invalidated and not counted; all repeated\n" in repeated
    assert "repeat its command" not in repeated
    assert (after["missing"], after["not_begun"], after["invalid_to_repeat"]) == (0, 0, 0)


def test_a_configuration_to_compare_with_needs_a_why(place, tmp_path):
    """``--config`` without ``--why`` is refused, because it has no effect."""
    refused = kgbench("status", "--config", tmp_path / "c.yaml")

    assert refused.exit_code == 2
    assert "--why" in refused.output


def test_models_without_batches_are_refused_by_a_dry_run(place):
    """A dry run refuses a model without batches before any estimate."""
    refused = kgbench("run", "--batch", "--dry-run", "--model", "google:m", "--task", LABEL)
    told = kgbench("run", "--batch", "--dry-run", "--model", "openai:gpt-4o", "--task", LABEL)
    live = kgbench("run", "--dry-run", "--model", "openai:gpt-4o", "--task", LABEL, "--json")
    half = kgbench(
        "run", "--batch", "--dry-run", "--model", "openai:gpt-4o", "--task", LABEL, "--json"
    )

    assert "cannot be asked in batches" in str(refused.exception)
    assert "in batches" in told.output
    (full,), (cheap,) = (json.loads(one.output)["models"] for one in (live, half))
    assert float(cheap["least"]["cost"]) * 2 == pytest.approx(float(full["least"]["cost"]))
