# SPDX-License-Identifier: Apache-2.0
"""Credentials for a server, and the endpoint addresses of a location; messages show no secret."""

from __future__ import annotations

import base64
import hashlib
import re

import httpx2
import pytest

from kgbench.errors import StoreError
from kgbench.store import Block, back_ends, open_reader, open_store
from kgbench.store.connections import Credentials
from tests.store.proxies import Proxy

USER, PASSWORD, TOKEN = "ada", 'p4ss "word" \\ üö', "t0ken-of-tests"
NONCE = "abc123"


def basic(method, target, headers):
    """Demand a user and password in plain text (HTTP Basic)."""
    pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    if headers.get("Authorization") == f"Basic {pair}":
        return None
    return 401, {"WWW-Authenticate": 'Basic realm="store"'}


def bearer(method, target, headers):
    """Demand a bearer token."""
    given = headers.get("Authorization")
    return None if given == f"Bearer {TOKEN}" else (403 if given else 401, {})


def digest(algorithm="MD5", nonces=None):
    """Return a guard that demands a digest by RFC 7616; a nonce is valid for five requests."""
    counts = nonces if nonces is not None else {}

    def h(text):
        name = algorithm.removesuffix("-sess").replace("-", "").lower()
        return hashlib.new(name, text.encode()).hexdigest()

    def guard(method, target, headers):
        given = {
            k: v.strip('"')
            for k, v in re.findall(
                r'(\w+)=("[^"]*"|[^,\s]+)', headers.get("Authorization", "").replace('\\"', "'")
            )
        }
        number = len(counts)
        if given and given["nonce"] in counts and counts[given["nonce"]] < 5:
            counts[given["nonce"]] += 1
            assert given["uri"] == target
            assert int(given["nc"], 16) == counts[given["nonce"]]
            first = h(f"{USER}:the realm:{PASSWORD}")
            if algorithm.endswith("-sess"):
                first = h(f"{first}:{given['nonce']}:{given['cnonce']}")
            middle = f"{given['nonce']}:{given['nc']}:{given['cnonce']}:auth"
            if given["response"] == h(f"{first}:{middle}:{h(f'{method}:{target}')}"):
                return None
        counts[f"nonce{number}"] = 0
        stale = "true" if given else "false"
        return 401, {
            "WWW-Authenticate": f'Digest realm="the realm", nonce="nonce{number}", opaque="o", '
            f'qop="auth,auth-int", algorithm={algorithm}, stale={stale}'
        }

    return guard


def give(monkeypatch, **variables):
    """Put credentials into the environment."""
    for name, value in variables.items():
        monkeypatch.setenv(f"KGBENCH_STORE_{name.upper()}", value)


def use(url):
    """Write and read a store; return its location."""
    with open_store(url) as store:
        for k in range(12):
            store.write([Block(store.iris.mint("runGraph", run="x"), [f"<urn:{k}> <urn:p> 1 ."])])
    with open_reader(url) as reader:
        assert len(list(reader.query("SELECT * WHERE { GRAPH ?g { ?s <urn:p> ?o } }"))) == 12
        return reader.location


@pytest.mark.parametrize("algorithm", ["MD5", "SHA-256", "MD5-sess", "SHA-256-sess"])
def test_digest(remote, monkeypatch, algorithm):
    """A digest is sent on demand, with a counter, and renewed when its nonce has expired."""
    give(monkeypatch, user=USER, password=PASSWORD)
    nonces = {}
    with Proxy(remote, guard=digest(algorithm, nonces)) as proxy:
        use(proxy.url)
        said = [one.headers.get("Authorization", "") for one in proxy.seen]

    assert PASSWORD not in "".join(said)
    assert "Basic" not in "".join(said)
    assert 3 < len(nonces) < len(said) / 2


def test_basic(remote, monkeypatch):
    """A password is sent in plain text only if the server asks for Basic authentication."""
    give(monkeypatch, user=USER, password=PASSWORD)
    with Proxy(remote, guard=basic) as proxy:
        use(proxy.url)
        said = [one.headers.get("Authorization") for one in proxy.seen]

    assert said[0] is None
    assert said.count(None) == 2  # once for each opening of the store


def test_bearer(remote, monkeypatch):
    """Every request has the token."""
    give(monkeypatch, token=TOKEN)
    with Proxy(remote, guard=bearer) as proxy:
        use(proxy.url)
        assert {one.done for one in proxy.seen} == {"ok"}


