# SPDX-License-Identifier: Apache-2.0
"""What both sides of the Model Context Protocol agree on here."""

from __future__ import annotations

from typing import Final

OUTCOME_KEY: Final = "w3id.org/kgbench/toolOutcome"
"""The key in ``_meta`` of a tool's result that says how the call ended (``empty`` ...)."""
