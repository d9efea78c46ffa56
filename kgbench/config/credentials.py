# SPDX-License-Identifier: Apache-2.0
"""Words about API keys in configurations, and messages without them."""

from __future__ import annotations

from dataclasses import replace

from kgbench.characters import one_line
from kgbench.errors import Finding
from kgbench.secrets.detection import HIDDEN
from kgbench.secrets.key_patterns import hide_pasted_keys

ADVICE = (
    "keys are read from the environment (such as OPENAI_API_KEY), never from a configuration: "
    "remove it here, and withdraw it if the file has been shared"
)


def hidden(text: str) -> str:
    """Replace everything in ``text`` that looks like a key."""
    return hide_pasted_keys(text, HIDDEN)


def without_keys(finding: Finding) -> Finding:
    """Replace keys in a finding, and escape control characters."""
    return replace(
        finding,
        source=one_line(hidden(finding.source)),
        pointer=one_line(hidden(finding.pointer)),
        message=one_line(hidden(finding.message)),
    )
