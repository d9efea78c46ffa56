# SPDX-License-Identifier: Apache-2.0
"""SparqlSyntaxTwin: SparqlSyntaxFixingListLcQuad with renamed queries."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from kgbench.api import QueryFixFamily, Task, TwinFamily
from kgbench.families.twins import source
from kgbench.tasks import catalogue
from kgbench.tasks.renaming import Source


class SparqlSyntaxTwin(TwinFamily, QueryFixFamily):
    """Twins of the faulty queries of SparqlSyntaxFixingListLcQuad."""

    texts_of = "SparqlSyntaxFixingListLcQuad"

    def source(self, task: Task) -> Source:
        """Return the published faulty queries, which are about the economic graph."""
        return _faulty_queries()


@cache
def _faulty_queries() -> Source:
    published: Any = catalogue.module(SparqlSyntaxTwin.texts_of)
    keys = ("uid", "refSparql", "refResultSet", "testSparql", "errorMessage")
    return source("economy", published.listed({}), keys)


family: Final = SparqlSyntaxTwin(__file__)
