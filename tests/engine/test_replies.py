# SPDX-License-Identifier: Apache-2.0
"""Replies are kept from their arrival: a killed run uses them, a failed write stops all calls."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given

from kgbench.engine import Journal
from kgbench.engine.replies import LoggedReply, parsed, read_lines, serialised
from kgbench.errors import StoreError, WriteFailed
from kgbench.model import Call
from kgbench.record import accounts, reading
from kgbench.store import EmbeddedStore, open_reader, open_store
from kgbench.store.back_ends import REPLY_LOG
from tests.record.test_round_trip import REPLIES
from tests.support.batch_runs import ONE, ROUNDS, Provider
from tests.support.runs import hold, planned
from tests.support.servers import scripts
from tests.support.servers.scripts import Behaviour
from tests.support.validation import assert_conforms

CALLS = """
PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?id ?started ?ended ?retries WHERE { GRAPH ?g { ?call kgb:requestId ?id ;
  prov:startedAtTime ?started ; prov:endedAtTime ?ended .
  OPTIONAL { ?call kgb:retries ?retries } } }
"""
# A session whose store accepts the beginning of the run and then blocks for ever.
STUCK = """
import sys, threading
from kgbench.store.embedded import EmbeddedStore
from kgbench.store.remote import RemoteStore
write = STORE.write
def once(self, blocks):
    if threading.current_thread().name == "kgbench-writer":
        threading.Event().wait()
    write(self, blocks)
