# SPDX-License-Identifier: Apache-2.0
"""What responses and failures of a model mean: the declared table of replies, and its use in calls.

The table is closed. An ending that it does not have is a failure of the provider, whose answer is
not judged; so is an error none of whose signs it has.

>>> sign_of(ErrorBody("It does not fit.", ("context_length_exceeded",)), 400).meaning
<Meaning.CONTEXT_TOO_LONG: 'context-too-long'>
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum, StrEnum
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kgbench.connectors.bodies import ErrorBody, NoAnswer, error_in, refuse_error, without_comments
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Json, Outcome, Reply
from kgbench.net import environment
from kgbench.net.limits import (
    LONGEST_WAIT,
    Misbehaviour,
    RedirectRefused,
    ResponseTooLarge,
    ResponseTooSlow,
    is_near,
    retry_after,
)
from kgbench.rdf.declared import shipped
from kgbench.secrets import SecretDetector, detector, scrub
from kgbench.tool_calls import ToolCall
from kgbench.tools.wording import with_calls, with_unread_call
from kgbench.vocab import DCTERMS, KGB, RDFS, SH, SKOS

_YEAR = 365 * 86400.0


class Kind(StrEnum):
    """Where a sign stands in a reply; see the head of the table."""

    ENDING = "ending"
    BLOCK = "block"
    CODE = "code"
    PHRASE = "phrase"
    CLASS = "class"
    STATUS = "status"


class Meaning(StrEnum):
    """What a sign means. Failures and timeouts are retried, rejected requests are not."""

    SCORED = "scored"
    UNREADABLE_CALL = "unreadable-call"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    CONTEXT_TOO_LONG = "context-too-long"
    RATE_LIMITED = "rate-limited"
    TIMEOUT = "timeout"
    PROVIDER_ERROR = "provider-error"
    REJECTED = "rejected"


class Sign(NamedTuple):
    """A row of the table. ``words`` are compared without case; those of a phrase are patterns.

    ``may_be_empty`` says of an ending that an answer without content is one, ``advice`` what a user
    should know; ``sources`` and ``date`` say where and when the words were found.
    """

    kind: Kind
    words: tuple[str, ...]
    meaning: Meaning
    may_be_empty: bool
    advice: str | None
    sources: tuple[str, ...]
    date: str

    def is_said(self, message: str) -> bool:
        """Return whether ``message`` has one of the patterns of this phrase."""
        return any(re.search(word, message, re.IGNORECASE) for word in self.words)


_OUTCOMES = {
    Meaning.SCORED: None,
    Meaning.UNREADABLE_CALL: None,
    Meaning.TRUNCATED: Outcome.TRUNCATED,
    Meaning.REFUSED: Outcome.REFUSED,
}


@cache
def signs() -> tuple[Sign, ...]:
    """Return the rows of the table; phrases are in their order."""
    table = shipped("queries", "replies.ttl")
    nodes = table.instances(KGB.ReplySign)
    nodes.sort(key=lambda node: table.read(node, SH.order, int) or 0)
    return tuple(
        Sign(
            Kind(table.required(node, KGB.signKind)),
            (*table.texts(node, SKOS.notation), *table.texts(node, SH.pattern)),
            Meaning(table.required(node, KGB.signMeaning)),
            table.text(node, KGB.mayBeEmpty) == "true",
            table.text(node, RDFS.comment),
            tuple(table.texts(node, DCTERMS.source)),
            table.required(node, DCTERMS.date),
        )
        for node in nodes
    )


def ended(
    reason: str | None, text: str, calls: Sequence[ToolCall], said: str = ""
) -> tuple[str, Outcome | None]:
    """Return the text of an answer, with its tool calls, and its outcome, by ``reason``.

    A call that the provider could not read is a malformed one, with what is ``said`` about it.
    Without a reason, which some servers leave out, content is an answer. Raises
    :class:`~kgbench.errors.ProviderError` if the answer must not be judged.
    """
    sign = declared(Kind.ENDING, reason or "")
    is_unread = sign is not None and sign.meaning is Meaning.UNREADABLE_CALL and not calls
    text = with_unread_call(text, reason or "", said) if is_unread else with_calls(text, calls)
    if not reason:
        if not text:
            raise ProviderError("the response has neither content nor a reason of its ending")
        return text, None
    if sign is None:
        raise ProviderError(
            f"the answer ended for the reason '{reason}', which is not declared: it is not judged"
        )
    if sign.meaning not in _OUTCOMES:
        raise ProviderError(f"the answer ended for the reason '{reason}': it is not judged")
    if not text and not sign.may_be_empty:
        raise ProviderError(f"the answer ended for the reason '{reason}' without content")
    return text, _OUTCOMES[sign.meaning]


def declared(kind: Kind, word: str) -> Sign | None:
    """Return the sign of a ``kind`` that has ``word``, or ``None``.

    Google's compatible interface names its filter before it: ``content_filter: RECITATION``.
    """
    known = _by_word(kind)
    return known.get(word.casefold()) or known.get(word.casefold().rpartition(": ")[2])


def sign_of(said: ErrorBody, status: int | None, own_words: Sequence[str] = ()) -> Sign | None:
    """Return the sign that decides what an error means, or ``None`` for an undeclared error.

    ``status`` is that of the HTTP response. ``own_words`` are ours (the name of the model), which a
    server may repeat, and in which no phrase is looked for.
    """
    for code in said.codes:
        if sign := _by_word(Kind.CODE).get(code.casefold()):
            return sign
    message = said.message
    for word in own_words:
        message = message.replace(word, "")
    if not said.is_excerpt:
        for sign in signs():
            if sign.kind is Kind.PHRASE and sign.is_said(message):
                return sign
    failed = status is not None and status >= 400  # noqa: PLR2004
    general = [_by_word(Kind.STATUS).get(str(status if failed else said.status))]
    general += [_by_word(Kind.CLASS).get(code.casefold()) for code in said.codes]
    known = [sign for sign in general if sign is not None]
    # One that a retry may cure decides: a failed call costs less than a lost answer.
    return next((s for s in known if s.meaning is not Meaning.REJECTED), next(iter(known), None))


def error_of(
    meaning: Meaning | None,
    message: str,
    *,
    status: int | None = None,
    wait: float | None = None,
) -> ProviderError:
    """Return the error for the declared ``meaning`` of a reply; ``message`` is already scrubbed.

    What nobody declared (``None``) is a failure of the provider, which is retried. ``status`` is
    that of the HTTP response, ``wait`` the seconds that it asks to wait.
    """
    error: ProviderError
    if meaning in (Meaning.REJECTED, Meaning.REFUSED):
        error = ProviderRefused(message)
    elif meaning is Meaning.CONTEXT_TOO_LONG:
        error = ContextTooLong(message)
    elif wait is not None and wait > LONGEST_WAIT:
        hours = min(wait, _YEAR) / 3600
        error = ProviderRefused(
            f"{message} (it asks for a wait of {hours:,.1f} hours, which is too long: run the same "
            f"command again later)"
        )
    elif meaning is Meaning.RATE_LIMITED or wait is not None:
        error = RateLimited(message, wait)
    else:
        error = (ProviderTimeout if meaning is Meaning.TIMEOUT else ProviderError)(message)
    error.status = status
    return error


@cache
def _by_word(kind: Kind) -> dict[str, Sign]:
    return {word.casefold(): sign for sign in signs() if sign.kind is kind for word in sign.words}


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
            said = error_in(text)
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
            refuse_error(body)
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
        said = error_in(text)
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
        """Return the reply that an error means, refused or an unread call, else raise the error."""
        sign = self.sign(said, status)
        if sign is not None and sign.meaning in _OUTCOMES:
            codes = (code for code in said.codes if declared(Kind.CODE, code) is sign)
            reason = next(codes, said.message)
            outcome = _OUTCOMES[sign.meaning]
            text = "" if outcome else with_unread_call("", reason, said.message)
            answered = Reply(text, finish_reason=reason, request_id=request_id)
            return self.clean(replace(answered, outcome=outcome))
        advice = f" ({sign.advice})" if sign is not None and sign.advice else ""
        raise error_of(
            sign and sign.meaning,
            self.describe(f"{message}{advice}"),
            status=status or said.status,
            wait=said.wait if wait is None else wait,
        ) from None

    def sign(self, said: ErrorBody, status: int | None = None) -> Sign | None:
        """Return the declared sign of an error, looked for in the server's own words only."""
        # All phrases have spaces, so that other names cannot be taken for one.
        return sign_of(said, status, [self.model] if " " in self.model else ())

    def json(self, text: str | bytes) -> Json:
        """Parse ``text`` as JSON; raises :class:`~kgbench.errors.ProviderError` if it is not JSON.

        Control characters in strings and comment lines before the document are accepted. Keys are
        hidden in all strings of the document, because servers may repeat them anywhere, even in
        answers. This happens after decoding, because JSON can escape any character.
        """
        try:
            if isinstance(text, bytes):
                text = text.decode(json.detect_encoding(text), "surrogatepass")
            text = without_comments(text)
            return self._echoes.hide_in(json.loads(text, strict=False))
        except (ValueError, RecursionError):
            shown = error_in(text).message if isinstance(text, str) else text
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
