# SPDX-License-Identifier: Apache-2.0
"""Recorded texts as HTML: prose, and code with syntax highlighting.

Tokens of a text are marked with control characters, which :func:`~kgbench.characters.visible` has
removed before. Then the text is escaped, and finally the marks become elements. So recorded text
can never become markup.

The patterns take linear time: a string, comment or name that is not closed is matched up to where
its end was searched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from markupsafe import Markup

from kgbench.characters import visible
from kgbench.rdf.query_text import SPARQL_WORDS
from kgbench.scoring.fences import fenced_blocks

LONGEST_TEXT: Final = 200_000  # characters of one text on a page
_LONGEST_HIGHLIGHTED: Final = 40_000  # characters; the rest of a longer text is plain
_LONGEST_KEPT: Final = 40_000
_NARROW: Final = 30  # characters per line of prose on a small phone
_SCROLLING: Final = 14  # lines; longer prose may need a scroll bar

_MARKS: Final = {"k": "\x01", "s": "\x02", "i": "\x03", "n": "\x04", "c": "\x05", "v": "\x06"}
_END: Final = "\x0e"
_ELEMENTS: Final = {
    **{mark: f'<i class="{name}">' for name, mark in _MARKS.items()},
    _END: "</i>",
}

_STRINGS = r"""
    (?P<s>"{3}(?:[^"\\]|\\[\s\S]|"(?!""))*+(?:"{3})?
    |'{3}(?:[^'\\]|\\[\s\S]|'(?!''))*+(?:'{3})?
    |"(?:[^"\\\n]|\\.)*+"?
    |'(?:[^'\\\n]|\\.)*+'?)"""
_NUMBERS = r"(?P<n>\b[0-9]++(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?)"
_TERMS = rf"""
    (?P<c>\#[^\n]*+)
    |(?P<i><[^<>"{{}}|^`\\\s]*+>)
    |{_STRINGS}
    |(?P<v>[?$]\w++)
    |(?P<k>@[A-Za-z][A-Za-z0-9-]*+)
    |(?P<word>[^\W\d][\w.-]*+(?::[\w.%-]*+)?|:[\w.%-]*+)
    |{_NUMBERS}"""
_RDF = re.compile(_TERMS, re.VERBOSE)
_JSON = re.compile(
    rf"""(?P<v>"(?:[^"\\\n]|\\.)*+"(?=\s*+:))|{_STRINGS}|(?P<word>[^\W\d]\w*+)|{_NUMBERS}""",
    re.VERBOSE,
)
_XML = re.compile(
    r"""(?P<c><!--(?:[^-]|-(?!->))*+(?:-->)?)
    |(?P<tag><[/?!]?[\w:.-]++(?:[^<>"']|"[^"]*+"|'[^']*+')*+>?)
    |(?P<n>&[\#\w]++;)""",
    re.VERBOSE,
)
_TAG = re.compile(
    r"""(?P<k>^<[/?!]?[\w:.-]++|[/?]?>$)|(?P<s>"[^"]*+"?|'[^']*+'?)|(?P<v>[\w:.-]++)""",
    re.VERBOSE,
)
_TURTLE_WORDS: Final = frozenset(("a", "true", "false", "prefix", "base", "graph"))
_JSON_WORDS: Final = frozenset(("true", "false", "null"))


def escaped(text: str) -> Markup:
    """Escape a text for the content of an element, where quotes need no escape."""
    return Markup(html.escape(text, quote=False))  # noqa: S704 - escaped here


class Language(NamedTuple):
    """A language: its name, and the function that marks tokens in a text."""

    title: str
    marked: Callable[[str], str]


def _marker(pattern: re.Pattern[str], words: frozenset[str]) -> Callable[[str], str]:
    def mark(match: re.Match[str]) -> str:
        kind, text = match.lastgroup or "", match.group()
        if kind == "word":
            if text.lower() not in words:
                return text
            kind = "k"
        return f"{_MARKS[kind]}{text}{_END}"

    return lambda text: pattern.sub(mark, text)


def _marked_xml(text: str) -> str:
    inside = _marker(_TAG, frozenset())

    def mark(match: re.Match[str]) -> str:
        kind, piece = match.lastgroup or "", match.group()
        return inside(piece) if kind == "tag" else f"{_MARKS[kind]}{piece}{_END}"

    return _XML.sub(mark, text)


