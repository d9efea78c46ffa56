# SPDX-License-Identifier: Apache-2.0
"""Sides of comparisons, by any of their names."""

from __future__ import annotations

import pytest

from kgbench.analysis.matching import sides
from kgbench.errors import QueryError
from tests.support.analysis_store import small


@pytest.mark.parametrize("name", ["model-a", "*-a", "Model?A", "Model A", "mod*[a]"])
def test_sides_have_short_names_and_globs(name):
    """A glob, an identifier or a display name names the only side that it matches."""
    assert sides(small(), name, "model-b")[0].name == "Model A"
    with pytest.raises(QueryError, match=r"'model-\*' is ambiguous"):
        sides(small(), "model-*", "model-b")
    with pytest.raises(QueryError, match=r"no model, run or pass 'x-\*'"):
        sides(small(), "x-*", "model-b")


def test_only_like_things_are_compared():
    """Unknown names, mixed kinds and ambiguous prefixes are refused with the choices."""
    with pytest.raises(QueryError, match=r"no model, run or pass 'nobody'.*Model A, Model B"):
        sides(small(), "model-a", "nobody")
    with pytest.raises(QueryError, match="is a model and 'p1' a pass"):
        sides(small(), "model-a", "p1")
    with pytest.raises(QueryError, match="'p' is ambiguous"):
        sides(small(), "p", "p1")
