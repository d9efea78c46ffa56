# SPDX-License-Identifier: Apache-2.0
"""Findings of validators that are accepted, each with its reason."""

from __future__ import annotations

#: Reasons by artefact and by the beginning of a finding's name.
KNOWN: dict[str, dict[str, str]] = {}
