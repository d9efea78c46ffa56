# SPDX-License-Identifier: Apache-2.0
"""Known keys are found in every supported encoding, by the key and by its fingerprint."""

from __future__ import annotations

import base64
import html
import json
import stat
import urllib.parse

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.errors import StoreError, WriteFailed
from kgbench.secrets.detection import HIDDEN, SecretDetector
from kgbench.secrets.fingerprints import FILE, Fingerprints
from kgbench.store import known_keys

KEY = "k+Planted/0123456789=%41&x"
ENCODINGS = {
    "as it is": lambda key: key,
    "JSON": json.dumps,
    "JSON with escaped slashes": lambda key: json.dumps(key).replace("/", "\\/"),
    "JSON, all escaped": lambda key: "".join(f"\\u{ord(c):04X}" for c in key),
    "JSON in JSON": lambda key: json.dumps(json.dumps({"key": key + "\u00e9"})),
    "URL": lambda key: urllib.parse.quote(key, safe=""),
    "URL, lower case": lambda key: "".join(f"%{ord(c):02x}" for c in key),
    "URL, twice": lambda key: urllib.parse.quote(urllib.parse.quote(key, safe=""), safe=""),
    "HTML": html.escape,
    "HTML, all escaped": lambda key: "".join(f"&#x{ord(c):x};" for c in key),
    "Python": lambda key: "".join(f"\\x{ord(c):02x}" for c in key),
    **{
        f"base64, {name}, {offset} before": (
            lambda key, encode=encode, offset=offset: encode(b"a" * offset + key.encode()).decode()
        )
        for name, encode in (("standard", base64.b64encode), ("URL", base64.urlsafe_b64encode))
        for offset in range(6)
    },
    "base64 without padding": lambda key: base64.b64encode(key.encode()).decode().rstrip("="),
    "base64 in URL": lambda key: urllib.parse.quote(base64.b64encode(key.encode()).decode()),
    "base64 in lines": lambda key: base64.encodebytes(b"user:" * 14 + key.encode()).decode(),
    "basic": lambda key: "Basic " + base64.b64encode(f"me:{key}:x".encode()).decode(),
    "hexadecimal": lambda key: key.encode().hex(),
    "hexadecimal, capitals": lambda key: key.encode().hex().upper(),
}


@pytest.fixture
def remembered(tmp_path):
    """Return a detector that knows the key only by its stored fingerprint."""
    Fingerprints.read(tmp_path).note(tmp_path, [KEY])
    return SecretDetector((), Fingerprints.read(tmp_path))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_an_encoded_key_is_hidden(encoding, remembered):
    """In any encoding, a hidden key can no longer be decoded from the text."""
    text = f"before {ENCODINGS[encoding](KEY)} after"

    for echoes in (SecretDetector([KEY]), remembered):
        hidden = echoes.hide(text)

        assert HIDDEN in hidden
        assert echoes.tells(text)
        assert not SecretDetector([KEY]).tells(hidden)
    assert SecretDetector([KEY]).hide(text).startswith("before ")


def test_hexadecimal_digits_may_have_separators():
    """A key is also found in a hexadecimal dump with separators."""
    for text in (KEY.encode().hex(":"), KEY.encode().hex(" ").upper()):
        assert SecretDetector([KEY]).hide(f"<{text}>") == f"<{HIDDEN}>"


_BESIDE = st.text(st.characters(exclude_characters="\\"))  # a backslash would change escapes


@given(st.text("abAB01+/-_=%&.", min_size=16, max_size=40), _BESIDE, _BESIDE, st.data())
def test_no_key_survives_any_encoding(key, before, after, data):
    """Keys of special characters are found anywhere in a text, in each encoding."""
    text = before + data.draw(st.sampled_from(list(ENCODINGS.values())))(key) + after

    hidden = SecretDetector([key]).hide(text)

    assert HIDDEN in hidden
    assert key not in hidden


@given(st.text())
def test_other_texts_stay(text):
    """A text without a key is returned unchanged."""
    assert SecretDetector([KEY]).hide(text) == text


def test_a_plain_text_keeps_its_rest(remembered):
    """An unencoded key is cut out of its text, whether known or remembered."""
    text = f"{KEY}{KEY}, 100%41 {KEY}x \ud800"

    for echoes in (SecretDetector([KEY]), remembered):
        assert echoes.hide(text, "*") == "**, 100%41 *x \ud800"


def test_the_file_holds_no_key(tmp_path):
    """Only the owner can read the file, which reveals no key; each file has its own secret."""
    other = tmp_path / "other"
    other.mkdir()
    for folder in (tmp_path, other):
        Fingerprints.read(folder).note(folder, [KEY, "short"])
    text = (tmp_path / FILE).read_text(encoding="utf-8")

    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    assert not SecretDetector([KEY, "short"]).tells(text)
    proofs = [
        {one["proof"] for one in json.loads((f / FILE).read_text())["fingerprints"]}
        for f in (tmp_path, other)
    ]
    assert len(proofs[0]) == 5
    assert proofs[0].isdisjoint(proofs[1])


def test_keys_are_noted_once_and_carried(tmp_path, monkeypatch):
    """A key is noted once, and a copy of a store finds the keys, too."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    known_keys.note(str(old), [KEY])
    before = (old / FILE).read_bytes()
    known_keys.note(str(old), [KEY])
    assert (old / FILE).read_bytes() == before

    known_keys.carry(str(old), str(new))
    monkeypatch.setenv("SOME_API_KEY", "one-of-the-environment")
    found = known_keys.echoes(str(new))
    assert found.hide(f"{KEY} one-of-the-environment") == f"{HIDDEN} {HIDDEN}"
    known_keys.note("memory:", [KEY])


def test_keys_of_a_store_on_a_server_are_kept_here(tmp_path, monkeypatch):
    """Keys of a store on a server are in the user's private state folder; copies keep them."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    server, other = "http://127.0.0.1:9/store", "http://127.0.0.1:9/other"
    known_keys.note(server, [KEY])

    (file,) = (tmp_path / "state").rglob(FILE)
    assert file.is_relative_to(tmp_path / "state" / "kgbench" / "keys")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert known_keys.echoes(server).hide(KEY) == HIDDEN
    assert not known_keys.echoes(other).tells(KEY)

    copy = tmp_path / "copy"
    copy.mkdir()
    known_keys.carry(server, str(copy))
    known_keys.carry(str(copy), other)
    for place in (str(copy), other):
        assert known_keys.echoes(place).hide(KEY) == HIDDEN


def test_a_file_that_cannot_be_written_is_told(monkeypatch):
    """If the keys cannot be noted for later, an error is raised."""
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")

    with pytest.raises(WriteFailed, match=r"key-fingerprints\.json cannot be written"):
        known_keys.note("http://127.0.0.1:9/store", [KEY])


def test_a_damaged_file_is_told(tmp_path):
    """A damaged file is an error, so that no key is forgotten silently."""
    (tmp_path / FILE).write_text('{"secret": "00"')

    with pytest.raises(StoreError, match=r"key-fingerprints\.json cannot be read"):
        Fingerprints.read(tmp_path)
