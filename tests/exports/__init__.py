# SPDX-License-Identifier: Apache-2.0
"""Tests of exports, and of what takes published results in again."""
