# SPDX-License-Identifier: Apache-2.0
"""The replies of a run between their arrival and the store, kept in the reply log of the store.

A reply is appended to the log as one line of JSON, which has everything that its turn records of
the call, before anything else is done with it. If a process is killed, the next session takes the
replies to the same turns from the log instead of asking the model again. A reply is known by its
turn (dialogue and round) and attempt; by the digest of its request a prompt that has changed is
noticed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from kgbench.errors import StoreError, WriteFailed
from kgbench.model import Call, Outcome, Reply, Request, Usage
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.store import reply_log
from kgbench.store.protocol import Store
from kgbench.store.reply_log import ReplyLog

OnFailure = Callable[[BaseException], None]


class LoggedReply(NamedTuple):
    """An answered call, with its run (id), its turn (IRI) and the digest of its request.

    The attempt is the number of retries of the call. ``call`` is ``None`` for a response that could
    not be parsed, of which the log keeps the text until there is an answer.
    """

    run: str
    turn: str
    request_digest: str
    call: Call | None


class Replies:
    """The replies that a run has received but not stored; without a ``log`` it keeps nothing.

    ``earlier`` are the replies of earlier sessions, of this run and of others, by turn. ``failed``
    is called with the error if the log cannot be written.
    """

    def __init__(
        self,
        run: str = "",
        log: ReplyLog | None = None,
        earlier: dict[str, list[LoggedReply]] | None = None,
        failed: OnFailure = lambda _: None,
    ) -> None:
        self._run = run
        self._log = log
        self._earlier = earlier or {}
        self._failed = failed

    @property
    def file(self) -> Path | None:
        """The file of the log."""
        return None if self._log is None else self._log.file

    def unstored(self) -> int:
        """Return the number of unstored replies in the log, those of earlier sessions included."""
        return 0 if self._log is None else len(self._log)

    def log_call(self, call: Call, request: Request, dialogue: str) -> None:
        """Log a call that was just answered; ``failed`` is called if that is not possible."""
        turn = turn_of(request, dialogue)
        self._append(turn, serialised(LoggedReply(self._run, turn, request_digest(request), call)))

    def log_unread(self, text: str, request: Request, dialogue: str) -> None:
        """Log the text of a response that could not be parsed, likewise."""
        turn = turn_of(request, dialogue)
        about = {"run": self._run, "turn": turn, "request": request_digest(request), "raw": text}
        self._append(turn, canonical_json(about).encode("ascii"))

    def _append(self, turn: str, line: bytes) -> None:
        if self._log is None:
            return
        try:
            self._log.append(turn, line)
        except WriteFailed as error:  # the store may still be writable
            self._failed(error)

    def take(self, request: Request, dialogue: str) -> Call | None:
        """Remove and return a call of an earlier session that answered this request, if any."""
        if not self._earlier:
            return None
        replies = self._earlier.get(turn_of(request, dialogue), [])
        for logged in replies:
            if logged.call is not None and logged.request_digest == request_digest(request):
                replies.remove(logged)
                return logged.call
        return None

    def remove_stored(self, turn: str) -> None:
        """Remove the replies to a turn (IRI) that is stored now, in any thread."""
        if self._log is not None:
            self._log.done(turn)


@contextmanager
def open_replies(
    store: Store, run: str, *, sync: bool, failed: OnFailure, tell: Callable[[str], None]
) -> Iterator[Replies]:
    """Open the replies of the run with the id ``run`` in the log that belongs to ``store``.

    With ``sync``, replies are synced to disk (``fsync``). ``tell`` is called with a line about a
    reply that was cut off. Raises :class:`~kgbench.errors.StoreError` if the log cannot be read.
    """
    file = reply_log.path(store.location)
    if file is None:
        yield Replies()
        return
    log = ReplyLog(file, settle=store.settle if sync else None)
    try:
        lines, cut = reply_log.read(file)
        if cut:
            tell(f"the last line of {file} was cut off: its reply is asked for again")
        unstored = _unstored(store, _parsed(file, lines))
        log.keep({turn: [line for line, _ in of_turn] for turn, of_turn in unstored.items()})
        earlier = {turn: [reply for _, reply in of_turn] for turn, of_turn in unstored.items()}
        yield Replies(run, log, earlier, failed)
    finally:
        log.close()


def count_unstored(store: Store) -> Counter[str]:
    """Count the replies in the log of ``store`` that are not stored yet, by IRI of the run.

    Raises :class:`~kgbench.errors.StoreError` if the log cannot be read.
    """
    file = reply_log.path(store.location)
    if file is None:
        return Counter()
    unstored = _unstored(store, _parsed(file, reply_log.read(file)[0]))
    replies = (reply for of_turn in unstored.values() for _, reply in of_turn)
    return Counter(store.iris.mint("run", run=one.run) for one in replies if one.call is not None)


def turn_of(request: Request, dialogue: str) -> str:
    """Return the IRI of the turn that ``request`` belongs to."""
    return f"{dialogue}/{len(request.messages) // 2}"


def request_digest(request: Request) -> str:
    """Return a digest of the messages of a request."""
    return digest(canonical_json(list(request.messages)))


def serialised(logged: LoggedReply) -> bytes:
    """Return an answered call as one line of JSON, without line feed."""
    call = logged.call
    assert call is not None
    reply = call.reply
    assert reply is not None
    answered = {name: getattr(reply, name) for name in Reply.__slots__}
    usage = {name: getattr(reply.usage, name) for name in Usage.__slots__}
    outcome = None if reply.outcome is None else str(reply.outcome)
    return canonical_json(
        {
            "run": logged.run,
            "turn": logged.turn,
            "attempt": call.retries,
            "request": logged.request_digest,
            "started": call.started.isoformat(),
            "ended": call.ended.isoformat(),
            "batch": call.batch,
            "reply": {**answered, "usage": usage, "outcome": outcome},
        }
    ).encode("ascii")


def parsed(line: bytes) -> LoggedReply:
    """Parse a line of the log; raises :class:`ValueError` for anything else."""
    try:
        fields = json.loads(line)
        if "raw" in fields:
            return LoggedReply(fields["run"], fields["turn"], fields["request"], None)
        reply = fields["reply"]
        outcome = None if reply["outcome"] is None else Outcome(reply["outcome"])
        call = Call(
            datetime.fromisoformat(fields["started"]),
            datetime.fromisoformat(fields["ended"]),
            Reply(**{**reply, "usage": Usage(**reply["usage"]), "outcome": outcome}),
            retries=fields["attempt"],
            batch=fields["batch"],
        )
        return LoggedReply(fields["run"], fields["turn"], fields["request"], call)
    except (KeyError, TypeError) as error:
        raise ValueError(f"no reply: {error}") from None


def _parsed(file: Path, lines: Iterable[bytes]) -> Iterator[tuple[bytes, LoggedReply]]:
    for number, line in enumerate(lines, 1):
        try:
            yield line, parsed(line)
        except ValueError:
            raise StoreError(
                f"line {number} of {file} is damaged: delete it, and its reply is asked for again"
            ) from None


def _unstored(
    store: Store, logged: Iterable[tuple[bytes, LoggedReply]]
) -> dict[str, list[tuple[bytes, LoggedReply]]]:
    """Return the lines and replies whose turn is not in ``store``, by turn."""
    unstored: dict[str, list[tuple[bytes, LoggedReply]]] = defaultdict(list)
    turns: dict[str, set[str]] = defaultdict(set)
    for line, reply in logged:
        unstored[reply.turn].append((line, reply))
        turns[reply.run].add(reply.turn)
    for run, of_run in turns.items():
        graph = store.iris.mint("runGraph", run=run)
        for turn in reading.answered_turns_of(store, graph, sorted(of_run)):
            del unstored[turn]
    return unstored
