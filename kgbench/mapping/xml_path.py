# SPDX-License-Identifier: Apache-2.0
"""XPath for mappings: location paths over elements, attributes and text, with predicates.

The supported steps are ``name``, ``*``, ``@name``, ``@*``, ``text()``, ``.``, ``..`` and ``//``.
The supported predicates are ``[2]``, ``[last()]``, ``[path]`` and ``[path = 'text']`` (also ``!=``)
with relative paths.
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
    """A predicate: a position (``-1``: the last), or a path with an optional comparison."""

    position: int | None
    path: Path | None
    operator: str | None
    literal: str


class Path(NamedTuple):
    """A path: its steps with their predicates; absolute paths begin at the document."""

    absolute: bool
    steps: tuple[tuple[str, tuple[Test, ...]], ...]


Node: TypeAlias = "Element | str"


class Document:
    """An XML document for the evaluation of paths; ``root`` is the document node."""

    def __init__(self, element: Element) -> None:
        self.root = Element(_ROOT)
        self.root.append(element)
        self._parents = {child: parent for parent in self.root.iter() for child in parent}

    def select(self, path: str, context: Element) -> list[Node]:
        """Return the elements, attribute values and text nodes that a path selects.

        Elements occur once each. Raises :class:`~kgbench.mapping.limits.MappingError` if the path
        is ill-formed.
        """
        return self._walk(parse_path(path), context)

    def _walk(self, path: Path, context: Element) -> list[Node]:
        nodes: list[Node] = [self.root if path.absolute else context]
        for step, tests in path.steps:
            selected = (
                kept
                for node in nodes
                if isinstance(node, Element)
                for kept in self._filtered(list(self._step(step, node)), tests)
            )
            nodes = _unique(bounded(selected, step))
        return nodes

    def _step(self, step: str, node: Element) -> Iterator[Node]:
        if step == _DEEP:
            yield from node.iter()
        elif step == ".":
            yield node
        elif step == "..":
            if node in self._parents:
                yield self._parents[node]
        elif step == "text()":
            yield from (text for text in (node.text, *(child.tail for child in node)) if text)
        elif step.startswith("@"):
            names = (
                node.attrib if step == "@*" else [name for name in node.attrib if name == step[1:]]
            )
            yield from (node.attrib[name] for name in names)
        else:
            yield from (child for child in node if step in {"*", child.tag})

    def _filtered(self, nodes: list[Node], tests: Iterable[Test]) -> list[Node]:
        for test in tests:
            if test.position is not None:
                index = len(nodes) - 1 if test.position < 0 else test.position - 1
                nodes = nodes[index : index + 1] if index >= 0 else []
            else:
                nodes = [
                    node for node in nodes if isinstance(node, Element) and self._holds(test, node)
                ]
        return nodes

    def _holds(self, test: Test, node: Element) -> bool:
        assert test.path is not None
        texts = [text(selected) for selected in self._walk(test.path, node)]
        if test.operator is None:
            return bool(texts)
        return any((value == test.literal) == (test.operator == "=") for value in texts)


def text(node: Node) -> str:
    """Return the string value of a node; for an element, all text inside it."""
    return node if isinstance(node, str) else "".join(node.itertext())


@lru_cache(maxsize=64)
def parse_path(path: str) -> Path:
    """Parse a path.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the path is ill-formed or too long.
    """
    if len(path) > LONGEST:
        raise MappingError(f"a path has more than {LONGEST} characters")
    remaining = path.strip()
    absolute = remaining.startswith("/")
    if absolute and not remaining.startswith(_DEEP):
        remaining = remaining[1:]
    steps: list[tuple[str, tuple[Test, ...]]] = []
    is_complete = False
    while remaining:
        if remaining.startswith(_DEEP):
            steps.append((_DEEP, ()))
            remaining = remaining[2:]
        elif steps and remaining.startswith("/"):
            remaining = remaining[1:]
        elif steps:
            break
        match, is_complete = _STEP.match(remaining), False
        if match is None:
            break
        remaining, tests = _tests(remaining[match.end() :])
        steps.append((match[0], tests))
        is_complete = True
    if remaining or not is_complete:
        position = len(path.rstrip()) - len(remaining) + 1
        raise MappingError(f'the XPath "{path[:200]}" is ill-formed or not supported at {position}')
    if len(steps) > STEPS:
        raise MappingError(f"a path has more than {STEPS} steps")
    return Path(absolute, tuple(steps))


def _tests(remaining: str) -> tuple[str, tuple[Test, ...]]:
    """Parse the predicates at the start of a text; return the remaining text and the predicates."""
    result = []
    while match := _PREDICATE.match(remaining):
        if match["path"] is not None:
            literal = (match["literal"] or "").strip("'\"")
            result.append(Test(None, parse_path(match["path"]), match["operator"], literal))
        else:
            result.append(Test(-1 if match["last"] else int(match["index"]), None, None, ""))
        remaining = remaining[match.end() :]
    return remaining, tuple(result)


def _unique(nodes: list[Node]) -> list[Node]:
    """Remove repeated elements; texts may repeat."""
    seen: set[int] = set()
    result: list[Node] = []
    for node in nodes:
        if isinstance(node, Element):
            if id(node) in seen:
                continue
            seen.add(id(node))
        result.append(node)
    return result
