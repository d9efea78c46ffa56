# SPDX-License-Identifier: Apache-2.0
"""Comparison policies: declared rules for comparing the result of a query with the expected one."""
