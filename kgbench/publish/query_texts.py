# SPDX-License-Identifier: Apache-2.0
"""Recording of the queries behind a table or figure, with the IRIs of the publication."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from typing import Any

from kgbench.analysis.scores import CHOOSING
from kgbench.pages.snapshot import View
from kgbench.rdf.queries import BoundQuery
from kgbench.store.protocol import Store

_IRI = re.compile(r"<([^<>\"{}|^`\\\s]+)>")


class CachingStore:
    """Runs queries on a snapshot, and caches the results of queries about its catalogue.

    Each table queries the tasks, metrics and models, and each run has several tables. The results
    are as large as the catalogue, whatever the number of dialogues.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self._cached: dict[str, list[Any]] = {}

    def query(self, text: str) -> Any:
        """Return the result of the store."""
        if text not in self._cached:
            result = self.view.query(text)
            if not isinstance(text, BoundQuery) or text.name not in CHOOSING:
                return result
            self._cached[text] = list(result)
        return self._cached[text]


class QueryRecorder:
    """A store that records its queries."""

    def __init__(self, catalogue: CachingStore) -> None:
        self.iris = catalogue.view.iris
        self.location = catalogue.view.location
        self.queries: dict[str, None] = {}
        self._catalogue = catalogue

    def query(self, text: str) -> Any:
        """Return the result of the store, and record the query."""
        self.queries[text] = None
        return self._catalogue.query(text)

    def store(self) -> Store:
        """Return this object in the type that analyses expect; they only read."""
        store: Any = self
        return store  # type: ignore[no-any-return]


def query_files(
    queries: dict[str, None], published: Callable[[str], str]
) -> dict[str, tuple[str, str]]:
    """Return the files of the given queries: name and text by path, with published IRIs."""
    files = {}
    for text in queries:
        if not isinstance(text, BoundQuery):
            continue
        published_text = _IRI.sub(lambda match: f"<{published(match.group(1))}>", text)
        header = f"# {text.name}, with the parameters of this data set: run it on data/all.nq."
        published_text = f"{header}\n{published_text}"
        digest = hashlib.sha256(published_text.encode("utf-8")).hexdigest()[:10]
        files[f"queries/{text.name}-{digest}.rq"] = (text.name, published_text)
    return files