_TURTLE = Language("Turtle", _marker(_RDF, _TURTLE_WORDS))
_NTRIPLES = Language("N-Triples", _marker(_RDF, frozenset()))
_SPARQL = Language("SPARQL", _marker(_RDF, SPARQL_WORDS))
_OF_JSON = Language("JSON", _marker(_JSON, _JSON_WORDS))
_OF_JSON_LD = Language("JSON-LD", _OF_JSON.marked)
_OF_XML = Language("XML", _marked_xml)
_BY_INFO: Final = {
    **dict.fromkeys(("turtle", "ttl", "n3", "trig"), _TURTLE),
    **dict.fromkeys(("ntriples", "n-triples", "nt", "nquads", "n-quads", "nq"), _NTRIPLES),
    **dict.fromkeys(("sparql", "rq"), _SPARQL),
    "json": _OF_JSON,
    **dict.fromkeys(("jsonld", "json-ld"), _OF_JSON_LD),
    **dict.fromkeys(("xml", "rdf", "rdfxml", "rdf-xml", "rdf/xml", "rdf+xml"), _OF_XML),
}
_BEGINNINGS: Final = (
    (re.compile(r'\s*+(?:\[\s*+)?+\{\s*+"@'), _OF_JSON_LD),
    (re.compile(r'\s*+(?:\{\s*+["}]|\[\s*+(?:[{"\]]))'), _OF_JSON),
    (re.compile(r"\s*+<(?:\?xml\b|rdf:RDF\b|!DOCTYPE\b)"), _OF_XML),
    (re.compile(r"(?:\s*+#[^\n]*+\n)*+\s*+@(?:prefix|base)\b"), _TURTLE),
    (
        re.compile(
            r"(?:\s*+#[^\n]*+\n)*+\s*+(?:(?i:select|ask|construct|describe|insert|delete)"
            r"\s++(?:[?$*({]|DISTINCT\b|REDUCED\b|WHERE\b|DATA\b|<))"
        ),
        _SPARQL,
    ),
    (re.compile(r"\s*+(?:<[^<>\s]*+>|_:\w++)\s++<[^<>\s]*+>\s"), _NTRIPLES),
)
# The possible begin of a document in prose, gaps between paragraphs, ends of code, and captions.
_DOCUMENT = re.compile(
    r"""^(?:@(?:prefix|base)[ \t]|(?i:prefix)[ \t]+[\w.-]*+:[ \t]*+<|<\?xml\b|<rdf:RDF\b
    |[\[{][ \t]*+(?:$|[\["{])|(?:<[^<>\s]*+>|_:\w++)[ \t]<
    |(?i:select|ask|construct|describe)\b[ \t]++(?:[?$*({]|DISTINCT|REDUCED|WHERE))""",
    re.MULTILINE | re.VERBOSE,
)
_BLANK = re.compile(r"\n(?:[ \t]*+\n)++")
_CODE_END = re.compile(r"""(?:[ \t>"'\])}][.;,]|[{}\[\]>;,]|^[ \t]*+\#[^\n]*+)\Z""", re.MULTILINE)
_CAPTION = re.compile(r"[A-Za-z][\w ,'()/-]{0,80}+:[ \t]*+$", re.MULTILINE)
_ENOUGH: Final = 600  # characters that suffice to guess the language and the end of a paragraph
_PREFIX = re.compile(r"(?:\s*+#[^\n]*+\n)*+\s*+(?i:prefix|base)\s++[\w.-]*+:?+\s*+<")
_ASKS = re.compile(r"\b(?i:select|ask|construct|describe|insert|delete)\b")


def guessed(text: str) -> Language | None:
    """Guess the language at the beginning of ``text``; ``None`` for prose and other languages."""
    beginning = text[:_LONGEST_HIGHLIGHTED]
    if _PREFIX.match(beginning):  # SPARQL and Turtle share the directive
        return _SPARQL if _ASKS.search(beginning) else _TURTLE
    return next((language for pattern, language in _BEGINNINGS if pattern.match(beginning)), None)


def code(text: str, language: Language | None = None) -> Markup:
    """Escape ``text`` and highlight it as ``language``, or as the guessed language.

    >>> str(code("ASK { ?s a <a> }"))  # doctest: +ELLIPSIS
    '<i class="k">ASK</i> { <i class="v">?s</i> <i class="k">a</i> <i class="i">&lt;a&gt;</i> }'
    """
    shown = visible(text[:LONGEST_TEXT])
    chosen = language or guessed(shown)
    if chosen is not None:
        beginning, rest = shown[:_LONGEST_HIGHLIGHTED], shown[_LONGEST_HIGHLIGHTED:]
        shown = chosen.marked(beginning) + rest
    return _elements(shown) + _more(text)


