# SPDX-License-Identifier: Apache-2.0
"""The write-ahead log of replies, which keeps each reply from its arrival until it is stored.

A reply is appended to the log by one ``write()`` before anything else is done with it, and removed
when its turn is in the store. HTTP responses are logged even earlier, as their bytes arrive, by the
receiver process (:mod:`kgbench.net.receiver`). If a process is killed, the next session takes the
replies of the same turns from the log instead of asking the model again.
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
from kgbench.net import receiver_process, response_log
from kgbench.net.receiver_process import RECEIVER, Exchange, ReceiverProcess
from kgbench.net.response_log import NoMatchingKey, Response
from kgbench.rdf import canonical_json, digest
from kgbench.record import reading, write_ahead_entries
from kgbench.record.write_ahead_entries import AnsweredCall, UnparsedResponse
from kgbench.store import reply_log
from kgbench.store.protocol import Store
from kgbench.write_ahead import Record, WriteAheadLog, records

_SUCCESS = 2  # the first digit of HTTP status codes of success (RFC 9110, section 15)
_ARRIVALS = "arrivals"  # the folder of the receiver's log, within the folder of this log

OnFailure = Callable[[BaseException], None]


class Replies:
    """The replies that a run has received but not stored; without a ``log`` it keeps nothing.

    ``count_unstored`` are the replies of earlier sessions, of this run and of others, by turn.
    ``failed`` is called with the error if the log cannot be written.
    """

    def __init__(
        self,
        run: str = "",
        log: WriteAheadLog | None = None,
        count_unstored: dict[str, AnsweredCall | UnparsedResponse] | None = None,
        failed: OnFailure = lambda _: None,
    ) -> None:
        self._run = run
        self._log = log
        self._waiting = count_unstored or {}
        self._failed = failed

    @property
    def folder(self) -> Path | None:
        """The folder of the log."""
        return None if self._log is None else self._log.folder

    def unstored(self) -> int:
        """Return the number of unstored replies in the log, those of earlier sessions included."""
        return 0 if self._log is None else len(self._log)

    def log_call(
        self, call: Call, request: Request, dialogue: str, exchange: Exchange | None = None
    ) -> None:
        """Log a call that was just answered, and drop the raw response of its ``exchange``.

        If the log cannot be written, ``failed`` is called and the raw response is kept.
        """
        if self._log is None:
            return
        turn = turn_of(request, dialogue)
        line = write_ahead_entries.serialised(
            AnsweredCall(self._run, turn, request_digest(request), call)
        )
        try:
            self._log.append(turn, line)
        except WriteFailed as error:  # the store may still be writable
            self._failed(error)
        else:
            self.drop_responses(exchange)

    def take(self, request: Request, dialogue: str) -> Call | None:
        """Remove and return a call of an earlier session that answered this request, if any."""
        if not self._waiting:
            return None
        turn = turn_of(request, dialogue)
        reply = self._waiting.get(turn)
        if not isinstance(reply, AnsweredCall) or reply.request_digest != request_digest(request):
            return None
        del self._waiting[turn]
        return reply.call

    def take_response(
        self, request: Request, dialogue: str
    ) -> tuple[UnparsedResponse, Response] | None:
        """Remove and return a response to this request that an earlier session did not read.

        A response that is encrypted with a key that this session does not have is left alone.
        """
        turn = turn_of(request, dialogue)
        reply = self._waiting.get(turn)
        if not isinstance(reply, UnparsedResponse) or reply.request_digest != request_digest(
            request
        ):
            return None
        try:
            response = reply.response.response(keys.keys_in_use())
        except NoMatchingKey:
            return None
        del self._waiting[turn]
        return None if response is None else (reply, response)

    def exchange(
        self, request: Request, dialogue: str, started: datetime, retries: int, secret: str
    ) -> AbstractContextManager[Exchange | None]:
        """Log the responses to the calls made inside the ``with`` block as they arrive.

        ``secret`` is the API key of the calls, ``""`` without one.
        """
        if self._log is None or RECEIVER.get() is None:
            return nullcontext()
        turn, digest = turn_of(request, dialogue), request_digest(request)
        fields = write_ahead_entries.log_fields(self._run, turn, digest, started, retries)
        return receiver_process.exchange(fields, secret)

    def drop_responses(self, exchange: Exchange | None) -> None:
        """Tell the receiver that it need not keep the responses of an exchange any longer."""
        receiver = RECEIVER.get()
        if receiver is not None and exchange is not None:
            receiver.done(exchange.number)

    def remove_stored(self, turn: str) -> None:
        """Remove a turn (IRI) that is stored now; may be called from another thread."""
        if self._log is not None:
            self._log.done((turn,))


@contextmanager
def open_replies(store: Store, run: str, *, sync: bool, failed: OnFailure) -> Iterator[Replies]:
    """Open the replies of the run with the id ``run`` in the log that belongs to ``store``.

    With ``sync``, records are synced to disk (``fsync``). Raises
    :class:`~kgbench.errors.StoreError` if the log cannot be read.
    """
    folder = reply_log.folder(store.location)
    if folder is None:
        yield Replies()
        return
    log = WriteAheadLog(folder, settle=store.settle if sync else None)
    try:
        with response_log.take_responses(folder / _ARRIVALS) as responses:
            for arrived in map(write_ahead_entries.unparsed_response, responses):
                if _is_whole(arrived):
                    log.append(arrived.turn, arrived.written())
        yield Replies(run, log, _recovered(log, store), failed)
    finally:
        receiver = RECEIVER.get()
        if receiver is not None:
            receiver.close()
        log.close()


def receiver_of(store: Store, *, sync: bool) -> ReceiverProcess | None:
    """Return the receiver of a run's responses, or ``None`` if ``store`` has no log."""
    folder = reply_log.folder(store.location)
    return None if folder is None else ReceiverProcess(folder / _ARRIVALS, sync=sync)


