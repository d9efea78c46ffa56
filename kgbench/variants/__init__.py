# SPDX-License-Identifier: Apache-2.0
"""Seeded variants of a graph: other facts about the same resources, with the same regularities."""
