# SPDX-License-Identifier: Apache-2.0
"""Tests of formats of other communities."""
