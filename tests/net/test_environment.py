# SPDX-License-Identifier: Apache-2.0
"""Proxies and certificates of the environment: which ones count, and unusable values."""

from __future__ import annotations

import socket
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.connectors import anthropic, google, openai
from kgbench.connectors.servers import address_of
from kgbench.connectors.tool_servers import ToolServers
from kgbench.doctor import State
from kgbench.doctor import environment as doctor_environment
from kgbench.errors import EnvironmentVariableError, ModelSpecError, ProviderError, StoreError
from kgbench.model import Request
from kgbench.net import environment, limits, web
from kgbench.net.limits import Limits
from kgbench.plugins.challenges import connector as text2sparql
from kgbench.plugins.vllm import connector as vllm
from kgbench.store.connections import Credentials
from tests.connectors import CASE, asked, replies, setup_for
from tests.support.servers.google_server import GoogleSpeech
from tests.support.servers.loopback import LoopbackServer

HTTP, HTTPS = "http://127.0.0.1:1", "https://127.0.0.1:1"
SMALL = Limits(1 << 20, 1 << 20, 60.0)
CONNECTORS = {
    "openai": openai,
    "anthropic": anthropic,
    "google": google,
    "vllm": vllm,
    "text2sparql": text2sparql,
}
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "VLLM_API_KEY")


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    """Remove proxies, certificates and keys from the environment."""
    names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
    for name in (*names, *map(str.lower, names), *environment.CERTIFICATES, *KEYS):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def opened(connector, url):
    """Open a connector for a server; nothing is sent."""
    return CONNECTORS[connector].open(setup_for(connector, "m", url), 60.0)


# --- which proxy counts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("variable", "url", "used"),
    [
        ("HTTP_PROXY", HTTP, True),
        ("HTTP_PROXY", HTTPS, False),
        ("https_proxy", HTTPS, True),
        ("all_proxy", HTTP, True),
        ("ALL_PROXY", HTTPS, True),
    ],
)
def test_the_scheme_chooses_the_proxy(bare, variable, url, used):
    """Each scheme has its variable; ALL_PROXY is for both."""
    bare.setenv(variable, "proxy.example:3128")
    proxy = environment.proxy_for(url)

    assert (proxy is not None) is used
    if proxy is not None:
        assert str(proxy) == f"the proxy http://proxy.example:3128 ({variable})"


@pytest.mark.parametrize(
    ("exempt", "url", "direct"),
    [
        ("127.0.0.0/8", HTTP, True),
        ("10.0.0.0/8", HTTP, False),
        ("::1", "http://[::1]:80", True),
        ("[::1]", "http://[::1]:80", True),
        ("fd00::/8", "http://[fd12::1]", True),
        ("example.org", "http://example.org", True),
        ("example.org", "http://api.example.org", True),
        ("example.org", "http://myexample.org", False),
        (".example.org", "http://api.example.org", True),
        ("*.example.org", "http://api.example.org", True),
        ("*.example.org", "http://example.org", False),
        ("a.example, b.example", "http://b.example", True),
        ("a.example, *", "http://b.example", True),
        ("127.0.0.1:1", HTTP, True),
        ("127.0.0.1:2", HTTP, False),
    ],
)
def test_hosts_that_need_no_proxy(bare, exempt, url, direct):
    """Names, addresses, networks and ports in NO_PROXY exempt hosts."""
    bare.setenv("ALL_PROXY", "http://127.0.0.1:9")
    bare.setenv("NO_PROXY", exempt)

    assert (environment.proxy_for(url) is None) is direct


# --- unusable values --------------------------------------------------------------------------


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize(
    "value",
    [
        "socks://127.0.0.1:9/",
        "socks4://127.0.0.1:9",
        "ftp://proxy.example",
        "http://",
        "http://proxy:99999",
        "http://pro xy:3128",
        "http://[::1",
        "://proxy",
    ],
)
def test_a_malformed_proxy_is_named(bare, connector, value):
    """Variable, value and advice are in the message; nothing is sent without the proxy."""
    bare.setenv("ALL_PROXY", value)
    with pytest.raises(EnvironmentVariableError) as raised:
        opened(connector, HTTP)

    assert str(raised.value) == (
        f"ALL_PROXY is not the address of a proxy (http://host:port or socks5://host:port): "
        f"{value}; correct it or unset it"
    )


