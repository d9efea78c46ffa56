# SPDX-License-Identifier: Apache-2.0
"""The queries behind a figure, exactly as they were asked, with the IRIs of the publication."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from kgbench.analysis.counting import LISTED
from kgbench.analysis.scores import CHOOSING
from kgbench.pages.snapshot import View
from kgbench.rdf.queries import Bound
from kgbench.store.protocol import Store

_IRI = re.compile(r"<([^<>\"{}|^`\\\s]+)>")


class Catalogue:
    """Answers questions to a snapshot, those about its catalogue from a cache.

    Each table asks which tasks, metrics and models there are, and there are several tables for each
    run. The answers are as long as the catalogue, whatever the number of dialogues.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._answers: dict[str, list[Any]] = {}

    def query(self, text: str) -> Any:
        """The answer of the store."""
        if text not in self._answers:
            found = self.view.query(text)
            if not isinstance(text, Bound) or text.name not in CHOOSING:
                return found
            self._answers[text] = list(found)
        return self._answers[text]


class Recording:
    """A store that notes which queries it is asked.

    It has no counts of passes: who reads a publication asks the evaluations, and has them.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.iris = catalogue.view.iris
        self.location = catalogue.view.location
        self.queries: dict[str, None] = {}
        self._catalogue = catalogue

    def query(self, text: str) -> Any:
        """The answer of the store."""
        if isinstance(text, Bound) and text.name == LISTED:
            return []
        self.queries[text] = None
        return self._catalogue.query(text)

    def store(self) -> Store:
        """The same, as analyses expect a store; none of them writes."""
        store: Any = self
        return store  # type: ignore[no-any-return]


def filled(asked: dict[str, None], published: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    """Files of the queries in ``asked``: the path of each, with its name and its text."""
    found = {}
    for text in asked:
        if not isinstance(text, Bound):
            continue
        own = _IRI.sub(lambda match: f"<{published(match.group(1))}>", text)
        own = f"# {text.name}, as asked for this data set: ask it of data/all.nq.\n{own}"
        digest = hashlib.sha256(own.encode("utf-8")).hexdigest()[:10]
        found[f"queries/{text.name}-{digest}.rq"] = (text.name, own)
    return found
