# SPDX-License-Identifier: Apache-2.0
r"""Detection of known secrets in texts, as they are or escaped once.

The escapes are those of URLs, of JSON and Python, and of HTML.

>>> echoes = SecretDetector(["a+key/with=signs"])
>>> echoes.hide("key a%2Bkey%2Fwith%3Dsigns, or a+key/with=signs")
'key [hidden], or [hidden]'
>>> echoes.hide("in JSON a\\u002bkey\\/with=signs")
'in JSON [hidden]'

Secrets are not found if they are in pieces, reversed, encrypted, compressed, escaped twice, or in
another encoding, such as base64.
"""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

from kgbench.secrets import key_patterns

HIDDEN: Final = "[hidden]"
_LONGEST: Final = 600  # characters kept of a message

# Patterns by the character that begins an escape.
_ESCAPES: Final = {
    "%": re.compile(r"(?:%[0-9A-Fa-f]{2})++"),
    "\\": re.compile(r"\\u[0-9A-Fa-f]{4}|\\x[0-9A-Fa-f]{2}|\\[\\/\"']"),
    "&": re.compile(r"&#(?:\d{1,7}|[xX][0-9A-Fa-f]{1,6});|&(?:amp|lt|gt|quot|apos|sol|plus);"),
}


class SecretDetector:
    """Detects ``secrets`` in texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = sorted({secret for secret in secrets if secret}, key=len, reverse=True)

    def hide(self, text: str, mark: str = HIDDEN) -> str:
        """Return ``text`` with ``mark`` in place of each secret.

        If a secret was escaped, the escapes of this kind are removed from the whole text.
        """
        if not self._secrets:
            return text
        text = self._hide(text, mark)
        for sign, escape in _ESCAPES.items():
            if sign in text:
                below = escape.sub(_unescape, text)
                hidden = self._hide(below, mark)
                text = text if hidden == below else hidden
        return text

    def hide_in(self, value: Any, mark: str = HIDDEN) -> Any:
        """Return a JSON value with ``mark`` in place of each secret in its texts and names."""
        if isinstance(value, str):
            return self.hide(value, mark)
        if isinstance(value, list):
            return [self.hide_in(item, mark) for item in value]
        if isinstance(value, dict):
            return {self.hide(name, mark): self.hide_in(item, mark) for name, item in value.items()}
        return value

    def identity(self) -> list[str]:
        """Return digests that are equal for detectors with the same secrets."""
        return sorted(
            hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
            for secret in self._secrets
        )

    def tells(self, text: str) -> bool:
        """Return whether ``text`` contains one of the secrets."""
        return self.hide(text, "") != text

    def _hide(self, text: str, mark: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, mark)
        return text


@lru_cache(maxsize=64)
def detector(secrets: frozenset[str]) -> SecretDetector:
    """Return a finder of ``secrets``, cached for each set of them."""
    return SecretDetector(secrets)


def scrub(message: str, secrets: Iterable[str] = ()) -> str:
    """Return ``message`` on one line, without secrets, credentials, userinfo and queries of URLs.

    >>> scrub("GET https://me:pw@host/v1?key=1: bad key abc", ["abc"])
    'GET https://host/v1: bad key [hidden]'
    """
    message = key_patterns.strip_urls(detector(frozenset(secrets)).hide(message))
    message = " ".join(key_patterns.hide_keys(message, HIDDEN).split())
    return message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"


def _unescape(escape: re.Match[str]) -> str:
    text = escape.group()
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", "replace")
    if text[0] == "&":
        return html.unescape(text)
    digits = text[2:]
    return chr(int(digits, base=16)) if digits else text[1]
