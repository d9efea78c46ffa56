# SPDX-License-Identifier: Apache-2.0
"""Tolerant readers of JSON response bodies: a value of an unexpected type counts as missing.

Also the roles of the messages of a conversation, which all protocols share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kgbench import rdf
from kgbench.model import Json

# Sent in place of an empty answer to protocols that reject empty messages.
UNSAID = "(no answer)"
_MOST_COUNTED = 10**12  # tokens; sums of greater numbers would exceed 64 bits


def turns(messages: Sequence[str], answerer: str = "assistant") -> list[tuple[str, str]]:
    """Return the messages with their roles, ``user`` first.

    Lone surrogates, which JSON in UTF-8 cannot represent, become U+FFFD.
    """
    roles = ("user", answerer)
    return [(roles[k % 2], rdf.storable(text).value) for k, text in enumerate(messages)]


def mapping(value: Json) -> Mapping[str, Any]:
    """Return ``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def listed(value: Json) -> list[Mapping[str, Any]]:
    """Return the objects in ``value`` if it is a list, else an empty list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text_of(value: Json) -> str | None:
    """Return ``value`` if it is a string, else ``None``."""
    return value if isinstance(value, str) else None


def reason_of(value: Json) -> str | None:
    """Return the reason of an ending in words, also if it is no text; ``None`` if there is none."""
    if value is None or isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) else f"a {type(value).__name__}"


def count(value: Json) -> int | None:
    """Return ``value`` if it is an integer that can be a number of tokens, else ``None``."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value <= _MOST_COUNTED else None


def written(output: int | None, read: int | None, total_: int | None) -> int | None:
    """Return the output tokens of a call: at least its total minus the ``read`` tokens, if known.

    Some providers (xAI) do not count reasoning among the output, though it is charged, and others
    do; only the total tells which. Without any count of the output, it is what the total leaves.
    """
    if read is None or total_ is None or total_ <= read:
        return output
    return max(output or 0, total_ - read)


def total(*counts: int | None) -> int | None:
    """Return the sum of the known ``counts``, or ``None`` if the first is unknown."""
    return None if counts[0] is None else sum(value or 0 for value in counts)