def test_no_password_of_a_proxy_is_shown(bare):
    """Names and passwords are left out, also where the value cannot be read."""
    for value in ("http://ada:s3cr/et@pro xy:1", "ada:s3cret@pro xy", "socks://ada:s3cret@host:1"):
        bare.setenv("HTTP_PROXY", value)
        with pytest.raises(EnvironmentVariableError) as raised:
            environment.check(HTTP)
        assert "ada" not in str(raised.value)
        assert "s3cr" not in str(raised.value)


@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_socks_proxy_needs_a_package(bare, connector):
    """The message names the variable and the extra, not the SDK of the provider."""
    bare.setattr("importlib.util.find_spec", lambda name: None if name == "socksio" else name)
    bare.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with pytest.raises(EnvironmentVariableError, match=r"ALL_PROXY .*socksio.*kgbench\[socks\]"):
        opened(connector, HTTP)


def test_only_models_are_called_through_socks(bare):
    """Other requests are refused in words: their clients do not speak SOCKS."""
    bare.setattr("importlib.util.find_spec", lambda name: name)
    bare.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    with (
        pytest.raises(EnvironmentVariableError, match=r"ALL_PROXY.*speaks SOCKS"),
        web.request(HTTP, SMALL),
    ):
        pass


def test_a_proxy_that_is_not_needed_is_not_looked_at(bare):
    """A malformed HTTPS_PROXY does not matter to an http address, nor to an exempt host."""
    bare.setenv("HTTPS_PROXY", "socks://nonsense")
    environment.check(HTTP)
    bare.setenv("NO_PROXY", "127.0.0.1")
    environment.check(HTTPS)


@pytest.mark.parametrize("connector", CONNECTORS)
@pytest.mark.parametrize(
    ("variable", "content"),
    [("SSL_CERT_FILE", None), ("SSL_CERT_FILE", "no PEM"), ("SSL_CERT_DIR", None)],
)
def test_stale_certificates_are_named(bare, tmp_path, connector, variable, content):
    """Variable and path are in the message for https; for http they are not looked at."""
    path = tmp_path / "certificates"
    if content is not None:
        path.write_text(content)
    bare.setenv(variable, str(path))
    opened(connector, HTTP)
    with pytest.raises(EnvironmentVariableError, match=f"{variable} .*{path}; correct it"):
        opened(connector, HTTPS)


def test_the_sdk_of_google_does_not_look_at_certificates_for_http(bare):
    """It makes clients of its own, which would read the file."""
    bare.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    with LoopbackServer(GoogleSpeech()) as server:
        setup = setup_for("google", "m", server.url)
        assert replies(google, setup, [asked()])[0].text


def test_a_tool_server_with_https_needs_certificates(bare):
    """An MCP server is refused before the run begins."""
    bare.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    setup = setup_for("baseline", "oracle", options={"mcp": "https://127.0.0.1:1/mcp"})
    with pytest.raises(EnvironmentVariableError, match="SSL_CERT_FILE"):
        ToolServers([setup], 1.0)


def test_a_store_with_https_needs_certificates(bare):
    """A remote store fails at once, without waiting for the server."""
    bare.setenv("SSL_CERT_FILE", "/no/such/file.pem")
    done = CliRunner().invoke(app, ["status", "--store", "https://127.0.0.1:1/ds"])

    assert isinstance(done.exception, EnvironmentVariableError)


# --- failed connections -----------------------------------------------------------------------


