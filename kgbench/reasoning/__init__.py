# SPDX-License-Identifier: Apache-2.0
"""Reasoning over small ontologies by the rules of OWL 2 RL."""
