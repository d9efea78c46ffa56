# SPDX-License-Identifier: Apache-2.0
"""Judges: models that are asked, by declared rubrics, about stored dialogues."""
