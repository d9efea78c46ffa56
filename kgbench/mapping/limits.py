# SPDX-License-Identifier: Apache-2.0
"""The error of mappings, and limits on paths and on the output of an execution."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, TypeVar

from kgbench.errors import KgbenchError

T = TypeVar("T")

LONGEST: Final = 2_000
"""The most characters of a path, which bounds the time to parse it."""
STEPS: Final = 40
"""The most steps of a path."""
NODES: Final = 20_000
"""The most nodes that a step of a path may select."""


class MappingError(KgbenchError):
    """A mapping is ill-formed or cannot be executed; the message gives the reason."""


def bounded(nodes: Iterable[T], path: str) -> list[T]:
    """Return the nodes of a step of a path.

    Raises :class:`MappingError` if there are more than :data:`NODES`.
    """
    result = list(islice(nodes, NODES + 1))
    if len(result) > NODES:
        raise MappingError(f'a step of "{path[:200]}" finds more than {NODES} nodes')
    return result


@dataclass(slots=True)
class Budget:
    """The limits of one execution, and what it has used up.

    The limits are counts instead of times, so that a mapping has the same outcome on every machine.
    """

    records: int = 200_000
    terms: int = 200_000
    characters: int = 20_000_000
    triples: int = 50_000
    _spent: dict[str, int] = field(default_factory=dict)

    def spend(self, name: str, count: int = 1) -> None:
        """Use up ``count`` of the limit in the field ``name``.

        Raises :class:`MappingError` if fewer are left.
        """
        spent = self._spent.get(name, 0) + count
        self._spent[name] = spent
        limit = getattr(self, name)
        if spent > limit:
            raise MappingError(f"the mapping makes more than {limit} {name}")
