# SPDX-License-Identifier: Apache-2.0
"""A server's resources after a day of mixed requests, compressed into seconds."""

from __future__ import annotations

import sys

import pytest

from tests.serve import day

pytestmark = [
    pytest.mark.servers,
    pytest.mark.skipif(sys.platform != "linux", reason="counts by /proc"),
]


def test_nothing_is_left_of_a_day(tmp_path):
    """Workers, descriptors, threads, snapshots and temporary files are as before."""
    found = day.spend(tmp_path, 1_200)

    assert not found.leaked, (found.before, found.after)
    assert found.said == ""
    assert not any(said.endswith((" 500", "nothing")) for said in found.statuses)
    assert found.statuses["light 200"] > 100
    assert found.statuses["update 204"] > 10
    assert found.statuses["cancelled left"] > 10


def test_leaks_are_counted():
    """Any additional worker, snapshot or file is a leak; up to three more threads are not."""
    before = day.Held(6, 19, 0, 16, 3, 0)
    after = day.Held(7, 19, 0, 19, 3, 2)
    found = day.Day(day.Counter(), before, after, 1.0, 100, "")

    assert found.leaked == {"workers": 1, "temporary": 2}
