# SPDX-License-Identifier: Apache-2.0
"""The log of a run, as JSON lines and as readable lines, with API keys removed.

Every line has ``time`` (UTC) and ``event``; events of a dialogue have its IRI. Texts of prompts and
answers are not logged: a line has their length, and the IRI leads to them in the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from kgbench import clock
from kgbench.connectors import keys
from kgbench.errors import StoreError, WriteFailed
from kgbench.model import Reply
from kgbench.secrets import secret_names
from kgbench.secrets.detection import scrub

Say = Callable[[str], None]


class Journal:
    """A log of events; without a ``path`` and ``say`` it does nothing.

    JSON lines are appended to ``path`` as events happen; ``say`` is called with readable lines.
    Raises :class:`~kgbench.errors.StoreError` when the file cannot be opened, and
    :class:`~kgbench.errors.WriteFailed` when a later write fails.
    """

    def __init__(self, path: Path | None = None, say: Say | None = None) -> None:
        self._say = say
        self._path = path
        self._file: BinaryIO | None = None
        self._secrets = secret_names.secrets_in_environment()
        if path is not None:
            try:
                # Unbuffered: a write that fails raises here, not in close().
                self._file = path.open("ab", buffering=0)
            except OSError as error:
                raise StoreError(f"the log {path} cannot be written: {error.strerror}") from None
        self.silent = path is None and say is None

    def note(self, event: str, **facts: Any) -> None:
        """Log ``event`` with ``facts``, which are JSON values; values of ``None`` are left out."""
        if self.silent:
            return
        clean = {k: self._clean(v) for k, v in facts.items() if v is not None}
        now = clock.now()
        if self._file is not None:
            line = {"time": now.isoformat(), "event": event, **clean}
            self._write(json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n")
        if self._say is not None:
            words = " ".join(f"{name}={value}" for name, value in clean.items())
            self._say(f"{now:%H:%M:%S} {event} {words}")

    def reply(self, reply: Reply, **fields: Any) -> None:
        """Log a reply without its text; ``fields`` name the dialogue and round."""
        self.note(
            "reply",
            **fields,
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

    def _write(self, line: bytes) -> None:
        assert self._file is not None
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            message = f"the log {self._path} cannot be written: {error.strerror}"
            raise WriteFailed(message) from error

    def _clean(self, value: Any) -> Any:
        return scrub(value, self._secrets | keys.keys_in_use()) if isinstance(value, str) else value
