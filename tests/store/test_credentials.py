# SPDX-License-Identifier: Apache-2.0
"""Responses of credentials to the challenges of a server, without a server."""

from __future__ import annotations

import hashlib
import re

import httpx2
import pytest

from kgbench.errors import StoreError
from kgbench.store.connections import Credentials

USER, PASSWORD = "ada", "p4ss-of-tests"


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


@pytest.mark.parametrize(
    ("text", "scheme"),
    [
        ('Newauth realm="a, Basic b", Basic realm="x \\"y\\""', "Basic"),
        ('Negotiate, Basic realm="x"', "Basic"),
        ('SCRAM-SHA-256 realm="a", , Basic realm="x"', "Basic"),
        ('Negotiate oRQwEg==, Basic realm = "x"', "Basic"),
        ('Basic realm="x", "nothing known", Digest nonce="n"', "Basic"),
        ('Basic realm="x", Digest realm="r", nonce="n", qop="auth,auth-int"', "Digest"),
        ('Basic realm="never closed', "Basic"),
        ('Newauth realm="a, Basic b"', None),
        ("", None),
    ],
)
def test_schemes_are_found_beside_others(text, scheme):
    """A known scheme is found beside others in a header, with or without parameters."""
    sent = answered(Credentials(USER, PASSWORD, None, None), text)

    assert sent[0] is None
    assert [one.partition(" ")[0] for one in sent[1:]] == ([] if scheme is None else [scheme])


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


def fields(header):
    """Return the parameters of a digest."""
    return {k: v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|[^,\s]+)', header)}


def test_a_new_nonce_is_counted_from_one():
    """An expired nonce is replaced by the new one; a wrong password is not sent for ever."""
    ours = Credentials(USER, PASSWORD, None, None)
    challenge = 'Digest realm="r", nonce="{}", qop="auth"'
    answered(ours, challenge.format("old"))
    sent = answered(ours, challenge.format("new"), challenge.format("new"))
    given = [fields(header) for header in sent]

    assert [(one["nonce"], one["nc"]) for one in given] == [
        ("old", "00000002"),
        ("new", "00000001"),
    ]


def test_a_digest_without_quality_of_protection():
    """A server of RFC 2069 gets a digest without a counter and a client nonce."""
    _, sent = answered(Credentials("ada", "secret", None, None), 'Digest realm="r", nonce="n"')

    def h(text):
        return hashlib.md5(text.encode()).hexdigest()

    assert fields(sent) == {
        "username": "ada",
        "realm": "r",
        "nonce": "n",
        "uri": "/x?y",
        "algorithm": "MD5",
        "response": h(f"{h('ada:r:secret')}:n:{h('GET:/x?y')}"),
    }


def test_names_and_realms_of_any_letters():
    """Names, realms and passwords are hashed and sent in UTF-8."""
    ours = Credentials("ädä", "wörd", None, None)
    _, sent = answered(ours, 'Digest realm="Bücher", nonce="n"')

    def h(text):
        return hashlib.md5(text.encode()).hexdigest()

    given = fields(sent)
    assert (given["username"], given["realm"]) == ("ädä", "Bücher")
    assert given["response"] == h(f"{h('ädä:Bücher:wörd')}:n:{h('GET:/x?y')}")


@pytest.mark.parametrize(
    ("user", "what"),
    [
        (USER, 'nonce="n", algorithm=SHA-512-256'),
        (USER, 'nonce="n", qop="auth-int"'),
        (USER, "nonce"),
        (USER, 'nonce=n, qop=""'),
        ('a"b', 'nonce="n"'),
    ],
)
def test_digests_that_are_not_known_are_not_guessed(user, what):
    """For an unknown digest the password is sent by Basic, or nothing with auth=digest."""
    asked = f'Digest realm="r", {what}, Basic realm="r"'

    plainly = answered(Credentials(user, PASSWORD, None, None), asked)
    assert plainly[0] is None
    assert plainly[1].startswith("Basic ")
    assert answered(Credentials(user, PASSWORD, None, "digest"), asked) == [None]


def test_a_token_that_ends_in_a_blank():
    """A blank at the end of a token, which a header cannot have, is not sent."""
    assert answered(Credentials(None, None, "token ", None)) == ["Bearer token"]
