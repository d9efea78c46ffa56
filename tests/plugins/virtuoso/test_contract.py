# SPDX-License-Identifier: Apache-2.0
"""What holds on every kind of store holds on Virtuoso."""

from __future__ import annotations

import pytest

from tests.store import test_copying
from tests.store.test_back_ends import *  # noqa: F403 - all its tests
from tests.store.test_bad_lines import test_a_refused_write_leaves_no_trace  # noqa: F401

pytestmark = pytest.mark.servers


@pytest.mark.parametrize(("origin", "target"), [("embedded", "virtuoso"), ("virtuoso", "folder")])
def test_a_copy_is_the_same(request, tmp_path, origin, target):
    """A copy to and from Virtuoso has the same graphs."""
    test_copying.test_a_copy_is_the_same(request, tmp_path, origin, target)
