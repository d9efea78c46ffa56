# SPDX-License-Identifier: Apache-2.0
"""Formulas that compute scores of answers, as pure functions."""
