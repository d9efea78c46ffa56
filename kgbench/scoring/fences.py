# SPDX-License-Identifier: Apache-2.0
"""Fenced code blocks of Markdown, as models write them.

In published answers, fences on separate lines enclose a block, and a closing fence may follow the
content on its line. All else is decided by how a reader would see it; the reference page of the
metrics lists the decisions. The rule:

* A fence is a run of three or more backticks or tildes, the only one in its line. It is *plain* if
  nothing else is in the line but white space, ``>``, a list marker, and an info string after an
  opening fence. Text before an opening fence is ignored if it ends with a colon.
* Plain fences are paired in their order. Other fences count only if plain ones do not pair up
  without them.
* The closing fence is of the kind of the opening one and at least as long. An opening fence with an
  info string ends a block that was never closed.
* Blocks are *doubtful* without a closing fence, without a plain fence, or on a single line. They
  count only if an answer has no others.
* Blocks within a block of Markdown replace that block.

The time is linear in the length of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from kgbench.characters import BOM

_RUN = re.compile(r"`{3,}|~{3,}")
_MARGIN = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]+)?")
_QUOTATION_MARK = re.compile(r"[ \t]*>[ \t]?")
_WORD = re.compile(r"[A-Za-z][\w+#./-]*:?")
_ATTRIBUTES = re.compile(r"\{[.#].*\}")
_CODE: Final = frozenset("{<?@:*[")  # hardly in an info string, often in a line of RDF or SPARQL
_LANGUAGES: Final = frozenset(
    ("json", "jsonld", "json-ld", "n-triples", "nt", "ntriples", "rdf", "sparql", "ttl", "turtle")
)
_MARKDOWN: Final = frozenset(("markdown", "md"))
_LONGEST: Final = 8  # longer fences count as equally long, so that there are few kinds of fences
_SHORTEST: Final = 3
_KINDS: Final = _LONGEST - _SHORTEST + 1  # of one character


class Block(NamedTuple):
    """A fenced block: its content, its info string, and its source text with the fences."""

    body: str
    info: str
    source: str


class _Fence(NamedTuple):
    """The only fence of a line.

    ``start`` and ``end`` are offsets in the line; ``before`` is the text between ``margin`` and
    fence; ``info`` and ``content`` are the text after it, ``None`` and "" if that is prose.
    """

    line: int
    character: str
    length: int
    start: int
    end: int
    margin: str
    before: str
    after: str
    info: str | None
    content: str

    @property
    def begins(self) -> bool:
        """Whether the text before the fence, if any, announces a block."""
        return not self.before or self.before.rstrip("*_ \t").endswith(":")

    @property
    def is_bare(self) -> bool:
        """Whether nothing but a margin stands beside the fence."""
        return not self.before and not self.after

    @property
    def is_opening(self) -> bool:
        """Whether the fence can only be the beginning of a block."""
        return self.begins and (bool(self.info) or bool(self.before and not self.after))

    @property
    def kinds(self) -> int:
        """The kinds of blocks that the fence may close, as bits: its length and shorter ones."""
        return (1 << (self.length - _SHORTEST + 1)) - 1 << (self.character == "~") * _KINDS

    @property
    def kind(self) -> int:
        """The kind of block that the fence opens, as a bit."""
        return 1 << self.length - _SHORTEST + (self.character == "~") * _KINDS


class _Candidate(NamedTuple):
    block: Block
    is_doubtful: bool


def fenced_blocks(answer: str) -> list[Block]:
    r"""Return the fenced blocks of ``answer`` in their order, by the rule of this module.

    Lines of a body end in ``\n`` and lack the margin that the opening fence has. A byte order mark
    at the beginning of a body is no part of it.

    >>> fenced_blocks("Here:\n```turtle\n:a :b :c .\n```\nDone.")
    [Block(body=':a :b :c .\n', info='turtle', source='```turtle\n:a :b :c .\n```')]
    >>> [block.body for block in fenced_blocks("Here: ```\nSELECT * {}```")]
    ['SELECT * {}']
    """
    return [
        inner._replace(body=inner.body.removeprefix(BOM))
        for block in _blocks(answer)
        for inner in (_is_markdown(block) and _blocks(block.body)) or [block]
    ]


def _is_markdown(block: Block) -> bool:
    return block.info.casefold() in _MARKDOWN


def _blocks(answer: str) -> list[Block]:
    candidates = list(_candidates(answer.split("\n")))
    certain = [candidate.block for candidate in candidates if not candidate.is_doubtful]
    return certain or [candidate.block for candidate in candidates]


def _candidates(lines: list[str]) -> Iterator[_Candidate]:
    fenced = [(k, line) for k, line in enumerate(lines) if "```" in line or "~~~" in line]
    marks = [mark for k, line in fenced if (mark := _mark(k, line)) is not None]
    unpaired = _unpaired_ahead(marks)
    opening: _Fence | None = None
    for k, mark in enumerate(marks):
        following = marks[k + 1] if k + 1 < len(marks) else None
        if isinstance(mark, Block):
            if opening is None:
                yield _Candidate(mark, is_doubtful=True)
        elif opening is None:
            if _opens(mark, following, unpaired[k]):
                opening = mark
        elif _closes(mark, opening, unpaired[k]):
            is_doubtful = not (opening.is_opening or opening.is_bare or mark.is_bare)
            yield _Candidate(_block(lines, opening, mark), is_doubtful)
            opening = None
        elif mark.is_opening and mark.kinds & opening.kind:
            yield from _unclosed(lines, opening, mark.line)
            opening = mark
    if opening is not None:
        yield from _unclosed(lines, opening, len(lines))


def _mark(number: int, line: str) -> _Fence | Block | None:
    """Return the fence in a line with a run, the block that consists of it, or ``None``."""
    line = line.rstrip()
    runs = list(_RUN.finditer(line))
    margin_match = _MARGIN.match(line)
    margin = margin_match[0] if margin_match else ""
    before, after = line[len(margin) : runs[0].start()], line[runs[0].end() :]
    character, length = runs[0][0][0], min(len(runs[0][0]), _LONGEST)
    position = (number, character, length, runs[0].start(), runs[0].end(), margin, before)
    if len(runs) == 1:
        return _Fence(*position, after, *_info(after.strip()))
    inner = after.removesuffix(runs[0][0])
    info, content = _info(inner.strip())
    body = content or inner.strip()
    is_alone = len(runs) == 2 and len(inner) < len(after)  # noqa: PLR2004 - at either end
    if is_alone and _Fence(*position, after, info, content).begins and len(body.split()) > 1:
        return Block(body, info or "", line[len(margin) + len(before) :])
    return None


def _info(after: str) -> tuple[str | None, str]:
    """Return the info string and the content after a fence; ``None`` and "" if that is prose."""
    first, _, rest = after.partition(" ")
    if first.rstrip(":").casefold() in _LANGUAGES:
        return (first, rest.strip()) if _CODE & set(rest) else (after, "")
    if not after or _ATTRIBUTES.fullmatch(after):
        return after, ""
    if _CODE & set(after.removesuffix(":")):
        return "", after
    return (after, "") if _WORD.fullmatch(first) and " " not in rest else (None, "")


def _unpaired_ahead(marks: list[_Fence | Block]) -> list[int]:
    """For each mark, the kinds of blocks (as bits) whose fences after it do not pair up.

    These are the kinds with an odd number of bare fences before the next opening fence.
    """
    unpaired = []
    kinds = 0
    for mark in reversed(marks):
        unpaired.append(kinds)
        if isinstance(mark, _Fence) and mark.is_opening:
            kinds &= ~mark.kinds
        elif isinstance(mark, _Fence) and mark.is_bare:
            kinds ^= mark.kinds
    return unpaired[::-1]


def _opens(fence: _Fence, following: _Fence | Block | None, unpaired: int) -> bool:
    if fence.is_opening or fence.is_bare:
        return True
    if fence.info is None or (fence.before and (fence.content or fence.character == "~")):
        return False
    is_closed_beside_text = (
        isinstance(following, _Fence)
        and bool(following.kinds & fence.kind)
        and not (following.is_opening or following.is_bare)
    )
    return bool(unpaired & fence.kind) or is_closed_beside_text


def _closes(fence: _Fence, opening: _Fence, unpaired: int) -> bool:
    if fence.is_opening or not fence.kinds & opening.kind:
        return False
    return fence.is_bare or not unpaired & opening.kind


def _block(lines: list[str], opening: _Fence, closing: _Fence) -> Block:
    last = lines[closing.line][: closing.start]
    inner = [*lines[opening.line + 1 : closing.line], *([last] if closing.before else [])]
    body = _body(opening, inner)
    if closing.before:
        body = body.removesuffix("\n")
    end = lines[closing.line][: closing.end]
    return Block(body, opening.info or "", _source(lines, opening, closing.line, end))


def _unclosed(lines: list[str], opening: _Fence, end: int) -> Iterator[_Candidate]:
    """Yield the block from ``opening`` to the line before ``end``, unless it is blank."""
    body = _body(opening, lines[opening.line + 1 : end])
    if body.strip():
        source = _source(lines, opening, end - 1, lines[end - 1])
        yield _Candidate(Block(body, opening.info or "", source), is_doubtful=True)


def _body(opening: _Fence, inner: list[str]) -> str:
    """Return the content without the margin that all lines share."""
    quotations = opening.margin.count(">")
    lines = [line.removesuffix("\r") for line in inner]
    if quotations:
        lines = [_unquoted(line, quotations) for line in lines]
    if width := len(opening.margin.rpartition(">")[2][bool(quotations) :]):
        indentation = (len(line) - len(line.lstrip(" \t")) for line in lines if line.strip())
        width = min((width, *indentation))
        lines = [line[width:] for line in lines]
    first = [opening.content] if opening.content else []
    return "".join(f"{line}\n" for line in (*first, *lines))


def _unquoted(line: str, quotations: int) -> str:
    start = 0
    for _ in range(quotations):
        mark = _QUOTATION_MARK.match(line, start)
        if mark is None:
            break
        start = mark.end()
    return line[start:]


def _source(lines: list[str], opening: _Fence, last: int, end: str) -> str:
    if last == opening.line:
        return end.strip()
    begin = lines[opening.line][opening.start if opening.before else 0 :]
    return "\n".join((begin, *lines[opening.line + 1 : last], end)).strip()
