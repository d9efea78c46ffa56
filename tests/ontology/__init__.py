# SPDX-License-Identifier: Apache-2.0
"""Tests of the vocabulary in the folder ontology."""
