# SPDX-License-Identifier: Apache-2.0
"""The declared table of replies (``queries/replies.ttl``): what words of providers mean.

The table is closed. An ending that it does not have is a failure of the provider, whose answer is
not judged; so is an error none of whose signs it has.

>>> sign_of(ErrorBody("It does not fit.", ("context_length_exceeded",)), 400).meaning
<Meaning.CONTEXT_TOO_LONG: 'context-too-long'>
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from kgbench.connectors.bodies import ErrorBody
from kgbench.errors import (
    ContextTooLong,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Outcome
from kgbench.net.limits import LONGEST_WAIT
from kgbench.rdf.declared import shipped
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

    def has(self, word: str) -> bool:
        """Return whether ``word`` is one of the words of this row."""
        return word.casefold() in map(str.casefold, self.words)

    def is_said(self, message: str) -> bool:
        """Return whether ``message`` has one of the patterns of this phrase."""
        return any(re.search(word, message, re.IGNORECASE) for word in self.words)


_OUTCOMES = {
    Meaning.SCORED: None,
    Meaning.TRUNCATED: Outcome.TRUNCATED,
    Meaning.REFUSED: Outcome.REFUSED,
}


@cache
def signs() -> tuple[Sign, ...]:
    """Return the rows of the table; phrases are in their order."""
    declared = shipped("queries", "replies.ttl")
    nodes = declared.instances(KGB.ReplySign)
    nodes.sort(key=lambda node: declared.read(node, SH.order, int) or 0)
    return tuple(
        Sign(
            Kind(declared.required(node, KGB.signKind)),
            (*declared.texts(node, SKOS.notation), *declared.texts(node, SH.pattern)),
            Meaning(declared.required(node, KGB.signMeaning)),
            declared.text(node, KGB.mayBeEmpty) == "true",
            declared.text(node, RDFS.comment),
            tuple(declared.texts(node, DCTERMS.source)),
            declared.required(node, DCTERMS.date),
        )
        for node in nodes
    )


def outcome(reason: str | None, *, content: bool) -> Outcome | None:
    """Return the outcome of an answer that ended for ``reason`` with or without ``content``.

    Without a reason, which some servers leave out, content is an answer. Raises
    :class:`~kgbench.errors.ProviderError` if the answer must not be judged.
    """
    if not reason:
        if not content:
            raise ProviderError("the response has neither content nor a reason of its ending")
        return None
    sign = _by_word(Kind.ENDING).get(reason.casefold())
    if sign is None:
        raise ProviderError(
            f"the answer ended for the reason '{reason}', which is not declared: it is not judged"
        )
    if sign.meaning not in _OUTCOMES:
        raise ProviderError(f"the answer ended for the reason '{reason}': it is not judged")
    if not content and not sign.may_be_empty:
        raise ProviderError(f"the answer ended for the reason '{reason}' without content")
    return _OUTCOMES[sign.meaning]


def is_block(reason: str) -> bool:
    """Return whether ``reason`` is declared as one for which a provider blocks prompts."""
    return reason.casefold() in _by_word(Kind.BLOCK)


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
        for sign in _of_kind(Kind.PHRASE):
            if sign.is_said(message):
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


def _of_kind(kind: Kind) -> Sequence[Sign]:
    return [sign for sign in signs() if sign.kind is kind]


@cache
def _by_word(kind: Kind) -> dict[str, Sign]:
    return {word.casefold(): sign for sign in _of_kind(kind) for word in sign.words}
