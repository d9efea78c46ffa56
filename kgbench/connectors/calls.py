# SPDX-License-Identifier: Apache-2.0
"""One call to a provider: its deadline, and its failures in kgbench's words.

The SDKs of OpenAI and Anthropic come from one generator and fail alike; :func:`through_sdk`
serves both.
"""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar
from urllib.parse import urlsplit

from kgbench.connectors import failures
from kgbench.connectors.failures import echoes
from kgbench.errors import ProviderError, ProviderRefused, ProviderTimeout
from kgbench.model import Json, Reply
from kgbench.net.limits import REPLY, LedAway, Misbehaviour, TooMuch, TooSlow
from kgbench.secrets.echoes import Echoes

_CONNECT = 15.0  # seconds; a host that is there at all answers sooner
_KEPT = 256  # idle connections
_SHORTEST_KEY = 16  # characters; what is shorter stands for a key where a server wants none
_IDENTIFIERS = {"model", "finish_reason", "request_id", "fingerprint"}
_LONGEST_IDENTIFIER = 300  # characters

if TYPE_CHECKING:
    from httpx2 import AsyncClient

Reader = Callable[[Json, str | None], Reply]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls whom: the model's written form, the seconds a call may take, what is never said.

    ``url`` is the address of the server, empty where a model is asked in this process.
    """

    spec: str
    timeout: float
    secrets: tuple[str, ...] = ()
    url: str = ""

    @property
    def host(self) -> str:
        """The server's host and port, empty where a model is asked in this process."""
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def say(self, what: str) -> str:
        """``what`` happened, as a message that names the model and the host, and no secret."""
        place = f" at {self.host}" if self.host and self.host not in self.spec else ""
        return failures.scrub(f"{self.spec}{place}: {what}", self.secrets)

    def error(self, what: str) -> ProviderError:
        """A failure that asking again may cure."""
        return ProviderError(self.say(what))

    def late(self) -> ProviderTimeout:
        """The deadline has passed."""
        return ProviderTimeout(self.say(f"no answer within {self.timeout:g} s"))

    def misled(self, cause: Misbehaviour) -> ProviderError:
        """The server does not keep to what was agreed.

        A redirect elsewhere and too large a response are not asked for again.
        """
        if isinstance(cause, TooSlow):
            return self.late()
        message = self.say(str(cause))
        refused = isinstance(cause, LedAway | TooMuch)
        return ProviderRefused(message) if refused else ProviderError(message)

    def cut(self, cause: BaseException) -> ProviderError:
        """There is no connection, or none any more."""
        if isinstance(cause, Misbehaviour):
            return self.misled(cause)
        return self.error(f"the connection failed ({type(cause).__name__}): {cause}")

    def read(self, text: str, reader: Reader, request_id: str | None) -> Reply:
        """The reply in a response body, as ``reader`` understands it.

        Raises :class:`~kgbench.errors.ProviderError` when it is no JSON or holds no answer.
        """
        body = self.json(text)
        try:
            return self.clean(reader(body, request_id))
        except ProviderError as error:
            raise self.error(str(error)) from None

    def json(self, text: str | bytes) -> Json:
        """The document in ``text``; :class:`~kgbench.errors.ProviderError` when there is none.

        Keys are hidden in all texts of it, for servers may repeat them anywhere, in answers, too:
        after decoding, because JSON can write any character as an escape.
        """
        try:
            if isinstance(text, bytes):
                text = text.decode(json.detect_encoding(text), "surrogatepass")
            return self._hidden(json.loads(text))
        except (ValueError, RecursionError):
            raise self.error(f"the response is not JSON: {text[:80]!r}") from None

    def clean(self, reply: Reply) -> Reply:
        """``reply`` without keys in any of its texts, and its identifiers of a bounded length.

        Headers are no part of the JSON, and a key may be cut into parts that a reader puts
        together; so this is the last thing that happens to a reply.
        """
        texts = {
            one.name: value
            for one in fields(reply)
            if isinstance(value := getattr(reply, one.name), str) and not isinstance(value, Enum)
        }
        hidden = {name: self._echoes.hide(value) for name, value in texts.items()}
        for name in _IDENTIFIERS & hidden.keys():
            if len(hidden[name]) > _LONGEST_IDENTIFIER:
                hidden[name] = hidden[name][: _LONGEST_IDENTIFIER - 1] + "…"
        changed: dict[str, Any] = {
            name: value for name, value in hidden.items() if value != texts[name]
        }
        return replace(reply, **changed) if changed else reply

    def _hidden(self, value: Json) -> Json:
        if not self._echoes:
            return value
        if isinstance(value, str):
            return self._echoes.hide(value)
        if isinstance(value, list):
            return [self._hidden(each) for each in value]
        if isinstance(value, dict):
            return {self._echoes.hide(name): self._hidden(each) for name, each in value.items()}
        return value

    @property
    def _echoes(self) -> Echoes:
        return echoes(frozenset(key for key in self.secrets if len(key) >= _SHORTEST_KEY))


