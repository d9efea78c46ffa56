# SPDX-License-Identifier: Apache-2.0
"""The log of a run: JSON lines for machines, words for people, keys for nobody.

Every line has ``time`` (UTC) and ``event``; what concerns a dialogue names its IRI. Texts stay in
the graph: a line has their length, and the IRI leads there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from kgbench.connectors import keys
from kgbench.connectors.failures import scrub
from kgbench.errors import StoreError
from kgbench.model import Reply

_KEY_NAME = re.compile(r"(?i)(?:api|access|secret|auth).*(?:key|token)|_key$|_token$|password")
_SHORTEST = 8  # characters; a shorter value would hide words that are no secret

Say = Callable[[str], None]


def secrets_of(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values in ``environment`` that are keys by the names of their variables."""
    found = {v.strip() for k, v in environment.items() if _KEY_NAME.search(k)}
    return tuple(sorted(value for value in found if len(value) >= _SHORTEST))


class Journal:
    """Notes events; without a ``path`` and ``say`` it does nothing.

    ``path`` is appended to, line by line as things happen; ``say`` takes readable lines.
    Raises :class:`~kgbench.errors.StoreError` when the file cannot be opened.
    """

    def __init__(self, path: Path | None = None, say: Say | None = None) -> None:
        self._say = say
        self._file: TextIO | None = None
        self._secrets = secrets_of(os.environ)
        if path is not None:
            try:
                self._file = path.open("a", encoding="utf-8", buffering=1)
            except OSError as error:
                raise StoreError(f"the log {path} cannot be written: {error.strerror}") from None
        self.silent = path is None and say is None

    def note(self, event: str, **facts: Any) -> None:
        """Note ``event`` with ``facts``, which are JSON-shaped; ``None`` is left out."""
        if self.silent:
            return
        clean = {k: self._clean(v) for k, v in facts.items() if v is not None}
        now = datetime.now(UTC)
        if self._file is not None:
            line = {"time": now.isoformat(), "event": event, **clean}
            self._file.write(json.dumps(line, ensure_ascii=True) + "\n")
        if self._say is not None:
            words = " ".join(f"{name}={value}" for name, value in clean.items())
            self._say(f"{now:%H:%M:%S} {event} {words}")

    def reply(self, reply: Reply, **about: Any) -> None:
        """Note what a model replied, but not its text; ``about`` says to what."""
        self.note(
            "reply",
            **about,
            characters=len(reply.text),
            inputTokens=reply.usage.input,
            outputTokens=reply.usage.output,
            finishReason=reply.finish_reason,
            requestId=reply.request_id,
            answeringModel=reply.model,
            outcome=reply.outcome,
        )

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        self.silent = True

    def _clean(self, value: Any) -> Any:
        return scrub(value, {*self._secrets, *keys.given()}) if isinstance(value, str) else value
