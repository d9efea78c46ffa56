# SPDX-License-Identifier: Apache-2.0
"""What is read from a snapshot once, however many analyses ask for it."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from kgbench.store.protocol import Store

_Found = TypeVar("_Found", bound=dict[Any, Any])
_KEPT: WeakKeyDictionary[Store, dict[str, Any]] = WeakKeyDictionary()


def once(read: Callable[[Store], _Found]) -> Callable[[Store], _Found]:
    """``read``, but called once for each snapshot, for as long as that is open.

    A store says with ``is_snapshot`` that what is read from it never changes; any other is read
    each time. Whoever calls gets a dictionary of their own, with values that all share: they must
    not be changed.
    """

    @wraps(read)
    def found(store: Store) -> _Found:
        if not getattr(store, "is_snapshot", False):
            return read(store)
        kept = _KEPT.setdefault(store, {})
        if read.__name__ not in kept:  # two threads at the same time read the same
            kept[read.__name__] = read(store)
        known: _Found = kept[read.__name__]
        return copy(known)

    return found
