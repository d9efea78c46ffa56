# SPDX-License-Identifier: Apache-2.0
"""Google's models through google-genai: ``google:gemini-2.5-flash``.

The key is in ``GEMINI_API_KEY`` or ``GOOGLE_API_KEY``; a server of another address
(``google:MODEL@http://host``) may have none.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from kgbench.connectors import calls, failures, generate_content
from kgbench.connectors.bodies import text_of
from kgbench.connectors.calls import Caller
from kgbench.connectors.options import Option, read, sampling
from kgbench.connectors.servers import Server, server
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import ModelSetup, Reply, Request

if TYPE_CHECKING:
    import httpx2
    from google.genai import Client
    from google.genai.errors import APIError
    from google.genai.types import GenerateContentConfig, GenerateContentResponse

OWN_URL = "https://generativelanguage.googleapis.com"

_OPTIONS = {"key_env": Option(str, "")}


def open(setup: ModelSetup, timeout: float) -> Google:  # noqa: A001 - the interface
    """A model of Google, or of a server that speaks its protocol."""
    url, key, caller = server_of(setup, timeout)
    parameters = sampling(setup, generate_content.SAMPLING)
    try:
        from google.genai import types

        http = calls.http_client(timeout)
    except ImportError:
        raise ModelSpecError(
            "the Google SDK is not installed: pip install 'kgbench[google]'"
        ) from None
    try:
        config = types.GenerateContentConfig(**parameters, should_return_http_response=True)
    except ValueError as error:
        raise ModelSpecError(f"{setup.spec}: {failures.scrub(str(error))}") from None
    return Google(setup.model_id, config, _client(url, key, http), http, caller)


def server_of(setup: ModelSetup, timeout: float) -> Server:
    """Where Google's protocol is spoken for ``setup``."""
    named = read(setup.options, _OPTIONS, setup.spec)["key_env"]
    keys_in = (named,) if named else ("GEMINI_API_KEY", "GOOGLE_API_KEY")
    return server(setup, timeout, own=OWN_URL, variable="GOOGLE_GEMINI_BASE_URL", keys_in=keys_in)


def _client(url: str, key: str | None, http: httpx2.AsyncClient) -> Client:
    """The SDK's client; over a given HTTP client and with these options it never retries."""
    from google import genai
    from google.genai import types

    options = types.HttpOptions(
        base_url=url,
        httpx_async_client=http,
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(vertexai=False, api_key=key or "none", http_options=options)


class Google:
    """One model behind generateContent; see the module."""

    def __init__(
        self,
        model_id: str,
        config: GenerateContentConfig,
        client: Client,
        http: httpx2.AsyncClient,
        caller: Caller,
    ) -> None:
        self._model_id = model_id
        self._config = config
        self._client = client
        self._http = http
        self._caller = caller

    async def ask(self, request: Request) -> Reply:
        """One call; see :meth:`kgbench.connectors.Connector.ask`."""
        import httpx2
        from google.genai import errors

        try:
            async with asyncio.timeout(self._caller.timeout):
                response = await self._send(request)
        except (TimeoutError, httpx2.TimeoutException):
            raise self._caller.late() from None
        except httpx2.HTTPError as error:
            raise self._caller.cut(error) from None
        except errors.APIError as error:
            raise self._failure(error) from None
        http = response.sdk_http_response
        text = (http.body if http is not None else None) or ""
        return self._caller.read(text, generate_content.reply, None)

    async def _send(self, request: Request) -> GenerateContentResponse:
        from google.genai import types

        said = [types.Content(**turn) for turn in generate_content.said(request.messages)]
        return await self._client.aio.models.generate_content(
            model=self._model_id, contents=said, config=self._config
        )

    def _failure(self, error: APIError) -> ProviderError:
        status = text_of(error.status)
        message = self._caller.say(f"HTTP {error.code}: {error.message or error.details}")
        headers = getattr(error.response, "headers", {})
        wait = generate_content.retry_delay(error.details)
        wait = failures.retry_after(headers) if wait is None else wait
        return failures.of_status(error.code, message, code=status, wait=wait)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections."""
        await self._http.aclose()
        self._client.close()
