# SPDX-License-Identifier: Apache-2.0
"""Execution of queries and judging of answers, in child processes with limits."""
