# SPDX-License-Identifier: Apache-2.0
"""Challenges of others: their questions, systems, answers, published scores and test suites."""
