# SPDX-License-Identifier: Apache-2.0
"""JSONPath as mappings need it: names, indices, wildcards, descendants, unions, simple filters.

The syntax is that of RFC 9535, of which functions and combined filters are left out. A path that
does not begin with ``$`` begins at the root, too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

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


class Number(str):
    """A number of a JSON document that is not whole, as it is written."""

    __slots__ = ()


def found(path: str, root: Any) -> list[Any]:
    """Return the values that a path finds in a JSON document, in its order.

    Raises :class:`~kgbench.mapping.limits.MappingError` for an ill-formed path, and for one that
    finds too much.
    """
    nodes = [root]
    for step in parsed(path):
        nodes = bounded((one for node in nodes for one in step(node)), path)
    return nodes


@lru_cache(maxsize=64)
def parsed(path: str) -> tuple[Step, ...]:
    """Return the steps of a path; raises as :func:`found`."""
    if len(path) > LONGEST:
        raise MappingError(f"a path has more than {LONGEST} characters")
    text = path.strip()
    at = 1 if text.startswith("$") else 0
    steps: list[Step] = []
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or not _may_stand(match, is_first=at == 0):
            raise MappingError(f'the JSONPath "{path[:200]}" is ill-formed at character {at + 1}')
        if match["deep"]:
            steps.append(_descendants)
        steps.append(_step(match))
        at = match.end()
    if not text:
        raise MappingError("a JSONPath is empty")
    if len(steps) > STEPS:
        raise MappingError(f"a path has more than {STEPS} steps")
    return tuple(steps)


def _may_stand(match: re.Match[str], *, is_first: bool) -> bool:
    """Whether a name has its dot: the first without ``$`` and those after ``..`` have none."""
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
    items = [_item(one) for one in _ITEM.finditer(inside)]
    return lambda node: (value for one in items for value in one(node))


def _item(match: re.Match[str]) -> Step:
    return _member(_unquoted(match[1])) if match[1] else _at(int(match[2]))


def _member(name: str) -> Step:
    return lambda node: iter((node[name],) if isinstance(node, dict) and name in node else ())


def _at(index: int) -> Step:
    def step(node: Any) -> Iterator[Any]:
        if isinstance(node, list) and -len(node) <= index < len(node):
            yield node[index]

    return step


def _slice(of: slice) -> Step:
    if of.step == 0:
        return lambda _: iter(())
    return lambda node: iter(node[of] if isinstance(node, list) else ())


def _children(node: Any) -> Iterator[Any]:
    if isinstance(node, dict):
        return iter(node.values())
    return iter(node if isinstance(node, list) else ())


def _descendants(node: Any) -> Iterator[Any]:
    waiting = [node]
    while waiting:
        at = waiting.pop()
        yield at
        waiting += reversed(list(_children(at)))


def _filter(match: re.Match[str]) -> Step:
    names = [one[1] or _unquoted(one[2]) for one in _INNER.finditer(match["tested"])]
    operator, literal = match["operator"], match["literal"]
    wanted = _literal(literal) if operator else None

    def holds(node: Any) -> bool:
        for name in names:
            node = node.get(name, _MISSING) if isinstance(node, dict) else _MISSING
        if node is _MISSING or operator is None:
            return node is not _MISSING
        if isinstance(node, Number):
            node = float(node)
        numbers = isinstance(node, int | float) and isinstance(wanted, int | float)
        alike = type(node) is type(wanted) or (
            numbers and not isinstance(node, bool) and not isinstance(wanted, bool)
        )
        if not alike or node is None or isinstance(node, bool | list | dict):
            same = alike and node == wanted
            return {"==": same, "!=": not same}.get(operator, False)
        return _COMPARISONS[operator](node, wanted)

    return lambda node: (one for one in _children(node) if holds(one))


def _literal(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] in "'\"":
        return _unquoted(text)
    return float(text) if "." in text else int(text)


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
