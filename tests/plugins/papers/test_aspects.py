# SPDX-License-Identifier: Apache-2.0
"""Aspects of task classes."""

import pytest

from kgbench.errors import QueryError
from kgbench.plugins.papers.aspects import aspects
from kgbench.scores.selection import select
from tests.support.analysis_store import small


def test_aspects_are_what_task_classes_declare():
    """A class has its aspects in words and marks; globs choose classes; no match is refused."""
    mend, pick = aspects(small(), select(small())).records()
    assert (pick["reads"], pick["writes"]) == ("graph, query", "result set")
    assert [pick[a] for a in ("syntax_read", "syntax_create", "semantics_read")] == ["x", "-", "x"]
    assert (mend["reads"], mend["syntax_read"], mend["knowledge_dimension"]) == (
        *(None, "-"),
        "factual",
    )
    assert len(aspects(small(), select(small(), tasks="Pick")).rows) == 1
    with pytest.raises(QueryError, match="no task class that matches 'X'"):
        aspects(small(), select(small(), tasks="X"))