STORE.write = once
from kgbench.cli import main
main()
"""


def plan_of(spec, iterations=4, label=ONE, **rest):
    """Return a plan of one model on one task."""
    fields = {"max_retries": 2, "call_timeout": 60.0, **rest}
    return planned(label, spec, iterations=iterations, **fields)


def asked(server):
    """Return the number of answers to each question."""
    answered = {entry.digest for entry in server.acknowledged}
    return Counter(e.digest for e in server.acknowledged if e.digest in answered)


def words(place, spec, *options, iterations=4, label=ONE):
    """Return the arguments of the command ``run``."""
    chosen = ["--model", spec, "--task", label, "--iterations", str(iterations), "--json"]
    return ["run", "--store", str(place), "--no-preflight", *chosen, *options]


def kgbench(*arguments):
    """Return the finished process of a command."""
    command = [sys.executable, "-m", "kgbench", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def records(folder):
    """Return the replies in the log below ``folder``, by turn.

    Folders may vanish meanwhile: a session renames finished snapshots.
    """
    logs = [Path(place, REPLY_LOG) for place, _, _ in os.walk(folder)]
    logged = [parsed(line) for file in logs for line in read_lines(file)[0]]
    return {reply.turn: reply for reply in logged}


def killed(arguments, folder, wanted, store="EmbeddedStore"):
    """Start a session that stores nothing, and kill it after ``wanted`` replies are in its log."""
    code = STUCK.replace("STORE", store)
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            patience = time.monotonic() + 60
            while len(records(folder)) < wanted and time.monotonic() < patience:
                assert process.poll() is None
                time.sleep(0.02)
        finally:  # it never ends by itself
            process.kill()
    return records(folder)


@given(REPLIES)
def test_any_reply_comes_back_as_it_was(reply):
    """Any reply is read back from the log unchanged."""
    now = datetime.now(UTC)
    received = LoggedReply("r", "urn:t", "d", Call(now, now, reply, retries=3, batch="urn:b"))

    assert parsed(serialised(received)) == received
    assert b"\n" not in serialised(received)


def test_a_line_of_something_else_is_refused():
    """JSON that holds no reply is refused."""
    for line in (b"{}", b"[]", b"null", b"{", b'{"run": "r", "reply": 1}'):
        with pytest.raises(ValueError, match=r"."):
            parsed(line)


@pytest.mark.parametrize(("label", "rounds"), [(ONE, 1), (ROUNDS, 3)], ids=["one", "three rounds"])
def test_a_killed_session_loses_no_reply(tmp_path, loopback, label, rounds):
    """No logged reply is requested again; it is stored with its original times, and conforms."""
    script = scripts.sequence(scripts.SERVER_ERROR, scripts.ANSWER, scripts.CUT)
    server, spec = loopback(script)
    place = tmp_path / "store"
    kept = killed(words(place, spec, label=label), place, 4 * rounds)
    asked_before = len(server.ledger)
    done = kgbench(*words(place, spec, label=label))

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recovered"] == 4 * rounds == len(kept)
    assert len(server.ledger) == asked_before
    with open_reader(str(place)) as store:
        calls = {row["id"].value: row for row in store.query(CALLS)}
        (info,) = reading.runs(store)
        (usage,) = accounts.usage(store, info.graph).values()
        assert_conforms(store)
    for received in kept.values():
        row = calls.pop(received.call.reply.request_id)
        assert datetime.fromisoformat(row["started"].value) == received.call.started
        assert datetime.fromisoformat(row["ended"].value) == received.call.ended
        assert int(row["retries"].value if row["retries"] else 0) == received.call.retries
    assert calls == {}
    assert sum(received.call.retries for received in kept.values()) == 2
    assert usage.input == sum(entry.usage["input"] for entry in server.acknowledged)
    assert usage.output == sum(entry.usage["output"] for entry in server.acknowledged)
    assert not (place / REPLY_LOG).exists()


def test_a_reply_without_a_place_in_the_plan_is_kept(tmp_path, loopback):
    """A smaller plan keeps replies to other dialogues and reports them; the full plan uses them."""
    server, spec = loopback()
    place = tmp_path / "store"
    killed(words(place, spec), place, 4)
    smaller = kgbench(*words(place, spec, iterations=2))
    told = kgbench(*words(place, spec, iterations=2)[:-1])
    whole = kgbench(*words(place, spec))

    assert [json.loads(smaller.stdout)[name] for name in ("recovered", "kept")] == [2, 2]
    assert f"2 replies of other dialogues, or unparsable: kept in {place}" in told.stdout
    assert [json.loads(whole.stdout)[name] for name in ("recovered", "kept")] == [2, 0]
    assert len(server.ledger) == 4


def test_a_reply_to_other_words_is_not_taken(tmp_path, loopback):
    """If the prompt of a turn has changed, the model is asked; the old reply goes with its turn."""
    server, spec = loopback()
    place = tmp_path / "store"
    kept = killed(words(place, spec, iterations=1), place, 1)
    (received,) = kept.values()
    changed = serialised(received._replace(request_digest="0" * 64))
    (place / REPLY_LOG).write_bytes(changed + b"\n")
    done = json.loads(kgbench(*words(place, spec, iterations=1)).stdout)

    assert (done["recovered"], done["complete"]) == (0, 1)
    assert len(server.ledger) == 2
    assert not (place / REPLY_LOG).exists()


def test_a_line_that_was_cut_off_is_told(tmp_path, loopback):
    """A kill within a write loses one reply, which is asked for again and named."""
    server, spec = loopback()
    place = tmp_path / "store"
    killed(words(place, spec), place, 4)
    with (place / REPLY_LOG).open("rb+") as file:
        file.truncate((place / REPLY_LOG).stat().st_size - 9)
    done = kgbench(*words(place, spec))

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recovered"] == 3
    assert f"the last line of {place / REPLY_LOG} was cut off" in done.stderr
    assert len(server.ledger) == 5


def test_a_damaged_line_is_refused(tmp_path, loopback):
    """A line that is no reply ends the command with its number, and nothing is deleted."""
    server, spec = loopback()
    place = tmp_path / "store"
    killed(words(place, spec), place, 4)
    file = place / REPLY_LOG
    first, rest = file.read_bytes().split(b"\n", 1)
    file.write_bytes(damaged := first[:-5] + b"\n" + rest)
    told = kgbench(*words(place, spec))

    assert told.returncode == 1
    assert f"line 1 of {file} is damaged: delete it" in told.stderr
    assert file.read_bytes() == damaged
    assert len(server.ledger) == 4


def test_a_store_on_a_server_has_its_log_here(tmp_path, loopback, monkeypatch):
    """A session killed beside a remote store loses no reply; its log contains no key."""
    from tests.store.in_process import InProcess

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "log"))
    server, spec = loopback()
    with InProcess() as remote:
        kept = killed(words(remote.url, spec), tmp_path / "log", 4, "RemoteStore")
        (file,) = (tmp_path / "log").rglob(REPLY_LOG)
        left = file.read_bytes()
        done = kgbench(*words(remote.url, spec))

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["recovered"] == len(kept) == 4
    assert len(server.ledger) == 4
    assert b"sk-loopback" not in left
    assert not file.exists()


class Full(EmbeddedStore):
    """A store that accepts a number of writes, and then fails."""

    def __init__(self, path, writes, error):
        super().__init__(path)
        self.left, self.error = writes, error

    def write(self, blocks):
        """Write, or fail."""
        self.left -= 1
        if self.left < 0:
            raise self.error
        super().write(blocks)


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), StoreError("the server has gone")],
    ids=["disk", "server"],
)
def test_a_store_that_fails_stops_the_asking(tmp_path, loopback, error):
    """After a failed write no call begins; replies in flight are logged, and used later."""
    server, spec = loopback(scripts.always(delay=0.05))
    plan = plan_of(spec, 40, concurrency=2)
    with (
        pytest.raises(
            WriteFailed, match=r"cannot be written: .*; nothing more was asked.*: make room"
        ),
        Full(tmp_path / "store", 3, error) as store,
    ):
        hold(store, plan)
    before = len(server.ledger)
    with open_store(str(tmp_path / "store")) as store:
        done = hold(store, plan)

    assert before < 12, "with two calls at once few can be in flight"
    assert done.finished
    assert set(asked(server).values()) == {1}
    assert len(server.ledger) == 40


def test_a_log_that_fails_stops_the_asking(tmp_path, loopback, monkeypatch):
    """If the log fails, replies in flight are stored, so that no call is repeated."""
    server, spec = loopback(scripts.always(delay=0.05))
    plan = plan_of(spec, 40, concurrency=2)
    full, left = os.write, [3]

    def write(file, data):
        if bytes(data[:11]) == b'{"attempt":':
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "No space left on device")
        return full(file, data)

    with monkeypatch.context() as patch, open_store(str(tmp_path / "store")) as store:
        patch.setattr(os, "write", write)
        with pytest.raises(WriteFailed, match=r"reply log .* No space left on device"):
            hold(store, plan)
    before = len(server.ledger)
    with open_store(str(tmp_path / "store")) as store:
        done = hold(store, plan)

    assert before < 12
    assert done.finished
    assert set(asked(server).values()) == {1}


def test_a_file_of_events_that_fails_stops_the_asking(tmp_path, loopback):
    """``--log`` on a full disk ends the run with an error, and no answer is lost."""
    server, spec = loopback(scripts.always(delay=0.05))
    plan = plan_of(spec, 40, concurrency=2)
    with open_store(str(tmp_path / "store")) as store:
        hold(store, replace(plan, iterations=2))
        journal = Journal(Path("/dev/full"))
        with pytest.raises(WriteFailed, match="the log /dev/full cannot be written: No space"):
            hold(store, plan, journal=journal)
        journal.close()
        done = hold(store, plan)

    assert done.finished
    assert set(asked(server).values()) == {1}


LIMITED = """
import resource, sys
sys.dont_write_bytecode = True
from kgbench.engine import work
begun = work._Work.run_all
def through(self, *rest):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(AMOUNT), resource.RLIM_INFINITY))
    return begun(self, *rest)
