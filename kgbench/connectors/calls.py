# SPDX-License-Identifier: Apache-2.0
"""One call to a provider: its deadline, and its failures in kgbench's words.

The SDKs of OpenAI and Anthropic come from one generator and fail alike; :func:`through_sdk`
serves both.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kgbench.connectors import failures
from kgbench.errors import ProviderError, ProviderTimeout
from kgbench.model import Json, Reply

_CONNECT = 15.0  # seconds; a host that is there at all answers sooner
_KEPT = 256  # idle connections
_SHORTEST_KEY = 16  # characters; what is shorter stands for a key where a server wants none

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Reader = Callable[[Json, str | None], Reply]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the model's written form, the seconds a call may take, and what is never said."""

    spec: str
    timeout: float
    secrets: tuple[str, ...] = ()

    def say(self, what: str) -> str:
        """``what`` happened, as a message that names the model and no secret."""
        return failures.scrub(f"{self.spec}: {what}", self.secrets)

    def error(self, what: str) -> ProviderError:
        """A failure that asking again may cure."""
        return ProviderError(self.say(what))

    def late(self) -> ProviderTimeout:
        """The deadline has passed."""
        return ProviderTimeout(self.say(f"no answer within {self.timeout:g} s"))

    def cut(self, cause: BaseException) -> ProviderError:
        """There is no connection, or none any more."""
        return self.error(f"the connection failed ({type(cause).__name__}): {cause}")

    def read(self, text: str, reader: Reader, request_id: str | None) -> Reply:
        """The reply in a response body, as ``reader`` understands it.

        Raises :class:`~kgbench.errors.ProviderError` when it is no JSON or holds no answer.
        """
        body = self.json(text)
        try:
            return reader(body, request_id)
        except ProviderError as error:
            raise self.error(str(error)) from None

    def json(self, text: str | bytes) -> Json:
        """The document in ``text``; :class:`~kgbench.errors.ProviderError` when there is none.

        Keys are hidden in it, for servers may repeat them anywhere, in answers, too.
        """
        try:
            if isinstance(text, bytes):
                text = text.decode(json.detect_encoding(text), "surrogatepass")
            return json.loads(self._without_keys(text))
        except (ValueError, RecursionError):
            raise self.error(f"the response is not JSON: {text[:80]!r}") from None

    def _without_keys(self, text: str) -> str:
        for key in self.secrets:
            if len(key) >= _SHORTEST_KEY:
                written = json.dumps(key)[1:-1]
                for form in (written, written.replace("/", "\\/")):
                    text = text.replace(form, failures.HIDDEN)
        return text


async def through_sdk(
    sdk: ModuleType,
    caller: Caller,
    send: Callable[[], Awaitable[Any]],
    reader: Reader,
    id_header: str,
) -> Reply:
    """The reply to one call, made by ``send`` with raw responses; errors of status pass through.

    Bodies are read here, because the SDKs' own models accept anything.
    """
    raw = await sent(sdk, caller, send)
    return caller.read(raw.http_response.text, reader, raw.headers.get(id_header))


async def sent(sdk: ModuleType, caller: Caller, send: Callable[[], Awaitable[Any]]) -> Any:
    """The raw response to one call, made by ``send``; errors of status pass through."""
    try:
        async with asyncio.timeout(caller.timeout):
            return await send()
    except (TimeoutError, sdk.APITimeoutError):
        raise caller.late() from None
    except sdk.APIConnectionError as error:
        raise caller.cut(error.__cause__ or error) from None


async def lines(sdk: ModuleType, caller: Caller, stream: Any) -> AsyncIterator[Json]:
    """The documents of a JSON Lines body, which the context manager ``stream`` opens, as they come.

    Only line feeds end lines: texts may hold what Unicode, and the SDKs, take for an end, too.
    Raises :class:`~kgbench.errors.ProviderError` for a body that ends early or is something else.
    """
    import httpx2

    rest = b""
    try:
        async with stream as response:
            async for chunk in response.iter_bytes():
                *whole, rest = (rest + chunk).split(b"\n")
                for line in whole:
                    if line.strip():
                        yield caller.json(line)
            if rest.strip():
                yield caller.json(rest)
    except (TimeoutError, httpx2.TimeoutException, sdk.APITimeoutError):
        raise caller.late() from None
    except httpx2.HTTPError as error:
        raise caller.cut(error) from None
    except sdk.APIConnectionError as error:
        raise caller.cut(error.__cause__ or error) from None


def http_client(timeout: float) -> AsyncClient:
    """An HTTP client for an SDK; raises :class:`ImportError` where no SDK is installed.

    It has no limit of connections: how many calls there are at once is for the caller to decide.
    """
    import httpx2

    return httpx2.AsyncClient(
        verify=_tls(),
        timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT)),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_KEPT),
        follow_redirects=True,
    )


@cache
def _tls() -> ssl.SSLContext:
    """The trusted certificates, read once: that takes longer than all else in making a client."""
    import httpx2

    return httpx2.create_ssl_context()