def test_nothing_is_given_where_nothing_is_asked(remote, monkeypatch):
    """No credentials are sent to a server that does not ask for any."""
    give(monkeypatch, user=USER, password=PASSWORD)
    with Proxy(remote) as proxy:
        use(proxy.url)
        assert not any("Authorization" in one.headers for one in proxy.seen)


def test_digest_only_is_never_plain(remote, monkeypatch):
    """With KGBENCH_STORE_AUTH=digest nothing is sent to a server that asks for Basic."""
    give(monkeypatch, user=USER, password=PASSWORD, auth="digest")
    with Proxy(remote, guard=basic) as proxy:
        with pytest.raises(StoreError, match="denies access"):
            open_store(proxy.url)
        assert not any("Authorization" in one.headers for one in proxy.seen)


@pytest.mark.parametrize(
    ("guard", "variables"),
    [
        (basic, {"user": USER, "password": "wr0ng-password"}),
        (digest(), {"user": USER, "password": "wr0ng-password"}),
        (bearer, {"token": "wr0ng-password"}),
        (basic, {}),
    ],
)
def test_refusals_say_what_to_set_and_show_no_secret(remote, monkeypatch, guard, variables):
    """A refusal names the variables to set after at most three requests, and shows no secret."""
    give(monkeypatch, **variables)
    with Proxy(remote, guard=guard) as proxy:
        with pytest.raises(StoreError, match="KGBENCH_STORE_USER") as error:
            open_store(proxy.url)
        assert len(proxy.seen) <= 3

    assert "wr0ng" not in str(error.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"this server is\n read-only", "(status 403), saying 'this server is read-only': if"),
        (b"<html><p>no</p></html>", "(status 403): if it needs credentials"),
        (b"x" * 5_000, f", saying '{200 * 'x'}': if"),
    ],
)
def test_refusals_quote_the_server(in_process, body, said):
    """The reply's text is quoted on one line and shortened; pages of HTML are left out."""
    guard = Proxy(in_process, guard=lambda *_: (403, {}, body))
    with guard as proxy, pytest.raises(StoreError) as error:
        open_store(proxy.url)

    assert said in str(error.value)


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        ({"user": USER}, "go together"),
        ({"user": USER, "password": "x", "token": "y"}, "not both"),
        ({"auth": "ntlm"}, "'basic' or 'digest'"),
        ({"token": "a\nb"}, "control characters"),
    ],
)
def test_wrong_settings_are_refused(variables, said):
    """Incomplete or contradictory credentials are refused before anything is sent."""
    given = {f"KGBENCH_STORE_{name.upper()}": value for name, value in variables.items()}
    with pytest.raises(StoreError, match=said):
        Credentials.from_environment(given)


def answered(ours, *challenges):
    """Return the ``Authorization`` of each request when a server sends these challenges in turn."""
    sent = []

    def server(request):
        sent.append(request.headers.get("Authorization"))
        if len(sent) > len(challenges):
            return httpx2.Response(200)
        asked = [(b"WWW-Authenticate", challenges[len(sent) - 1].encode())]
        return httpx2.Response(401, headers=asked)

    with httpx2.Client(auth=ours, transport=httpx2.MockTransport(server)) as client:
        client.get("http://h/x?y")
    return sent


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ('Negotiate, Basic realm="x"', "Basic"),
        ('SCRAM-SHA-256 realm="a", , Basic realm="x"', "Basic"),
        ('Basic realm="x", Digest realm="r", nonce="n", qop="auth"', None),
        ('Newauth realm="a, Basic b", Basic realm="x \\"y\\""', "Basic"),
        ('Newauth realm="a, Basic b"', None),
        ("", None),
    ],
)
def test_a_password_is_sent_to_whom_asks_for_it(text, scheme):
    """Basic is found beside other schemes, and not used where Digest is offered."""
    sent = answered(Credentials(USER, PASSWORD, None, None), text)

    assert sent[0] is None
    assert {one.partition(" ")[0] for one in sent[1:] if one} == ({scheme} if scheme else set())


@pytest.mark.parametrize(
    "what", ['nonce="n", algorithm=SHA-512-256', 'nonce="n", qop="auth-int"', "nonce"]
)
def test_digests_that_are_not_known_are_not_guessed(what):
    """An unknown digest is refused with the setting that sends the password by Basic."""
    asked = f'Digest realm="r", {what}'

    for way in (None, "digest"):
        with pytest.raises(StoreError, match="KGBENCH_STORE_AUTH=basic sends"):
            answered(Credentials(USER, PASSWORD, None, way), asked, asked)
    (first,) = answered(Credentials(USER, PASSWORD, None, "basic"))
    assert first.startswith("Basic ")


