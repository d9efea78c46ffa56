# SPDX-License-Identifier: Apache-2.0
"""Proxies and certificates that the environment names, checked before a connection is made.

The libraries of HTTP report an unusable variable by tracebacks that do not name it, some of them
for addresses that do not need it.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
import ssl
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from kgbench.errors import EnvironmentVariableError, pip_install
from kgbench.net.limits import ascii_host
from kgbench.secrets import hide_keys

if TYPE_CHECKING:
    import httpx2

CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""The variables with certificates to trust; the first one that is set counts."""

_PROXIES: Final = ("http", "https", "all")
_SOCKS: Final = ("socks5", "socks5h")
_FORMS: Final = "http://host:port or socks5://host:port"
_SHOWN: Final = 200  # characters of a value
_HIDDEN: Final = "[hidden]"


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy of the environment: the variable, and its address with name and password, if any."""

    variable: str
    url: str

    def __str__(self) -> str:
        return f"the proxy {_shown(self.url)} ({self.variable})"

    @property
    def is_socks(self) -> bool:
        """Whether the proxy speaks SOCKS, not HTTP."""
        return urlsplit(self.url).scheme in _SOCKS

    def for_httpx(self) -> httpx2.Proxy:
        """Return the proxy as an argument of a client of httpx2."""
        import httpx2

        secure = urlsplit(self.url).scheme == "https"
        return httpx2.Proxy(self.url, ssl_context=tls_context() if secure else None)


def check(url: str) -> None:
    """Raise an error if the environment has no usable proxy or certificates for ``url``.

    Variables that a connection to ``url`` does not need are not looked at. Raises
    :class:`~kgbench.errors.EnvironmentVariableError`.
    """
    proxy_for(url)
    tls_for(url)


def proxy_for(url: str) -> Proxy | None:
    """Return the proxy for ``url``, or ``None`` if it is to be reached directly.

    It is that in ``HTTP_PROXY`` or ``HTTPS_PROXY`` by the scheme of ``url``, else in ``ALL_PROXY``
    (in lower or upper case). Hosts in ``NO_PROXY`` need none: names with their subdomains,
    addresses, and networks such as ``10.0.0.0/8``. Without such variables, the settings of the
    system count.

    Raises :class:`~kgbench.errors.EnvironmentVariableError` if the proxy cannot be used.
    """
    proxies = urllib.request.getproxies()
    scheme = urlsplit(url).scheme
    name = next((name for name in (scheme, "all") if proxies.get(name, "").strip()), None)
    if name is None or _is_exempt(url, proxies.get("no", "")):
        return None
    return _proxy(name, proxies[name].strip())


def advice(url: str) -> str:
    """Return words for the message of a failed connection to ``url``; empty without a proxy."""
    proxy = proxy_for(url) if url else None
    if proxy is None:
        return ""
    return f"; it goes through {proxy}: correct that variable, or add the host to NO_PROXY"


def tls_for(url: str) -> ssl.SSLContext:
    """Return the TLS context for connections to ``url``; for ``http`` it trusts no certificate.

    Raises :class:`~kgbench.errors.EnvironmentVariableError` as :func:`tls_context` does.
    """
    return tls_context() if urlsplit(url).scheme == "https" else _trusting_nobody()


def tls_context() -> ssl.SSLContext:
    """Return the TLS context with the certificates of the environment, else of the system.

    Raises :class:`~kgbench.errors.EnvironmentVariableError` if ``SSL_CERT_FILE`` or
    ``SSL_CERT_DIR`` has no certificates.
    """
    return _tls_context(*(os.environ.get(variable, "") for variable in CERTIFICATES))


def problems() -> Iterator[tuple[str, str, str | None]]:
    """Yield each variable of proxies and certificates that counts: name, value, what is wrong.

    Passwords in values are left out.
    """
    proxies = urllib.request.getproxies()
    for name in _PROXIES:
        if value := proxies.get(name, "").strip():
            yield _variable(name), _shown(value), _error(lambda: _proxy(name, value))  # noqa: B023
    for variable in CERTIFICATES:
        if value := os.environ.get(variable, ""):
            yield variable, value, _error(tls_context)
            return  # the others do not count


def _error(used: object) -> str | None:
    assert callable(used)
    try:
        used()
    except EnvironmentVariableError as error:
        return str(error)
    return None


def _is_exempt(url: str, no_proxy: str) -> bool:
    """Return whether ``url`` is to be reached without a proxy.

    :mod:`urllib.request` knows neither networks nor ``*.name``.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    if urllib.request.proxy_bypass(host if parts.port is None else f"{host}:{parts.port}"):
        return True
    for entry in map(str.strip, no_proxy.lower().split(",")):
        if entry == "*" or (entry.startswith("*.") and host.endswith(entry[1:])):
            return True
        try:
            if ipaddress.ip_address(host) in ipaddress.ip_network(entry.strip("[]"), strict=False):
                return True
        except ValueError:
            continue
    return False


def _variable(name: str) -> str:
    """Return the name of the variable that gives :mod:`urllib.request` the proxy ``name``."""
    for variable in (f"{name}_proxy", f"{name}_proxy".upper()):
        if os.environ.get(variable):
            return variable
    return "proxy settings of the system"


def _proxy(name: str, value: str) -> Proxy:
    """Check the proxy ``value`` for the scheme ``name``."""
    import httpx2

    variable = _variable(name)
    url = value if "://" in value else f"http://{value}"
    parts = urlsplit(url) if _is_url(url) else None
    try:
        usable = parts is not None and bool(ascii_host(parts.hostname or "") and httpx2.Proxy(url))
    except (httpx2.InvalidURL, ValueError):  # an unknown scheme is a ValueError
        usable = False
    if not usable:
        raise EnvironmentVariableError(
            f"{variable} is not the address of a proxy ({_FORMS}): {_shown(value)}; correct it or "
            f"unset it"
        )
    proxy = Proxy(variable, url)
    if proxy.is_socks and importlib.util.find_spec("socksio") is None:
        raise EnvironmentVariableError(
            f"{variable} names a SOCKS proxy ({_shown(value)}), which needs the package socksio; "
            f"install it ({pip_install('kgbench[socks]')}), or add the host to NO_PROXY"
        )
    return proxy


def _is_url(url: str) -> bool:
    try:
        _ = urlsplit(url).port
    except ValueError:
        return False
    return True


def _shown(value: str) -> str:
    """Return the value of a variable without name and password, and without keys."""
    bare = re.sub(r"^([A-Za-z][A-Za-z0-9+.-]*://)?.*@", r"\1", value, flags=re.DOTALL)
    text = hide_keys(" ".join(bare.split()), _HIDDEN)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


@cache
def _tls_context(file: str, folders: str) -> ssl.SSLContext:
    """Return a TLS context, cached because loading certificates takes long."""
    from httpcore2 import default_ssl_context

    if file:
        _check_file(file)
    elif folders and not any(map(os.path.isdir, folders.split(os.pathsep))):
        raise EnvironmentVariableError(
            f"SSL_CERT_DIR names no folder: {folders}; correct it or unset it"
        )
    return default_ssl_context()


def _check_file(file: str) -> None:
    try:
        Path(file).read_bytes()
        ssl.create_default_context(cafile=file)
    except OSError as error:  # ssl.SSLError is an OSError
        reason = error.strerror if error.filename else "it has no certificates in PEM"
        raise EnvironmentVariableError(
            f"SSL_CERT_FILE cannot be used ({reason}): {file}; correct it or unset it"
        ) from None


@cache
def _trusting_nobody() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
