# SPDX-License-Identifier: Apache-2.0
"""A small cache of verdicts in a judging child: models often repeat an answer to the same case.

Judges are pure functions, so an equal answer to the same case has the same verdict. In published
runs with twenty dialogues per case, nearly half of the answers are equal to recent ones.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

_MOST = 128  # verdicts
_LONGEST = 1 << 16  # bytes of an encoded verdict


class RepeatedAnswers:
    """The encoded verdicts on the latest answers, in bounded memory."""

    def __init__(self) -> None:
        self._verdicts: OrderedDict[bytes, bytes] = OrderedDict()

    def verdict(self, key: bytes) -> bytes | None:
        """Return the encoded verdict on an answer, if it is known."""
        verdict = self._verdicts.get(key)
        if verdict is not None:
            self._verdicts.move_to_end(key)
        return verdict

    def remember(self, key: bytes, verdict: bytes) -> None:
        """Keep an encoded verdict, in place of the one that was used least recently."""
        if len(verdict) <= _LONGEST:
            self._verdicts[key] = verdict
            if len(self._verdicts) > _MOST:
                self._verdicts.popitem(last=False)


def key_of(case: int, request: Mapping[str, Any]) -> bytes | None:
    """Return the key of a request about a case (by serial number); ``None`` if it has none.

    Tools have none, nor answers with a query that exceeded a limit: each try counts on its own.
    """
    if "use" in request or request["expired"]:
        return None
    dialogue = repr((case, request["answers"], request.get("prompts")))  # escapes lone surrogates
    return hashlib.sha256(dialogue.encode("ascii", "backslashreplace")).digest()
