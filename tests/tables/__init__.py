# SPDX-License-Identifier: Apache-2.0
"""Tests of :mod:`kgbench.tables`."""
