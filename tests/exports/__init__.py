# SPDX-License-Identifier: Apache-2.0
"""Tests of exports and of imports of published results."""