work._Work.run_all = through
from kgbench.cli import main
main()
"""


@pytest.mark.parametrize("size", [2_000, 60_000])
def test_a_full_disk_ends_in_words(tmp_path, loopback, size):
    """A full disk gives exit code 4 and one line; later no stored answer is requested again.

    Another line may say that no snapshot could be written for readers.
    """
    server, spec = loopback(scripts.always(delay=0.02))
    place = tmp_path / "store"
    open_store(str(place)).close()
    limited = LIMITED.replace("AMOUNT", str(size))
    command = [sys.executable, "-c", limited, *words(place, spec, "-c", "4", iterations=200)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    asked_before = len(server.ledger)
    again = kgbench(*words(place, spec, "-c", "4", iterations=200))

    assert done.returncode == 4, done.stderr
    lines = [one for one in done.stderr.splitlines() if not one.startswith("readers do not see")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("kgbench: the ")
    assert "nothing more was asked" in done.stderr
    assert asked_before < 200
    assert again.returncode == 0, again.stderr
    assert sum(n - 1 for n in asked(server).values()) <= 4, "what was in flight"


def test_replies_of_a_batch_are_safe(tmp_path, monkeypatch):
    """Replies of a batch that arrived before the store failed are used without the batch."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    monkeypatch.setattr("kgbench.engine.batch_client.FIRST_WAIT", 0.02)
    made = Provider("openai")
    with made.server:
        plan = made.plan(6)
        with (
            pytest.raises(WriteFailed),
            Full(tmp_path / "store", 3, OSError(28, "No space left on device")) as store,
        ):
            hold(store, plan)
        with open_store(str(tmp_path / "store")) as store:
            done = hold(store, replace(plan, batch=False), abandon_batches=True)
            (info,) = reading.runs(store)
            (usage,) = accounts.usage(store, info.graph).values()

    assert (done.finished, done.recovered) == (True, 6)
    assert usage.batch_input == usage.input > 0
    assert [e for e in made.server.ledger if e.path.endswith("/chat/completions")] == []


def test_brought_to_the_disk_the_replies_are_the_same(tmp_path, loopback):
    """A run with ``--fsync`` has the same result."""
    server, spec = loopback(scripts.sequence(Behaviour(scripts.SERVER_ERROR)))
    done = kgbench(*words(tmp_path / "store", spec, "--fsync", iterations=20))

    assert done.returncode == 0, done.stderr
    assert len(server.acknowledged) == 20
    assert not (tmp_path / "store" / REPLY_LOG).exists()