@pytest.mark.parametrize(
    ("name", "quoted"), [("ädä", "ädä"), ('a", uri="/\\', 'a\\", uri=\\"/\\\\')]
)
def test_names_and_realms_of_any_letters(name, quoted):
    """Names, realms and passwords of a digest are hashed and sent in UTF-8, names quoted."""
    asked = 'Digest realm="Bücher", nonce="n"'
    sent = answered(Credentials(name, "wörd", None, None), asked, asked)[-1]
    secret, request = (
        hashlib.md5(text.encode()).hexdigest() for text in (f"{name}:Bücher:wörd", "GET:/x?y")
    )
    response = hashlib.md5(f"{secret}:n:{request}".encode()).hexdigest()

    assert sent.startswith(f'Digest username="{quoted}", realm="Bücher", nonce="n"')
    assert f'response="{response}"' in sent


def test_a_token_that_ends_in_a_blank():
    """A blank at the end of a token, which a header cannot have, is not sent."""
    assert answered(Credentials(None, None, "token ", None)) == ["Bearer token"]


# --- locations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("location", "kind", "addresses"),
    [
        ("http://h:7878", "oxigraph", ("http://h:7878/query", "/update", "/store")),
        ("http://h:7878/", "oxigraph", ("http://h:7878/query", "/update", "/store")),
        ("https://h/ds", "fuseki", ("https://h/ds/query", "/ds/update", "/ds/data")),
        (
            "http://h/rdf4j-server/repositories/x",
            "rdf4j",
            (
                "http://h/rdf4j-server/repositories/x",
                "/repositories/x/statements",
                "/repositories/x/rdf-graphs/service",
            ),
        ),
        ("http://h/a/b?engine=sparql", "sparql", ("http://h/a/b", "/a/b", None)),
        ("http://h/?engine=fuseki", "fuseki", ("http://h/query", "/update", "/data")),
        ("http://h/?engine=fuseki&data=", "fuseki", ("http://h/query", "/update", None)),
    ],
)
def test_addresses_follow_from_the_location(location, kind, addresses):
    """The kind of a server and its endpoints follow from its path, or from its name."""
    found = back_ends.find(location)
    query, update, data = addresses

    assert (found.kind, found.query, found.location) == (kind, query, location)
    assert found.update.endswith(update)
    assert found.data is None if data is None else found.data.endswith(data)


@pytest.mark.parametrize(
    ("location", "said"),
    [
        ("http://ada:s3cret@h/", "KGBENCH_STORE_PASSWORD"),
        ("http://h/a/b/c", "is not known from its path"),
        ("http://h/?engine=mysql", "is not a known kind of server"),
        ("http://h/?token=s3cret", "limit= only"),
        ("http://h/?query=http://ada:s3cret@h/", "KGBENCH_STORE_PASSWORD"),
        ("http://h/?update=ftp://h/", "not an http or https URL"),
        ("http://h/?limit=20", "number of bytes"),
        ("http://h/#here", "limit= only"),
        ("ftp://h/", "not an http or https URL"),
        ("http:///x", "not an http or https URL"),
        ("http://h:99999/", "not a URL"),
        ("http://h/a b", "blanks"),
    ],
)
def test_locations_that_are_refused(location, said):
    """A location that is not a valid address is refused with a reason that holds no secret."""
    with pytest.raises(StoreError, match=said) as error:
        open_store(location)

    assert "s3cret" not in str(error.value)


def test_addresses_are_sent_in_ascii():
    """Non-ASCII characters of an address are escaped; escaped ones are unchanged."""
    found = back_ends.find("http://h/b\u00fccher%20alt")

    assert found.location == "http://h/b\u00fccher%20alt"
    assert found.query == "http://h/b%C3%BCcher%20alt/query"


@pytest.mark.parametrize("more", ["", "&data=store"])
def test_a_server_with_other_addresses(remote, more):
    """A location gives addresses and the limit of requests; one for whole graphs is optional."""
    with Proxy(remote) as proxy, Proxy(remote) as updates:
        location = f"{proxy.url}?query=query&update={updates.url}/update&limit=20000{more}"
        assert use(location) == location
        assert max(len(one.body) for one in (*proxy.seen, *updates.seen)) < 60_000
        assert any(one.path.startswith("/store") for one in proxy.seen) is bool(more)
        assert {one.path for one in updates.seen} == {"/update"}
