# SPDX-License-Identifier: Apache-2.0
"""Single requests to addresses of users: endpoints, downloads, servers to probe.

They carry no credentials, have limits, and use the proxies of the environment. Redirects are
followed only on request, and never from https to http.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin, urlsplit

from kgbench.errors import ImportRefused
from kgbench.net.limits import (
    REDIRECTS,
    Budget,
    Limits,
    Meter,
    Misbehaviour,
    RedirectRefused,
    ResponseTooLarge,
    bare,
)

if TYPE_CHECKING:
    from kgbench.net.client import Response

_MOVED: Final = frozenset((301, 302, 303, 307, 308))
_IDLE: Final = 60.0  # seconds without a byte


@contextmanager
def request(
    url: str,
    limits: Limits,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    idle: float = _IDLE,
    follow: bool = False,
) -> Iterator[Response]:
    """GET ``url``, or POST ``body`` to it; ``idle`` is the read timeout in seconds.

    With ``follow``, redirects of a GET to http and https addresses are followed; otherwise they are
    returned like other responses. Raises the errors of :meth:`kgbench.net.client.Client.send`.
    """
    if urlsplit(url).scheme not in ("http", "https"):
        raise ValueError(f"{bare(url)} is no address on the web")
    from kgbench.net.client import Client

    meter = Meter(limits)
    method = "GET" if body is None else "POST"
    with Client(connect=min(idle, limits.seconds), idle=idle, proxied=True) as client:
        for _ in range(REDIRECTS + 1):
            with ExitStack() as stack:
                sent = client.send(method, url, meter, body=body, headers=headers)
                response = stack.enter_context(sent)
                location = response.headers.get("location")
                if not follow or location is None or response.status not in _MOVED:
                    yield response
                    return
            url = _redirect_target(url, location)
        raise RedirectRefused(f"{bare(url)} redirects more than {REDIRECTS} times")


def download(
    url: str, target: Path, budget: Budget, max_bytes: int | None = None, *, follow: bool = True
) -> None:
    """Download a URL into the file ``target``, within ``budget``, of at most ``max_bytes``.

    Redirects are followed unless ``follow`` is false. Raises :class:`FileNotFoundError` for a 404,
    and :class:`~kgbench.errors.ImportRefused` for any other failure.
    """
    most = budget.bytes if max_bytes is None else min(max_bytes, budget.bytes)
    try:
        with request(url, Limits(most, most, budget.remaining()), follow=follow) as response:
            _save(response, target)
        budget.spend(target.stat().st_size)
    except FileNotFoundError:
        raise
    except RedirectRefused as error:
        raise ImportRefused(str(error)) from None
    except ResponseTooLarge:
        raise ImportRefused(f"{bare(url)}: larger than {most} bytes: not fetched") from None
    except (Misbehaviour, OSError) as error:
        budget.remaining()  # a spent budget names its option
        reason = " ".join(str(error).split())
        raise ImportRefused(f"{bare(url)} cannot be fetched: {reason}") from None


def _save(response: Response, target: Path) -> None:
    if response.status == HTTPStatus.NOT_FOUND:
        raise FileNotFoundError(response.url)
    if response.status != HTTPStatus.OK:
        raise ImportRefused(
            f"{bare(response.url)} cannot be fetched: {response.status} {response.reason}"
        )
    with target.open("wb") as out:
        out.writelines(response.pieces())


def _redirect_target(url: str, location: str) -> str:
    """Return the address that ``url`` redirects to; raises :class:`RedirectRefused`."""
    try:
        target = urljoin(url, location)
        scheme = urlsplit(target).scheme
    except ValueError:
        raise RedirectRefused(f"{bare(url)} leads to an address that cannot be read") from None
    if scheme not in ("http", "https") or (urlsplit(url).scheme, scheme) == ("https", "http"):
        raise RedirectRefused(f"{bare(url)} leads to {bare(target)}: not followed")
    return target
