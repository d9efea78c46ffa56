# SPDX-License-Identifier: Apache-2.0
"""A configuration as JSON values, with the line of every value.

Positions are JSON pointers (RFC 6901): ``/tasks/0/label``; the empty pointer is the whole document.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json

MAX_DEPTH = 32  # levels of objects and lists
MAX_NODES = 10_000  # values, after the expansion of aliases
MAX_INTEGER = 2**63


@dataclass(slots=True)
class Tree:
    """The value of a document, the line of each pointer, and findings about single values.

    ``former`` maps top-level keys to the former names under which they were written.
    """

    source: str
    value: Json = None
    lines: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    former: dict[str, str] = field(default_factory=dict)

    def written(self, pointer: str) -> str:
        """Return ``pointer`` with the keys as the document has them."""
        _, slash, rest = pointer.partition("/")
        key, *inner = rest.split("/")
        return slash + "/".join([self.former.get(key, key), *inner])

    def line(self, pointer: str) -> int | None:
        """Return the line of ``pointer``, or of the nearest enclosing value that has one."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer)

    def note(self, pointer: str, message: str, line: int | None = None) -> None:
        """Add a finding; parsing continues, so that all findings are reported together."""
        self.findings.append(Finding(self.source, pointer, message, line or self.line(pointer)))

    def refusal(self, pointer: str, message: str, line: int | None = None) -> ConfigurationError:
        """Return the error for a document whose parsing cannot continue."""
        finding = Finding(self.source, pointer, message, line or self.line(pointer))
        return ConfigurationError([*self.findings, finding])


def below(pointer: str, key: str | int) -> str:
    """Return the pointer of the member ``key`` of the value at ``pointer``.

    >>> below("/tasks/0", "a/b~c")
    '/tasks/0/a~1b~0c'
    """
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"


def check_depth(tree: Tree, pointer: str, depth: int, line: int) -> None:
    """Refuse a document that nests deeper than :data:`MAX_DEPTH`."""
    if depth > MAX_DEPTH:
        raise tree.refusal(pointer, f"nested deeper than {MAX_DEPTH} levels", line)


def check_text(tree: Tree, pointer: str, text: str) -> None:
    """Add a finding for a text with lone surrogates, which RDF does not allow."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        tree.note(pointer, "the text holds a lone surrogate, which is no character")


def whole_number(tree: Tree, pointer: str, text: str, base: int = 10) -> int:
    """Parse an integer; beyond 64 bits, add a finding and return 0."""
    if len(text) <= 80:  # noqa: PLR2004 - longer than any 64-bit number, leading zeros included
        value = int(text, base)
        if -MAX_INTEGER <= value < MAX_INTEGER:
            return value
    tree.note(pointer, "the number does not fit into 64 bits")
    return 0


def note_null(tree: Tree, pointer: str) -> None:
    """Add a finding for a null, which the conversion to RDF would silently drop."""
    tree.note(pointer, "found nothing (null); write a value, or leave the key out")
