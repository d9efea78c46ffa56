# SPDX-License-Identifier: Apache-2.0
"""A sequence whose items are computed on access.

>>> squares = OnDemand(4, lambda k: k * k)
>>> squares[-1], list(squares), squares[1:3]
(9, [0, 1, 4, 9], [1, 4])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item")


class OnDemand(Sequence[Item]):
    """A sequence of ``length`` items; ``make`` returns the item at an index, always the same."""

    def __init__(self, length: int, make: Callable[[int], Item]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | Sequence[Item]:
        if isinstance(index, slice):
            return [self._make(k) for k in range(*index.indices(self._length))]
        if not -self._length <= index < self._length:
            raise IndexError(index)
        return self._make(index % self._length)
