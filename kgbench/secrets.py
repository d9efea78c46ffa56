# SPDX-License-Identifier: Apache-2.0
r"""Secrets in texts: names of what holds them, patterns of keys, detection of known ones.

All rooms that hide or refuse keys use this one: connectors and stores for messages, the engine for
its log, configurations, publications, and the check of publications. All searches take time
proportional to the length of the text.

One table of patterns of keys serves three purposes, which differ in how much of a key must be
present:

* ``hide_keys`` removes possible keys, including those that a provider has partly masked;
* ``contains_pasted_key`` detects keys in a configuration, which is then refused;
* ``published_keys`` finds keys in publications, including the texts of models, in which words often
  begin like a key.

>>> hide_keys("the key sk-proj-****wxyz of https://me:pw@host/v1?key=1 is wrong", "[hidden]")
'the key [hidden] of https://[hidden]@host/v1?key=[hidden] is wrong'
>>> hide_keys("llama-2-7b-chat-hf-max_tokens", "[hidden]")
'llama-2-7b-chat-hf-max_tokens'
>>> contains_pasted_key("desk-research-questions-2026")
False
>>> contains_pasted_key("openai:sk-Ab3dEf6hIj9k")
True

Known secrets are found as they are or escaped once, by the escapes of URLs, of JSON and Python, and
of HTML.

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
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

_FIELD = re.compile(
    r"(?i)(?:.*[-_ ])?(?:api|access|auth|secret|private|subscription|bearer|client)[-_ ]?"
    r"(?:key|token|secret)"
    r"|(?:.*[-_ ])?(?:key|secret|password|passwd|authorization|credentials?)|token"
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_RECORDED = re.compile(r"(?i)api.?key|authorization|password|passwd|secret|access.?token|cookie")
_VARIABLE = re.compile(r"(?i)(?:api|access|secret|auth).*(?:key|token)|(?:key|token|secret)$|passw")
SHORTEST: Final = 8
"""The length from which values count as secrets; hiding shorter ones would hide ordinary words."""


def is_secret_field(name: str) -> bool:
    """Return whether a configuration field called ``name`` is meant for a secret.

    >>> is_secret_field("openaiApiKey"), is_secret_field("max_tokens")
    (True, False)
    """
    return _FIELD.fullmatch(_HUMP.sub("_", name)) is not None


def is_recorded_secret_field(name: str) -> bool:
    """Return whether a field of recorded JSON called ``name`` contains a secret.

    Narrower than :func:`is_secret_field`, because judges may legitimately record a ``key``.
    """
    return _RECORDED.search(name) is not None


def secrets_in_environment(environment: Mapping[str, str] | None = None) -> frozenset[str]:
    """Return the values of variables whose names suggest secrets; by default of this process."""
    variables = os.environ if environment is None else environment
    secrets = {value.strip() for name, value in variables.items() if _VARIABLE.search(name)}
    return frozenset(secret for secret in secrets if len(secret) >= SHORTEST)


_WORD = r"[A-Za-z0-9_-]"
_PLAIN = r"[A-Za-z0-9]"
_CAPITALS = r"[A-Z0-9]"


class _Shape(NamedTuple):
    """A pattern of keys with common prefixes, and the minimum numbers of characters after these.

    Pasted and published keys have different minimums. Keys to hide may be masked, so that any
    characters of keys and masks match (``_MASKED``). Names of models often have prefixes that are
    ``in_names``.
    """

    prefixes: tuple[str, ...]
    alphabet: str
    minimum_pasted: int
    minimum_published: int
    in_names: bool = False


_QUOTES: Final = tuple("'\"`\u2018\u2019\u201c\u201d")
_MASKED = r"[\w*.-]{5,}[\w*-]"
_SHAPES: Final = (
    _Shape(("sk-", "rk-", "pk-", "csk-"), _WORD, 12, 20),
    _Shape(("sk_", "rk_", "pk_"), r"(?:live_|test_)?[A-Za-z0-9]", 16, 16),
    _Shape(("gsk_", "hf_", "r8_"), _PLAIN, 16, 20),
    _Shape(("gsk-", "hf-", "r8-"), _PLAIN, 20, 20, in_names=True),
    _Shape(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _PLAIN, 16, 20),
    _Shape(("github_pat_",), r"[A-Za-z0-9_]", 16, 20),
    _Shape(("xai-", "glpat-", "pplx-", "nvapi-"), _WORD, 16, 20),
    _Shape(("xoxa-", "xoxb-", "xoxp-", "xoxr-"), r"[A-Za-z0-9-]", 12, 20),
    _Shape(("AIza",), _WORD, 12, 30),
    _Shape(("AKIA", "ASIA"), _CAPITALS, 12, 16),
)

# To keep searches linear, no repetition below can restart within characters that it has consumed: a
# look-behind excludes its own characters, or its length is limited. Otherwise a long text of key
# prefixes would take quadratic time.
_JWT = r"eyJ(?<![\w-]eyJ)[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"
_BEARER = r"(?i:(?<=bearer\s)[A-Za-z0-9._~+/*-]{%d,}=*)"
_PEM = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
_HEADER = (
    r"(?i:\b(?:proxy-)?(?:authorization|x-api-key|api-key|x-goog-api-key)\b['\"]?[ \t]*[:=]"
    r"[ \t]*[^,}\r\n]+)"
)
_PARAMETER = (
    r"(?i:(?<=[?&]key=)|(?<=api[-_]key=))[^\s&\"'<>]+"
    r"|(?i:(?<=token=)|(?<=password=))[^\s&\"'<>]{6,}"
)
# A password in a URL; a port, and parameters after it, must not match.
_IN_ADDRESS = (
    r"(?<=://)(?:[^\s/?#@'\":]{0,200}:[^\s/?#@'\"]{0,400}"
    r"|(?!\[)[^\s/:?#@'\"]{0,200}:(?!\d{1,5}\?[^\s@'\"=]{1,400}=)[^\s/@'\"]{0,400})(?=@)"
)
_USER = r"(?<=://)[^\s/?#@'\"]{1,400}(?=@)"
_URL = re.compile(
    r"((?<![a-zA-Z0-9+.-])[a-zA-Z0-9+.-]++://)(?:[^\s/@'\"]*@)?([^\s?#'\"<>]*)"
    r"(?:[?#][^\s'\"<>)]*?(?=[.,:;]?(?:[\s'\"<>)]|$)))?"
)


def _any_prefix(shape: _Shape) -> str:
    return "|".join(map(re.escape, shape.prefixes))


_PASTED = re.compile(
    "|".join(
        (
            *(
                rf"(?<![A-Za-z0-9])(?:{_any_prefix(shape)}){shape.alphabet}{{{shape.minimum_pasted},}}"
                for shape in _SHAPES
            ),
            _JWT,
            _BEARER % 12,
            _IN_ADDRESS,
            _PEM,
        )
    )
)


class _Finder(NamedTuple):
    """A pattern with a literal hint: searching for the hint first makes most searches cheap."""

    hint: str
    pattern: re.Pattern[str]


def _starting_with(prefix: str, rest: str, *, beside: str = "A-Za-z0-9") -> re.Pattern[str]:
    """Return a pattern for ``prefix`` and ``rest`` that does not match in the middle of a word.

    The look-behind comes after the prefix, because patterns that start with a literal are fastest.
    """
    return re.compile(rf"{prefix}(?<![{beside}]{prefix}){rest}")


def _possible(shape: _Shape, prefix: str) -> str:
    """Return a pattern for what may follow ``prefix`` in a key that a provider repeats.

    Within a name, such as ``llama-2-7b-chat-hf-max_tokens``, it must be long or masked.
    """
    at_start = "" if shape.in_names else rf"(?<![_-]{prefix}){_MASKED}|"
    long = rf"{shape.alphabet}{{{shape.minimum_pasted},}}"
    return rf"(?:{at_start}{long}|[\w.-]{{0,60}}\*[\w*.-]*)"


_POSSIBLE_KEYS: Final = (  # hints are in lower case
    *(_Finder(hint, re.compile(_HEADER)) for hint in ("authorization", "api-key")),
    _Finder("bearer", re.compile(_BEARER % 6)),
    _Finder("eyj", re.compile(_JWT)),
    *(
        _Finder(prefix.lower(), _starting_with(prefix, _possible(shape, prefix)))
        for shape in _SHAPES
        for prefix in shape.prefixes
    ),
    *(_Finder(hint, re.compile(_PARAMETER)) for hint in ("key=", "token=", "password=")),
    _Finder("@", re.compile(_USER)),
    _Finder("private key", re.compile(_PEM)),
)
_CERTAIN_KEYS: Final = (
    *(
        _Finder(
            prefix,
            _starting_with(
                prefix,
                rf"{shape.alphabet}{{{shape.minimum_published},}}"
                + (r"(?![A-Za-z0-9_-])" if shape.alphabet == _CAPITALS else ""),
                beside="A-Za-z0-9_-",
            ),
        )
        for shape in _SHAPES
        for prefix in shape.prefixes
    ),
    _Finder("eyJ", re.compile(_JWT)),
    _Finder("earer ", re.compile(r"[Bb]earer [\w.~+/=-]{16,}")),
    _Finder("PRIVATE KEY", re.compile(_PEM)),
)
_SHORTEST: Final = 17  # characters of the shortest key that ``published_keys`` finds


def surplus_of_key(key: str) -> str | None:
    """Return, in words, what a key from the environment has besides the key; ``None`` for nothing.

    >>> surplus_of_key("Bearer sk-Ab3dEf6hIj9k")
    "begins with 'Bearer ', which is added when it is sent"
    >>> surplus_of_key("'sk-Ab3dEf6hIj9k'")
    'is in quotes'
    """
    if re.match(r"(?i)bearer\s", key):
        return "begins with 'Bearer ', which is added when it is sent"
    if key[:1] in _QUOTES or key[-1:] in _QUOTES:
        return "is in quotes"
    return None


def hide_keys(text: str, mark: str) -> str:
    """Return ``text`` with ``mark`` in place of possible keys, passwords and authorisation headers.

    The values of the parameters ``key``, ``api_key``, ``token`` and ``password`` of URLs are
    replaced, and so are the user names in URLs.
    """
    lowered = text.lower()
    for finder in _POSSIBLE_KEYS:
        if finder.hint in lowered:
            text = finder.pattern.sub(mark, text)
    return text


def strip_urls(text: str) -> str:
    """Return ``text`` with its URLs stripped of user, password, query and fragment."""
    return _URL.sub(r"\1\2", text)


def contains_pasted_key(text: str) -> bool:
    """Return whether a text from a user contains a key, or a URL with a password."""
    return _PASTED.search(text) is not None


def hide_pasted_keys(text: str, mark: str) -> str:
    """Return ``text`` with ``mark`` in place of what :func:`contains_pasted_key` detects."""
    return _PASTED.sub(mark, text)


def published_keys(text: str) -> Iterator[str]:
    """Yield the keys in a published text, at most one of each pattern."""
    if len(text) < _SHORTEST:
        return
    for finder in _CERTAIN_KEYS:
        if finder.hint in text and (key := finder.pattern.search(text)):
            yield key.group()


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
    message = strip_urls(detector(frozenset(secrets)).hide(message))
    message = " ".join(hide_keys(message, HIDDEN).split())
    return message if len(message) <= _LONGEST else message[: _LONGEST - 1] + "…"


def _unescape(escape: re.Match[str]) -> str:
    text = escape.group()
    if text[0] == "%":
        return bytes.fromhex(text.replace("%", "")).decode("utf-8", "replace")
    if text[0] == "&":
        return html.unescape(text)
    digits = text[2:]
    return chr(int(digits, base=16)) if digits else text[1]