def count_unstored(store: Store) -> Counter[str]:
    """Count the replies in the log of ``store`` that are not stored yet, by IRI of the run.

    Raw responses that arrived but were not read are included. If such a response is encrypted with
    an unavailable key, it is unknown whether it is complete, and it is counted.

    Raises :class:`~kgbench.errors.StoreError` if the log cannot be read.
    """
    folder = reply_log.folder(store.location)
    if folder is None:
        return Counter()
    by_turn = {reply.turn: reply for reply in map(write_ahead_entries.read, records(folder))}
    for arrived in map(
        write_ahead_entries.unparsed_response, response_log.read_responses(folder / _ARRIVALS)
    ):
        if _is_whole(arrived):
            by_turn.setdefault(arrived.turn, arrived)
    return Counter(
        store.iris.mint("run", run=reply.run) for reply in _unstored(store, by_turn).values()
    )


def turn_of(request: Request, dialogue: str) -> str:
    """Return the IRI of the turn that ``request`` belongs to."""
    return f"{dialogue}/{len(request.messages) // 2}"


def request_digest(request: Request) -> str:
    """Return a digest of the messages of a request."""
    return digest(canonical_json(list(request.messages)))


def _is_whole(arrived: UnparsedResponse) -> bool:
    """Return whether a response is complete and successful, as far as it can be decrypted."""
    try:
        response = arrived.response.response(keys.keys_in_use())
    except NoMatchingKey:  # another session may have the key
        return True
    return response is not None and response.status // 100 == _SUCCESS


def _recovered(log: WriteAheadLog, store: Store) -> dict[str, AnsweredCall | UnparsedResponse]:
    """Return the replies in ``log`` that are not in ``store``, by turn, and remove all others.

    A reply that was read takes precedence over the raw response of the same turn.
    """
    records: dict[str, Record] = {}
    by_turn: dict[str, AnsweredCall | UnparsedResponse] = {}
    for record in log.recovered():
        received = write_ahead_entries.read(record.content)
        if isinstance(received, UnparsedResponse) and isinstance(
            by_turn.get(received.turn), AnsweredCall
        ):
            continue
        records[received.turn], by_turn[received.turn] = record, received
    by_turn = _unstored(store, by_turn)
    log.keep({turn: records[turn] for turn in by_turn})
    return by_turn


def _unstored(
    store: Store, received: Mapping[str, AnsweredCall | UnparsedResponse]
) -> dict[str, AnsweredCall | UnparsedResponse]:
    """Return the replies (by turn) whose turn is not in ``store``."""
    unstored = dict(received)
    for run, of_run in groupby(sorted(received.values(), key=_run_of), key=_run_of):
        graph = store.iris.mint("runGraph", run=run)
        for turn in reading.answered_turns_of(store, graph, [reply.turn for reply in of_run]):
            del unstored[turn]
    return unstored


def _run_of(received: AnsweredCall | UnparsedResponse) -> str:
    return received.run
