# SPDX-License-Identifier: Apache-2.0
"""Tests of :mod:`kgbench.plugins.virtuoso`."""
