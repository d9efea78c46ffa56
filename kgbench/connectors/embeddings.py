# SPDX-License-Identifier: Apache-2.0
"""Embeddings of texts, from OpenAI or any server with the same endpoint, through the official SDK.

Used where similarity of texts is needed (a task class that chooses examples, ``kgbench datasets
similar``). Models have the usual specifications: ``openai:text-embedding-3-small@http://host/v1``.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from typing import NamedTuple

from kgbench.connectors import find, openai
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
    model = openai.OpenAI(setup, timeout, service)
    return asyncio.run(_embed(model, setup.model_id, texts))


async def _embed(model: openai.OpenAI, model_id: str, texts: Sequence[str]) -> Embeddings:
    result = Embeddings([], None, 0)
    async with model:
        for start in range(0, len(texts), PORTION):
            batch = list(texts[start : start + PORTION])
            # Without the format, servers could send base64.
            request = {"model": model_id, "input": batch, "encoding_format": "float"}
            body, _ = await model.fetch("/embeddings", request)
            try:
                vectors = _vectors(body, len(batch))
            except ProviderError as error:
                raise model.caller.error(str(error)) from None
            if result.vectors and len(vectors[0]) != len(result.vectors[0]):
                raise model.caller.error("the embeddings differ in length")
            tokens = count(mapping(mapping(body).get("usage")).get("total_tokens")) or 0
            named = text_of(mapping(body).get("model")) or result.model
            result = Embeddings([*result.vectors, *vectors], named, result.tokens + tokens)
    return result


def _vectors(body: Json, expected: int) -> list[list[float]]:
    """Return the vectors of a response, in the order of the texts."""
    items = listed(mapping(body).get("data"))
    by_index = {count(item.get("index")): item.get("embedding") for item in items}
    vectors = [by_index.get(k) for k in range(expected)]
    if len(by_index) != expected or not all(map(_is_vector, vectors)):
        raise ProviderError(f"the response has no {expected} embeddings for {expected} texts")
    if len({len(vector) for vector in vectors if vector is not None}) != 1:
        raise ProviderError("the embeddings differ in length")
    return [[float(number) for number in vector] for vector in vectors if vector is not None]


def _is_vector(value: Json) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(number) in (int, float) and math.isfinite(number) for number in value)
    )
