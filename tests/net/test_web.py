# SPDX-License-Identifier: Apache-2.0
"""Single requests: proxies of the environment, redirects, and data that is never sent."""

from __future__ import annotations

import base64
import subprocess
import sys

import pytest

from kgbench.errors import EnvironmentVariableError
from kgbench.net import limits, web
from kgbench.net.limits import InvalidResponse, Limits, RedirectRefused
from tests.store.scripted import Scripted, said

SMALL = Limits(1 << 20, 1 << 20, 60.0)
FOREIGN = "http://somewhere.example/x?y"


def get(url, **options):
    """Return the status and the decoded body of a response."""
    with web.request(url, SMALL, **options) as response:
        return response.status, b"".join(response.pieces()).decode()


@pytest.fixture
def no_proxy(monkeypatch):
    """Remove all proxy settings from the environment."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name)
    return monkeypatch


@pytest.mark.parametrize("scheme", ["http://", ""])
def test_the_proxy_of_the_environment_is_used(no_proxy, scheme):
    """A proxy gets the whole URL, and the name and password of its own address."""
    with Scripted([said(200, b"by proxy")]) as proxy:
        no_proxy.setenv("http_proxy", f"{scheme}ada:s3cret@{proxy.url.removeprefix('http://')}")
        assert get(FOREIGN) == (200, "by proxy")

    (asked,) = proxy.seen
    assert asked.path == FOREIGN
    given = asked.headers["Proxy-Authorization"]
    assert given == f"Basic {base64.b64encode(b'ada:s3cret').decode()}"


def test_https_goes_through_a_tunnel(no_proxy):
    """For https the proxy is asked for a tunnel; its refusal ends the request."""
    with Scripted([said(200)]) as proxy:  # does not support CONNECT
        no_proxy.setenv("https_proxy", proxy.url)
        with pytest.raises(OSError, match="501"):
            get("https://somewhere.example/x")


def test_hosts_that_need_no_proxy(no_proxy):
    """A host in NO_PROXY is asked without the proxy."""
    with Scripted([said(200, b"by proxy")]) as proxy, Scripted([said(200, b"at once")]) as server:
        no_proxy.setenv("http_proxy", proxy.url)
        no_proxy.setenv("no_proxy", "127.0.0.1")
        assert get(server.url) == (200, "at once")

    assert proxy.seen == []


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "ftp://127.0.0.1:9", "http://[::1"])
def test_proxies_that_cannot_be_used(no_proxy, proxy):
    """A proxy that cannot be used is an error; the server is not asked without it."""
    no_proxy.setenv("http_proxy", proxy)
    with pytest.raises(EnvironmentVariableError, match="http_proxy"):
        get(FOREIGN)


def test_nothing_is_sent_along():
    """Neither credentials in a URL nor cookies of a redirect are sent."""
    moved = said(302, Location="/there", Set_Cookie="a=b")
    with Scripted([moved, said(200, b"there")]) as server:
        named = server.url.replace("http://", "http://ada:s3cret@")
        assert get(named, follow=True) == (200, "there")

    assert [one.path for one in server.seen] == ["/", "/there"]
    for one in server.seen:
        assert not {"Authorization", "Cookie"} & set(one.headers)
        assert one.headers["Accept-Encoding"] == "gzip"


def test_redirects_end():
    """A redirect loop ends after the limit; without ``follow`` no redirect is followed."""
    with Scripted([said(302, Location="/again")]) as server:
        with pytest.raises(RedirectRefused, match="more than 5 times"):
            get(server.url, follow=True)
        assert len(server.seen) == limits.REDIRECTS + 1
        assert get(server.url)[0] == 302


@pytest.mark.parametrize(
    "url", ["http://a.b..c/", "http://" + "a" * 70 + ".example/", "http://h\x01/"]
)
def test_addresses_that_nobody_can_have(url):
    """A URL with an invalid host is refused before anything is sent."""
    with pytest.raises((InvalidResponse, OSError)):
        get(url)


def test_httpx2_is_imported_when_a_request_is_made():
    """Importing the endpoint client does not import httpx2; the first request does."""
    code = "import sys, kgbench.execution.endpoint; sys.exit('httpx2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
