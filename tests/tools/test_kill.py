# SPDX-License-Identifier: Apache-2.0
"""A run of tool dialogues that is killed often completes its plan and asks nothing logged twice."""

from __future__ import annotations

import itertools
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from kgbench.engine.preflight import PROMPT
from kgbench.engine.replies import parsed, read_lines
from kgbench.store import open_reader
from kgbench.store.back_ends import REPLY_LOG
from kgbench.tools import wording
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import always
from tests.support.tool_runs import LABEL, NATIVE, held, scripted
from tests.support.validation import assert_conforms

TURNS = len(NATIVE)
USES = sum(len(wording.calls(step)) for step in NATIVE)
CONCURRENCY = 8
CONFIGURATION = """\
name: killed
iterations: {iterations}
concurrency: {concurrency}
tasks: [{label}]
models:
  - label: loopback
    spec: "openai:loopback@{url}"
"""
NUMBER = re.compile(r"This is dialogue (\d+)\.")
REQUESTS = """
PREFIX kgb: <https://w3id.org/kgbench/ns#> SELECT ?id { GRAPH ?g { ?call kgb:requestId ?id } }
"""


class Model:
    """The scripted model of other tests, which also numbers the dialogues."""

    def __init__(self):
        self._numbers = itertools.count()
        self._lock = threading.Lock()

    def __call__(self, prompt):
        """Return the model's answer to ``prompt``."""
        step = scripted(NATIVE, prompt)
        if NUMBER.search(prompt) is not None:
            return step
        with self._lock:
            return f"This is dialogue {next(self._numbers)}.\n{step}"


def numbered(text):
    """Return the number that the model gave to a dialogue, or ``None``."""
    found = NUMBER.search(text)
    return None if found is None else int(found[1])


def stored(place):
    """Return the number of stored answers by number of dialogue."""
    with open_reader(str(place)) as store:
        return {numbered(d.answers[0]): len(d.answers) for d in held(store) if d.answers}


def logged(place):
    """Return the ids of the requests whose replies are in the log."""
    lines, _ = read_lines(place / REPLY_LOG)
    return {parsed(line).call.reply.request_id for line in lines}


def asked(entry):
    """Return the dialogue's number (``None`` before it has one) and the turn of a request."""
    said = [message["content"] or "" for message in entry.body["messages"]]
    turn = sum(message["role"] == "assistant" for message in entry.body["messages"])
    return numbered("\n".join(said)), turn


def lost(server, paid_for):
    """Return the answers sent completely but not stored, as numbers of dialogues and turns.

    Removes the others from ``paid_for``; of an answer sent twice, the last is stored.
    """
    found = []
    for entry in reversed(server.acknowledged):
        if entry.body["messages"][0]["content"] == PROMPT:  # a first call, which tests the model
            continue
        number, turn = asked(entry)
        answered = (numbered(entry.answer) if number is None else number, turn)
        if answered in paid_for:
            paid_for.remove(answered)
        else:
            found.append(answered)
    return found


@pytest.mark.parametrize(
    ("dialogues", "kills", "each_time"),
    [(24, 3, 20), (500, 30, 45)],
)
def test_killed_dialogues_with_tools(tmp_path, dialogues, kills, each_time):
    """After SIGKILLs the plan is complete, and a kill costs at most the answers in flight."""
    chance = random.Random(kills)
    place = tmp_path / "store"
    options = ["run", str(tmp_path / "c.yaml"), "--store", str(place), "--json"]
    command = [sys.executable, "-m", "kgbench", *options]
    again, kept_replies = [], set()
    environment = {**os.environ, "OPENAI_API_KEY": "sk-loopback"}

    with LoopbackServer(OpenAISpeech(), script=always(delay=0.05), answer=Model()) as server:
        text = CONFIGURATION.format(
            iterations=dialogues, concurrency=CONCURRENCY, label=LABEL, url=server.url
        )
        (tmp_path / "c.yaml").write_text(text)

        def check(known, seen):
            for entry in server.ledger[seen:]:
                number, turn = asked(entry)
                if number is not None and turn < known.get(number, 0):
                    again.append((number, turn))

        for _ in range(kills):
            known = stored(place) if (place / "lock").exists() else {}
            seen = len(server.ledger)
            with subprocess.Popen(
                command,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            ) as process:
                began, wanted = time.monotonic(), seen + chance.randint(1, each_time)
                while len(server.ledger) < wanted and time.monotonic() - began < 120:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0.0, 0.2))
                process.send_signal(signal.SIGKILL)
                assert process.wait() == -signal.SIGKILL
            check(known, seen)
            kept_replies |= logged(place)
        known, seen = stored(place), len(server.ledger)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        check(known, seen)

    assert done.returncode == 0, done.stderr
    assert again == []
    assert sum(known.values()) < dialogues * TURNS
    with open_reader(str(place)) as store:
        found = held(store)
        stored_replies = {row["id"].value for row in store.query(REQUESTS)}
        assert_conforms(store)
    assert len(found) == dialogues
    assert all(d.ended is not None and len(d.turns) == TURNS for d in found)
    assert {sum(len(t.uses) for t in d.turns) for d in found} == {USES}
    kept = {numbered(d.answers[0]) for d in found}
    assert len(kept) == dialogues
    paid_for = {(number, turn) for number in kept for turn in range(TURNS)}
    assert kept_replies <= stored_replies
    assert len(lost(server, paid_for)) <= kills * CONCURRENCY
    assert paid_for == set()
