# SPDX-License-Identifier: Apache-2.0
"""Text2ConstructWorld: build graphs from a generated world with a CONSTRUCT query.

The graph that a query builds is compared with that of the reference, up to the names of blank
nodes.
"""

from __future__ import annotations

import re
from typing import Final

from kgbench.families.sparql import WritingFamily

from .cases import Constructs


class Text2ConstructWorld(WritingFamily):
    """Graphs to be built from the seed's world."""

    sheet = Constructs
    word = re.compile(r"\bCONSTRUCT\b", re.IGNORECASE)


family: Final = Text2ConstructWorld(__file__)
