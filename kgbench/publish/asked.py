# SPDX-License-Identifier: Apache-2.0
"""The queries behind a figure, exactly as they were asked, with the IRIs of the publication."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from kgbench.analysis import queries
from kgbench.pages.snapshot import View
from kgbench.store.protocol import Store

_IRI = re.compile(r"<([^<>\"{}|^`\\\s]+)>")
_MARK = re.compile(r"^[ \t]*# PARAMETERS[ \t]*$", re.MULTILINE)


class Recording:
    """A store that notes which queries it is asked."""

    def __init__(self, view: View) -> None:
        self.iris = view.iris
        self.location = view.location
        self.asked: dict[str, None] = {}
        self._view = view

    def query(self, text: str) -> Any:
        """The answer of the store."""
        self.asked[text] = None
        return self._view.query(text)

    def store(self) -> Store:
        """The same, as analyses expect a store; none of them writes."""
        store: Any = self
        return store  # type: ignore[no-any-return]


def filled(asked: dict[str, None], published: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    """Files of the queries in ``asked``: the path of each, with its name and its text."""
    found = {}
    for text in asked:
        name = _name(text)
        if name is None:
            continue
        own = _IRI.sub(lambda match: f"<{published(match.group(1))}>", text)
        own = f"# {name}, as asked for this data set: ask it of data/all.nq.\n{own}"
        digest = hashlib.sha256(own.encode("utf-8")).hexdigest()[:10]
        found[f"queries/{name}-{digest}.rq"] = (name, own)
    return found


def _name(text: str) -> str | None:
    """The declared query that ``text`` was made from."""
    for name, head, tail in _ends():
        if text.startswith(head) and text.endswith(tail):
            return name
    return None


@cache
def _ends() -> tuple[tuple[str, str, str], ...]:
    """Each declared query: what stands before and after its parameters."""
    found = []
    for name in queries.names():
        head, *tail = _MARK.split(queries.load(name).text, maxsplit=1)
        found.append((name, head, "".join(tail)))
    return tuple(sorted(found, key=lambda one: -len(one[1])))