def message(text: str) -> Markup:
    """Convert a prompt or answer to HTML: prose, and fenced blocks as highlighted code.

    The text is kept completely, including fences. A text that begins with code is one block. At
    most :data:`LONGEST_TEXT` characters are shown.
    """
    return _cached_message(text) if len(text) <= _LONGEST_KEPT else _message(text)


def _message(text: str) -> Markup:
    return Markup("").join(_pieces(visible(text[:LONGEST_TEXT]))) + _more(text)


# Cached because a prompt is shown with the answer of every model.
_cached_message = lru_cache(maxsize=256)(_message)


def _pieces(text: str) -> Iterator[Markup]:
    """Yield prose and blocks of a text without control characters, in order."""
    if (language_of_all := guessed(text)) is not None:
        yield _block(language_of_all, "", text, "")
        return
    end = 0
    for block in fenced_blocks(text):
        start = text.find(block.source, end)
        if start < 0:  # a nested block, whose source is dedented
            continue
        yield from _prose(text[end:start])
        end = start + len(block.source)
        opening, newline, rest = block.source.partition("\n")
        if not newline or not rest:
            yield _block(_BY_INFO.get(block.info.lower()), "", block.source, "")
            continue
        body, _, closing = rest.rpartition("\n")
        if closing.strip("`~> \t"):  # the closing fence follows the content on its line
            body, closing = rest, ""
        language = _BY_INFO.get(block.info.lower()) or guessed(block.body)
        yield _block(language, f"{opening}\n", body, f"\n{closing}" if closing else "")
    yield from _prose(text[end:])


def _prose(text: str) -> Iterator[Markup]:
    """Yield text outside of fenced blocks; documents without fences are blocks, too."""
    end = 0
    for match in _DOCUMENT.finditer(text):
        start = match.start()
        if start < end:
            continue
        language = guessed(text[start : start + _ENOUGH])
        if language is not None:
            yield from _paragraphs(text[end:start])
            end = _document_end(text, start)
            yield _block(language, "", text[start:end].rstrip("\n"), "")
    yield from _paragraphs(text[end:])


def _document_end(text: str, start: int) -> int:
    """Return the end of the document at ``start``: before a paragraph that looks like prose.

    A paragraph that begins with a caption ("Graph:") counts as prose.
    """
    end = start
    for gap in _BLANK.finditer(text, start):
        if end > start and not _CODE_END.search(text, max(end, gap.start() - _ENOUGH), gap.start()):
            return end
        end = gap.end()
        if _CAPTION.match(text, end):
            return end
    return len(text) if end == start or _CODE_END.search(text.rstrip(), end) else end


def _paragraphs(text: str) -> Iterator[Markup]:
    if text.strip("\n"):
        # Empty lines around a block are dropped; the style sheet sets the distance.
        lines = text.count("\n") + len(text) // _NARROW
        focus = Markup(' tabindex="0"') if lines > _SCROLLING else Markup("")
        yield Markup('<pre class="prose" dir="auto"{}>{}</pre>').format(focus, text.strip("\n"))


def _block(language: Language | None, opening: str, body: str, closing: str) -> Markup:
    marked = body
    if language is not None:
        marked = language.marked(body[:_LONGEST_HIGHLIGHTED]) + body[_LONGEST_HIGHLIGHTED:]
    fences = [f"{_MARKS['c']}{fence}{_END}" if fence else "" for fence in (opening, closing)]
    title = Markup("") if language is None else Markup(' data-language="{}"').format(language.title)
    return Markup('<pre class="code" dir="ltr" tabindex="0"{}>{}</pre>').format(
        title, _elements(fences[0] + marked + fences[1])
    )


def _elements(marked: str) -> Markup:
    markup = str(escaped(marked))
    for mark, element in _ELEMENTS.items():
        markup = markup.replace(mark, element)
    return Markup(markup)  # noqa: S704 - escaped just above; texts cannot contain marks


def _more(text: str) -> Markup:
    remaining = len(text) - LONGEST_TEXT
    return Markup("") if remaining <= 0 else Markup(f" ... ({remaining:,} more)")  # noqa: S704 - a number
