# SPDX-License-Identifier: Apache-2.0
"""Tests of harvesting publications of other groups."""
