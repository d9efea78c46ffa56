# SPDX-License-Identifier: Apache-2.0
"""A cache for values that are read from a snapshot of a store."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from kgbench.store.protocol import Store

_Result = TypeVar("_Result", bound=dict[Any, Any])
_CACHE: WeakKeyDictionary[Store, dict[Callable[[Store], Any], Any]] = WeakKeyDictionary()


def cache_per_snapshot(read: Callable[[Store], _Result]) -> Callable[[Store], _Result]:
    """Cache the result of ``read`` for each snapshot, as long as the snapshot is open.

    A store with the attribute ``is_snapshot`` never changes; any other store is read each time.
    Each caller gets a copy of the dictionary. The values in it are shared and must not be changed.
    """

    @wraps(read)
    def cached(store: Store) -> _Result:
        if not getattr(store, "is_snapshot", False):
            return read(store)
        results = _CACHE.setdefault(store, {})
        if read not in results:  # threads may race here: both read equal values
            results[read] = read(store)
        result: _Result = results[read]
        return copy(result)

    return cached
