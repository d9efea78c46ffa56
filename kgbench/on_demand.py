# SPDX-License-Identifier: Apache-2.0
"""Collections whose items are computed on access, or at each iteration.

>>> squares = OnDemand(4, lambda k: k * k)
>>> squares[-1], list(squares), squares[1:3]
(9, [0, 1, 4, 9], [1, 4])
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Repeatable(Collection[Item]):
    """A collection of ``size`` items that ``generate`` yields at each iteration."""

    generate: Callable[[], Iterator[Item]]
    size: int

    def __iter__(self) -> Iterator[Item]:
        return self.generate()

    def __len__(self) -> int:
        return self.size

    def __contains__(self, item: object) -> bool:
        return any(item == other for other in self)
