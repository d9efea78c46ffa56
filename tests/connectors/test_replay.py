# SPDX-License-Identifier: Apache-2.0
"""Replaying a stored run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench import config
from kgbench.connectors import replay
from kgbench.errors import ModelSpecError, ProviderRefused
from kgbench.model import Case, ModelSetup, Outcome, Reply, Request
from kgbench.record import reading
from kgbench.store import open_reader, open_store
from tests.connectors import setup_for
from tests.support.runs import Stop, hold, planned
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech

LABELS = ["RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle"]
NOISY = "baseline:noisy?rate=0.6&seed=3"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store with one run of two models."""
    place = tmp_path_factory.mktemp("recorded") / "store"
    plan = planned(LABELS, NOISY, "baseline:silent", iterations=4)
    with open_store(str(place)) as store:
        hold(store, plan)
    return place


def _answers(place: Path, model: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Return all answers of a model in the newest run, by case and answers' prompts."""
    with open_reader(str(place)) as store:
        run = reading.runs(store)[0]
        found = {}
        for execution in reading.executions(store, run.graph):
            if model in execution.model:
                for one in reading.execution_dialogues(store, run.graph, execution, run.iri):
                    found[execution.task, str(one.iteration)] = one.answers
        return found


def test_a_replayed_run_says_the_same(
    recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every dialogue of a replay has the answers of the run, feedback rounds included."""
    with open_reader(str(recorded)) as store:
        run = reading.runs(store)[0]
    spec = f"replay:{run.id[:13]}?store={recorded}&model={NOISY.replace('&', '%26')}"
    plan = planned(LABELS, spec, iterations=4)
    with open_store(str(tmp_path / "again")) as store:
        progress = hold(store, plan)

    assert (progress.complete, progress.failed, progress.input_tokens) == (8, 0, 0)
    said, again = _answers(recorded, "noisy"), _answers(tmp_path / "again", "replay")
    assert len(said) == 8
    # Dialogues of one task with equal prompts may be in another order.
    assert sorted(said.values()) == sorted(again.values())
    assert any(len(one) > 1 for one in said.values())


def test_a_replay_extracts_as_the_run_did(tmp_path: Path) -> None:
    """With the extraction of the run, later rounds follow what was extracted."""
    place, extraction = str(tmp_path / "store"), "extraction=think-block/1"
    with (
        LoopbackServer(OpenAISpeech(), answer=fixed("<think>Hm.</think>No.")) as server,
        open_store(place) as store,
    ):
        hold(store, planned(LABELS[1], f"openai:m@{server.url}?{extraction}", iterations=1))
        (run,) = reading.runs(store)
    plan = planned(LABELS[1], f"replay:{run.id}?store={place}&{extraction}", iterations=1)
    with open_store(str(tmp_path / "again")) as store:
        progress = hold(store, plan)

    assert len(server.ledger) == 3
    assert (progress.complete, progress.calls) == (1, 3)


def _open(place: Path, name: str, **options: str) -> replay.Replay:
    return replay.open(setup_for("replay", name, options={"store": str(place), **options}), 1)


def test_a_run_is_found_by_its_names(recorded: Path) -> None:
    """A run is found by IRI, id, prefix of the id or label; another name gets a list of all."""
    with open_reader(str(recorded)) as store:
        run = reading.runs(store)[0]
    for name in (run.iri, run.id, run.id[:8], run.label):
        _open(recorded, name, model="baseline:silent")
    with pytest.raises(ModelSpecError, match=f"there are: {run.id}"):
        _open(recorded, "another", model="baseline:silent")


def test_the_store_of_the_command_is_the_default(recorded: Path) -> None:
    """Without the option ``store`` the run comes from the results store of the command."""
    with open_reader(str(recorded)) as store:
        run = reading.runs(store)[0]
    setup = setup_for("replay", run.id, options={"model": "baseline:silent"})
    token = replay.SOURCE.set(str(recorded))
    try:
        assert replay.open(setup, 1)
    finally:
        replay.SOURCE.reset(token)


def test_one_of_several_models_must_be_chosen(recorded: Path) -> None:
    """A replay of a run with two models needs a model; the error names them."""
    with open_reader(str(recorded)) as store:
        run = reading.runs(store)[0]
    for options in ({}, {"model": "gpt"}):
        with pytest.raises(ModelSpecError, match="baseline:silent"):
            _open(recorded, run.id, **options)


def test_a_run_without_answers_is_refused(tmp_path: Path) -> None:
    """A run that was stopped before its first answer is refused."""
    stop = Stop()
    stop.request()
    plan = planned(LABELS[0], "baseline:silent", iterations=1)
    with open_store(str(tmp_path / "store")) as store:
        hold(store, plan, stop=stop)
        (run,) = reading.runs(store)
    with pytest.raises(ModelSpecError, match=f"the run {run.iri} holds no answers"):
        _open(tmp_path / "store", run.id)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"store": "memory:"}, "ends with the command"),
        ({"store": "no/such/store"}, "there is no store"),
        ({"match": "anything"}, "one of prompt, case"),
        ({"modell": "x"}, "no option 'modell'"),
    ],
)
def test_unusable_setups_are_refused(options: dict[str, str], message: str) -> None:
    """An unreadable store or an unknown option is refused before any call."""
    with pytest.raises(ModelSpecError, match=message):
        replay.open(setup_for("replay", "r", options=options), 1)


def _row(dialogue: str, k: int, prompt: str, answer: str, **rest: str | None) -> dict[str, object]:
    columns = ("promptOriginal", "answerOriginal", "reasoningText", "finishReason", "outcome")
    values = {"dialogue": dialogue, "round": str(k), "promptText": prompt, "answerText": answer}
    values |= {"case": "urn:case", "model": "urn:model/m", **dict.fromkeys(columns), **rest}
    return {k: None if v is None else ox.Literal(v) for k, v in values.items()}


ROWS = [
    _row("d0", 0, "p", "a", reasoningText="because", finishReason="stop"),
    _row("d0", 1, "again", "b"),
    _row("d1", 0, "p", "c\ufffd", answerOriginal="Y+2ggA=="),
    _row("d1", 1, "again", "", outcome="https://w3id.org/kgbench/outcome/refused"),
]


def _ask(connector: replay.Replay, seed: str, *messages: str) -> Reply:
    case = Case("urn:case", "s", "C", {}, {}, "d")
    return asyncio.run(connector.ask(Request(messages, case, seed)))


def _replay(*, by_case: bool = False) -> replay.Replay:
    return replay.Replay("replay:r", replay.answers(ROWS), by_case=by_case)


def test_answers_come_in_order_each_once() -> None:
    """Equal conversations get the answers of successive iterations; a repetition gets the same."""
    connector = _replay()
    first = _ask(connector, "0", "p")
    assert (first.text, first.reasoning, first.finish_reason) == ("a", "because", "stop")
    assert _ask(connector, "1", "p").text == "c\ud800"
    assert _ask(connector, "0", "p") is first
    with pytest.raises(ProviderRefused, match="all 2 answers"):
        _ask(connector, "2", "p")


def test_a_conversation_goes_on_as_it_went_on() -> None:
    """A later round gets the answer that followed the same prompts and answers."""
    connector = _replay()
    refused = _ask(connector, "1", "p", "c\ud800", "again")
    assert (refused.text, refused.outcome) == ("", Outcome.REFUSED)
    assert _ask(connector, "0", "p", "a", "again").text == "b"


def test_a_changed_prompt_gets_old_answers_only_on_request() -> None:
    """A changed prompt gets an old answer only with ``match=case``."""
    with pytest.raises(ProviderRefused, match="was recorded"):
        _ask(_replay(), "0", "another prompt")
    assert _ask(_replay(by_case=True), "0", "another prompt").text == "a"


def test_setups_are_read_as_they_are_written() -> None:
    """A replay's specification, as written, keeps its run and its options."""
    setup: ModelSetup = config.quick_start(models=["replay:0199?model=m&match=case"]).models[0]
    assert (setup.model_id, setup.options) == ("0199", {"model": "m", "match": "case"})
