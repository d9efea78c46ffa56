# SPDX-License-Identifier: Apache-2.0
"""RdfSyntaxTwin: RdfSyntaxFixList with renamed documents."""

from __future__ import annotations

from typing import Final

from kgbench.families.twins import TwinDocuments


class RdfSyntaxTwin(TwinDocuments):
    """Twins of the documents of RdfSyntaxFixList."""

    JUDGED_AS = "RdfSyntaxFixList"


family: Final = RdfSyntaxTwin(__file__)
