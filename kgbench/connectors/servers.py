# SPDX-License-Identifier: Apache-2.0
"""The server, address and key of a model.

The same rule holds for the addresses of all providers; see :func:`address_of`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from kgbench.connectors import keys
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Option
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.net import environment
from kgbench.net.limits import ascii_host, is_loopback, origin
from kgbench.secrets import scrub

#: The value of the option ``api_version`` that appends no version to an address.
NO_VERSION = "none"

_VERSION = re.compile(r"v[0-9]+(?:(?:alpha|beta)[0-9]*)?")

KEY_ENV = Option(str, "", meaning="the variable that holds the key, instead of the connector's")
API_VERSION = Option(
    str, "", meaning=f"the version that the address ends in; `{NO_VERSION}` appends none"
)


@dataclass(frozen=True, slots=True)
class Service:
    """The API of a provider: its address, version and key variables.

    ``own`` is the address of the provider's own server, which always requires a key, or ``None``.
    ``variable`` names an environment variable with another address, ``keys`` those that may hold a
    key. ``version`` is the default version of the API, the only one if it is ``fixed``.
    """

    own: str | None
    variable: str | None
    keys: tuple[str, ...]
    version: str
    fixed: bool = False

    def options(self) -> dict[str, Option]:
        """Return the options that :meth:`server` reads from a model specification."""
        return {"key_env": KEY_ENV} | ({} if self.fixed else {"api_version": API_VERSION})

    def is_own(self, url: str) -> bool:
        """Return whether ``url`` is on the provider's own server, by the same protocol."""
        return self.own is not None and origin(url) == origin(self.own)

    def is_declared_for(self, variable: str, url: str) -> bool:
        """Return whether ``variable`` holds this provider's key and ``url`` is its own server."""
        return variable in self.keys and self.is_own(url)

    def withheld(self, setup: ModelSetup, url: str) -> tuple[str, ...]:
        """Return the key variables that are not sent to ``url`` without permission.

        They go to the own server, to an address that the environment names, and to servers on this
        machine. Any other address was chosen by a configuration.
        """
        if setup.base_url is None or self.is_own(url) or is_loopback(urlsplit(url).hostname or ""):
            return ()
        return tuple(name for name in self.keys if not keys.is_allowed(name))

    def address(self, setup: ModelSetup, options: Mapping[str, Any]) -> Address:
        """Return the address of ``setup``, else that in the environment, else the own server's.

        ``options`` are the parsed options of the setup. Raises
        :class:`~kgbench.errors.ModelSpecError` for an invalid address.
        """
        url, source = setup.base_url or "", f"{setup.connector}:{setup.model_id}"
        if not url and self.variable and (url := os.environ.get(self.variable, "").strip()):
            source = self.variable
        chosen = self.version if self.fixed else options["api_version"]
        try:
            return address_of(url or self.own or "", self.version, chosen)
        except ValueError as error:
            raise ModelSpecError(f"{source}: '{scrub(url)}' {error}") from None

    def server(self, setup: ModelSetup, options: Mapping[str, Any], timeout: float) -> Server:
        """Return the server at the :meth:`address` of ``setup``, with its key.

        A key is required for the own server, and if the setup names its variable; a key that is
        :meth:`withheld` is not sent. Raises :class:`~kgbench.errors.ModelSpecError` if it is
        missing or cannot be sent, and :class:`~kgbench.errors.EnvironmentVariableError` if the
        proxy or the certificates of the environment cannot be used.
        """
        address = self.address(setup, options)
        environment.check(address.url)
        variable = options["key_env"]
        needed = self.is_own(address.url) or bool(variable)
        withheld = self.withheld(setup, address.url)
        own = (name for name in self.keys if name not in withheld)
        key = keys.find_key(setup, *((variable,) if variable else own), needed=needed)
        caller = Caller(setup.spec, timeout, (key,) if key else (), address.url, setup.model_id)
        return Server(address, key, caller)


class Address(NamedTuple):
    """The address of an API; ``version`` is the last part of its path, or empty."""

    base: str
    version: str

    @property
    def url(self) -> str:
        """The full address, without a trailing slash."""
        return f"{self.base}/{self.version}" if self.version else self.base


class Server(NamedTuple):
    """The address of a server, its key, if any, and the context of calls to it."""

    address: Address
    key: str | None
    caller: Caller


def address_of(written: str, version: str, chosen: str = "") -> Address:
    """Return the address of an API that was ``written`` with or without its version.

    A trailing slash is ignored. If a part of the path is a version (``v1``, ``v1beta``), the
    address is used as it is; otherwise ``version`` is appended. A ``chosen`` version is appended
    unless the address ends in it, and ``none`` appends nothing. No request is made.

    >>> {address_of(f"http://host{path}", "v1").url for path in ("", "/", "/v1", "/v1/")}
    {'http://host/v1'}
    >>> address_of("https://host/v1beta/openai", "v1").url
    'https://host/v1beta/openai'
    >>> address_of("https://host/api", "v1", "none").url
    'https://host/api'

    Raises :class:`ValueError`, with a message that continues after the address, for an invalid
    address, and for one that ends in another version than the chosen one.
    """
    written = _in_ascii(written)
    parts = urlsplit(written)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("is not the address of a server (http://host or https://host/path)")
    if "?" in written or "#" in written:
        raise ValueError("is followed by a query or a fragment, which no address of a server has")
    address = written.rstrip("/")
    base, _, last = address.rpartition("/")
    ends = _is_version(last) and "/" in parts.path
    if chosen and chosen != NO_VERSION:
        if not _is_version(chosen):
            raise ValueError(f"cannot get '{chosen}', which is no version of an API (v1, v1beta)")
        if ends and last != chosen:
            raise ValueError(f"ends in {last}, but the version of the API is {chosen}")
        return Address(base if ends else address, chosen)
    if ends:
        return Address(base, last)
    if chosen or any(map(_is_version, parts.path.split("/"))):
        return Address(address, "")
    return Address(address, version)


def _in_ascii(written: str) -> str:
    """Return an address with the ASCII form of its host; raises :class:`ValueError`."""
    try:
        parts = urlsplit(written)
        host = ascii_host(parts.hostname or "")
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError as error:
        raise ValueError(f"is not the address of a server ({error})") from None
    if parts.netloc.isascii():
        return written
    user, at, _ = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user}{at}{host}{port}"))


def _is_version(part: str) -> bool:
    return _VERSION.fullmatch(part) is not None
