# SPDX-License-Identifier: Apache-2.0
"""OpenAI and servers with the same protocol, through the official SDK.

``openai:gpt-4o-mini``, ``openai:NAME@http://host``; the option ``api=responses`` chooses the
responses API instead of chat completions, ``key_env`` names another environment variable for the
key than ``OPENAI_API_KEY``. Other servers may need no key, and get all sampling parameters
unchecked; for OpenAI's own server, parameters that its SDK does not know are refused.

The batch interface takes a file of requests, and gives files of results and errors.

Embeddings of texts (:func:`embed`) are for task classes that choose examples, and for ``kgbench
datasets similar``.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import datetime
from types import ModuleType
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kgbench.connectors import chat_completions, find, responses
from kgbench.connectors.batches import BatchRequest, BatchStatus, Result, earliest
from kgbench.connectors.bodies import count, error_of_body, listed, mapping, text_of
from kgbench.connectors.calls import Meaning
from kgbench.connectors.declared import ANSWER_LIMITS, Declaration, Option
from kgbench.connectors.sdk import Sdk
from kgbench.connectors.servers import Service
from kgbench.errors import (
    ModelSpecError,
    ProviderError,
    ProviderRefused,
    ProviderTimeout,
    RateLimited,
)
from kgbench.model import Json, ModelSetup, Reply, Request

_PATIENCE = 5.0  # seconds for what a server tells about itself
_WINDOW = "24h"  # the only value that the API accepts
_TOKEN = "kgbench"  # noqa: S105 - the name of our token in a batch's metadata
_OK = 200
SERVICE = Service("https://api.openai.com", "OPENAI_BASE_URL", ("OPENAI_API_KEY",), "v1")
DECLARED = Declaration(
    specifications=("openai:MODEL", "openai:MODEL@ADDRESS"),
    options={
        "api": Option(
            str,
            "chat",
            allowed=("chat", "responses"),
            meaning="the interface: `/chat/completions` or `/responses`",
        ),
        **SERVICE.options(),
    },
    service=SERVICE,
    extra="openai",
    embeddings=SERVICE,
    native_tools=lambda _: True,
)


class OpenAI(Sdk):
    """A model of OpenAI, or of another ``service`` with the same protocol; see the module.

    The server is at ``setup.base_url``, else ``OPENAI_BASE_URL``, else OpenAI's own.
    ``context`` is the number of tokens of a conversation, ``slots`` the number of calls that the
    server answers at the same time, after :meth:`read_limits`, if the server tells them.
    """

    MODULE, NAME, OPTIONS = "openai", "OpenAI", DECLARED.options
    ID_HEADER, BATCHES = "x-request-id", "/batches"
    context: int | None = None
    slots: int | None = None

    def __init__(self, setup: ModelSetup, timeout: float, service: Service = SERVICE) -> None:
        super().__init__(setup, timeout, service)
        self._protocol = responses if self.options["api"] == "responses" else chat_completions
        for name in self._protocol.RESERVED:
            if name in setup.sampling:
                raise ModelSpecError(f"{setup.spec}: '{name}' is not a sampling parameter")
        if service.is_own(self._caller.url):
            _check_sampling(setup, self._protocol)

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        body = self._protocol.request(self._setup, request)
        for name in ANSWER_LIMITS if request.at_most is not None else ():
            if isinstance(limit := body.get(name), int):
                body[name] = min(limit, request.at_most or limit)
        return await self.call(f"/{self._protocol.PATH}", body, self._protocol.reply)

    async def read_limits(self) -> None:
        """Ask the server for ``context`` and ``slots``; most servers do not tell them.

        vLLM and SGLang tell the context in their list of models, llama.cpp's server both at
        ``/props``.
        """
        url = urlsplit(self._caller.url)
        listed_models = listed(mapping(await self._get(f"{self._caller.url}/models")).get("data"))
        for model in listed_models:
            if model.get("id") == self._setup.model_id:
                self.context = count(model.get("max_model_len"))
        if self.context is None:
            props = mapping(await self._get(f"{url.scheme}://{url.netloc}/props"))
            of_slot = mapping(props.get("default_generation_settings"))
            self.context = count(of_slot.get("n_ctx")) or None
            self.slots = count(props.get("total_slots")) or None

    async def _get(self, url: str) -> Json:
        """Return the body at an address of the server, or ``None`` if it has nothing there."""
        try:
            async with asyncio.timeout(_PATIENCE):
                body, _ = await self.fetch(url)
        except (TimeoutError, ProviderError):
            return None
        return body

    # --- batches ----------------------------------------------------------------------------

    async def submit(self, token: str, requests: Sequence[BatchRequest]) -> str:
        """Upload the requests, create a batch of them and return its id."""
        content = b"".join(self._line(item) for item in requests)
        files = {"file": (f"kgbench-{token}.jsonl", content)}
        uploaded, _ = await self.fetch("/files", {"purpose": "batch"}, files=files)
        batch = {
            "completion_window": _WINDOW,
            "endpoint": f"/v1/{self._protocol.PATH}",
            "input_file_id": self.object_id(uploaded),
            "metadata": {_TOKEN: token},
        }
        created, _ = await self.fetch(self.BATCHES, batch)
        return self.object_id(created)

    async def find(
        self,
        token: str,
        requests: int,  # noqa: ARG002 - the token identifies the batch
        since: datetime,
        others: Collection[str],  # noqa: ARG002 - same
    ) -> str | None:
        """Search the newest batches for our token in their metadata."""
        async for batches, headers in self._pages("after"):
            for batch in batches:
                if mapping(batch.get("metadata")).get(_TOKEN) == token:
                    return self.object_id(batch)
            created = batches[-1].get("created_at")
            oldest = earliest(since, headers).timestamp()
            if not isinstance(created, int | float) or created < oldest:
                return None
        return None

    async def status(self, batch: str) -> BatchStatus:
        """Return the status of the batch."""
        body = await self._batch(batch)
        state = text_of(body.get("status")) or "unknown"
        counts = mapping(body.get("request_counts"))
        answered = count(counts.get("completed")) or 0
        finished = answered + (count(counts.get("failed")) or 0)
        output, errors = (text_of(body.get(f"{kind}_file_id")) for kind in ("output", "error"))
        files = tuple(file for file in (output, errors) if file)
        missing = self._missing(batch, state, listed(mapping(body.get("errors")).get("data")))
        expected = answered or (not files and (finished or state == "completed"))
        if missing is not None and not output and expected:
            return BatchStatus(state, finished, is_late=True)
        return BatchStatus(state, finished, missing, files)

    async def results(self, batch: str, status: BatchStatus) -> AsyncIterator[Result]:  # noqa: ARG002
        """Download the files of results and errors, as far as they exist."""
        for file in status.results:
            content = self._client.files.with_streaming_response.content(
                file, extra_headers=self._headers
            )
            async for line in self.lines(content):
                name = text_of(mapping(line).get("custom_id"))
                if name is not None:
                    yield Result(name, self._outcome(mapping(line)))

    def _line(self, batch_request: BatchRequest) -> bytes:
        line = {
            "custom_id": batch_request.name,
            "method": "POST",
            "url": f"/v1/{self._protocol.PATH}",
            "body": self._protocol.request(self._setup, batch_request.request),
        }
        return json.dumps(line, ensure_ascii=False).encode() + b"\n"

    def _outcome(self, line: Any) -> Reply | ProviderError:
        """Parse a line of a result file."""
        response = mapping(line.get("response"))
        status = count(response.get("status_code"))
        request_id = text_of(response.get("request_id"))
        body = response.get("body")
        try:
            if status == _OK:
                return self._caller.reply(body, self._protocol.reply, request_id)
            if status is not None:
                said = error_of_body(body)
                message = f"HTTP {status}: {said.message or 'no message'}"
                return self._caller.refusal(said, message, status=status, request_id=request_id)
            said = error_of_body(line.get("error"))
            message = ": ".join([*said.codes[:1], said.message or "no result"])
            return self._caller.refusal(said, message)
        except ProviderError as error:
            return error

    def _missing(self, batch: str, state: str, errors: Sequence[Any]) -> ProviderError | None:
        summary = f"the batch {batch} is {state}"
        if state == "completed":
            return self._caller.error(f"{summary}, without a result for this request")
        if state == "expired":
            return ProviderTimeout(self._caller.describe(summary))
        if state == "cancelled":
            return ProviderRefused(self._caller.describe(summary))
        if state != "failed":
            return None
        reasons = [f"{text_of(e.get('code'))}: {text_of(e.get('message'))}" for e in errors[:3]]
        message = self._caller.describe("; ".join([summary, *reasons]))
        sign = self._caller.sign(error_of_body(errors))
        limited = sign is not None and sign.meaning is Meaning.RATE_LIMITED
        return RateLimited(message) if limited else ProviderRefused(message)


open = open_batches = OpenAI  # noqa: A001 - the interface


def _check_sampling(setup: ModelSetup, protocol: ModuleType) -> None:
    """Refuse sampling parameters that OpenAI's own API does not have."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase

    parameters = ResponseCreateParamsBase if protocol is responses else CompletionCreateParamsBase
    known = set(parameters.__annotations__) - set(protocol.RESERVED)
    for name in protocol.sampling(setup):
        if name not in known:
            raise ModelSpecError(
                f"{setup.spec} does not take '{name}'; it takes {', '.join(sorted(known))}"
            )


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
    model = OpenAI(setup, timeout, service)
    return asyncio.run(_embed(model, setup.model_id, texts))


async def _embed(model: OpenAI, model_id: str, texts: Sequence[str]) -> Embeddings:
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
