# SPDX-License-Identifier: Apache-2.0
"""Judges: models that assess stored dialogues by declared rubrics."""
