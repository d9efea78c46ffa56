# SPDX-License-Identifier: Apache-2.0
"""XPath as mappings need it: location paths over elements, attributes and text, with predicates.

Supported are the steps ``name``, ``*``, ``@name``, ``@*``, ``text()``, ``.``, ``..`` and ``//``,
and the predicates ``[2]``, ``[last()]``, ``[path]`` and ``[path = 'text']`` (also ``!=``), where a
path is relative.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias
from xml.etree.ElementTree import Element

from kgbench.mapping.limits import LONGEST, STEPS, MappingError, bounded

_STEP: Final = re.compile(r"text\(\)|\.\.|\.|@?(?:\*|[^\W\d][\w.-]*+(?!\s*\()(?!::))")
_LITERAL: Final = r"'[^']*'|\"[^\"]*\"|-?\d+(?:\.\d+)?"
_PREDICATE: Final = re.compile(
    rf"\[\s*(?:(?P<index>\d{{1,9}})|(?P<last>last\(\))|(?P<path>[^\[\]'\"=!<>]+?)\s*"
    rf"(?:(?P<operator>!?=)\s*(?P<literal>{_LITERAL}))?)\s*\]"
)
_DEEP, _ROOT = "//", "/"


class Test(NamedTuple):
    """A predicate: a position (``-1``: the last), or a path that finds something that compares."""

    position: int | None
    path: Path | None
    operator: str | None
    literal: str


class Path(NamedTuple):
    """Steps with their predicates; absolute paths begin at the document."""

    absolute: bool
    steps: tuple[tuple[str, tuple[Test, ...]], ...]


Node: TypeAlias = "Element | str"


class Document:
    """An XML document that paths are evaluated on; ``root`` stands for the document itself."""

    def __init__(self, element: Element) -> None:
        self.root = Element(_ROOT)
        self.root.append(element)
        self._above = {child: parent for parent in self.root.iter() for child in parent}

    def found(self, path: str, context: Element) -> list[Node]:
        """The elements and texts (of attributes, or text nodes) that a path finds, each once.

        Raises :class:`~kgbench.mapping.limits.MappingError` for an ill-formed path.
        """
        return self._walk(parsed(path), context)

    def _walk(self, path: Path, context: Element) -> list[Node]:
        nodes: list[Node] = [self.root if path.absolute else context]
        for step, tests in path.steps:
            found = (
                kept
                for node in nodes
                if isinstance(node, Element)
                for kept in self._kept(list(self._step(step, node)), tests)
            )
            nodes = _once(bounded(found, step))
        return nodes

    def _step(self, step: str, node: Element) -> Iterator[Node]:
        if step == _DEEP:
            yield from node.iter()
        elif step == ".":
            yield node
        elif step == "..":
            if node in self._above:
                yield self._above[node]
        elif step == "text()":
            yield from (text for text in (node.text, *(one.tail for one in node)) if text)
        elif step.startswith("@"):
            names = (
                node.attrib if step == "@*" else [name for name in node.attrib if name == step[1:]]
            )
            yield from (node.attrib[name] for name in names)
        else:
            yield from (one for one in node if step in {"*", one.tag})

    def _kept(self, nodes: list[Node], tests: Iterable[Test]) -> list[Node]:
        for test in tests:
            if test.position is not None:
                at = len(nodes) - 1 if test.position < 0 else test.position - 1
                nodes = nodes[at : at + 1] if at >= 0 else []
            else:
                nodes = [
                    one for one in nodes if isinstance(one, Element) and self._holds(test, one)
                ]
        return nodes

    def _holds(self, test: Test, node: Element) -> bool:
        assert test.path is not None
        texts = [text(one) for one in self._walk(test.path, node)]
        if test.operator is None:
            return bool(texts)
        return any((one == test.literal) == (test.operator == "=") for one in texts)


def text(node: Node) -> str:
    """Return the string value of a node: all text inside of an element."""
    return node if isinstance(node, str) else "".join(node.itertext())


@lru_cache(maxsize=64)
def parsed(path: str) -> Path:
    """Read a path; raises as :meth:`Document.found`."""
    if len(path) > LONGEST:
        raise MappingError(f"a path has more than {LONGEST} characters")
    left = path.strip()
    absolute = left.startswith("/")
    if absolute and not left.startswith(_DEEP):
        left = left[1:]
    steps: list[tuple[str, tuple[Test, ...]]] = []
    is_whole = False
    while left:
        if left.startswith(_DEEP):
            steps.append((_DEEP, ()))
            left = left[2:]
        elif steps and left.startswith("/"):
            left = left[1:]
        elif steps:
            break
        match, is_whole = _STEP.match(left), False
        if match is None:
            break
        left, tests = _tests(left[match.end() :])
        steps.append((match[0], tests))
        is_whole = True
    if left or not is_whole:
        place = len(path.rstrip()) - len(left) + 1
        raise MappingError(f'the XPath "{path[:200]}" is ill-formed or not supported at {place}')
    if len(steps) > STEPS:
        raise MappingError(f"a path has more than {STEPS} steps")
    return Path(absolute, tuple(steps))


def _tests(left: str) -> tuple[str, tuple[Test, ...]]:
    """Return the predicates at the beginning of a text, and what follows."""
    found = []
    while match := _PREDICATE.match(left):
        if match["path"] is not None:
            literal = (match["literal"] or "").strip("'\"")
            found.append(Test(None, parsed(match["path"]), match["operator"], literal))
        else:
            found.append(Test(-1 if match["last"] else int(match["index"]), None, None, ""))
        left = left[match.end() :]
    return left, tuple(found)


def _once(nodes: list[Node]) -> list[Node]:
    """Elements once each; texts as often as they occur."""
    seen: set[int] = set()
    found: list[Node] = []
    for one in nodes:
        if isinstance(one, Element):
            if id(one) in seen:
                continue
            seen.add(id(one))
        found.append(one)
    return found
