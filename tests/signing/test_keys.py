# SPDX-License-Identifier: Apache-2.0
"""Key files: their permissions, and that no message reveals a private key."""

from __future__ import annotations

import stat
import traceback

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.errors import SignatureError
from kgbench.signing.keys import (
    SigningKey,
    decode,
    encode,
    multikey,
    public_bytes,
    public_key,
    verifies,
)


def keys(*arguments):
    """Run ``kgbench keys`` and return its exit code and everything that it prints."""
    result = CliRunner().invoke(app, ["keys", *map(str, arguments)])
    said = "".join(traceback.format_exception(result.exception)) if result.exception else ""
    return result.exit_code, result.output + said


def test_only_the_owner_can_read_a_new_key(tmp_path):
    """The private key has mode 0600, and its public key is beside it."""
    code, said = keys("new", tmp_path / "k")

    assert code == 0
    assert stat.S_IMODE((tmp_path / "k").stat().st_mode) == 0o600
    assert (tmp_path / "k.pub").read_text().strip() == SigningKey.read(tmp_path / "k").public
    assert "PRIVATE" not in said


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_a_key_that_others_can_read_is_refused(mode, tmp_path):
    """A key file that others may read or write is refused."""
    SigningKey.new().keep(tmp_path / "k")
    (tmp_path / "k").chmod(mode)

    with pytest.raises(SignatureError, match="may be read by others"):
        SigningKey.read(tmp_path / "k")


def test_nothing_is_signed_with_a_public_key(tmp_path):
    """A public key cannot sign; the message does not advise restricting its permissions."""
    SigningKey.new().keep(tmp_path / "k")

    with pytest.raises(SignatureError, match="is a public key, which cannot sign"):
        SigningKey.read(tmp_path / "k.pub")


def test_no_key_is_overwritten(tmp_path):
    """A second key under the same name is refused, and the first file is unchanged."""
    keys("new", tmp_path / "k")
    before = (tmp_path / "k").read_bytes()
    code, said = keys("new", tmp_path / "k")

    assert code != 0
    assert "exists already" in said
    assert (tmp_path / "k").read_bytes() == before


def test_messages_hold_nothing_of_a_damaged_key(tmp_path):
    """The error about a damaged private key quotes nothing of it."""
    SigningKey.new().keep(tmp_path / "k")
    lines = (tmp_path / "k").read_text().splitlines()
    (tmp_path / "k").write_text(lines[0] + "\n" + lines[1][:-8] + "\n" + lines[2] + "\n")

    with pytest.raises(SignatureError) as caught:
        SigningKey.read(tmp_path / "k")
    told = "".join(traceback.format_exception(caught.value))
    assert lines[1][20:40] not in told


def test_a_key_shows_its_public_part_only(tmp_path):
    """The representation of a key contains its public key, and no private bytes."""
    key = SigningKey.new()
    key.keep(tmp_path / "k")
    secret = (tmp_path / "k").read_text().splitlines()[1]

    assert key.public in repr(key)
    assert secret[-20:] not in repr(key)
    assert "Private" not in repr(key)


def test_the_vector_of_rfc_8032_verifies():
    """The signature of test 2 in RFC 8032, section 7.1, verifies with its key."""
    public = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
    signature = (
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    key = multikey(bytes.fromhex(public))

    assert key.startswith("z6Mk")
    assert verifies(key, bytes.fromhex(signature), b"\x72")
    assert not verifies(key, bytes.fromhex(signature), b"\x73")
    assert not verifies(key, b"", b"\x72")


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0a", bytes(range(70))])
def test_base58_gives_bytes_back(data):
    """Base58 encoding and decoding return the same bytes, leading zeros included."""
    assert decode(encode(data)) == data


@pytest.mark.parametrize("text", ["", "m6Mk", "z0", "zIl", "z" * 300, "z6Mk", encode(b"abc")])
def test_what_is_no_public_key_is_refused(text):
    """A text that is not a public key is refused with a SignatureError."""
    with pytest.raises(SignatureError):
        public_bytes(text)


def test_a_public_key_is_a_text_or_a_file(tmp_path):
    """A public key is given as text or as a file; anything else is refused."""
    key = SigningKey.new()
    key.keep(tmp_path / "k")

    assert public_key(key.public) == key.public
    assert public_key(str(tmp_path / "k.pub")) == key.public
    with pytest.raises(SignatureError, match="is not a public key"):
        public_key(str(tmp_path / "k"))  # the private key, which is not quoted
    with pytest.raises(SignatureError, match="is not a public key"):
        public_key(str(tmp_path / "none"))
