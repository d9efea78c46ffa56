# SPDX-License-Identifier: Apache-2.0
"""What credentials make of the challenges of a server, without one."""

from __future__ import annotations

import hashlib
import re

import pytest

from kgbench.errors import StoreError
from kgbench.store.credentials import Credentials, _challenges

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
    """Half a set of credentials is refused before anything is sent."""
    given = {f"KGBENCH_STORE_{name.upper()}": value for name, value in variables.items()}
    with pytest.raises(StoreError, match=said):
        Credentials.from_environment(given)


def test_challenges_are_told_apart():
    """Several challenges in one header, with commas and quotes in their parameters."""
    text = 'Newauth realm="a, b", Basic realm="x \\"y\\"", Digest nonce="n", qop="auth,auth-int"'

    assert _challenges(text) == [
        ("newauth", {"realm": "a, b"}),
        ("basic", {"realm": 'x "y"'}),
        ("digest", {"nonce": "n", "qop": "auth,auth-int"}),
    ]


@pytest.mark.parametrize(
    ("text", "schemes"),
    [
        ('Negotiate, Basic realm="x"', ["negotiate", "basic"]),
        ('SCRAM-SHA-256 realm="a", , Basic realm="x"', ["scram-sha-256", "basic"]),
        ('Negotiate oRQwEg==, Basic realm = "x"', ["negotiate", "basic"]),
        ('Basic realm="x", "nothing known", Digest nonce="n"', ["basic"]),
        ('Basic realm="never closed', ["basic"]),
        ("", []),
    ],
)
def test_schemes_are_found_beside_others(text, schemes):
    """Other schemes in the same header, with or without parameters, hide none that is known."""
    assert [scheme for scheme, _ in _challenges(text)] == schemes


def fields(header):
    """The parameters of a digest."""
    return {k: v.strip('"') for k, v in re.findall(r'(\w+)=("[^"]*"|[^,\s]+)', header)}


def test_a_nonce_that_several_requests_are_given_is_counted_on():
    """Requests of several threads expire together: the new nonce is used by all, each use once."""
    ours = Credentials(USER, PASSWORD, None, None)
    challenge = 'Digest realm="r", nonce="{}", qop="auth"'
    assert ours.asked([challenge.format("old")], None)
    sent = [ours.header("GET", "http://h/x") for _ in range(2)]
    counts = []
    for one in sent:
        assert ours.asked([challenge.format("new")], one)
        counts.append(fields(ours.header("GET", "http://h/x"))["nc"])

    assert counts == ["00000001", "00000002"]
    assert not ours.asked([challenge.format("new")], ours.header("GET", "http://h/x"))


def test_a_digest_without_quality_of_protection():
    """A server of RFC 2069 gets the digest that it knows: no count, no nonce of ours."""
    ours = Credentials("ada", "secret", None, None)
    assert ours.asked(['Digest realm="r", nonce="n"'], None)
    given = fields(ours.header("GET", "http://h/x?y"))

    def h(text):
        return hashlib.md5(text.encode()).hexdigest()

    assert given == {
        "username": "ada",
        "realm": "r",
        "nonce": "n",
        "uri": "/x?y",
        "algorithm": "MD5",
        "response": h(f"{h('ada:r:secret')}:n:{h('GET:/x?y')}"),
    }


@pytest.mark.parametrize("what", ["algorithm=SHA-512-256", 'qop="auth-int"'])
def test_digests_that_are_not_known_are_not_guessed(what):
    """Where no digest is known that the server takes, it gets the password plainly, or nothing."""
    asked = [f'Digest realm="r", nonce="n", {what}', 'Basic realm="r"']
    ours = Credentials(USER, PASSWORD, None, None)

    assert ours.asked(asked, None)
    assert ours.header("GET", "http://h/").startswith("Basic ")
    assert not Credentials(USER, PASSWORD, None, "digest").asked(asked, None)
