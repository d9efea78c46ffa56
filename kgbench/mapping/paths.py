# SPDX-License-Identifier: Apache-2.0
"""Paths of mappings: JSONPath and XPath.

JSONPath is that of RFC 9535 without functions and combined filters; the leading ``$`` is optional.
It has names, indices, wildcards, descendants, unions and simple filters.

XPath 1.0 is evaluated by lxml, with all its axes and functions. Nothing but the document is read:
documents have no type declaration, and XPath 1.0 has no function that opens a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

from lxml import etree  # type: ignore[import-untyped]

from kgbench.mapping.limits import LONGEST, STEPS, MappingError, bounded

Step: TypeAlias = Callable[[Any], Iterator[Any]]

_NAME: Final = r"[^\W\d][\w-]*"
_STRING: Final = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_PART: Final = re.compile(
    rf"""(?P<deep>\.\.)? (?:
        (?P<dot>\.)?(?P<name>{_NAME}|\*)
      | \[\s*(?P<inside>\*
            | (?:{_STRING}|-?\d{{1,9}})(?:\s*,\s*(?:{_STRING}|-?\d{{1,9}}))*
            | -?\d{{0,9}}:-?\d{{0,9}}(?::\d{{1,9}})?)\s*\]
      | \[\s*\?\s*(?P<bracket>\(\s*)?@(?P<tested>(?:\.{_NAME}|\[(?:{_STRING})\])+)\s*
            (?:(?P<operator>==|!=|<=|>=|<|>)\s*(?P<literal>{_STRING}|-?\d+(?:\.\d+)?|true|false|null)\s*)?
            (?(bracket)\))\s*\]
    )""",
    re.VERBOSE,
)
_ITEM: Final = re.compile(rf"({_STRING})|(-?\d+)")
_INNER: Final = re.compile(rf"\.({_NAME})|\[({_STRING})\]")
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
_MISSING: Final = object()
_CONSTANTS: Final = {"true": True, "false": False, "null": None}


class JsonNumber(str):
    """The lexical form of a JSON number that is not an integer."""

    __slots__ = ()


def select_json(path: str, root: Any) -> list[Any]:
    """Return the values that a path selects from a JSON document, in document order.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the path is ill-formed or selects too
    many nodes.
    """
    nodes = [root]
    for step in json_steps(path):
        nodes = bounded((child for node in nodes for child in step(node)), path)
    return nodes


@lru_cache(maxsize=64)
def json_steps(path: str) -> tuple[Step, ...]:
    """Parse a path into its steps.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the path is ill-formed or too long.
    """
    if len(path) > LONGEST:
        raise MappingError(f"a path has more than {LONGEST} characters")
    text = path.strip()
    position = 1 if text.startswith("$") else 0
    steps: list[Step] = []
    while position < len(text):
        match = _PART.match(text, position)
        if match is None or not _is_dot_correct(match, is_first=position == 0):
            raise MappingError(
                f'the JSONPath "{path[:200]}" is ill-formed at character {position + 1}'
            )
        if match["deep"]:
            steps.append(_descendants)
        steps.append(_step(match))
        position = match.end()
    if not text:
        raise MappingError("a JSONPath is empty")
    if len(steps) > STEPS:
        raise MappingError(f"a path has more than {STEPS} steps")
    return tuple(steps)


def _is_dot_correct(match: re.Match[str], *, is_first: bool) -> bool:
    """Return whether a name has its dot; names at the start and after ``..`` have none."""
    if match["name"] is None:
        return True
    return bool(match["dot"]) != (is_first or bool(match["deep"]))


def _step(match: re.Match[str]) -> Step:
    if match["tested"] is not None:
        return _filter(match)
    inside = match["inside"]
    if match["name"] == "*" or inside == "*":
        return _children
    if match["name"] is not None:
        return _member(match["name"])
    if ":" in inside and inside[0] not in "'\"":
        bounds = [int(part) if part else None for part in inside.split(":")]
        return _slice(slice(*bounds))
    items = [_item(item) for item in _ITEM.finditer(inside)]
    return lambda node: (value for item in items for value in item(node))


def _item(match: re.Match[str]) -> Step:
    return _member(_unquoted(match[1])) if match[1] else _index(int(match[2]))


def _member(name: str) -> Step:
    return lambda node: iter((node[name],) if isinstance(node, dict) and name in node else ())


def _index(index: int) -> Step:
    def step(node: Any) -> Iterator[Any]:
        if isinstance(node, list) and -len(node) <= index < len(node):
            yield node[index]

    return step


def _slice(bounds: slice) -> Step:
    if bounds.step == 0:
        return lambda _: iter(())
    return lambda node: iter(node[bounds] if isinstance(node, list) else ())


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        return iter(node.values())
    return iter(node if isinstance(node, list) else ())


def _descendants(node: Any) -> Iterator[Any]:
    stack = [node]
    while stack:
        descendant = stack.pop()
        yield descendant
        stack += reversed(list(_children(descendant)))


def _filter(match: re.Match[str]) -> Step:
    names = [part[1] or _unquoted(part[2]) for part in _INNER.finditer(match["tested"])]
    operator, literal = match["operator"], match["literal"]
    expected = _literal(literal) if operator else None

    def holds(node: Any) -> bool:
        for name in names:
            node = node.get(name, _MISSING) if isinstance(node, dict) else _MISSING
        if node is _MISSING or operator is None:
            return node is not _MISSING
        if isinstance(node, JsonNumber):
            node = float(node)
        numbers = isinstance(node, int | float) and isinstance(expected, int | float)
        is_comparable = type(node) is type(expected) or (
            numbers and not isinstance(node, bool) and not isinstance(expected, bool)
        )
        if not is_comparable or node is None or isinstance(node, bool | list | dict):
            same = is_comparable and node == expected
            return {"==": same, "!=": not same}.get(operator, False)
        return _COMPARISONS[operator](node, expected)

    return lambda node: (child for child in _children(node) if holds(child))


def _literal(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in "'\"":
        return _unquoted(text)
    return float(text) if "." in text else int(text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])


XmlNode: TypeAlias = Any
"""An element, or a text: the value of an attribute, of a text node, or of an expression."""
_STRING_VALUE: Final = etree.XPath("string()")
_STRING_OF: Final = etree.XPath("string($value)")
_STEPS: Final = re.compile(r"/+|::|\[")


class MalformedXml(ValueError):
    """A document is not well-formed XML; the message says why and where."""


class XmlDocument:
    """An XML document for the evaluation of paths. Raises :class:`MalformedXml`."""

    def __init__(self, text: str) -> None:
        parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
        try:
            self.root = etree.fromstring(text.encode("utf-8", "replace"), parser)
        except etree.XMLSyntaxError as error:
            raise MalformedXml(str(error)) from None

    def select(self, path: str, context: XmlNode) -> list[XmlNode]:
        """Return the elements and texts that a path selects.

        A number or truth value is one text. Elements occur once each, in document order. Raises
        :class:`~kgbench.mapping.limits.MappingError` if the path is ill-formed.
        """
        try:
            result = compiled_xpath(path)(context)
        except etree.XPathError as error:
            raise MappingError(f'the XPath "{path[:200]}" cannot be evaluated: {error}') from None
        if isinstance(result, list):
            return bounded(result, path)
        return [_STRING_OF(context, value=result)]

    def elements(self, path: str) -> list[XmlNode]:
        """Return the elements that an iterator selects in the document; see :meth:`select`."""
        is_relative = path.lstrip()[:1] not in {"/", "(", ""}
        nodes = self.select(f"/{path.lstrip()}" if is_relative else path, self.root)
        return [node for node in nodes if isinstance(node, etree._Element)]  # noqa: SLF001 - its only class


def xml_text(node: XmlNode) -> str:
    """Return the string value of a node; for an element, all text inside it."""
    return str(_STRING_VALUE(node)) if isinstance(node, etree._Element) else str(node)  # noqa: SLF001 - as above


@lru_cache(maxsize=64)
def compiled_xpath(path: str) -> Any:
    """Return a path as a function of its context.

    Raises :class:`~kgbench.mapping.limits.MappingError` if the path is ill-formed or too long.
    """
    if len(path) > LONGEST:
        raise MappingError(f"a path has more than {LONGEST} characters")
    if len(_STEPS.findall(path)) > STEPS:
        raise MappingError(f"a path has more than {STEPS} steps")
    try:
        return etree.XPath(path, smart_strings=False)
    except etree.XPathError as error:
        raise MappingError(f'the XPath "{path[:200]}" is ill-formed: {error}') from None
