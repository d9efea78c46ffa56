# SPDX-License-Identifier: Apache-2.0
"""Families whose answers are JSON objects for a JSON-LD processor."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from kgbench.families import frame
from kgbench.families.frame import Answer, DocumentFamily, Unreadable
from kgbench.model import Case, Executor
from kgbench.scoring.json_ld import IllFormedJsonLd
from kgbench.tasks import serialising
from kgbench.vocab import RDFS, XSD
from kgbench.worlds.generator import RESOURCE
from kgbench.worlds.model import NAMESPACE

CONTEXT: Final = "@context"
_PREFIXES: Final = {"w": NAMESPACE, "r": RESOURCE, "rdfs": str(RDFS), "xsd": str(XSD)}


class JsonFamily(DocumentFamily[Answer]):
    """A family whose answers are JSON objects for a JSON-LD processor."""

    LOADS = ("PyLD",)
    shared_texts = "json-ld-answers"

    def read(self, case: Case, document: str, executor: Executor) -> Answer:
        """Process the JSON object of a document."""
        try:
            return self.process(case, json_object(document))
        except IllFormedJsonLd as error:
            raise Unreadable(str(error)) from error

    @abstractmethod
    def process(self, case: Case, value: Mapping[str, Any]) -> Answer:
        """Return what the processor makes of a JSON object.

        Raises :class:`Unreadable` or :class:`~kgbench.scoring.json_ld.IllFormedJsonLd`.
        """


def json_object(text: str) -> Mapping[str, Any]:
    """Return the JSON object that a text is. Raises :class:`Unreadable`."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise Unreadable(f"this is no JSON: {error}") from error
    except RecursionError as error:
        raise Unreadable("this is no JSON: it is nested too deeply") from error
    if not isinstance(value, dict):
        raise Unreadable("this is no JSON object")
    return value


def turtle(lines: tuple[str, ...]) -> str:
    """Return lines of N-Triples about a world as Turtle."""
    return serialising.serialise(frame.triples(lines), "turtle", _PREFIXES)
