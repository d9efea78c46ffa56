# SPDX-License-Identifier: Apache-2.0
"""Requests to the probe, limits for its judging, and a listener that must receive no connection."""

import json
import os
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path

from kgbench.execution.judging import JudgeLimits, JudgeRequest, judge_batch
from kgbench.model import Case, Outcome
from kgbench.rdf import digest
from kgbench.tasks import catalogue

TASKS = catalogue.labelled_tasks()  # without the probe
PROBE = str(Path(__file__).parent / "probe")
GRAPH = "<http://e/a> <http://e/b> " + ", ".join(map(str, range(60))) + " ."
ENDLESS = "SELECT (COUNT(*) AS ?n) { " + " ".join(f"?s{i} ?p{i} ?o{i} ." for i in range(9)) + " }"
GREEDY = (
    "SELECT DISTINCT ?o1 ?o2 ?o3 ?o4 ?o5 { "
    + " ".join(f"?s{i} ?p{i} ?o{i} ." for i in range(6))
    + " } ORDER BY ?o1"
)
#: Timeout for work of milliseconds on a busy machine, and for work that must end by itself.
PATIENCE = 120.0  # seconds
PATIENT = JudgeLimits(seconds=PATIENCE)
SMALL = JudgeLimits(seconds=PATIENCE, memory_bytes=300 << 20)
#: For endless work; raised if the machine is too busy for the harmless answers around it.
HASTY = JudgeLimits(seconds=1.0)


def case(number=0, task_class="Probe", graph=GRAPH):
    """Return a case of the probe."""
    iri = f"https://w3id.org/kgbench/case/test/{task_class}/{number}"
    data = {"graph": graph, "number": number}
    return Case(iri, "test", task_class, {}, data, digest(json.dumps(data)), uid=str(number))


def requests(*answers, **options):
    """Return a batch of instructions, each about its own case."""
    return [JudgeRequest(case(i, **options), (answer,)) for i, answer in enumerate(answers)]


def judge(answer, limits=PATIENT, **options):
    """Return the verdict on an instruction between two harmless ones, which must be unaffected.

    If the time does not even suffice for the harmless ones, the batch is repeated with more.
    """
    batch = requests("echo a", answer, "echo b", **options)
    before, verdict, after = judge_batch(batch, limits)
    # A query is judged again without its rows after a timeout, so it has scores.
    late = answer.startswith("query ") and not verdict.scores
    late = late or Outcome.TIMEOUT in (before.outcome, after.outcome)
    if late and limits.seconds < PATIENCE:
        return judge(answer, replace(limits, seconds=4 * limits.seconds), **options)
    assert (before.infos["argument"], before.outcome) == ("a", Outcome.SCORED)
    assert (after.infos["argument"], after.outcome) == ("b", Outcome.SCORED)
    return verdict


def listener():
    """Return a server on this machine that accepts no connection by itself."""
    server = socket.create_server(("127.0.0.1", 0))
    server.settimeout(0)  # a connection made before an answer is already in the queue
    return server


def nobody_came(server):
    """Return whether the server received no connection."""
    try:
        server.accept()
    except BlockingIOError:
        return True
    return False


def wait_until(condition):
    """Return as soon as ``condition`` holds; fail after :data:`PATIENCE`."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def running(pid):
    """Return whether a process runs; a zombie does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    done = subprocess.run(
        ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() != "" and not done.stdout.startswith("Z")
