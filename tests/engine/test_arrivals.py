# SPDX-License-Identifier: Apache-2.0
"""Responses that arrived before a run was killed are used by the next session."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from kgbench.net import response_log
from kgbench.record import accounts, reading, write_ahead_entries
from kgbench.store import open_reader
from kgbench.write_ahead import records
from tests.engine.test_replies import CALLS, kgbench, words
from tests.support.servers import scripts
from tests.support.servers.anthropic_server import AnthropicSpeech
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.validation import assert_conforms

KEY = "sk-planted-0123456789abcdef"
PROVIDERS = {
    "openai": (OpenAISpeech, "OPENAI_API_KEY"),
    "anthropic": (AnthropicSpeech, "ANTHROPIC_API_KEY"),
    "google": (GoogleSpeech, "GEMINI_API_KEY"),
}
# A session that sends requests and never reads the responses.
DEAF = """
import asyncio
from kgbench.net import relay
async def never(self, *rest, **more):
    await asyncio.Event().wait()
relay._Stream.read = never
from kgbench.cli import main
main()
"""


def whole(folder):
    """Return the whole answers in the receiver's log below ``folder``, by turn."""
    found: dict[int, list[dict]] = {}
    # Unlike rglob, it passes over folders that the process removes meanwhile.
    places = [Path(at) for at, _, _ in os.walk(folder) if Path(at).name == "arrivals"]
    for place in places:
        for content in records(place):
            said = json.loads(content)
            found.setdefault(said["exchange"], []).append(said)
    logged = [
        response_log.LoggedResponse(
            pieces[0]["about"],
            number,
            pieces[0]["sealed"],
            pieces[-1]["at"],
            tuple(response_log.b64decode(piece["data"]) for piece in pieces),
        )
        for number, pieces in found.items()
    ]
    answered = [
        one
        for one in logged
        if (response := one.response([KEY])) is not None and response.status == 200
    ]
    return {one.about["turn"]: write_ahead_entries.unparsed_response(one) for one in answered}


def killed(arguments, folder, wanted, code=DEAF):
    """Start a session that reads nothing, and kill it after ``wanted`` answers have arrived."""
    with subprocess.Popen([sys.executable, "-c", code, *arguments]) as process:
        try:
            patience = time.monotonic() + 60
            while len(whole(folder)) < wanted and time.monotonic() < patience:
                assert process.poll() is None
                time.sleep(0.02)
        finally:
            process.kill()
    return whole(folder)


def all_files(folder):
    """Return the bytes of all files below ``folder``."""
    return b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_was_not_read_is_not_asked_again(tmp_path, monkeypatch, provider):
    """Unread answers are recorded with their times; no file contains the key that they repeat."""
    speech, variable = PROVIDERS[provider]
    monkeypatch.setenv(variable, KEY)
    place = tmp_path / "store"
    with LoopbackServer(speech(), answer=lambda prompt: f"{KEY} {len(prompt)}") as server:
        asked = words(place, f"{provider}:loopback@{server.url}")
        kept = killed(asked, place, 4)
        files = all_files(place)
        done = kgbench(*asked)

        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["recovered"] == len(kept) == 4
        assert len(server.ledger) == 4
        written = sum(entry.usage["output"] for entry in server.acknowledged)
    with open_reader(str(place)) as store:
        calls = list(store.query(CALLS))
        (info,) = reading.runs(store)
        (usage,) = accounts.usage(store, info.graph).values()
        assert_conforms(store)
    assert usage.output == written
    if provider != "google":  # has no request id
        times = {(one.started.isoformat(), one.ended.isoformat()) for one in kept.values()}
        assert times == {
            tuple(
                datetime.fromisoformat(row[name].value).isoformat() for name in ("started", "ended")
            )
            for row in calls
        }
    assert KEY.encode() not in files + all_files(place)
    assert not (place / "write-ahead").exists()


def test_what_was_under_way_is_received(tmp_path, monkeypatch):
    """Answers that arrive after the run was killed are not requested again."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    place = tmp_path / "store"
    with LoopbackServer(OpenAISpeech(), script=scripts.always(delay=2.0)) as server:
        asked = words(place, f"openai:loopback@{server.url}")
        command = [sys.executable, "-m", "kgbench", *asked]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            try:
                server.requests(4)
            finally:
                process.kill()
        assert server.acknowledged == []
        patience = time.monotonic() + 60
        while len(whole(place)) < 4 and time.monotonic() < patience:
            time.sleep(0.02)
        done = kgbench(*asked)

        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["recovered"] == 4
        assert len(server.ledger) == 4


def test_another_key_asks_again(tmp_path, monkeypatch):
    """An answer that arrived for one key is not used with another: the model is asked again."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    place = tmp_path / "store"
    with LoopbackServer(OpenAISpeech()) as server:
        asked = words(place, f"openai:loopback@{server.url}", iterations=1)
        killed(asked, place, 1)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-another-0123456789abcdef")
        done = kgbench(*asked)

        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["recovered"] == 0
        assert len(server.ledger) == 2
    assert not (place / "write-ahead").exists()
