# SPDX-License-Identifier: Apache-2.0
"""Comparison policies: how the result of a query is compared with the expected one."""
