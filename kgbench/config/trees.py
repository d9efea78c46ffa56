# SPDX-License-Identifier: Apache-2.0
"""A configuration as JSON values, with the line of every value.

Positions are JSON pointers (RFC 6901): ``/tasks/0/label``; the empty pointer is the whole document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kgbench.config.credentials import without_keys
from kgbench.errors import ConfigurationError, Finding
from kgbench.model import Json

MAX_DEPTH = 32  # levels of objects and lists
MAX_NODES = 10_000  # values, after the expansion of aliases


class Several(list[Any]):
    """The values of a key that has several in RDF, which are no list."""


@dataclass(slots=True)
class Tree:
    """The value of a document, the line of each pointer, and findings about single values.

    ``former`` maps top-level keys to the former names under which they were written, and ``given``
    those whose values replace the document's to the names of the arguments that gave them.
    """

    source: str
    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    former: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)

    def finding(self, pointer: str, message: str, line: int | None = None) -> Finding:
        """Return a finding about the value at ``pointer``, with its line if it is known."""
        key, slash, rest = pointer[1:].partition("/")
        if key in self.given:
            return without_keys(Finding(self.given[key], "", message))
        if key in self.former:
            pointer = f"/{self.former[key]}{slash}{rest}"
        return without_keys(Finding(self.source, pointer, message, line or self._line(pointer)))

    def _line(self, pointer: str) -> int | None:
        """Return the line of ``pointer``, or of the nearest enclosing value that has one."""
        while pointer and pointer not in self.lines:
            pointer = pointer.rpartition("/")[0]
        return self.lines.get(pointer)

    def override(self, values: Mapping[str, tuple[str, Json]]) -> None:
        """Replace values of top-level keys; each new one has the name of the argument it is from.

        ``iterations`` replace ``iterationsPerCase``, too.
        """
        for key, (argument, value) in values.items():
            self.value[key] = value
            self.given[key] = argument
        if "iterations" in values:
            self.value.pop("iterationsPerCase", None)

    def note(self, pointer: str, message: str, line: int | None = None) -> None:
        """Add a finding; parsing continues, so that all findings are reported together."""
        self.findings.append(self.finding(pointer, message, line))

    def refusal(self, pointer: str, message: str, line: int | None = None) -> ConfigurationError:
        """Return the error for a document whose parsing cannot continue."""
        return ConfigurationError([*self.findings, self.finding(pointer, message, line)])


def below(pointer: str, key: str | int) -> str:
    """Return the pointer of the member ``key`` of the value at ``pointer``.

    >>> below("/tasks/0", "a/b~c")
    '/tasks/0/a~1b~0c'
    """
    return f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
