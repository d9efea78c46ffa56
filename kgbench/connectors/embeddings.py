# SPDX-License-Identifier: Apache-2.0
"""Embeddings of texts, from OpenAI or any server with the same endpoint, through the official SDK.

Used where similarity of texts is needed (a task class that chooses examples, ``kgbench datasets
similar``). Models have the usual specifications: ``openai:text-embedding-3-small@http://host/v1``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from kgbench.connectors import calls, find, openai
from kgbench.connectors.bodies import count, listed, mapping, text_of
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import Json, ModelSetup

PORTION = 128  # texts in one request


class Embeddings(NamedTuple):
    """One vector per text, all of one length, the model that the server names, and the tokens."""

    vectors: list[list[float]]
    model: str | None
    tokens: int


def embed(setup: ModelSetup, texts: Sequence[str], timeout: float = 120.0) -> Embeddings:
    """Return the embeddings of ``texts`` by the model ``setup``.

    ``timeout`` limits each request, in seconds. Raises :class:`~kgbench.errors.ModelSpecError` for
    a model without embeddings, and :class:`~kgbench.errors.ProviderError` as connectors do.
    """
    declared = getattr(find(setup.connector), "DECLARED", None)
    service = None if declared is None else declared.embeddings
    # Own servers have a limit of answers by default, which does not concern embeddings.
    if service is None or setup.sampling.keys() - {"max_tokens"}:
        raise ModelSpecError(
            f"{setup.spec} gives no embeddings: name a model as openai:NAME or "
            f"openai:NAME@http://host/v1, without sampling parameters"
        )
    client, caller = openai.sdk_client(setup, timeout, service)
    return asyncio.run(_embed(client, caller, setup.model_id, texts))


async def _embed(
    client: Any, caller: calls.Caller, model_id: str, texts: Sequence[str]
) -> Embeddings:
    result = Embeddings([], None, 0)
    async with client:
        for start in range(0, len(texts), PORTION):
            batch = list(texts[start : start + PORTION])
            body = await _request(client, caller, model_id, batch)
            try:
                vectors = _vectors(body, len(batch))
            except ProviderError as error:
                raise caller.error(str(error)) from None
            if result.vectors and len(vectors[0]) != len(result.vectors[0]):
                raise caller.error("the embeddings differ in length")
            tokens = count(mapping(mapping(body).get("usage")).get("total_tokens")) or 0
            model = text_of(mapping(body).get("model")) or result.model
            result = Embeddings([*result.vectors, *vectors], model, result.tokens + tokens)
    return result


async def _request(client: Any, caller: calls.Caller, model: str, texts: list[str]) -> Json:
    import openai as sdk

    headers = None if caller.secrets else {"Authorization": sdk.omit}
    create = client.embeddings.with_raw_response.create
    body, _ = await calls.fetch_body(
        sdk,
        caller,
        # Without this the SDK requests base64, which not every server supports.
        lambda: create(model=model, input=texts, encoding_format="float", extra_headers=headers),
    )
    return body


def _vectors(body: Json, expected: int) -> list[list[float]]:
    """Return the vectors of a response, in the order of the texts."""
    by_index = {count(item.get("index")): item.get("embedding") for item in listed(_data(body))}
    vectors = [by_index.get(k) for k in range(expected)]
    if len(by_index) != expected or not all(map(_is_vector, vectors)):
        raise ProviderError(f"the response has no {expected} embeddings for {expected} texts")
    if len({len(vector) for vector in vectors if vector is not None}) != 1:
        raise ProviderError("the embeddings differ in length")
    return [[float(number) for number in vector] for vector in vectors if vector is not None]


def _data(body: Json) -> Json:
    return mapping(body).get("data")


def _is_vector(value: Json) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_number, value))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
