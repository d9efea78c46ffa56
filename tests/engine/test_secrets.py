# SPDX-License-Identifier: Apache-2.0
"""Keys occur only in requests: planted keys are searched for in all files and outputs of a run."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import sys
import traceback

import pytest

from kgbench.cli import main
from kgbench.engine.session import Journal
from kgbench.secrets import secrets_in_environment
from kgbench.store import open_reader
from tests.support.servers import scripts
from tests.support.servers.anthropic_batches import AnthropicBatchSpeech
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_batches import OpenAIBatchSpeech
from tests.support.servers.openai_server import OpenAISpeech

PLANTED = {
    "OPENAI_API_KEY": "sk-planted-openai-0123456789",
    "ANTHROPIC_API_KEY": "sk-ant-planted-anthropic-0123456789",
    "GEMINI_API_KEY": "AIzaPlantedGoogle0123456789",
    "OWN_GATEWAY_TOKEN": "plain-planted-words-without-any-shape",
}
LABEL = "RdfFriendCount-turtle-1"


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Repeat failed calls, and poll batches, without much delay."""
    monkeypatch.setattr("kgbench.engine.calls.FIRST_WAIT", 0.02)
    monkeypatch.setattr("kgbench.engine.batch_client.FIRST_WAIT", 0.02)


def kgbench(*arguments):
    """Return all output of a command, with its traceback, if any."""
    said = io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
    ):
        patch.setattr(sys, "argv", ["kgbench", *map(str, arguments)])
        try:
            main()
        except SystemExit:
            pass
        except BaseException:  # noqa: BLE001 - printed as by the interpreter
            traceback.print_exc()
    return said.getvalue()


def holds_key(text):
    """Return the planted keys in ``text``, whole or without their ends."""
    return [key for key in PLANTED.values() if key[3:-3] in text]


FAILURES = (
    *(scripts.UNAUTHORISED, scripts.CUT, scripts.GARBAGE, scripts.NOT_JSON, scripts.MALFORMED),
    *(scripts.CONTEXT, scripts.BAD_REQUEST, scripts.SERVER_ERROR, scripts.EMPTY_CHOICES),
    *(scripts.REFUSAL, scripts.QUOTA, scripts.ANSWER),
)
# The specification of each connector, and its server.
EVERY = {
    "chat": ("openai:chat@{url}", OpenAISpeech),
    "responses": ("openai:responses@{url}?api=responses", OpenAISpeech),
    "own": ("openai:own@{url}?key_env=OWN_GATEWAY_TOKEN", OpenAISpeech),
    "vllm": ("vllm:served@{url}", OpenAISpeech),
    "anthropic": ("anthropic:messages@{url}", AnthropicSpeech),
    "google": ("google:content@{url}", GoogleSpeech),
    "legacy": ("google_legacy:content@{url}", GoogleSpeech),
}
IN_BATCHES = {
    "openai": ("openai:chat@{url}", OpenAIBatchSpeech),
    "anthropic": ("anthropic:messages@{url}", AnthropicBatchSpeech),
}
CONFIGURATION = """\
name: planted
iterations: {iterations}
concurrency: 2
maxRetries: 0
callTimeout: 60
batch: {batch}
tasks: [RdfFriendCount-turtle-1]
models: {models}
"""


def configured(folder, models, iterations, *, batch):
    """Return a configuration of ``models``, with a single attempt for each call."""
    values = {"models": json.dumps(models), "iterations": iterations, "batch": str(batch).lower()}
    path = folder / "c.yaml"
    path.write_text(CONFIGURATION.format(**values))
    return path


def left_behind(folder):
    """Return the content of all files in a folder and of a dump of its store."""
    texts = [path.read_bytes().decode("latin-1") for path in folder.rglob("*") if path.is_file()]
    with open_reader(str(folder / "store")) as store:
        rows = store.query("SELECT * WHERE { GRAPH ?g { ?s ?p ?o } }")
        texts += [" ".join(str(term) for term in row) for row in rows]
    return "\n".join(texts)


def plant(monkeypatch):
    """Set the keys in the environment; vLLM's server has its own key."""
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("VLLM_API_KEY", PLANTED["OWN_GATEWAY_TOKEN"])


def test_no_connector_says_its_key_whatever_fails(tmp_path, monkeypatch):
    """No connector reveals its key after any kind of failure, in tracebacks, too."""
    plant(monkeypatch)
    chosen = dict(EVERY)
    if "google.generativeai" not in importlib.metadata.packages_distributions():
        chosen.pop("legacy")
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(
                LoopbackServer(speech(echo_key=True), script=scripts.sequence(*FAILURES))
            )
            for _, speech in chosen.values()
        ]
        specs = [spec for spec, _ in chosen.values()]
        models = [spec.format(url=s.url) for spec, s in zip(specs, servers, strict=True)]
        path = configured(tmp_path, models, len(FAILURES), batch=False)
        options = ("run", path, "--store", tmp_path / "store")
        options += ("--allow-secret", "OWN_GATEWAY_TOKEN")
        said = kgbench("--debug", *options, "--log", tmp_path / "log.jsonl", "-v")
        said += kgbench("--debug", *options, "--model", "chat", "--max-cost", "1")
        monkeypatch.setenv("OPENAI_API_KEY", PLANTED["OPENAI_API_KEY"] + "\x07")
        refused = kgbench("--debug", *options, "--new", "--model", "chat")
        said += kgbench("status", "--store", tmp_path / "store", "--why", "--json")
        said += kgbench("--debug", *options, "--model", "openai:x@http://u:p@h/v1")

    seen = [{v for e in s.ledger for v in e.headers.values()} for s in servers]
    assert all(holds_key(" ".join(values)) for values in seen), "each server has seen its key"
    assert "[hidden]" in said
    assert "Traceback" in said
    assert "Traceback" in refused
    assert "no header can carry" in refused
    assert holds_key(said + refused) == []
    assert holds_key(left_behind(tmp_path)) == []


def test_no_batch_says_the_key_it_was_handed_in_with(tmp_path, monkeypatch):
    """The key is in no file, name, id, state, result or error of a batch."""
    plant(monkeypatch)
    troubles = [scripts.CUT, "answer", scripts.SERVER_ERROR, scripts.NOT_JSON]
    with contextlib.ExitStack() as stack:
        speeches = [
            speech(echo_key=True, each=scripts.sequence(*FAILURES))
            for _, speech in IN_BATCHES.values()
        ]
        servers = [
            stack.enter_context(LoopbackServer(speech, script=scripts.sequence(*troubles)))
            for speech in speeches
        ]
        specs = [spec for spec, _ in IN_BATCHES.values()]
        models = [spec.format(url=s.url) for spec, s in zip(specs, servers, strict=True)]
        path = configured(tmp_path, models, len(FAILURES), batch=True)
        options = ("--debug", "run", path, "--store", tmp_path / "store")
        said = kgbench(*options, "--log", tmp_path / "log.jsonl", "-v")
        said += kgbench("query", "run-batches", "--store", tmp_path / "store")

    handed_in = [
        str(asked.body) + asked.name + str(batch.metadata)
        for speech in speeches
        for batch in speech.desk.batches
        for asked in batch.asked
    ]
    assert len(handed_in) >= 2 * len(FAILURES)
    assert "batch_0000" in said
    assert "[hidden]" in left_behind(tmp_path), "errors in results were recorded"
    assert holds_key("".join(handed_in)) == []
    assert holds_key(said) == []
    assert holds_key(left_behind(tmp_path)) == []


def test_log_names_dialogues_and_timing(tmp_path, loopback):
    """Every request in the log has its reply or failure, by the IRI of its dialogue."""
    _, spec = loopback(scripts.sequence(scripts.SERVER_ERROR, scripts.RATE_LIMIT, scripts.CUT))
    place, log = tmp_path / "store", tmp_path / "run.jsonl"
    words = ("run", "--model", spec, "--task", LABEL, "-n", "2", "--no-preflight")
    kgbench(*words, "--store", place, "--log", log)
    lines = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    with open_reader(str(place)) as store:
        known = {
            row["d"].value
            for row in store.query(
                "SELECT ?d WHERE { GRAPH ?g { ?d a <https://w3id.org/kgbench/ns#Dialogue> } }"
            )
        }

    requests = [line for line in lines if line["event"] == "request"]
    ends = [line for line in lines if line["event"] in ("reply", "failure")]
    assert len(requests) == len(ends) > 2
    assert {line["dialogue"] for line in requests} == known
    assert all(
        {"time", "round", "limit", "under_way", "attempt"} <= line.keys() for line in requests
    )
    assert all("seconds" in line for line in ends if line["event"] == "reply")
    assert any(line.get("wait") is not None for line in ends)
    assert (lines[0]["event"], lines[-1]["event"]) == ("session", "end")


def test_what_counts_as_a_key():
    """A secret variable is recognised by its name; a short value would hide plain words."""
    environment = {
        **PLANTED,
        "PATH": "/usr/bin:/bin:/sbin",
        "MY_API_KEY": "short",
        "KEYBOARD": "qwertyuiop",
    }

    assert secrets_in_environment(environment) == set(PLANTED.values())


def test_readable_log_hides_keys_too(monkeypatch):
    """Messages on the terminal have keys hidden like those in files."""
    monkeypatch.setenv("SOME_API_KEY", "entirely-unshaped-secret")
    said = []
    Journal(say=said.append).note("failure", error="bad key entirely-unshaped-secret", wait=None)

    assert "entirely" not in said[0]
    assert "wait" not in said[0]
