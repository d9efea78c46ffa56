# SPDX-License-Identifier: Apache-2.0
"""What queries have cost before, by their shape: which are light, which are heavy.

A query is known by its text, and by its shape, in which all IRIs, names, numbers and strings are
alike (:class:`~kgbench.serve.admission.Admitted`). What was measured last counts. Nothing is
estimated from the text of a query, whose cost depends on the data.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from enum import Enum
from typing import NamedTuple

_KEPT = 4_096


class Cost(Enum):
    """How much a query is expected to need."""

    LIGHT = "light"
    UNKNOWN = "unknown"
    SUSPECT = "suspect"  # another query of its shape was heavy
    HEAVY = "heavy"


class Key(NamedTuple):
    """A query's digest, and its shape."""

    exact: str
    shape: str


def key_of(query: str, shape: str) -> Key:
    """The key of a query's cost."""
    text = query.encode("utf-8", "surrogatepass")
    return Key(hashlib.blake2b(text, digest_size=12).hexdigest(), shape)


class Costs:
    """The measured costs of the queries that were asked last, at most some thousands.

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
        """What a query is expected to cost."""
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
        """Remember that a query was light, or that it was not."""
        if key is None:
            return
        for name in (key.exact, key.shape):
            self._light[name] = light
            self._light.move_to_end(name)
        while len(self._light) > _KEPT:
            self._light.popitem(last=False)