class Client(Protocol):
    """What the clients of both SDKs can do to let go of their connections."""

    async def close(self) -> None:
        """Close the connections."""


_Client = TypeVar("_Client", bound=Client)


class Connected(Generic[_Client]):
    """One model behind an SDK, and the connections of its client to the server."""

    def __init__(self, client: _Client, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    @property
    def caller(self) -> Caller:
        """Who calls which server, for those who say it before the first call."""
        return self._caller

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the connections."""
        await self._client.close()


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
    except Misbehaviour as error:
        raise caller.misled(error) from None
    except sdk.APIConnectionError as error:
        raise caller.cut(error.__cause__ or error) from None


async def lines(sdk: ModuleType, caller: Caller, stream: Any) -> AsyncIterator[Json]:
    """The documents of a JSON Lines body, which the context manager ``stream`` opens, as they come.

    Only line feeds end lines: texts may hold what Unicode, and the SDKs, take for an end, too.
    Raises :class:`~kgbench.errors.ProviderError` for a body that ends early or is something else.
    """
    import httpx2

    begun: list[bytes] = []
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(caller.timeout):
                response = await _opened(caller, stack, stream)
            async for chunk in response.iter_bytes():
                for line in _lines(begun, chunk):
                    yield caller.json(line)
            if rest := b"".join(begun).strip():
                yield caller.json(rest)
    except (TimeoutError, httpx2.TimeoutException, sdk.APITimeoutError):
        raise caller.late() from None
    except Misbehaviour as error:
        raise caller.misled(error) from None
    except httpx2.HTTPError as error:
        raise caller.cut(error) from None
    except sdk.APIConnectionError as error:
        raise caller.cut(error.__cause__ or error) from None


async def _opened(caller: Caller, stack: AsyncExitStack, stream: Any) -> Any:
    """The response that ``stream`` opens; the SDKs may read others before, and trust them."""
    try:
        return await stack.enter_async_context(stream)
    except (AttributeError, TypeError, ValueError):
        raise caller.error("the response is not what the protocol says") from None


def _lines(begun: list[bytes], chunk: bytes) -> Iterator[bytes]:
    """The lines that ``chunk`` ends, without blank ones; ``begun`` are the pieces of the next.

    Raises :class:`~kgbench.net.limits.TooMuch` for a line that is longer than a reply may be.
    """
    *whole, last = chunk.split(b"\n")
    for line in whole:
        begun.append(line)
        if text := b"".join(begun).strip():
            yield text
        begun.clear()
    begun.append(last)
    if len(begun) * len(chunk) > REPLY and sum(map(len, begun)) > REPLY:
        raise TooMuch(f"a line of the response has more than {REPLY >> 20} MB")


def http_client(url: str, timeout: float) -> AsyncClient:
    """An HTTP client for an SDK, which asks nothing but the server at ``url``.

    Raises :class:`ImportError` where no SDK is installed.
    It has no limit of connections: how many calls there are at once is for the caller to decide.
    """
    import httpx2

    from kgbench.connectors.guarded_httpx import GuardedClient

    return GuardedClient(
        url,
        timeout,
        verify=_tls(),
        timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT)),
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=_KEPT),
    )


@cache
def _tls() -> ssl.SSLContext:
    """The trusted certificates, read once: that takes longer than all else in making a client."""
    import httpx2

    return httpx2.create_ssl_context()
