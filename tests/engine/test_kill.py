# SPDX-License-Identifier: Apache-2.0
"""A run that is killed again and again ends with exactly its plan, and repeats no call."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from kgbench.record import reading
from kgbench.store import open_reader
from tests.support.runs import dialogues_of
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import always
from tests.support.validation import assert_conforms

DIALOGUES = 500
KILLS = 20
EACH_TIME = 10  # requests before a kill, at most: the plan is never done before the last one
CONFIGURATION = """\
name: killed
iterations: {iterations}
concurrency: 8
tasks:
  - RdfFriendCount-turtle-1
  - RdfFriendCount-nt-2
models:
  - label: loopback
    spec: "openai:loopback@{url}"
"""
STORED = """
PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?text WHERE { GRAPH ?g {
  ?answer a kgb:Answer ; prov:wasDerivedFrom ?prompt . ?prompt kgb:text/prov:value ?text } }
"""


def command(folder):
    """Return the command that is repeated."""
    options = ["run", str(folder / "c.yaml"), "--store", str(folder / "store"), "--json"]
    return [sys.executable, "-m", "kgbench", *options]


def stored_prompts(place):
    """Return the prompts whose answers are in the store."""
    with open_reader(str(place)) as store:
        return {row["text"].value for row in store.query(STORED)}


def test_killed_run_ends_with_exactly_its_plan(tmp_path):
    """After 20 SIGKILLs: 500 dialogues, none twice, no stored answer requested again."""
    chance = random.Random(20)
    place = tmp_path / "store"
    with LoopbackServer(OpenAISpeech(), script=always(delay=0.2)) as server:
        text = CONFIGURATION.format(iterations=DIALOGUES // 2, url=server.url)
        (tmp_path / "c.yaml").write_text(text)
        environment = {**os.environ, "OPENAI_API_KEY": "sk-loopback"}
        asked_again: list[str] = []
        for _ in range(KILLS):
            known = stored_prompts(place) if (place / "lock").exists() else set()
            seen = len(server.ledger)
            with subprocess.Popen(
                command(tmp_path),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
            ) as process:
                began, wanted = time.monotonic(), seen + chance.randint(1, EACH_TIME)
                while len(server.ledger) < wanted and time.monotonic() - began < 120:
                    time.sleep(0.01)
                time.sleep(chance.uniform(0.0, 0.3))
                process.send_signal(signal.SIGKILL)
                assert process.wait() == -signal.SIGKILL
            prompts = [entry.body["messages"][-1]["content"] for entry in server.ledger[seen:]]
            asked_again += [prompt for prompt in prompts if prompt in known]
        known, seen = stored_prompts(place), len(server.ledger)
        done = subprocess.run(
            command(tmp_path), capture_output=True, text=True, check=False, env=environment
        )
        prompts = [entry.body["messages"][-1]["content"] for entry in server.ledger[seen:]]
        asked_again += [prompt for prompt in prompts if prompt in known]

    assert done.returncode == 0, done.stderr
    assert asked_again == []
    assert 0 < len(known) < DIALOGUES
    with open_reader(str(place)) as store:
        (run,) = reading.runs(store)
        dialogues = dialogues_of(store, run)
        (live,) = reading.passes(store, run)
        scores = reading.pass_scores(store, live.graph)
        assert_conforms(store)

    per_task = Counter((d.task, d.iteration) for d in dialogues)
    assert len(dialogues) == len(per_task) == DIALOGUES
    assert all(d.ended is not None and len(d.answers) == 1 for d in dialogues)
    assert {d.iri for d in dialogues} == set(scores)
