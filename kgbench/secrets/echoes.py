# SPDX-License-Identifier: Apache-2.0
r"""Finding known secrets in a text, also where they are encoded.

A secret is found as it is, percent-encoded, with the escapes of JSON, Python or HTML (up to four
layers of these), in base64 (both alphabets, padded or not, wrapped or not, within a longer text at
any of its three alignments), and in hexadecimal digits (with or without separators); and in base64
or hexadecimal digits that are escaped themselves.

>>> echoes = Echoes(["a+key/with=signs"])
>>> echoes.hide("key a%2Bkey%2Fwith%3Dsigns, in JSON a\\u002bkey\\/with=signs")
'key [hidden], in JSON [hidden]'
>>> echoes.hide("Basic bWU6YStrZXkvd2l0aD1zaWducw==")
'Basic bWU6[hidden]'

Not found are secrets that are cut in pieces, reversed, encrypted or compressed, in another
encoding, or encoded twice in base64 or hexadecimal digits.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable
from typing import Final, Protocol

HIDDEN: Final = "[hidden]"
LAYERS: Final = 4
"""How many layers of escapes are taken off."""

ENCODED: Final = 8
"""The fewest bytes of a secret that is looked for in base64 and hexadecimal digits."""

# By the sign that escapes of a kind begin with.
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


class Search(Protocol):
    """Another way to find secrets; see :class:`kgbench.secrets.fingerprints.Fingerprints`."""

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand as they are."""
        ...

    def is_encoded_in(self, data: bytes) -> bool:
        """Whether any stands there in base64 or hexadecimal digits."""
        ...

    def identity(self) -> list[str]:
        """The same for two searches that find the same secrets; none of these can be told by it."""
        ...


class Echoes:
    """Finds ``secrets``, and those that ``search`` knows, in texts."""

    def __init__(self, secrets: Iterable[str], search: Search | None = None) -> None:
        known = sorted({one for one in secrets if one}, key=len, reverse=True)
        self._search = search
        self._plain = [as_bytes(one) for one in known]
        long = [one for one in self._plain if len(one) >= ENCODED]
        self._base64 = sorted({core for one in long for core in in_base64(one)}, key=len)[::-1]
        self._hex = [one.hex().encode() for one in long]

    def __bool__(self) -> bool:
        return bool(self._plain) or self._search is not None

    def hide(self, text: str, mark: str = HIDDEN) -> str:
        """``text`` with ``mark`` in the place of each secret.

        Where one was escaped, the whole text loses a layer of its escapes; where one is known by
        its fingerprint only, and encoded, ``mark`` is all that is left of the text.
        """
        if not self:
            return text
        text = self._hide(text, mark)
        kinds = [escape for sign, escape in _KINDS.items() if sign in text]
        if len(kinds) > 1:  # a secret may hold what looks like an escape of another kind
            kinds.append(_ANY_KIND)
        for escape in kinds:
            text = self._hide_below(text, mark, escape)
        return text

    def _hide_below(self, text: str, mark: str, escape: re.Pattern[str]) -> str:
        """``text`` without secrets that escapes of one kind conceal."""
        layer = text
        for _ in range(LAYERS):
            below = escape.sub(_character, layer)
            if below == layer:
                break
            layer = self._hide(below, mark)
            if layer is not below:
                text = layer
        return text

    def identity(self) -> list[str]:
        """See :meth:`Search.identity`."""
        digests = sorted(hashlib.sha256(one).hexdigest() for one in self._plain)
        return digests + ([] if self._search is None else self._search.identity())

    def tells(self, text: str) -> bool:
        """Whether ``text`` holds one of the secrets."""
        return self.hide(text, "") != text

    def _hide(self, text: str, mark: str) -> str:
        """``text`` without secrets that no escapes conceal; the same object where it has none."""
        before = data = as_bytes(text)
        put = mark.encode()
        for secret in self._plain:
            if secret in data:
                data = data.replace(secret, put)
        if self._base64:
            data = self._encoded(data, put)
        if self._search is not None:
            for start, end in reversed(self._search.spans(data)):
                data = data[:start] + put + data[end:]
            if self._search.is_encoded_in(data):
                return mark
        return text if data is before else data.decode("utf-8", "surrogatepass")

    def _encoded(self, data: bytes, put: bytes) -> bytes:
        folded = fold_base64(data)
        for core in self._base64:
            if core in folded:
                data = re.sub(_spread(core, _WHITE) + rb"[\w+/-]?={0,2}", lambda _: put, data)
        folded = fold_hex(data)
        for digits in self._hex:
            if digits in folded:
                data = re.sub(b"(?i)" + _spread(digits, _HEX_SEPARATORS), lambda _: put, data)
        return data


def as_bytes(text: str) -> bytes:
    """The text in UTF-8; also where it has lone surrogates, as models write them."""
    return text.encode("utf-8", "surrogatepass")


def in_base64(secret: bytes) -> set[bytes]:
    """What the base64 of any text that holds ``secret`` must contain: one form per alignment.

    Only characters that do not depend on the neighbours of the secret are part of it; white space
    is not, and the alphabet is the standard one.
    """
    cores = set()
    for before in range(3):
        digits = base64.b64encode(bytes(before) + secret)
        sure = (before + len(secret)) * 8 // 6
        cores.add(digits[(0, 2, 3)[before] : sure])
    return cores


def fold_base64(data: bytes) -> bytes:
    """``data`` without white space, its base64 in the standard alphabet."""
    return data.translate(_BASE64, _WHITE)


def fold_hex(data: bytes) -> bytes:
    """``data`` without separators, its hexadecimal digits in lower case."""
    return data.translate(_HEX, _HEX_SEPARATORS)


def _character(escape: re.Match[str]) -> str:
    written = escape.group()
    if written[0] == "%":
        return bytes.fromhex(written.replace("%", "")).decode("utf-8", "replace")
    if written[0] == "&":
        return html.unescape(written)
    digits = written[2:]
    return chr(int(digits, base=16)) if digits else written[1]


def _spread(digits: bytes, separators: bytes) -> bytes:
    """A pattern for ``digits`` with separators between them, and both alphabets of base64."""
    between = b"[" + re.escape(separators) + b"]*"
    spelt = {ord("+"): b"[+-]", ord("/"): b"[/_]"}
    return between.join(spelt.get(one, re.escape(bytes((one,)))) for one in digits)
