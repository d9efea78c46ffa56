# SPDX-License-Identifier: Apache-2.0
"""Reproduction of papers and published leaderboards, and the analyses that only they need."""
