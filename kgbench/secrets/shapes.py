# SPDX-License-Identifier: Apache-2.0
"""Texts that look like keys of known providers, whoever's they are.

One table of shapes serves three purposes, which differ in how much of a key must be there:

* ``hide`` removes what may be a key, or what is left of one that a provider has half masked;
* ``is_pasted`` refuses a configuration that holds one;
* ``published`` finds those that a publication tells, also in what models wrote, where words that
  only begin like a key are frequent.

>>> hide("the key sk-proj-****wxyz of https://me:pw@host/v1?key=1 is wrong", "[hidden]")
'the key [hidden] of https://[hidden]@host/v1?key=[hidden] is wrong'
>>> is_pasted("desk-research-questions-2026"), is_pasted("openai:sk-Ab3dEf6hIj9k")
(False, True)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_WORD = r"[A-Za-z0-9_-]"
_PLAIN = r"[A-Za-z0-9]"
_CAPITALS = r"[A-Z0-9]"


class _Shape(NamedTuple):
    """Keys that begin alike: the characters that follow, and how many at least.

    ``pasted`` and ``published`` count the characters behind the prefix. What ``hide`` removes may
    be masked, and so has ``_MASKED`` characters of any kind that keys and masks have.
    """

    prefixes: tuple[str, ...]
    alphabet: str
    pasted: int
    published: int


_MASKED = r"[\w*.-]{5,}[\w*-]"
_SHAPES: Final = (
    _Shape(("sk-", "rk-", "pk-", "csk-"), _WORD, 12, 20),
    _Shape(("sk_", "rk_", "pk_"), r"(?:live_|test_)?[A-Za-z0-9]", 16, 16),
    _Shape(("gsk_", "hf_", "r8_"), _PLAIN, 16, 20),
    _Shape(("gsk-", "hf-", "r8-"), _PLAIN, 20, 20),
    _Shape(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _PLAIN, 16, 20),
    _Shape(("github_pat_",), r"[A-Za-z0-9_]", 16, 20),
    _Shape(("xai-", "glpat-", "pplx-", "nvapi-"), _WORD, 16, 20),
    _Shape(("xoxa-", "xoxb-", "xoxp-", "xoxr-"), r"[A-Za-z0-9-]", 12, 20),
    _Shape(("AIza",), _WORD, 12, 30),
    _Shape(("AKIA", "ASIA"), _CAPITALS, 12, 16),
)

# No repetition below can begin anew within what it has already passed: a look-behind excludes its
# own characters, or its length is limited. Otherwise a long text of beginnings takes the square.
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
# A password in an address; a port and the parameters behind it are none.
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
                rf"(?<![A-Za-z0-9])(?:{_any_prefix(one)}){one.alphabet}{{{one.pasted},}}"
                for one in _SHAPES
            ),
            _JWT,
            _BEARER % 12,
            _IN_ADDRESS,
            _PEM,
        )
    )
)


class _Finder(NamedTuple):
    """Finds a shape in texts that hold its hint; to look for that first costs next to nothing."""

    hint: str
    pattern: re.Pattern[str]


def _beginning(prefix: str, rest: str, *, beside: str = "A-Za-z0-9") -> re.Pattern[str]:
    """What begins with ``prefix``, and not in the middle of a word.

    What a pattern begins with is found quickest; so what comes before is looked at last.
    """
    return re.compile(rf"{prefix}(?<![{beside}]{prefix}){rest}")


_MAY_BE: Final = (  # hints are in lower case
    *(_Finder(hint, re.compile(_HEADER)) for hint in ("authorization", "api-key")),
    _Finder("bearer", re.compile(_BEARER % 6)),
    _Finder("eyj", re.compile(_JWT)),
    *(
        _Finder(prefix.lower(), _beginning(prefix, _MASKED))
        for shape in _SHAPES
        for prefix in shape.prefixes
    ),
    *(_Finder(hint, re.compile(_PARAMETER)) for hint in ("key=", "token=", "password=")),
    _Finder("@", re.compile(_USER)),
    _Finder("private key", re.compile(_PEM)),
)
_PUBLISHED: Final = (
    *(
        _Finder(
            prefix,
            _beginning(
                prefix,
                rf"{shape.alphabet}{{{shape.published},}}"
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
_SHORTEST: Final = 17  # characters of the shortest key that ``published`` finds


def hide(text: str, mark: str) -> str:
    """``text`` with ``mark`` in the place of whatever may be a key, a password or a header of it.

    The parameters ``key``, ``api_key``, ``token`` and ``password`` of addresses lose their values,
    and addresses their users.
    """
    lowered = text.lower()
    for finder in _MAY_BE:
        if finder.hint in lowered:
            text = finder.pattern.sub(mark, text)
    return text


def bare_addresses(text: str) -> str:
    """``text``, the addresses in it without user, password, query and fragment."""
    return _URL.sub(r"\1\2", text)


def is_pasted(text: str) -> bool:
    """Whether ``text``, which a person wrote, holds a key or an address with a password."""
    return _PASTED.search(text) is not None


def hide_pasted(text: str, mark: str) -> str:
    """``text`` with ``mark`` in the place of what :func:`is_pasted` looks for."""
    return _PASTED.sub(mark, text)


def published(text: str) -> Iterator[str]:
    """The keys in a text that is published, at most one of each shape."""
    if len(text) < _SHORTEST:
        return
    for finder in _PUBLISHED:
        if finder.hint in text and (key := finder.pattern.search(text)):
            yield key.group()
