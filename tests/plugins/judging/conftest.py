# SPDX-License-Identifier: Apache-2.0
"""Every table that these tests make is checked: no interval excludes its own estimate."""

from tests.support.estimates import tables  # noqa: F401 - a fixture for every test
