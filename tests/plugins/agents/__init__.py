# SPDX-License-Identifier: Apache-2.0
"""Tests of agents that search graphs by tools."""
