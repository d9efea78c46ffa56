# SPDX-License-Identifier: Apache-2.0
"""Runs under SIGKILLs and full disks, compared with the ledger of a provider that fails often.

``python -m bench.attack_kills --kills 100 --full-disks 20`` ends with a table, and with exit code 1
if anything was lost. A provider on the loopback interface logs every request and every answer that
it has sent. An answer is lost if the run had logged it and it is not in the store at the end, or if
a dialogue has none. A kill may cost the answers in flight, at most as many as there were calls at
once: they had been sent and were not logged yet, and are requested again.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import random
import re
import resource
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess as _Process
from pathlib import Path
from typing import Any

from bench.small_disk import ROOM, Disk, small_disk
from kgbench import cli
from kgbench.engine.replies import Replies, ReplyLog
from kgbench.model import Call, Request
from kgbench.record import accounts, reading
from kgbench.store import open_reader
from tests.support.servers import certificates
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.servers.scripts import Entry, chaos, slowed

CONCURRENCY = 8
_TIMEOUT = 300.0  # seconds until a session makes progress, or ends
_CONFIGURATION = """\
name: attacked
iterations: {iterations}
concurrency: {concurrency}
callTimeout: 5
maxRetries: 8
tasks: [RdfFriendCount-turtle-1, RdfFriendCount-nt-1]
models:
  - label: loopback
    spec: "openai:loopback@{url}"
