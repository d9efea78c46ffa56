# SPDX-License-Identifier: Apache-2.0
"""Collections that generate their elements at each iteration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True)
class Repeatable(Collection[_T]):
    """A collection of ``size`` elements that ``generate`` yields at each iteration."""

    generate: Callable[[], Iterator[_T]]
    size: int

    def __iter__(self) -> Iterator[_T]:
        return self.generate()

    def __len__(self) -> int:
        return self.size

    def __contains__(self, element: object) -> bool:
        return any(element == other for other in self)
