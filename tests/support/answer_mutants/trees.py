# SPDX-License-Identifier: Apache-2.0
"""Changes of JSON-LD: contexts, frames and documents."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

from tests.support.answer_mutants import Operators

_OTHERS = {"@list": "@set", "@set": "@list", "@id": "@type", "@type": "@id", "@language": "@index"}
_OTHERS |= {"@index": "@id", "@nest": "@graph", "@graph": "@nest", "@never": "@always"}
_XSD = "http://www.w3.org/2001/XMLSchema#"


def drop(text: str) -> Iterator[str]:
    """Leave out a member."""
    for path in _paths(text):
        yield _changed(text, path, [])


def widen(text: str) -> Iterator[str]:
    """Say less of a value: no type or container, or any value."""
    for path in _paths(text):
        value = _at(text, path)
        if isinstance(value, dict):
            if value.keys() > {"@id"}:
                yield _changed(text, path, [(path[-1], value["@id"])])
            elif value and "@id" not in value:
                yield _changed(text, path, [(path[-1], {})])
        elif value is True:
            yield _changed(text, path, [(path[-1], False)])
        elif not str(path[-1]).startswith("@") and "@context" not in path:
            yield _changed(text, path, [(path[-1], {})])


def narrow(text: str) -> Iterator[str]:
    """Say more of a value: a type, a language, or that something must be there."""
    for path in _paths(text):
        key, value = path[-1], _at(text, path)
        if isinstance(value, str) and not str(key).startswith("@"):
            more = [{"@id": value, "@type": kind} for kind in ("@id", f"{_XSD}date")]
            more.append({"@id": value, "@language": "en"})
            documents = [{"@value": value, "@language": "en"}, {"@value": value, "@type": "x:y"}]
            for other in more if "@context" in path else documents:
                yield _changed(text, path, [(key, other)])
        elif value == {}:
            for other in ({"@id": "https://example.org/any"}, {"@type": "any"}, []):
                yield _changed(text, path, [(key, other)])


def swap(text: str) -> Iterator[str]:
    """Take another key, value or keyword."""
    for path in _paths(text):
        key, value = path[-1], _at(text, path)
        if isinstance(value, str) and value in _OTHERS:
            yield _changed(text, path, [(key, _OTHERS[value])])
        around = _at(text, path[:-1])
        if isinstance(around, dict):
            keys = [
                one
                for one in around
                if around[one] != value and isinstance(around[one], type(value))
            ]
            for other in keys[:2]:
                yield _changed(text, path, [(key, around[other])])
            yield _changed(text, path, [(f"{key}x", value)])


def add(text: str) -> Iterator[str]:
    """Say something of the whole: what words mean, a language, what is shown."""
    tree = json.loads(text)
    if isinstance(tree, dict) and "@context" in tree:
        more: list[tuple[str, Any]] = [
            ("@vocab", "https://example.org/any#"),
            ("@language", "en"),
            ("@base", "https://example.org/any/"),
        ]
        places: list[tuple[Any, ...]] = [("@context", key) for key, _ in more]
    else:
        more = [("@requireAll", True), ("@explicit", True), ("@embed", "@never"), ("name", {})]
        more.append(("@id", "https://example.org/any"))
        objects = [path for path in _paths(text) if isinstance(_at(text, path), dict)]
        places = [(*path, key) for path in [(), *objects] for key, _ in more]
    values = dict(more)
    for path in places:
        if path[-1] not in _at(text, path[:-1]):
            yield _changed(text, path, [(path[-1], values[path[-1]])])


def _paths(text: str) -> list[tuple[Any, ...]]:
    """Return the paths to all members of objects and arrays."""

    def below(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for key, member in members:
            yield (*path, key)
            if isinstance(member, dict | list):
                yield from below(member, (*path, key))

    return [path for path in below(json.loads(text), ()) if path != ("@context",)]


def _at(text: str, path: tuple[Any, ...]) -> Any:
    value = json.loads(text)
    for key in path:
        value = value[key]
    return value


def _changed(text: str, path: tuple[Any, ...], members: list[tuple[Any, Any]]) -> str:
    """Return the text with the member at a path replaced by others."""
    tree = json.loads(text)
    around = tree
    for key in path[:-1]:
        around = around[key]
    if isinstance(around, list):
        around[path[-1] : path[-1] + 1] = [copy.deepcopy(value) for _, value in members]
    else:
        before = list(around.items())
        around.clear()
        for key, value in before:
            around.update(members if key == path[-1] else [(key, value)])
        if path[-1] not in dict(before):
            around.update(members)
    return json.dumps(tree, indent=2, ensure_ascii=False)


OPERATORS: Operators = {"drop": drop, "widen": widen, "narrow": narrow, "swap": swap, "add": add}
