# SPDX-License-Identifier: Apache-2.0
"""A judging run that is killed repeatedly ends with exactly one verdict per dialogue."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

from kgbench.analysis.verdicts import verdicts
from kgbench.scores.selection import select
from kgbench.store import open_reader, open_store
from tests.support.judge_runs import judged_run
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import always
from tests.support.validation import assert_conforms

DIALOGUES = 1_000
KILLS = 20
EACH_TIME = 40  # most requests before a kill; the judge never finishes before the last kill
CONCURRENCY = 8


def test_killed_judge_ends_with_one_verdict_each(tmp_path):
    """After 20 SIGKILLs there are 1,000 verdicts, one per dialogue, and none was asked twice."""
    chance = random.Random(22)
    place = str(tmp_path / "store")
    with open_store(place) as store:
        models = ("baseline:oracle", "baseline:noisy?rate=0.5&seed=1")
        judged_run(store, *models, iterations=DIALOGUES // 2, labels=["RdfFriendCount-turtle-1"])
    with LoopbackServer(
        OpenAISpeech(), answer=lambda _: "VERDICT: right", script=always(delay=0.02)
    ) as server:
        spec = f"openai:judge@{server.url}"
        words = ["judge", "--rubric", "correctness", "-m", spec, "-c", str(CONCURRENCY)]
        command = [sys.executable, "-m", "kgbench", *words, "--store", place, "--no-preflight"]
        command += ["--calibrate", "no"]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-loopback"}
        for _ in range(KILLS):
            wanted = len(server.ledger) + chance.randint(1, EACH_TIME)
            with subprocess.Popen(
                command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
            ) as process:
                began = time.monotonic()
                while len(server.ledger) < wanted and time.monotonic() - began < 120:
                    time.sleep(0.01)
                process.send_signal(signal.SIGKILL)
                assert process.wait() == -signal.SIGKILL
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        asked = len(server.ledger)

    assert done.returncode == 0, done.stderr
    assert DIALOGUES <= asked <= DIALOGUES + KILLS * CONCURRENCY
    with open_reader(place) as store:
        found = verdicts(store, select(store))
        assert_conforms(store)
    assert Counter(one.about for one in found).most_common(1)[0][1] == 1
    assert len(found) == DIALOGUES
