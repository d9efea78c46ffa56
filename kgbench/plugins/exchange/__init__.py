# SPDX-License-Identifier: Apache-2.0
"""Exports in formats of other communities, and result files of LLM-KG-Bench in YAML."""
