# SPDX-License-Identifier: Apache-2.0
"""The replies of a run between their arrival and the store, kept in the reply log of the store.

A reply is appended to the log as one line of JSON, by one ``write()``, before anything else is done
with it; the line has everything that its turn records of the call. If a process is killed, the next
session takes the replies to the same turns from the log instead of asking the model again. A reply
is known by its turn (dialogue and round) and attempt; by the digest of its request a prompt that
has changed is noticed. A line is no longer needed when its turn is stored; the file is then
replaced by one with the other lines, not each time but when it is mostly superfluous, and it is
removed when no line is needed.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from kgbench.errors import StoreError, StoreInUse, WriteFailed
from kgbench.model import Call, Outcome, Reply, Request, Usage
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading
from kgbench.store.back_ends import reply_log
from kgbench.store.protocol import Store

SPARE = 1_000_000  # bytes of superfluous lines up to which the file is not replaced


def read_lines(file: Path) -> tuple[list[bytes], bool]:
    """Return the lines of a log, and whether a last one that was cut off is left out.

    Another process may be writing it. Raises :class:`~kgbench.errors.StoreError`.
    """
    try:
        *lines, rest = file.read_bytes().split(b"\n")
    except FileNotFoundError:
        return [], False
    except OSError as error:
        raise StoreError(f"{file} cannot be read: {error.strerror}") from error
    return lines, rest != b""


class ReplyLog:
    """The log in ``file``, which is created with the first reply; one process at a time owns it.

    ``settle`` makes the store sync its data to disk. With it, every line is synced to disk when it
    is appended, and the store before lines are removed. Without it, both are left to the operating
    system, so that replies survive the process but perhaps not a power failure.

    Raises :class:`~kgbench.errors.StoreInUse` if another process owns the log.
    """

    def __init__(self, file: Path, *, settle: Callable[[], None] | None = None) -> None:
        self.file = file
        self._settle = settle
        self._guard = threading.Lock()
        self._needed: dict[str, list[bytes]] = {}  # lines by turn
        self._failure: OSError | None = None
        self._open = _owned(file) if file.exists() else -1
        self._size = 0 if self._open < 0 else os.fstat(self._open).st_size
        self._superfluous = 0  # bytes

    def __len__(self) -> int:
        """Return the number of replies that the store does not have."""
        return sum(map(len, self._needed.values()))

    def keep(self, needed: Mapping[str, Collection[bytes]]) -> None:
        """Reduce the file to these lines of it, by turn; to be called before anything is appended.

        Raises :class:`~kgbench.errors.WriteFailed`; the file is then unchanged.
        """
        if self._open < 0:
            return
        self._needed = {turn: [line + b"\n" for line in lines] for turn, lines in needed.items()}
        try:
            self._replace()
        except OSError as error:
            raise self._unwritten(error) from error

    def append(self, turn: str, line: bytes) -> None:
        """Append the line of a reply, which survives the end of this process after the return.

        Raises :class:`~kgbench.errors.WriteFailed`.
        """
        line += b"\n"
        with self._guard:
            try:
                if self._failure is not None:
                    raise self._failure
                if self._open < 0:
                    self._create()
                self._write(line)
                self._needed.setdefault(turn, []).append(line)
                if self._settle is not None:
                    os.fsync(self._open)
            except OSError as error:
                raise self._unwritten(error) from error

    def done(self, turn: str) -> None:
        """Release the replies to a turn that the store has; an unknown turn is ignored."""
        with self._guard:
            self._superfluous += sum(map(len, self._needed.pop(turn, ())))
            if self._superfluous <= max(SPARE, self._size // 2):
                return
        with suppress(OSError):  # the disk is full: the file stays as it is
            self._replace()

    def close(self) -> None:
        """Close the log, and remove it if the store has all of its replies."""
        if self._open < 0:
            return
        with suppress(OSError):  # the next process reads the lines, and finds their turns stored
            if self._superfluous == self._size:
                self._settled()
                self.file.unlink()
            elif self._superfluous:
                self._replace()
        os.close(self._open)
        self._open = -1

    # --- internals ------------------------------------------------------------------------------

    def _create(self) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._open = _owned(self.file)
        if self._settle is not None:
            _sync_folder(self.file.parent)

    def _write(self, line: bytes) -> None:
        """Append ``line``, or leave the file as it was and raise :class:`OSError`."""
        try:
            _write_all(self._open, line)
        except OSError as error:
            try:
                os.ftruncate(self._open, self._size)
            except OSError:  # nothing may follow half a line
                self._failure = error
            raise
        self._size += len(line)

    def _replace(self) -> None:
        """Replace the file by one with the lines that are needed, or raise :class:`OSError`."""
        self._settled()
        unfinished = self.file.with_suffix(".unfinished")
        with self._guard:
            data = b"".join(line for lines in self._needed.values() for line in lines)
            new = _owned(unfinished, os.O_TRUNC)
            try:
                _write_all(new, data)
                os.fsync(new)
                unfinished.replace(self.file)
            except OSError:
                os.close(new)
                unfinished.unlink(missing_ok=True)
                raise
            os.close(self._open)
            self._open, self._size, self._superfluous = new, len(data), 0

    def _settled(self) -> None:
        if self._settle is not None:
            self._settle()

    def _unwritten(self, error: OSError) -> WriteFailed:
        return WriteFailed(f"the reply log {self.file} cannot be written: {error.strerror}")


def _owned(file: Path, flags: int = 0) -> int:
    """Open and lock a file, without waiting; it is created if it does not exist."""
    while True:
        opened = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | flags, 0o600)
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(opened), file.stat()):
                return opened
        except BlockingIOError:
            os.close(opened)
            raise StoreInUse(
                f"the reply log {file} is in use by another kgbench: wait for it to end"
            ) from None
        except FileNotFoundError:  # its owner has removed it meanwhile
            pass
        os.close(opened)


def _write_all(file: int, data: bytes) -> None:
    while data:  # again after a short write: the disk is full, and the next write raises the error
        data = data[os.write(file, data) :]


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


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
    file = reply_log(store.location)
    if file is None:
        yield Replies()
        return
    log = ReplyLog(file, settle=store.settle if sync else None)
    try:
        lines, cut = read_lines(file)
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
    file = reply_log(store.location)
    if file is None:
        return Counter()
    unstored = _unstored(store, _parsed(file, read_lines(file)[0]))
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
