# SPDX-License-Identifier: Apache-2.0
"""Replies between their arrival and their place in the store: in a write-ahead log, so never lost.

A reply goes into the log by one ``write()`` before anything else is done with it, and out of it
when its turn is in the store. What comes over HTTP is logged before that, as it arrives, by the
process that receives it (:mod:`kgbench.net.receiver`). What a process that was killed left there is
given to the same turns of the next session instead of asking again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from itertools import groupby
from pathlib import Path

from kgbench.connectors import keys
from kgbench.errors import WriteFailed
from kgbench.model import Call, Request
from kgbench.net import arrivals, receiving
from kgbench.net.arrivals import Response, Sealed
from kgbench.net.receiving import RECEIVER, Exchange, Receiving
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading, replies
from kgbench.record.replies import Arrived, Received
from kgbench.store import reply_log
from kgbench.store.protocol import Store
from kgbench.write_ahead import Record, WriteAhead, records

_SUCCESS = 2  # the class of HTTP status codes
_ARRIVALS = "arrivals"  # the folder of the receiver's log, in that of the log

Failed = Callable[[BaseException], None]


class Replies:
    """The replies that a run has received and not stored; without a ``log`` it keeps nothing.

    ``waiting`` are those of earlier sessions, of this run and of others, by turn. ``failed`` hears
    that the log cannot be written.
    """

    def __init__(
        self,
        run: str = "",
        log: WriteAhead | None = None,
        waiting: dict[str, Received | Arrived] | None = None,
        failed: Failed = lambda _: None,
    ) -> None:
        self._run = run
        self._log = log
        self._waiting = waiting or {}
        self._failed = failed

    @property
    def folder(self) -> Path | None:
        """Where the log is."""
        return None if self._log is None else self._log.folder

    def unstored(self) -> int:
        """How many replies the log has that are not in the store, those of earlier sessions too."""
        return 0 if self._log is None else len(self._log)

    def received(
        self, call: Call, request: Request, dialogue: str, exchange: Exchange | None = None
    ) -> None:
        """Keep a call that was just answered; where that fails, ``failed`` hears why.

        Then what was logged of the ``exchange`` is needed no more.
        """
        if self._log is None:
            return
        turn = turn_of(request, dialogue)
        line = replies.written(Received(self._run, turn, request_digest(request), call))
        try:
            self._log.append(turn, line)
        except WriteFailed as error:  # perhaps the store still takes it
            self._failed(error)
        else:
            self.dropped(exchange)

    def take(self, request: Request, dialogue: str) -> Call | None:
        """The call of an earlier session that answered this request, if there is one."""
        if not self._waiting:
            return None
        turn = turn_of(request, dialogue)
        found = self._waiting.get(turn)
        if not isinstance(found, Received) or found.asked != request_digest(request):
            return None
        del self._waiting[turn]
        return found.call

    def arrived(self, request: Request, dialogue: str) -> tuple[Arrived, Response] | None:
        """What arrived for this request in an earlier session, and was not read, if anything did.

        It is not taken where it is encrypted with a key that this session does not have.
        """
        turn = turn_of(request, dialogue)
        found = self._waiting.get(turn)
        if not isinstance(found, Arrived) or found.asked != request_digest(request):
            return None
        try:
            response = found.response.response(keys.given())
        except Sealed:
            return None
        del self._waiting[turn]
        return None if response is None else (found, response)

    def exchange(
        self, request: Request, dialogue: str, started: datetime, retries: int, secret: str
    ) -> AbstractContextManager[Exchange | None]:
        """Have the calls made inside of ``with`` be logged as they are answered.

        ``secret`` is the key that they bear, if any.
        """
        if self._log is None or RECEIVER.get() is None:
            return nullcontext()
        turn, asked = turn_of(request, dialogue), request_digest(request)
        about = replies.about(self._run, turn, asked, started, retries)
        return receiving.exchange(about, secret)

    def dropped(self, exchange: Exchange | None) -> None:
        """What came of an exchange, if anything did, is needed no more."""
        receiver = RECEIVER.get()
        if receiver is not None and exchange is not None:
            receiver.done(exchange.number)

    def stored(self, turn: str) -> None:
        """The store has this turn (IRI); may be called from another thread."""
        if self._log is not None:
            self._log.done((turn,))


@contextmanager
def opened(store: Store, run: str, *, sync: bool, failed: Failed) -> Iterator[Replies]:
    """The replies of the run with the id ``run``, kept in the log that belongs to ``store``.

    ``sync``: bring them to the disk itself. Raises :class:`~kgbench.errors.StoreError` where the
    log cannot be read.
    """
    folder = reply_log.folder(store.location)
    if folder is None:
        yield Replies()
        return
    log = WriteAhead(folder, settle=store.settle if sync else None)
    try:
        with arrivals.left(folder / _ARRIVALS) as found:
            for arrived in map(replies.arrived, found):
                if _is_whole(arrived):
                    log.append(arrived.turn, arrived.written())
        yield Replies(run, log, _recovered(log, store), failed)
    finally:
        receiver = RECEIVER.get()
        if receiver is not None:
            receiver.close()
        log.close()


def receiver_of(store: Store, *, sync: bool) -> Receiving | None:
    """The receiver of the responses to a run on ``store``; ``None`` where nothing is logged."""
    folder = reply_log.folder(store.location)
    return None if folder is None else Receiving(folder / _ARRIVALS, sync=sync)


def waiting(store: Store) -> Counter[str]:
    """How many replies the log of ``store`` has that a reader does not see, by IRI of the run.

    Those that arrived and were not read are among them. Where they are encrypted with a key that is
    not at hand, it is not known whether all of a response has arrived, and it counts.

    Raises :class:`~kgbench.errors.StoreError` where the log cannot be read.
    """
    folder = reply_log.folder(store.location)
    if folder is None:
        return Counter()
    found = {one.turn: one for one in map(replies.read, records(folder))}
    for arrived in map(replies.arrived, arrivals.unread(folder / _ARRIVALS)):
        if _is_whole(arrived):
            found.setdefault(arrived.turn, arrived)
    return Counter(store.iris.mint("run", run=one.run) for one in _unstored(store, found).values())


def turn_of(request: Request, dialogue: str) -> str:
    """The IRI of the turn that ``request`` is made for."""
    return f"{dialogue}/{len(request.messages) // 2}"


def request_digest(request: Request) -> str:
    """What tells a request from one with other words."""
    return digest(canonical_json(list(request.messages)))


def _is_whole(arrived: Arrived) -> bool:
    """Whether a response is an answer, all of it, as far as it can be read."""
    try:
        response = arrived.response.response(keys.given())
    except Sealed:  # perhaps another session has the key
        return True
    return response is not None and response.status // 100 == _SUCCESS


def _recovered(log: WriteAhead, store: Store) -> dict[str, Received | Arrived]:
    """What ``log`` has and ``store`` has not, by turn; all else is removed from the log.

    A reply that was read goes before what arrived.
    """
    kept: dict[str, Record] = {}
    found: dict[str, Received | Arrived] = {}
    for record in log.recovered():
        received = replies.read(record.content)
        if isinstance(received, Arrived) and isinstance(found.get(received.turn), Received):
            continue
        kept[received.turn], found[received.turn] = record, received
    found = _unstored(store, found)
    log.keep({turn: kept[turn] for turn in found})
    return found


def _unstored(
    store: Store, received: Mapping[str, Received | Arrived]
) -> dict[str, Received | Arrived]:
    """Those of the replies (by turn) whose turn ``store`` does not have."""
    found = dict(received)
    for run, of_run in groupby(sorted(received.values(), key=_run_of), key=_run_of):
        graph = store.iris.mint("runGraph", run=run)
        for turn in reading.answered(store, graph, [one.turn for one in of_run]):
            del found[turn]
    return found


def _run_of(received: Received | Arrived) -> str:
    return received.run
