# SPDX-License-Identifier: Apache-2.0
"""Tests of exports in the formats of other communities."""
