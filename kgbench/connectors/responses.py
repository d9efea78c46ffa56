# SPDX-License-Identifier: Apache-2.0
"""The responses protocol of OpenAI: conversations to request bodies, response bodies to replies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kgbench.connectors.bodies import count, listed, mapping, no_answer, text_of, turns
from kgbench.errors import ProviderError
from kgbench.model import Json, ModelSetup, Outcome, Reply, Usage

RESERVED = (
    "input",
    "model",
    "stream",
    "background",
    "previous_response_id",
    "conversation",
    "tools",
)
# What goes by another name here than elsewhere.
_NAMES = {"max_tokens": "max_output_tokens", "max_completion_tokens": "max_output_tokens"}


def request(setup: ModelSetup, messages: Sequence[str]) -> dict[str, Json]:
    """The body that asks ``setup`` to continue ``messages``; nothing is kept at the provider."""
    said = [{"role": role, "content": text} for role, text in turns(messages)]
    return {"model": setup.model_id, "input": said, "store": False, **sampling(setup)}


def sampling(setup: ModelSetup) -> Mapping[str, Json]:
    """The sampling parameters of ``setup`` by the names that this API has for them."""
    return {_NAMES.get(name, name): value for name, value in setup.sampling.items()}


def reply(body: Json, request_id: str | None = None) -> Reply:
    """What a response body says.

    Raises :class:`~kgbench.errors.ProviderError` when it holds no answer.
    """
    whole = mapping(body)
    output = whole.get("output")
    cut = text_of(mapping(whole.get("incomplete_details")).get("reason"))
    if not isinstance(output, list) or (not output and cut is None):
        raise ProviderError(no_answer(body, "no output"))
    if whole.get("status") in ("failed", "cancelled"):
        raise ProviderError(no_answer(body, f"the status {whole['status']}"))
    items = listed(output)
    text = "".join(_texts(items, "message", "content", "text"))
    refusal = "".join(_texts(items, "message", "content", "refusal"))
    reasoning = "\n\n".join(
        [
            *_texts(items, "reasoning", "content", "text"),
            *_texts(items, "reasoning", "summary", "text"),
        ]
    )
    return Reply(
        text=text or refusal,
        usage=_usage(mapping(whole.get("usage"))),
        model=text_of(whole.get("model")),
        finish_reason=cut or text_of(whole.get("status")),
        request_id=request_id or text_of(whole.get("id")),
        reasoning=reasoning or None,
        outcome=_outcome(cut, refused=bool(refusal)),
    )


def _outcome(cut: str | None, *, refused: bool) -> Outcome | None:
    if refused or cut == "content_filter":
        return Outcome.REFUSED
    return Outcome.TRUNCATED if cut == "max_output_tokens" else None


def _texts(items: Sequence[Mapping[str, Any]], kind: str, where: str, key: str) -> Iterator[str]:
    """The texts under ``key`` of all parts in the field ``where`` of the items of a ``kind``."""
    for item in items:
        for part in listed(item.get(where)) if item.get("type") == kind else ():
            if found := text_of(part.get(key)):
                yield found


def _usage(usage: Mapping[str, Json]) -> Usage:
    return Usage(
        input=count(usage.get("input_tokens")),
        output=count(usage.get("output_tokens")),
        cached=count(mapping(usage.get("input_tokens_details")).get("cached_tokens")),
        reasoning=count(mapping(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )
