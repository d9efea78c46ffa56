# SPDX-License-Identifier: Apache-2.0
"""Google's models through its retired package google-generativeai: ``google_legacy:MODEL``.

Kept so that earlier measurements can be repeated with the same client. The package is synchronous
and uses REST, so every call under way occupies a thread. Keys as for ``google``.
"""

from __future__ import annotations

import asyncio
import importlib
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Self

from kgbench.api import Json, ModelSetup, ModelSpecError, Reply, Request, pip_install, read_options
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration, sampling
from kgbench.connectors.google import LEGACY_SAMPLING, SERVICE, reply, request_contents
from kgbench.net.limits import Misbehaviour, RedirectRefused

SERVICE = replace(SERVICE, fixed=True)  # the package only supports v1beta
DECLARED = Declaration(
    specifications=("google_legacy:MODEL", "google_legacy:MODEL@ADDRESS"),
    options=SERVICE.options(),
    service=SERVICE,
    extra="google-legacy",
    sampling=tuple(LEGACY_SAMPLING),
)

_THREADS = 4096  # as many as calls may be under way, so that none waits for a thread


def open(setup: ModelSetup, timeout: float) -> GoogleLegacy:  # noqa: A001 - the interface
    """Return a connector for a model of Google or of a compatible server."""
    options = read_options(setup.options, DECLARED.options, setup.spec)
    address, key, caller = SERVICE.server(setup, options, timeout)
    parameters = sampling(setup, LEGACY_SAMPLING)
    service = _service(address.base, key, timeout)
    return GoogleLegacy(_model(setup.model_id, parameters), service, caller)


def _model(model_id: str, parameters: dict[str, Json]) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its deprecation warning; the module text says it, too
            legacy = _module("generativeai")
    except ImportError:
        raise ModelSpecError(
            f"google-generativeai is not installed: {pip_install('kgbench[google-legacy]')}"
        ) from None
    return legacy.GenerativeModel(model_id, generation_config=parameters)


def _service(url: str, key: str | None, timeout: float) -> Any:
    """Return a separate client: the package's global one would mix up keys and servers."""
    options = _module("api_core.client_options").ClientOptions(
        api_endpoint=url, api_key=key or "none"
    )
    language = _module("ai.generativelanguage")
    client = language.GenerativeServiceClient(transport="rest", client_options=options)
    # Its session would retry a 401 twice with "refreshed" credentials.
    session = client.transport._session  # noqa: SLF001
    session._max_refresh_attempts = 0  # noqa: SLF001
    from kgbench.plugins.google_legacy.guarded_requests import guard

    guard(session, timeout)
    return client


def _module(name: str) -> Any:
    """Import a module of the retired package or of its dependencies, which have no types."""
    return importlib.import_module(f"google.{name}")


class GoogleLegacy:
    """A model at the generateContent API; see the module."""

    def __init__(self, model: Any, service: Any, caller: Caller) -> None:
        model._client = service  # noqa: SLF001 - the package has no public way to set the client
        self._model = model
        self._service = service
        self._caller = caller
        self._threads = ThreadPoolExecutor(_THREADS, "google-legacy")
        self._received = threading.local()
        session = service.transport._session  # noqa: SLF001 - the same
        session.hooks["response"].append(self._keep)

    @property
    def caller(self) -> Caller:
        """The context of the calls, which names the server."""
        return self._caller

    async def ask(self, request: Request) -> Reply:
        """Make one call; see :meth:`kgbench.connectors.Connector.ask`."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._caller.timeout):
                response = await loop.run_in_executor(self._threads, self._send, request)
        except TimeoutError:
            raise self._caller.timeout_error() from None
        text = response.content.decode("utf-8", "replace")
        if response.status_code >= 400:  # noqa: PLR2004
            return self._caller.failed(response.status_code, text, response.headers)
        return self._caller.read(text, reply, None)

    def _send(self, request: Request) -> Any:
        """Make the call in a worker thread, and return the HTTP response.

        The package fails at many bodies, with and without an answer; they are read here instead.
        """
        import requests

        exceptions, parsing = _module("api_core.exceptions"), _module("protobuf.json_format")
        self._received.response = None
        unread = (exceptions.GoogleAPICallError, parsing.ParseError)
        try:
            self._model.generate_content(
                request_contents(request),
                request_options={"timeout": self._caller.timeout, "retry": None},
            )
        except requests.Timeout:
            raise self._caller.timeout_error() from None
        except requests.TooManyRedirects:
            redirect = RedirectRefused("the server redirects, which is not followed")
            raise self._caller.misbehaviour_error(redirect) from None
        except (OSError, Misbehaviour) as error:
            raise self._caller.connection_error(error) from None
        except (*unread, ValueError, TypeError, AttributeError) as error:
            if self._received.response is None:
                raise self._caller.error(str(error)) from None
        return self._received.response

    def _keep(self, response: Any, **_: Any) -> None:
        """Keep the HTTP response of this thread's call, as a hook of the session."""
        self._received.response = response

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections; a thread that still waits for a server ends at its timeout."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._service.transport.close()
