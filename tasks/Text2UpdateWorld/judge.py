# SPDX-License-Identifier: Apache-2.0
"""Text2UpdateWorld: change a generated world with a SPARQL update.

The update runs on a copy of the world. Its changes are compared with those of the reference. This
also compares the resulting states, which are isomorphic if the changes are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from kgbench.families.sparql import WritingFamily
from kgbench.policies.blank_nodes import Row

from .cases import Updates

_REMOVED: Final = '"removed"'


class Text2UpdateWorld(WritingFamily):
    """Changes of the seed's world."""

    sheet = Updates
    word = re.compile(r"\b(?:INSERT|DELETE|LOAD|CLEAR|CREATE|DROP|COPY|MOVE|ADD)\b", re.IGNORECASE)
    update = True

    def counts(self, surplus: Collection[Row]) -> Mapping[str, float]:
        """Return how many triples are wrongly removed and added."""
        lost = sum(row[0] == _REMOVED for row in surplus)
        return {"lost": float(lost), "added": float(len(surplus) - lost)}


family: Final = Text2UpdateWorld(__file__)
