# SPDX-License-Identifier: Apache-2.0
"""Google's models through its retired package google-generativeai: ``google_legacy:MODEL``.

Kept so that earlier measurements can be repeated with the client they were made with. It is
synchronous and speaks REST, so every call under way holds a thread. Keys as for ``google``.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

from kgbench.connectors import failures, generate_content
from kgbench.connectors.calls import Caller
from kgbench.connectors.google import server_of
from kgbench.connectors.options import sampling
from kgbench.errors import ModelSpecError, ProviderError
from kgbench.model import Json, ModelSetup, Reply, Request

_THREADS = 64


def open(setup: ModelSetup, timeout: float) -> GoogleLegacy:  # noqa: A001 - the interface
    """A model of Google, or of a server that speaks its protocol, through the retired package."""
    url, key, caller = server_of(setup, timeout)
    parameters = sampling(setup, generate_content.LEGACY_SAMPLING)
    return GoogleLegacy(_model(setup.model_id, parameters), _service(url, key), caller)


def _model(model_id: str, parameters: dict[str, Json]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it warns that it is retired; so do we, above
            legacy = _part("generativeai")
    except ImportError:
        raise ModelSpecError(
            "google-generativeai is not installed: pip install 'kgbench[google-legacy]'"
        ) from None
    return legacy.GenerativeModel(model_id, generation_config=parameters)


def _service(url: str, key: str | None) -> Any:
    """A client of its own: the package's global one would mix up keys and servers."""
    options = _part("api_core.client_options").ClientOptions(
        api_endpoint=url.rstrip("/"), api_key=key or "none"
    )
    language = _part("ai.generativelanguage")
    client = language.GenerativeServiceClient(transport="rest", client_options=options)
    # Its session would answer a 401 by asking twice more with "refreshed" credentials.
    client.transport._session._max_refresh_attempts = 0  # noqa: SLF001
    return client


def _part(name: str) -> Any:
    """A module of the retired package or of what it rests on; they have no types to check."""
    return importlib.import_module(f"google.{name}")


class GoogleLegacy:
    """One model behind generateContent; see the module."""

    def __init__(self, model: Any, service: Any, caller: Caller) -> None:
        model._client = service  # noqa: SLF001 - the package has no other way to give it one
        self._model = model
        self._service = service
        self._caller = caller
        self._threads = ThreadPoolExecutor(_THREADS, "google-legacy")

    async def ask(self, request: Request) -> Reply:
        """One call; see :meth:`kgbench.connectors.Connector.ask`."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._caller.timeout):
                body = await loop.run_in_executor(self._threads, self._send, request.messages)
        except TimeoutError:
            raise self._caller.late() from None
        return self._caller.read(body, generate_content.reply, None)

    def _send(self, messages: tuple[str, ...]) -> str:
        """The response as the JSON of the protocol. Runs in a thread."""
        import requests

        exceptions, parsing = _part("api_core.exceptions"), _part("protobuf.json_format")
        try:
            response = self._model.generate_content(
                generate_content.said(messages),
                request_options={"timeout": self._caller.timeout, "retry": None},
            )
        except requests.Timeout:
            raise self._caller.late() from None
        except requests.RequestException as error:
            raise self._caller.cut(error) from None
        except exceptions.GoogleAPICallError as error:
            raise self._failure(error) from None
        except (ValueError, parsing.ParseError) as error:
            raise self._caller.error(f"the response is not JSON: {error}") from None
        fields = _part("ai.generativelanguage").GenerateContentResponse.to_dict(
            response._result,  # noqa: SLF001 - the package shows only parts of it
            use_integers_for_enums=False,
            preserving_proto_field_name=False,
            including_default_value_fields=False,
        )
        return json.dumps(fields)

    def _failure(self, error: Any) -> ProviderError:
        headers = getattr(error.response, "headers", None) or {}
        return failures.of_status(
            int(error.code or 500),
            self._caller.say(f"HTTP {error.code}: {error.message}"),
            code=error.reason,
            wait=failures.retry_after({name.lower(): value for name, value in headers.items()}),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections; a thread that still waits for a server is left to its time-out."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._service.transport.close()