"""
_REQUEST_ID = re.compile(rb'"request_id":"([^"]+)"')
_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["kgbench.engine.work", "kgbench.cli.run_report"])
_STORED = """
PREFIX kgb: <https://w3id.org/kgbench/ns#> PREFIX prov: <http://www.w3.org/ns/prov#>
SELECT ?id WHERE { GRAPH ?g { ?answer a kgb:Answer ; prov:wasGeneratedBy/kgb:requestId ?id } }
"""


@dataclass(slots=True)
class Tally:
    """The outcome of an attacked run.

    ``lost`` answers had been logged and are not stored, ``missing`` dialogues have none.
    ``in_flight`` has the number of answers for each kill that had been sent and were requested
    again, ``disk_full`` is the number of those requested again after a full disk. ``logged`` has
    the seconds from sending an answer until it was logged. ``faults`` has tracebacks, unexpected
    exit codes, and kills that cost more than what can have been in flight.
    """

    dialogues: int = 0
    kills: int = 0
    full_disks: int = 0
    answers: int = 0
    stored: int = 0
    recovered: int = 0
    lost: int = 0
    missing: int = 0
    wrong_usage: int = 0
    disk_full: int = 0
    in_flight: Counter[float] = field(default_factory=Counter)
    logged: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def bad(self) -> int:
        """The number of answers and counts that are lost or wrong."""
        return self.lost + self.missing + self.wrong_usage


class Attack:
    """A run of ``dialogues`` in ``folder``, and the attacks on it."""

    def __init__(
        self, folder: Path, dialogues: int, seed: int, failing: float, *, tls: bool = False
    ) -> None:
        self._certificate = certificates.made(folder) if tls else None
        self.tally = Tally(dialogues=dialogues)
        self._folder = folder
        self._chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self._script = slowed(chaos(failing, seed), 0.05)
        self._killed: list[float] = []  # when each killed session ended
        self._filled: list[tuple[float, float]] = []  # begin and end of sessions on a full disk

    def carry_out(self, kills: int, full_disks: int) -> Tally:
        """Kill sessions, fill the disk, complete the run, and return the tally."""
        speech: Any = OpenAISpeech()
        with contextlib.ExitStack() as stack:
            secure = None
            if self._certificate is not None:
                secure = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                secure.load_cert_chain(*self._certificate)
            server = stack.enter_context(LoopbackServer(speech, script=self._script, tls=secure))
            disk = stack.enter_context(small_disk(self._folder / "disk"))
            iterations = self.tally.dialogues // 2
            (self._folder / "c.yaml").write_text(
                _CONFIGURATION.format(
                    iterations=iterations, concurrency=CONCURRENCY, url=server.url
                )
            )
            attacks = [self._kill] * kills + [self._fill] * full_disks
            self._chance.shuffle(attacks)
            for number, attack in enumerate(attacks):
                left = self.tally.dialogues - len(_answered(server))
                limit = max(1, left // (len(attacks) - number))
                attack(server, disk, limit)
            self._finish()
            self._evaluate(server, disk.store)
        return self.tally

    # --- attacks ------------------------------------------------------------------------------

    def _kill(self, server: LoopbackServer, disk: Disk, most: int) -> None:
        wanted = len(_answered(server)) + self._chance.randint(0, most)
        with self._session(disk.store) as process:
            end = time.monotonic() + _TIMEOUT
            while len(_answered(server)) < wanted and time.monotonic() < end:
                if not process.is_alive():
                    break
                time.sleep(0.002)
            time.sleep(self._chance.uniform(0.0, 0.1))
            process.kill()
            self._killed.append(time.time())
        self.tally.kills += 1
        self._check_exit(process, full=False)

    def _fill(self, server: LoopbackServer, disk: Disk, most: int) -> None:
        del server, most
        began = time.time()
        with (
            disk.filled(self._chance.randint(*ROOM)) as limit,
            self._session(disk.store, limit) as p,
        ):
            p.join(_TIMEOUT)
            if p.is_alive():
                p.kill()
                self.tally.faults.append("a session on a full disk did not end")
        self._filled.append((began, time.time()))
        self.tally.full_disks += 1
        self._check_exit(p, full=True)

    def _finish(self) -> None:
        for _ in range(20):
            with self._session(self._folder / "disk" / "store") as process:
                process.join(_TIMEOUT)
            self._check_exit(process, full=False)
            if process.exitcode == 0:
                return
        self.tally.faults.append("the run did not end")

    @contextlib.contextmanager
    def _session(self, store: Path, limit: int | None = None) -> Iterator[_Process]:
        options = [str(self._folder / "c.yaml"), "--store", str(store), "--json", "--no-preflight"]
        certificate = None if self._certificate is None else self._certificate[0]
        process = _FORKS.Process(
            target=_command, args=(self._folder, options, limit, certificate), daemon=True
        )
        process.start()
        try:
            yield process
        finally:
            if sys.exc_info()[0] is not None:
                process.kill()
            process.join()

    def _check_exit(self, process: _Process, *, full: bool) -> None:
        """Count a traceback or an unexpected exit code of an ended session as a fault."""
        stderr = (self._folder / "err").read_text(encoding="utf-8", errors="replace")
        code = process.exitcode
        allowed = {0, 1, 3, 4} if full else {0, 3, -signal.SIGKILL}
        if "Traceback" in stderr or code not in allowed or (code == 4 and not stderr.strip()):  # noqa: PLR2004
            self.tally.faults.append(f"exit code {code}: {stderr[-2000:]}")

    # --- evaluation -----------------------------------------------------------------------------

    def _evaluate(self, server: LoopbackServer, store: Path) -> None:
        tally, answers = self.tally, _answered(server)
        tally.answers = len(answers)
        with open_reader(str(store)) as reader:
            stored = {row["id"].value for row in reader.query(_STORED)}
            (run,) = reading.runs(reader)
            states = reading.dialogue_states(reader, run.graph)
            usage = sum(accounts.usage(reader, run.graph).values(), accounts.Usage())
        tally.stored = len(stored)
        tally.missing = tally.dialogues - sum(state.complete for state in states.values())
        charged = [entry.usage for entry in answers if entry.request_id in stored]
        read, written = (sum((u or {})[kind] for u in charged) for kind in ("input", "output"))
        tally.wrong_usage = abs(usage.input - read) + abs(usage.output - written)
        sent = {entry.request_id: entry.acknowledged for entry in answers}
        logged = set()
        for line in (self._folder / "notes").read_text(encoding="ascii").splitlines():
            event, name, moment = line.split()
            tally.recovered += event == "recovered"
            sent_at = sent.get(name)
            if event == "logged" and sent_at is not None:
                logged.add(name)
                tally.logged.append(float(moment) - sent_at)
        tally.lost = len(logged - stored)
        for entry in answers:
            if entry.request_id not in stored | logged:
                self._count_repeated(entry)
        for kill, number in tally.in_flight.items():
            if number > CONCURRENCY:
                tally.faults.append(f"{number} answers in flight at the kill at {kill}")

    def _count_repeated(self, entry: Entry) -> None:
        """Count an answer that was sent, and neither logged nor stored, for the attack on it.

        Each dialogue has an answer at the end, so this one was requested again.
        """
        if any(begin <= entry.started <= end for begin, end in self._filled):
            self.tally.disk_full += 1
            return
        # A request may still have been on its way when the process was killed.
        kills = [moment for moment in self._killed if entry.started <= moment + 1]
        if kills:
            self.tally.in_flight[kills[0]] += 1
        else:
            self.tally.faults.append(f"not stored, although no kill followed: {entry.request_id}")


def _command(folder: Path, options: list[str], limit: int | None, certificate: Path | None) -> None:
    """Run the command; note when each reply was logged, and which ones it took from the log.

    It runs in a fork of a process that has imported what it needs.
    """
    notes = os.open(folder / "notes", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(*words: object) -> None:
        os.write(notes, (" ".join(map(str, words)) + "\n").encode())

    append, take = ReplyLog.append, Replies.take

    def appended(self: ReplyLog, turn: str, line: bytes) -> None:
        append(self, turn, line)  # raises an error where there is no room, so that nothing is noted
        if name := _REQUEST_ID.search(line):
            note("logged", name[1].decode(), time.time())

    def taken(self: Replies, request: Request, dialogue: str) -> Call | None:
        call = take(self, request, dialogue)
        if call is not None and call.reply is not None:
            note("recovered", call.reply.request_id, 0)
        return call

    ReplyLog.append, Replies.take = appended, taken  # type: ignore[method-assign]
    for name, descriptor in (("out", 1), ("err", 2)):
        os.dup2(os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
    if limit:
        sys.dont_write_bytecode = True  # a truncated file could not be imported again
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    os.environ["OPENAI_API_KEY"] = "sk-loopback-attack"
    if certificate is not None:
        os.environ["SSL_CERT_FILE"] = str(certificate)
    sys.argv = ["kgbench", "run", *options]
    cli.main()


@contextlib.contextmanager
def _busy_processes(busy: int) -> Iterator[None]:
    """Run ``busy`` compute-bound processes, each in its own session."""
    with contextlib.ExitStack() as stack:
        for _ in range(busy):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
            )
            stack.callback(process.kill)
        yield


def _answered(server: LoopbackServer) -> list[Entry]:
    return [entry for entry in list(server.ledger) if entry.acknowledged is not None]


def _percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _spread(seconds: list[float]) -> str:
    shown = (f"{_percentile(seconds, share) * 1000:.2f}" for share in (0.5, 0.95, 0.99, 1.0))
    return ", ".join(shown) + " ms"


def table(tally: Tally) -> str:
    """Return the tally as text, one figure per line."""
    most = max(tally.in_flight.values(), default=0)
    lines = [
        f"dialogues                    {tally.dialogues:,}",
        f"SIGKILLs, full disks         {tally.kills}, {tally.full_disks}",
        f"answers sent                 {tally.answers:,}",
        f"answers stored               {tally.stored:,}",
        f"taken from the reply log     {tally.recovered:,}",
        f"logged and lost, missing     {tally.lost}, {tally.missing}",
        f"in flight at a kill          {tally.in_flight.total()} (at most {most} at one)",
        f"requested again, full disk   {tally.disk_full}",
        f"tokens that differ           {tally.wrong_usage}",
        f"logged, p50, p95, p99, max   {_spread(tally.logged)}",
        f"faults                       {len(tally.faults)}",
    ]
    return "\n".join([*lines, *tally.faults])


def main(arguments: list[str]) -> int:
    """Carry out the attacks and print the table; return 1 after a loss or fault."""
    parser = argparse.ArgumentParser(prog="python -m bench.attack_kills", description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--full-disks", type=int, default=20)
    parser.add_argument("--dialogues", type=int, default=2000)
    parser.add_argument("--failing", type=float, default=0.25, help="share of calls that fail")
    parser.add_argument("--busy", type=int, default=0, help="concurrent compute-bound processes")
    parser.add_argument("--tls", action="store_true", help="use HTTPS")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder, _busy_processes(options.busy):
        attack = Attack(
            Path(folder), options.dialogues, options.seed, options.failing, tls=options.tls
        )
        tally = attack.carry_out(options.kills, options.full_disks)
    print(table(tally))
    return 1 if tally.bad or tally.faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
