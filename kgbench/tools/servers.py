# SPDX-License-Identifier: Apache-2.0
"""Constants shared by kgbench's server and client of the Model Context Protocol."""

from __future__ import annotations

from typing import Final

OUTCOME_KEY: Final = "w3id.org/kgbench/toolOutcome"
"""The key in ``_meta`` of a tool result for the outcome of the call (``empty``, ...)."""
