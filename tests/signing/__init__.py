# SPDX-License-Identifier: Apache-2.0
"""Tests of keys, canonical data and proofs."""
