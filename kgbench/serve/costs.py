# SPDX-License-Identifier: Apache-2.0
"""Measured costs of queries by text and shape: light or heavy.

The shape of a query is its text with all IRIs, names, numbers and strings replaced
(:class:`~kgbench.serve.admission.Admitted`). The last measurement counts. Costs are never estimated
from the text, because they depend on the data.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from enum import Enum
from typing import NamedTuple

_KEPT = 4_096


class Cost(Enum):
    """Expected cost of a query."""

    LIGHT = "light"
    UNKNOWN = "unknown"
    SUSPECT = "suspect"  # another query of its shape was heavy
    HEAVY = "heavy"


class Key(NamedTuple):
    """Digests of the text and of the shape of a query."""

    exact: str
    shape: str


def key_of(query: str, shape: str) -> Key:
    """Return the key under which the cost of a query is stored."""
    text = query.encode("utf-8", "surrogatepass")
    return Key(hashlib.blake2b(text, digest_size=12).hexdigest(), shape)


class Costs:
    """Measured costs of the last few thousand queries.

    >>> costs = Costs()
    >>> costs.note(Key("a", "shape"), light=False)
    >>> costs.expected(Key("a", "shape")), costs.expected(Key("b", "shape"))
    (<Cost.HEAVY: 'heavy'>, <Cost.SUSPECT: 'suspect'>)
    >>> costs.expected(None)
    <Cost.UNKNOWN: 'unknown'>
    """

    def __init__(self) -> None:
        self._light: OrderedDict[str, bool] = OrderedDict()

    def expected(self, key: Key | None) -> Cost:
        """Return the expected cost of a query."""
        if key is None:
            return Cost.UNKNOWN
        exact = self._light.get(key.exact)
        if exact is not None:
            return Cost.LIGHT if exact else Cost.HEAVY
        coarse = self._light.get(key.shape)
        if coarse is None:
            return Cost.UNKNOWN
        return Cost.LIGHT if coarse else Cost.SUSPECT

    def note(self, key: Key | None, *, light: bool) -> None:
        """Store whether a query was light."""
        if key is None:
            return
        for name in (key.exact, key.shape):
            self._light[name] = light
            self._light.move_to_end(name)
        while len(self._light) > _KEPT:
            self._light.popitem(last=False)
