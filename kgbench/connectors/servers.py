# SPDX-License-Identifier: Apache-2.0
"""Which server a model is asked at, under which address, and with which key.

One rule holds for the addresses of all providers; see :func:`address_of`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from kgbench.connectors import failures, keys
from kgbench.connectors.calls import Caller
from kgbench.connectors.options import Option
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup

#: What the option ``api_version`` is set to where an address shall get no version.
NO_VERSION = "none"

_VERSION = re.compile(r"v[0-9]+(?:(?:alpha|beta)[0-9]*)?")

KEY_ENV = Option(str, "", meaning="the variable that holds the key, instead of the connector's")
API_VERSION = Option(
    str, "", meaning=f"the version that the address ends in; `{NO_VERSION}` appends none"
)


@dataclass(frozen=True, slots=True)
class Service:
    """The API of a provider: where it is, and what it is called with.

    ``own`` is the provider's own server, which always wants a key; ``None`` where there is none.
    ``variable`` names an environment variable with another address, ``keys`` those that are looked
    through for a key. ``version`` is the API's; ``fixed`` where the connector speaks no other.
    """

    own: str | None
    variable: str | None
    keys: tuple[str, ...]
    version: str
    fixed: bool = False

    def options(self) -> dict[str, Option]:
        """The options that :meth:`server` reads from the specification of a model."""
        return {"key_env": KEY_ENV} | ({} if self.fixed else {"api_version": API_VERSION})

    def is_own(self, url: str) -> bool:
        """Whether ``url`` is on the provider's own server."""
        return self.own is not None and urlsplit(url).hostname == urlsplit(self.own).hostname

    def address(self, setup: ModelSetup, options: Mapping[str, Any]) -> Address:
        """The address of ``setup``, else the one in the environment, else the own server's.

        ``options`` are those of the setup, read. Raises :class:`~kgbench.errors.ModelSpecError`
        for what is no address of a server.
        """
        url, named = setup.base_url or "", f"{setup.connector}:{setup.model_id}"
        if not url and self.variable and (url := os.environ.get(self.variable, "").strip()):
            named = self.variable
        chosen = self.version if self.fixed else options["api_version"]
        try:
            return address_of(url or self.own or "", self.version, chosen)
        except ValueError as error:
            raise ModelSpecError(f"{named}: '{failures.scrub(url)}' {error}") from None

    def server(self, setup: ModelSetup, options: Mapping[str, Any], timeout: float) -> Server:
        """The server at the :meth:`address` of ``setup``, with its key.

        A key must be found for the own server, and where the setup names its variable. Raises
        :class:`~kgbench.errors.ModelSpecError` where one is missing or cannot be sent.
        """
        address = self.address(setup, options)
        named = options["key_env"]
        needed = self.is_own(address.url) or bool(named)
        key = keys.found(setup, *((named,) if named else self.keys), needed=needed)
        caller = Caller(setup.spec, timeout, (key,) if key else (), address.url)
        return Server(address, key, caller)


class Address(NamedTuple):
    """Where an API is: ``version`` is the last part of its path, or empty."""

    base: str
    version: str

    @property
    def url(self) -> str:
        """The whole address, without a slash at its end."""
        return f"{self.base}/{self.version}" if self.version else self.base


class Server(NamedTuple):
    """A server's address, the key that it gets, if any, and who calls."""

    address: Address
    key: str | None
    caller: Caller


def address_of(written: str, version: str, chosen: str = "") -> Address:
    """The address of an API that was ``written`` with its version or without.

    A slash at the end means nothing. Where a part of the path is a version (``v1``, ``v1beta``),
    the address is used as it is; else ``version`` is appended. A ``chosen`` version is appended
    unless the address ends in it, and ``none`` appends nothing. Nothing is tried out.

    >>> {address_of(f"http://host{path}", "v1").url for path in ("", "/", "/v1", "/v1/")}
    {'http://host/v1'}
    >>> address_of("https://host/v1beta/openai", "v1").url
    'https://host/v1beta/openai'
    >>> address_of("https://host/api", "v1", "none").url
    'https://host/api'

    Raises :class:`ValueError`, with words that follow the address, for what is no address, and
    where it ends in another version than the chosen one.
    """
    parts = urlsplit(written)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not the address of a server (http://host or https://host/path)")
    if "?" in written or "#" in written:
        raise ValueError("is followed by a query or a fragment, which no address of a server has")
    whole = written.rstrip("/")
    base, _, last = whole.rpartition("/")
    ends = _is_version(last) and "/" in parts.path
    if chosen and chosen != NO_VERSION:
        if not _is_version(chosen):
            raise ValueError(f"cannot get '{chosen}', which is no version of an API (v1, v1beta)")
        if ends and last != chosen:
            raise ValueError(f"ends in {last}, but the version of the API is {chosen}")
        return Address(base if ends else whole, chosen)
    if ends:
        return Address(base, last)
    if chosen or any(map(_is_version, parts.path.split("/"))):
        return Address(whole, "")
    return Address(whole, version)


def _is_version(part: str) -> bool:
    return _VERSION.fullmatch(part) is not None
