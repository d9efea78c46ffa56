# SPDX-License-Identifier: Apache-2.0
"""The context of calls to a model: what responses and failures mean, in words without secrets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any
from urllib.parse import urlsplit

from kgbench.connectors import bodies, reply_signs
from kgbench.connectors.bodies import ErrorBody, NoAnswer
from kgbench.connectors.reply_signs import Meaning, Sign
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout
from kgbench.model import Json, Outcome, Reply
from kgbench.net import environment
from kgbench.net.limits import (
    Misbehaviour,
    RedirectRefused,
    ResponseTooLarge,
    ResponseTooSlow,
    is_near,
    retry_after,
)
from kgbench.secrets.detection import SecretDetector, detector, scrub

_SHORTEST_KEY = 16  # characters; shorter values are placeholders for servers without keys
_IDENTIFIERS = {"model", "finish_reason", "request_id", "fingerprint"}
_LONGEST_IDENTIFIER = 300  # characters

Reader = Callable[[Json, str | None], Reply]


@dataclass(frozen=True, slots=True)
class Caller:
    """The context of calls to a model: its specification, timeout (seconds), secrets and server.

    ``secrets`` never appear in messages. ``url`` is the address of the server, or empty for a model
    in this process. ``model`` is the name of the model, which a server's error may repeat.
    """

    spec: str
    timeout: float
    secrets: tuple[str, ...] = ()
    url: str = ""
    model: str = ""

    @property
    def host(self) -> str:
        """The server's host and port, or empty for a model in this process."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    @property
    def near(self) -> bool:
        """Whether the server is on this machine or in a private network, by its address."""
        return is_near(urlsplit(self.url).hostname or "")

    def describe(self, event: str) -> str:
        """Return ``event`` as a message that names model and host but no secret."""
        host = f" at {self.host}" if self.host and self.host not in self.spec else ""
        return scrub(f"{self.spec}{host}: {event}", self.secrets)

    def error(self, event: str) -> ProviderError:
        """Return an error that a retry may cure."""
        return ProviderError(self.describe(event))

    def timeout_error(self) -> ProviderTimeout:
        """Return the error of a call that exceeded its timeout."""
        advice = environment.advice(self.url)
        return ProviderTimeout(self.describe(f"no answer within {self.timeout:g} s{advice}"))

    def misbehaviour_error(self, cause: Misbehaviour) -> ProviderError:
        """Return the error for a server that violates the limits of a response.

        Redirects to other servers and responses that are too large are not retried.
        """
        if isinstance(cause, ResponseTooSlow):
            return self.timeout_error()
        message = self.describe(str(cause))
        refused = isinstance(cause, RedirectRefused | ResponseTooLarge)
        return ProviderRefused(message) if refused else ProviderError(message)

    def connection_error(self, cause: BaseException) -> ProviderError:
        """Return the error for a connection that could not be made or was lost."""
        if isinstance(cause, Misbehaviour):
            return self.misbehaviour_error(cause)
        words = f"the connection failed ({type(cause).__name__}): {cause}"
        advice = environment.advice(self.url)
        return self.error(words if words.endswith(advice) else words + advice)

    def read(self, text: str, reader: Reader, request_id: str | None) -> Reply:
        """Parse the body of a successful response with ``reader``; see :meth:`reply`.

        A text that is declared to be an error is one; anything else that is not JSON is unread.
        """
        try:
            body = self.json(text)
        except ProviderError:
            said = bodies.error_in(text)
            if text.lstrip().startswith(("{", "[")) or self.sign(said) is None:
                raise
            message = f"the response is not JSON: {said.message}"
            return self.refusal(said, message, request_id=request_id)
        return self.reply(body, reader, request_id)

    def reply(self, body: Json, reader: Reader, request_id: str | None) -> Reply:
        """Return the reply in a parsed body, also if that is a refusal in the form of an error.

        Raises the error that the body means if it has no answer.
        """
        try:
            bodies.refuse_error(body)
            return self.clean(reader(body, request_id))
        except NoAnswer as error:
            return self.refusal(error.said, str(error), request_id=request_id)
        except ProviderError as error:
            raise self.error(str(error)) from None

    def failed(
        self, status: int, text: str, headers: Mapping[str, str], request_id: str | None = None
    ) -> Reply:
        """Return the refused reply that a response of HTTP ``status`` 400 or above is.

        Raises the error that it means if it is another one. ``text`` is its body.
        """
        wait = retry_after({name.lower(): value for name, value in headers.items()})
        said = bodies.error_in(text)
        message = f"HTTP {status}: {said.message or 'no message'}"
        return self.refusal(said, message, status=status, wait=wait, request_id=request_id)

    def refusal(
        self,
        said: ErrorBody,
        message: str,
        *,
        status: int | None = None,
        wait: float | None = None,
        request_id: str | None = None,
    ) -> Reply:
        """Return a refused reply if an error means one, else raise the error that it means."""
        sign = self.sign(said, status)
        if sign is not None and sign.meaning is Meaning.REFUSED:
            reason = next((code for code in said.codes if sign.has(code)), said.message)
            refused = Reply("", finish_reason=reason, request_id=request_id)
            return self.clean(replace(refused, outcome=Outcome.REFUSED))
        advice = f" ({sign.advice})" if sign is not None and sign.advice else ""
        raise reply_signs.error_of(
            sign and sign.meaning,
            self.describe(f"{message}{advice}"),
            status=status or said.status,
            wait=said.wait if wait is None else wait,
        ) from None

    def sign(self, said: ErrorBody, status: int | None = None) -> Sign | None:
        """Return the declared sign of an error, looked for in the server's own words only."""
        # All phrases have spaces, so that other names cannot be taken for one.
        names = [self.model] if " " in self.model else []
        return reply_signs.sign_of(said, status, names)

    def json(self, text: str | bytes) -> Json:
        """Parse ``text`` as JSON; raises :class:`~kgbench.errors.ProviderError` if it is not JSON.

        Control characters in strings and comment lines before the document are accepted. Keys are
        hidden in all strings of the document, because servers may repeat them anywhere, even in
        answers. This happens after decoding, because JSON can escape any character.
        """
        try:
            if isinstance(text, bytes):
                text = text.decode(json.detect_encoding(text), "surrogatepass")
            text = bodies.without_comments(text)
            return self._echoes.hide_in(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            shown = bodies.error_in(text).message if isinstance(text, str) else text
            error = self.error(f"the response is not JSON: {shown[:80]!r}")
            raw = text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")
            error.raw = self._echoes.hide(raw)
            raise error from None

    def clean(self, reply: Reply) -> Reply:
        """Hide keys in all texts of ``reply``, and limit the length of its identifiers.

        A count of 0 tokens read is that of a server which does not count: no prompt is empty.
        This is the last step for every reply: headers are not part of the JSON, and a reader may
        join parts of a text into a key.
        """
        texts = {
            attribute.name: value
            for attribute in fields(reply)
            if isinstance(value := getattr(reply, attribute.name), str)
            and not isinstance(value, Enum)
        }
        hidden = {name: self._echoes.hide(value) for name, value in texts.items()}
        for name in _IDENTIFIERS & hidden.keys():
            if len(hidden[name]) > _LONGEST_IDENTIFIER:
                hidden[name] = hidden[name][: _LONGEST_IDENTIFIER - 1] + "…"
        changed: dict[str, Any] = {
            name: value for name, value in hidden.items() if value != texts[name]
        }
        if reply.usage.input == 0:
            output = reply.usage.output or None
            changed["usage"] = replace(reply.usage, input=None, output=output)
        return replace(reply, **changed) if changed else reply

    @property
    def _echoes(self) -> SecretDetector:
        return detector(frozenset(key for key in self.secrets if len(key) >= _SHORTEST_KEY))
