# SPDX-License-Identifier: Apache-2.0
"""A collection whose elements are made anew each time that they are gone through."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Repeatable(Collection[_T]):
    """As many things as ``size`` says, which ``made`` makes anew each time."""

    made: Callable[[], Iterator[_T]]
    size: int

    def __iter__(self) -> Iterator[_T]:
        return self.made()

    def __len__(self) -> int:
        return self.size

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)
