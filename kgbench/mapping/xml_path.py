# SPDX-License-Identifier: Apache-2.0
"""XPath 1.0 for mappings, with all its axes and functions, by lxml.

Nothing but the document is read: documents have no type declaration, and XPath 1.0 has no function
that opens a document.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, TypeAlias

from lxml import etree  # type: ignore[import-untyped]

from kgbench.mapping.limits import LONGEST, STEPS, MappingError, bounded

Node: TypeAlias = Any
"""An element, or a text: the value of an attribute, of a text node, or of an expression."""
_STRING: Final = etree.XPath("string()")
_STRING_OF: Final = etree.XPath("string($value)")
_STEPS: Final = re.compile(r"/+|::|\[")


class Malformed(ValueError):
    """A document is not well-formed XML; the message says why and where."""


class Document:
    """An XML document for the evaluation of paths. Raises :class:`Malformed`."""

    def __init__(self, text: str) -> None:
        parser = etree.XMLParser(encoding="utf-8", resolve_entities=False, no_network=True)
        try:
            self.root = etree.fromstring(text.encode("utf-8", "replace"), parser)
        except etree.XMLSyntaxError as error:
            raise Malformed(str(error)) from None

    def select(self, path: str, context: Node) -> list[Node]:
        """Return the elements and texts that a path selects.

        A number or truth value is one text. Elements occur once each, in document order. Raises
        :class:`~kgbench.mapping.limits.MappingError` if the path is ill-formed.
        """
        try:
            result = parse_path(path)(context)
        except etree.XPathError as error:
            raise MappingError(f'the XPath "{path[:200]}" cannot be evaluated: {error}') from None
        if isinstance(result, list):
            return bounded(result, path)
        return [_STRING_OF(context, value=result)]

    def elements(self, path: str) -> list[Node]:
        """Return the elements that an iterator selects in the document; see :meth:`select`."""
        is_relative = path.lstrip()[:1] not in {"/", "(", ""}
        nodes = self.select(f"/{path.lstrip()}" if is_relative else path, self.root)
        return [node for node in nodes if isinstance(node, etree._Element)]  # noqa: SLF001 - its only class


def text(node: Node) -> str:
    """Return the string value of a node; for an element, all text inside it."""
    return str(_STRING(node)) if isinstance(node, etree._Element) else str(node)  # noqa: SLF001 - as above


@lru_cache(maxsize=64)
def parse_path(path: str) -> Any:
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
