# SPDX-License-Identifier: Apache-2.0
"""Batches for workers of a cluster, which send each case once instead of with every batch.

A case may contain a graph of megabytes, and its answers come in many batches. Cases are identified
by a digest of their bytes, and workers cache them. A worker that lacks a case (because it was
started later) returns its key, and the batch is sent again with all its cases.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from kgbench.execution.judging import ExecutorRequest, JudgeLimits
from kgbench.model import Case

_MOST_KEPT = 256 << 20  # bytes of pickled cases on a worker
_MOST_KNOWN = 4_096  # cases that a sender remembers
_NO_CASE = Case("", "", "", {}, {}, "")

T = TypeVar("T")
Judge: TypeAlias = "Callable[[Sequence[ExecutorRequest], JudgeLimits], T]"


@dataclass(frozen=True, slots=True)
class ClusterBatch:
    """Requests without their cases, the keys of these cases, and the cases that are sent along."""

    requests: tuple[ExecutorRequest, ...]
    keys: tuple[bytes, ...]
    cases: Mapping[bytes, bytes]


@dataclass(frozen=True, slots=True)
class MissingCases:
    """The keys of the cases that a worker lacks."""

    keys: tuple[bytes, ...]


class Sender:
    """Makes parcels, and remembers which cases it has sent."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[Case, bytes]] = OrderedDict()
        self._sent: OrderedDict[bytes, None] = OrderedDict()
        self._lock = threading.Lock()

    def parcel(self, batch: Sequence[ExecutorRequest], *, whole: bool = False) -> ClusterBatch:
        """Return ``batch`` with the cases that were not sent before, or with all of its cases."""
        cases: dict[bytes, bytes] = {}
        with self._lock:
            keys = tuple(self._key(request.case) for request in batch)
            for key, request in zip(keys, batch, strict=True):
                if key not in cases and (whole or key not in self._sent):
                    cases[key] = pickle.dumps(request.case)
            for key in cases:
                self._sent[key] = None
            _trim(self._sent)
        requests = tuple(replace(request, case=_NO_CASE) for request in batch)
        return ClusterBatch(requests, keys, cases)

    def _key(self, case: Case) -> bytes:
        known = self._known.get(id(case))  # keeps the case alive, so that its id is not reused
        if known is None:
            known = case, hashlib.sha256(pickle.dumps(case)).digest()
            self._known[id(case)] = known
            _trim(self._known)
        return known[1]


class CaseCache:
    """An LRU cache of the cases that a worker received, shared by its threads."""

    def __init__(self, max_bytes: int = _MOST_KEPT) -> None:
        self._max_bytes = max_bytes
        self._cases: OrderedDict[bytes, tuple[Case, int]] = OrderedDict()
        self._size = 0
        self._lock = threading.Lock()

    def take(self, sent: Mapping[bytes, bytes], wanted: Iterable[bytes]) -> dict[bytes, Case]:
        """Add the ``sent`` cases, and return the ``wanted`` ones that are in the cache."""
        with self._lock:
            for key, content in sent.items():
                if key not in self._cases:
                    self._cases[key] = pickle.loads(content), len(content)  # noqa: S301 - our own
                    self._size += len(content)
            cases = {}
            for key in wanted:
                if key in self._cases:
                    self._cases.move_to_end(key)
                    cases[key] = self._cases[key][0]
            while self._size > self._max_bytes:
                _, (_, size) = self._cases.popitem(last=False)
                self._size -= size
        return cases


_cache = CaseCache()


def judge_cluster_batch(
    judge: Judge[T], parcel: ClusterBatch, limits: JudgeLimits
) -> T | MissingCases:
    """Judge the batch in ``parcel`` on a worker, or return which cases it lacks."""
    cases = _cache.take(parcel.cases, parcel.keys)
    if lacking := tuple(dict.fromkeys(key for key in parcel.keys if key not in cases)):
        return MissingCases(lacking)
    batch = [
        replace(request, case=cases[key])
        for request, key in zip(parcel.requests, parcel.keys, strict=True)
    ]
    return judge(batch, limits)


def _trim(cache: OrderedDict[Any, Any]) -> None:
    while len(cache) > _MOST_KNOWN:
        cache.popitem(last=False)
