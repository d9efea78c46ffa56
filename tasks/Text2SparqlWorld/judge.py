# SPDX-License-Identifier: Apache-2.0
"""Text2SparqlWorld: questions about a generated world, answered with a query.

Results are compared under the policy ``rows``; the model is asked again if a query does not parse
or finds nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, cast

from kgbench.api import Case, Executor, Verdict
from kgbench.families import queries
from kgbench.families.sparql import SparqlFamily, judge_query
from kgbench.model import TaskModule


class Text2SparqlWorld(SparqlFamily):
    """Questions about the seed's world."""

    query = staticmethod(queries.extract_any_query)

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the result of the last answer's query; ask again without a query or a result."""
        return judge_query(case, answers, executor, cast("TaskModule", self))


family: Final = Text2SparqlWorld(__file__)
