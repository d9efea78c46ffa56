# SPDX-License-Identifier: Apache-2.0
"""Batches for workers of a cluster, with each case sent once and not with every batch.

A case may hold a graph of megabytes, and its answers come in many batches. A case is named by a
digest of its bytes; a worker keeps the cases that it was sent. One that lacks a case (it came later
or took the place of a lost one) says which, and the batch is sent to it again with all its cases.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from kgbench.execution.judging import Asked, JudgeLimits
from kgbench.model import Case

_MOST_KEPT = 256 << 20  # bytes of pickled cases on a worker
_MOST_KNOWN = 4_096  # cases that a sender remembers
_NO_CASE = Case("", "", "", {}, {}, "")

T = TypeVar("T")
Judge: TypeAlias = "Callable[[Sequence[Asked], JudgeLimits], T]"


@dataclass(frozen=True, slots=True)
class Parcel:
    """Requests without their cases, the key of each one's case, and the cases to be sent along."""

    requests: tuple[Asked, ...]
    keys: tuple[bytes, ...]
    cases: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Lacking:
    """The keys of cases that a worker does not have."""

    keys: tuple[bytes, ...]


class Sender:
    """Makes parcels, and remembers which cases were in one before."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[Case, bytes]] = OrderedDict()
        self._sent: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def parcel(self, batch: Sequence[Asked], *, whole: bool = False) -> Parcel:
        """``batch`` with the cases that were in no parcel before, or with all of its cases."""
        cases: dict[bytes, bytes] = {}
        with self._lock:
            keys = tuple(self._key(request.case) for request in batch)
            for key, request in zip(keys, batch, strict=True):
                if key not in cases and (whole or key not in self._sent):
                    cases[key] = pickle.dumps(request.case)
            for key in cases:
                self._sent[key] = None
            _shorten(self._sent)
        requests = tuple(replace(request, case=_NO_CASE) for request in batch)
        return Parcel(requests, keys, cases)

    def _key(self, case: Case) -> bytes:
        known = self._known.get(id(case))  # which it keeps, so that no other has its id
        if known is None:
            known = case, hashlib.sha256(pickle.dumps(case)).digest()
            self._known[id(case)] = known
            _shorten(self._known)
        return known[1]


class Shelf:
    """The cases that a worker was sent, the most recently used; for all of its threads."""

    def __init__(self, most: int = _MOST_KEPT) -> None:
        self._most = most
        self._cases: OrderedDict[bytes, tuple[Case, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def take(self, sent: Mapping[bytes, bytes], wanted: Iterable[bytes]) -> dict[bytes, Case]:
        """Those of the ``wanted`` cases that are here, once what was ``sent`` is on the shelf."""
        with self._lock:
            for key, content in sent.items():
                if key not in self._cases:
                    self._cases[key] = pickle.loads(content), len(content)  # noqa: S301 - our own
                    self._size += len(content)
            found = {}
            for key in wanted:
                if key in self._cases:
                    self._cases.move_to_end(key)
                    found[key] = self._cases[key][0]
            while self._size > self._most:
                _, (_, size) = self._cases.popitem(last=False)
                self._size -= size
        return found


_shelf = Shelf()


def opened(judge: Judge[T], parcel: Parcel, limits: JudgeLimits) -> T | Lacking:
    """What ``judge`` says of the batch in ``parcel``; runs on the worker."""
    cases = _shelf.take(parcel.cases, parcel.keys)
    if lacking := tuple(dict.fromkeys(key for key in parcel.keys if key not in cases)):
        return Lacking(lacking)
    batch = [
        replace(request, case=cases[key])
        for request, key in zip(parcel.requests, parcel.keys, strict=True)
    ]
    return judge(batch, limits)


def _shorten(kept: OrderedDict[Any, Any]) -> None:
    while len(kept) > _MOST_KNOWN:
        kept.popitem(last=False)
