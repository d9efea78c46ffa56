# SPDX-License-Identifier: Apache-2.0
"""Every table that these tests make is checked: no interval excludes its own estimate."""

import json

import pytest

from tests.support.estimates import tables  # noqa: F401 - a fixture for every test
from tests.support.published import imported


@pytest.fixture(scope="package")
def third(external_data):
    """Yield a store with the results of December 2024."""
    passwords = json.loads((external_data / "passwords.json").read_text())
    with imported(external_data / "llm-kg-bench-v3", passwords["llm-kg-bench-v3"]) as store:
        yield store
