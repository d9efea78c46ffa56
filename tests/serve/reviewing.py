# SPDX-License-Identifier: Apache-2.0
"""``kgbench serve --review`` as a process over a small store with verdicts of judges."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys

from kgbench.store import open_store
from tests.serve.processes import PATIENCE
from tests.support.judge_runs import ask, judged_run

LABELS = ["RdfFriendCount-turtle-1"]
NOISY = "baseline:noisy?rate=0.7&seed=3"


def make(folder, models=("baseline:oracle", NOISY), iterations=3):
    """Make a store at ``folder`` with a run that one judge has judged."""
    with open_store(str(folder)) as opened:
        of = judged_run(opened, *models, labels=LABELS, iterations=iterations)
        ask(opened, of, "correctness", NOISY)
    return folder


@contextlib.contextmanager
def reviewing(folder, *options):
    """Yield the URL of a running review server, and the link that admits reviewers."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "kgbench", "serve", "--review", "--port", "0"),
            *("--store", str(folder), *options),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[1], process.stderr.read()
        link = lines[1].split()[-1]
        yield link.partition("?")[0], link
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)
