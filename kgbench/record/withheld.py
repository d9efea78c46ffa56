# SPDX-License-Identifier: Apache-2.0
"""What readers show in place of a text that was left out of a publication."""

from __future__ import annotations


def removed(node: str) -> str:
    """What stands for a text that was removed for publication; ``node`` is its IRI."""
    return f"[the text was removed; its SHA-256 is {node.rpartition('/')[2]}]"
