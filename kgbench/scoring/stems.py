# SPDX-License-Identifier: Apache-2.0
"""Texts as joined stems, which the published hallucination metrics compare.

A text is tokenised by NLTK's word tokeniser, each token is stemmed by NLTK's Porter stemmer, and
the stems are joined without spaces. The published values were computed with NLTK 3.8.1, which looks
up irregular words before it changes them to lower case: "sky" stays "sky", "Sky" becomes "ski".
Later versions look them up afterwards; this module keeps the order of 3.8.1.

Neither class needs data of NLTK. Only the modules of these two classes are loaded, because the
whole package would take twenty times as long. They stay out of ``sys.modules``, so that others can
import NLTK as usual.

Most tokens end at a space, so texts are tokenised chunk by chunk and the chunks are cached. The
result is that of tokenising the whole text at once (a test compares them).
"""

from __future__ import annotations

import importlib.util
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from types import ModuleType

from kgbench.errors import ResourceError

_LONGEST_CACHED = 64  # characters of a piece
_LONGEST_WORD = 200  # characters; longer tokens are not stemmed
_CACHE_SIZE = 1 << 16
_PACKAGES = ("nltk", "nltk.stem", "nltk.tokenize")
_SPLIT_WORDS = frozenset({"cannot", "gimme", "gonna", "gotta", "lemme", "wanna"})
# Characters after which the tokeniser still splits off the period that ends a text.
_AFTER_PERIOD = frozenset(".])}>\"'»\u201d\u2019 \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0")
# Most pieces are a word with at most one mark before and behind it, each a token of its own; but a
# period belongs to its word, unless the text ends there.
_SIMPLE = re.compile(r"(\()?([^\W_]+(?:-[^\W_]+)*)([,:;?!).])?")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_loading = threading.Lock()


def folded(text: str) -> str:
    """Return ``text`` in lower case without underscores and white space.

    >>> folded("Cast_Member of")
    'castmemberof'
    """
    return "".join(text.replace("_", "").split()).lower()


def stemmed(text: str) -> str:
    """Return the stems of all tokens of ``text``, joined and :func:`folded`."""
    return _short(text) if len(text) <= _LONGEST_CACHED else _stemmed(text)


def stemmed_by_sentence(text: str) -> str:
    """Return the stems of ``text`` as :func:`stemmed`, but with each sentence tokenised alone.

    A sentence is a part that ends in a mark and white space. This imitates a sentence splitter that
    takes every such mark as the end of a sentence.
    """
    return "".join(map(stemmed, _SENTENCE_END.split(text)))


def load() -> None:
    """Load tokeniser and stemmer, for a process that cannot open files later."""
    _tools()


def clear_caches() -> None:
    """Clear the caches of stems; results do not depend on them."""
    for cached in (_short, _cached_stems, _stem_of_word):
        cached.cache_clear()


def _stemmed(text: str) -> str:
    chunks = text.split(" ")
    end = len(chunks) - 1
    while end > 0 and all(c in _AFTER_PERIOD or c.isspace() for c in chunks[end]):
        end -= 1
    parts = [_chunk_stems(chunk, first=not k) for k, chunk in enumerate(chunks[:end])]
    parts.append(_chunk_stems(" ".join(chunks[end:]), first=end == 0, last=True))
    return folded("".join(parts))


@lru_cache(maxsize=_CACHE_SIZE)
def _short(text: str) -> str:
    return _stemmed(text)


def _chunk_stems(chunk: str, *, first: bool, last: bool = False) -> str:
    """Return the stems of a chunk between spaces.

    ``first`` and ``last`` mark the ends of the text.
    """
    if chunk.isalnum() and chunk.lower() not in _SPLIT_WORDS:
        return _stem(chunk)
    if len(chunk) > _LONGEST_CACHED:
        return _stems_between(chunk, first=first, last=last)
    simple = _SIMPLE.fullmatch(chunk)
    if simple is not None and _SPLIT_WORDS.isdisjoint(simple[2].lower().split("-")):
        before, word, behind = simple.groups("")
        if behind == "." and not last:
            return before + _stem(f"{word}.")
        return before + _stem(word) + behind
    return _cached_stems(chunk, first, last)


@lru_cache(maxsize=_CACHE_SIZE)
def _cached_stems(chunk: str, first: bool, last: bool) -> str:
    return _stems_between(chunk, first=first, last=last)


def _stems_between(chunk: str, *, first: bool, last: bool) -> str:
    """Return the stems of a chunk that is tokenised with a token before and after it.

    There is no such token at an end of the text.
    """
    tokenise, _ = _tools()
    before, behind = "" if first else "0 ", "" if last else " 0"
    tokens = tokenise(f"{before}{chunk}{behind}")
    inner = tokens[0 if first else 1 : len(tokens) if last else -1]
    return "".join(map(_stem, inner))


def _stem(word: str) -> str:
    return word.lower() if len(word) > _LONGEST_WORD else _stem_of_word(word)


@lru_cache(maxsize=_CACHE_SIZE)
def _stem_of_word(word: str) -> str:
    return _tools()[1](word)


@cache
def _tools() -> tuple[Callable[[str], list[str]], Callable[[str], str]]:
    with _loading, _bare_packages():
        from nltk.stem.porter import PorterStemmer
        from nltk.tokenize.destructive import NLTKWordTokenizer
    irregular, plain = dict(PorterStemmer().pool), PorterStemmer()
    plain.pool = {}

    def stem(word: str) -> str:
        return irregular[word] if word in irregular else str(plain.stem(word))

    return NLTKWordTokenizer().tokenize, stem


@contextmanager
def _bare_packages() -> Iterator[None]:
    """Replace NLTK's packages by empty ones in which its modules can be imported."""
    spec = importlib.util.find_spec("nltk")
    if spec is None or not spec.submodule_search_locations:
        raise ResourceError("the package nltk is missing: reinstall kgbench")
    root = spec.submodule_search_locations[0]
    loaded = {name: module for name, module in sys.modules.items() if _of_nltk(name)}
    for name in loaded:
        del sys.modules[name]
    try:
        for name in _PACKAGES:
            package = ModuleType(name)
            package.__path__ = [root + name.removeprefix("nltk").replace(".", "/")]
            sys.modules[name] = package
        yield
    finally:
        for name in [name for name in sys.modules if _of_nltk(name)]:
            del sys.modules[name]
        sys.modules.update(loaded)


def _of_nltk(name: str) -> bool:
    return name == "nltk" or name.startswith("nltk.")