@pytest.fixture
def nobody():
    """Return an address at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    return f"127.0.0.1:{port}"


@pytest.mark.parametrize("connector", CONNECTORS)
def test_a_failed_connection_names_the_proxy(bare, nobody, connector):
    """A refused connection says that the proxy was called, and how to leave it out."""
    bare.setenv("HTTP_PROXY", f"http://ada:s3cret@{nobody}")
    question = replace(CASE, data={"question": "What?", "dataset": "urn:d"})
    setup = setup_for(connector, "m", "http://server.example")
    with pytest.raises(ProviderError) as raised:
        replies(CONNECTORS[connector], setup, [Request(("What?",), question, "0")])

    message = str(raised.value)
    assert message.count(f"the proxy http://{nobody} (HTTP_PROXY)") == 1
    assert "add the host to NO_PROXY" in message
    assert "s3cret" not in message


def test_a_failed_download_names_the_proxy(bare, nobody):
    """So do downloads, endpoints and harvests."""
    bare.setenv("HTTP_PROXY", nobody)
    with pytest.raises(OSError, match=rf"{nobody} \(HTTP_PROXY\)"), web.request(HTTP, SMALL):
        pass


# --- host names -------------------------------------------------------------------------------


def test_international_host_names_have_an_ascii_form():
    """Addresses are compared and called in the form that is sent."""
    assert address_of("http://b\u00fccher.example:80", "v1").url == (
        "http://xn--bcher-kva.example:80/v1"
    )
    assert limits.redirect_target("http://B\u00fccher.example/a", "http://xn--bcher-kva.example/b")
    assert address_of("http://\u4f8b\u3048.example/v1", "v1").url.startswith("http://xn--r8jz45g.")


@pytest.mark.parametrize("host", ["ex ample", "-\u00fc-", "a\u2026b", "ex<ample", "ex|ample"])
def test_host_names_that_cannot_be_sent_are_refused(host):
    """They are faults of the address, not redirects of a server."""
    with pytest.raises(ValueError, match="is not the address of a server"):
        address_of(f"http://{host}/v1", "v1")


# --- keys -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("connector", "variable"),
    [
        ("openai", "OPENAI_API_KEY"),
        ("anthropic", "ANTHROPIC_API_KEY"),
        ("google", "GEMINI_API_KEY"),
        ("vllm", "VLLM_API_KEY"),
    ],
)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("Bearer sk-planted-0123456789", "begins with 'Bearer '"),
        ("bearer  sk-planted-0123456789", "begins with 'Bearer '"),
        ('"sk-planted-0123456789"', "is in quotes"),
        ("'sk-planted-0123456789'", "is in quotes"),
        ("sk-planted-0123456789'", "is in quotes"),
        ("\u201csk-planted-0123456789\u201d", "is in quotes"),
    ],
)
def test_keys_with_something_around_them_are_refused(bare, connector, variable, value, words):
    """Such a key would be sent as it is, and refused by the server with a message of its own."""
    bare.setenv(variable, value)
    with pytest.raises(ModelSpecError) as raised:
        opened(connector, HTTP)

    assert f"the key in {variable} {words}" in str(raised.value)
    assert "planted" not in str(raised.value)


def test_tokens_of_tool_servers_and_stores_stand_alone(bare):
    """The scheme is added when a token is sent; a command gets its variables as they are."""
    bare.setenv("TOKEN", "Bearer planted-0123456789")
    setup = {"mcp": "http://127.0.0.1:1/mcp", "mcpVariables": "TOKEN"}
    with pytest.raises(ModelSpecError, match="TOKEN begins with 'Bearer '"):
        ToolServers([setup_for("baseline", "oracle", options=setup)], 1.0)
    command = setup_for("baseline", "oracle", options={**setup, "mcp": "server --stdio"})
    ToolServers([command], 1.0, may_start=True)
    with pytest.raises(StoreError, match="KGBENCH_STORE_TOKEN is in quotes"):
        Credentials.from_environment({"KGBENCH_STORE_TOKEN": "'planted-0123456789'"})


# --- doctor -----------------------------------------------------------------------------------


def test_doctor_names_each_variable(bare, tmp_path):
    """Doctor shows usable values, and what is wrong with others, without passwords."""
    bare.setenv("HTTPS_PROXY", "http://ada:s3cret@proxy.example:3128")
    bare.setenv("ALL_PROXY", "socks://127.0.0.1:9/")
    bare.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    bare.setenv("SSL_CERT_DIR", str(tmp_path))  # does not count beside a file
    bare.setenv("OPENAI_API_KEY", "Bearer sk-planted-0123456789")
    found = {condition.name: condition for condition in doctor_environment.connections()}

    assert set(found) == {"HTTPS_PROXY", "ALL_PROXY", "SSL_CERT_FILE"}
    assert found["HTTPS_PROXY"].state is State.OK
    assert found["HTTPS_PROXY"].words == "http://proxy.example:3128"
    assert found["ALL_PROXY"].state is found["SSL_CERT_FILE"].state is State.BROKEN
    assert found["ALL_PROXY"].words.endswith(": socks://127.0.0.1:9/")
    assert found["SSL_CERT_FILE"].advice == "correct it or unset it"
    key = {condition.name: condition for condition in doctor_environment.provider_keys()}["openai"]
    assert key.state is State.BROKEN
    assert "planted" not in f"{key.words}{key.advice}"
