# SPDX-License-Identifier: Apache-2.0
"""The document of a task execution: its paths and links."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExecutionDocument:
    """The document of an execution: its path, IRI, properties and number of pages."""

    path: str
    iri: str
    properties: dict[str, str]
    pages: int

    @property
    def is_long(self) -> bool:
        """Whether the dialogues are on several pages."""
        return self.pages > 1

    def page(self, number: int) -> str:
        """Return the path of a page with dialogues."""
        return f"{self.path}/{self._name(number)}" if self.is_long else self.path

    def link(self, number: int) -> str:
        """Return a link from the document's first page to a page with dialogues."""
        return f"{self._name(number)}/" if self.is_long else ""

    @staticmethod
    def _name(number: int) -> str:
        return f"page-{number}"
