# SPDX-License-Identifier: Apache-2.0
"""Judging stored dialogues again, and saying why the verdicts differ."""
