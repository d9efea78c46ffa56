# SPDX-License-Identifier: Apache-2.0
"""What validators find that is left as it is, each with its reason."""

from __future__ import annotations

#: Reasons by artefact, and by how the name of a finding begins.
KNOWN: dict[str, dict[str, str]] = {}
