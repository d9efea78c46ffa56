# SPDX-License-Identifier: Apache-2.0
"""Audits with several workers: the same report, also if a worker or the scheduler is lost."""

from __future__ import annotations

import json
import sys
from contextlib import contextmanager

import pytest
from typer.testing import CliRunner

from kgbench import __main__ as program
from kgbench.cli import app
from kgbench.cli.commands import INTERRUPTED
from kgbench.execution import pools
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.reevaluation.tool_audit import audit
from kgbench.store import open_reader, open_store
from tests.support.runs import hold
from tests.support.servers.dask_cluster import cluster
from tests.support.tool_runs import held, plan_of
from tests.tools.test_audit import forge

DIALOGUES = 28
FORGED = (3, 4, 20)  # dialogues with a forged result


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    """Return a store with dialogues of a scripted agent, some of whose results are forged."""
    folder = tmp_path_factory.mktemp("audited") / "store"
    with open_store(str(folder)) as store:
        assert hold(store, plan_of("baseline:searcher", iterations=DIALOGUES)).finished
        dialogues = held(store)
        for k in FORGED:
            forge(store, dialogues[k], 0, "ok", f"forged {k}")
    return str(folder)


@pytest.fixture(scope="module")
def report(location):
    """Return the report of one worker."""
    found = audited(location, "local:1")
    assert [one["class"] for one in found["differ"]] == ["forged"] * len(FORGED)
    assert found["calls"] == found["agree"] + len(FORGED) > DIALOGUES
    return found


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Split calls and dialogues into more batches than the window holds."""
    monkeypatch.setattr(pools, "_BATCH", 2)


def audited(location, spec, watch=None):
    """Return the report of an audit."""
    with open_reader(location) as store, executor(spec) as pool:
        return audit(store, pool, JudgeLimits(), watch=watch).report()


def test_two_workers_give_the_report_of_one(location, report):
    """The report is the same, in the same order, and each executed call is counted once."""
    seen = []
    assert audited(location, "local:2", seen.append) == report
    assert seen == list(range(1, report["calls"] + 1))


def progress_of(monkeypatch, then):
    """Replace the progress of the command by calls of ``then``; return the shown settings."""
    shown = []

    @contextmanager
    def progress(label, total, *, quiet):
        shown.append((label, total, quiet))
        yield then

    monkeypatch.setattr("kgbench.cli.reevaluate.progress", progress)
    return shown


@pytest.mark.parametrize("quiet", [False, True])
def test_the_command_shows_its_progress(location, report, monkeypatch, quiet):
    """The command counts executed calls, and is quiet with --json."""
    seen = []
    shown = progress_of(monkeypatch, seen.append)
    words = ["reevaluate", "--audit-tools", "--executor", "local:1", "--store", location]
    done = CliRunner().invoke(app, [*words, *(["--json"] if quiet else [])])
    assert done.exit_code == 0
    assert shown == [("executing", None, quiet)]
    assert seen[-1] == report["calls"]
    assert not quiet or json.loads(done.stdout) == report


def test_ctrl_c_ends_an_audit(location, monkeypatch):
    """Ctrl-C exits with 130 and one line, as in a re-evaluation."""

    def interrupt(_):
        raise KeyboardInterrupt

    progress_of(monkeypatch, interrupt)
    words = ["reevaluate", "--audit-tools", "--executor", "local:1", "--store", location]
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.stdout) == (130, "")
    assert INTERRUPTED in done.stderr


@pytest.mark.servers
def test_a_cluster_gives_the_same_report_although_a_worker_is_killed(location, report, tmp_path):
    """Two workers of a cluster give the same report, also if one is killed in the middle."""
    pytest.importorskip("distributed")
    killed = []
    with cluster(tmp_path) as running:

        def kill(_):
            if not killed:
                killed.append(running.workers[0].pid)
                running.workers[0].kill()

        assert audited(location, f"dask:{running.address}") == report
        assert audited(location, f"dask:{running.address}", kill) == report
        assert killed
        assert running.workers[1].poll() is None


@pytest.mark.servers
@pytest.mark.parametrize("options", [["--audit-tools"], []])
def test_a_lost_scheduler_ends_the_command_with_a_message(
    location, tmp_path, monkeypatch, capsys, options
):
    """Audit and re-evaluation exit with 1 and the same message if the scheduler is killed."""
    pytest.importorskip("distributed")
    with cluster(tmp_path) as running:

        def kill(_):
            running.scheduler.kill()
            running.scheduler.wait()

        progress_of(monkeypatch, kill)
        words = ["reevaluate", *options, "--executor", f"dask:{running.address}"]
        monkeypatch.setattr(sys, "argv", ["kgbench", *words, "--store", location])
        with pytest.raises(SystemExit) as ended:
            program.main()
    said = capsys.readouterr().err
    assert ended.value.code == 1
    assert f"kgbench: the Dask cluster at {running.address} has given up" in said
    assert "start the cluster again and repeat the command" in said
