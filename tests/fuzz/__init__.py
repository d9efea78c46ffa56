# SPDX-License-Identifier: Apache-2.0
"""Fuzzing of the parsers of foreign text."""
