# SPDX-License-Identifier: Apache-2.0
r"""Detection of known secrets in texts, plain or encoded.

A secret is found in plain text, percent-encoded, with the escapes of JSON, Python or HTML (up to
four layers of these), in base64 (both alphabets, padded or not, wrapped or not, within a longer
text at any of its three alignments), and in hexadecimal digits (with or without separators); also
in base64 or hexadecimal digits that are escaped themselves.

>>> echoes = SecretDetector(["a+key/with=signs"])
>>> echoes.hide("key a%2Bkey%2Fwith%3Dsigns, in JSON a\\u002bkey\\/with=signs")
'key [hidden], in JSON [hidden]'
>>> echoes.hide("Basic bWU6YStrZXkvd2l0aD1zaWducw==")
'Basic bWU6[hidden]'

Secrets are not found if they are split, reversed, encrypted or compressed, in another encoding, or
encoded twice in base64 or hexadecimal digits.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from typing import Any, Final, Protocol

HIDDEN: Final = "[hidden]"
LAYERS: Final = 4
"""The number of layers of escapes that are removed."""

ENCODED: Final = 8
"""The length in bytes from which on secrets are searched for in base64 and hexadecimal digits."""

# Patterns by the character that begins an escape.
_ESCAPES: Final = {
    "%": r"(?:%[0-9A-Fa-f]{2})++",
    "\\": r"\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[\\/\"']",
    "&": r"&#(?:\d{1,7}|[xX][0-9A-Fa-f]{1,6});|&(?:amp|lt|gt|quot|apos|sol|plus|equals);",
}
_KINDS: Final = {sign: re.compile(pattern) for sign, pattern in _ESCAPES.items()}
_ANY_KIND: Final = re.compile("|".join(_ESCAPES.values()))
_WHITE = b" \t\r\n"
_BASE64 = bytes.maketrans(b"-_", b"+/")
_HEX = bytes.maketrans(b"ABCDEF", b"abcdef")
_HEX_SEPARATORS = _WHITE + b":-,"


class SecretSearch(Protocol):
    """A further search for secrets; see :class:`kgbench.secrets.fingerprints.Fingerprints`."""

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Return the start and end of each secret in plain text."""
        ...

    def is_encoded_in(self, data: bytes) -> bool:
        """Return whether a secret occurs in base64 or hexadecimal digits."""
        ...

    def identity(self) -> list[str]:
        """Return texts that are equal for searches with equal secrets, and reveal none of these."""
        ...


class SecretDetector:
    """Detects ``secrets``, and those that ``search`` knows, in texts."""

    def __init__(self, secrets: Iterable[str], search: SecretSearch | None = None) -> None:
        known = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._search = search
        self._plain = [as_bytes(secret) for secret in known]
        long = [secret for secret in self._plain if len(secret) >= ENCODED]
        self._base64 = sorted({core for secret in long for core in in_base64(secret)}, key=len)[
            ::-1
        ]
        self._hex = [secret.hex().encode() for secret in long]

    def __bool__(self) -> bool:
        return bool(self._plain) or self._search is not None

    def hide(self, text: str, mark: str = HIDDEN) -> str:
        """Return ``text`` with ``mark`` in place of each secret.

        If a secret was escaped, one layer of escapes is removed from the whole text. If an encoded
        secret is known only by its fingerprint, the whole text is replaced by ``mark``.
        """
        if not self:
            return text
        text = self._hide(text, mark)
        kinds = [escape for sign, escape in _KINDS.items() if sign in text]
        if len(kinds) > 1:  # escapes of several kinds may conceal the same secret
            kinds.append(_ANY_KIND)
        for escape in kinds:
            text = self._hide_below(text, mark, escape)
        return text

    def hide_in(self, value: Any, mark: str = HIDDEN) -> Any:
        """Return a JSON value with ``mark`` in place of each secret in its texts and names."""
        if not self:
            return value
        if isinstance(value, str):
            return self.hide(value, mark)
        if isinstance(value, list):
            return [self.hide_in(item, mark) for item in value]
        if isinstance(value, dict):
            return {self.hide(name, mark): self.hide_in(item, mark) for name, item in value.items()}
        return value

    def _hide_below(self, text: str, mark: str, escape: re.Pattern[str]) -> str:
        """Return ``text`` without the secrets that escapes of one kind conceal."""
        layer = text
        for _ in range(LAYERS):
            below = escape.sub(_unescape, layer)
            if below == layer:
                break
            layer = self._hide(below, mark)
            if layer is not below:
                text = layer
        return text

    def identity(self) -> list[str]:
        """Return texts that identify the secrets; see :meth:`SecretSearch.identity`."""
        digests = sorted(hashlib.sha256(secret).hexdigest() for secret in self._plain)
        return digests + ([] if self._search is None else self._search.identity())

    def tells(self, text: str) -> bool:
        """Return whether ``text`` contains one of the secrets."""
        return self.hide(text, "") != text

    def _hide(self, text: str, mark: str) -> str:
        """Return ``text`` without unescaped secrets; the same object if it has none."""
        before = data = as_bytes(text)
        replacement = mark.encode()
        for secret in self._plain:
            if secret in data:
                data = data.replace(secret, replacement)
        if self._base64:
            data = self._hide_encoded(data, replacement)
        if self._search is not None:
            for start, end in reversed(self._search.spans(data)):
                data = data[:start] + replacement + data[end:]
            if self._search.is_encoded_in(data):
                return mark
        return text if data is before else data.decode("utf-8", "surrogatepass")

    def _hide_encoded(self, data: bytes, replacement: bytes) -> bytes:
        folded = fold_base64(data)
        for core in self._base64:
            if core in folded:
                data = re.sub(
                    _spread(core, _WHITE) + rb"[\w+/-]?={0,2}", lambda _: replacement, data
                )
        folded = fold_hex(data)
        for digits in self._hex:
            if digits in folded:
                data = re.sub(
                    b"(?i)" + _spread(digits, _HEX_SEPARATORS), lambda _: replacement, data
                )
        return data


def as_bytes(text: str) -> bytes:
    """Encode the text as UTF-8; lone surrogates, which models do write, are allowed."""
    return text.encode("utf-8", "surrogatepass")


def in_base64(secret: bytes) -> set[bytes]:
    """Return what the base64 of every text containing ``secret`` contains: one form per alignment.

    Each form has only the characters that do not depend on the neighbours of the secret, in the
    standard alphabet and without white space.
    """
    cores = set()
    for before in range(3):
        digits = base64.b64encode(bytes(before) + secret)
        certain = (before + len(secret)) * 8 // 6
        cores.add(digits[(0, 2, 3)[before] : certain])
    return cores


def fold_base64(data: bytes) -> bytes:
    """Return ``data`` without white space, its base64 in the standard alphabet."""
    return data.translate(_BASE64, _WHITE)


def fold_hex(data: bytes) -> bytes:
    """Return ``data`` without separators, its hexadecimal digits in lower case."""
    return data.translate(_HEX, _HEX_SEPARATORS)


def _unescape(escape: re.Match[str]) -> str:
    text = escape.group()
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", "replace")
    if text[0] == "&":
        return html.unescape(text)
    digits = text[2:]
    return chr(int(digits, base=16)) if digits else text[1]


def _spread(digits: bytes, separators: bytes) -> bytes:
    """Return a pattern for ``digits`` with optional separators, in both alphabets of base64."""
    between = b"[" + re.escape(separators) + b"]*"
    spelt = {ord("+"): b"[+-]", ord("/"): b"[/_]"}
    return between.join(spelt.get(byte, re.escape(bytes((byte,)))) for byte in digits)
