# SPDX-License-Identifier: Apache-2.0
"""Where things are found: their published IRIs, and the places of their documents in the folder.

What was recorded (runs, passes, analyses ...) moves from the base of the store to that of the
publication. What is declared, or named by its content (the vocabulary, metrics, tasks, cases,
models), keeps its IRI, so that results of several groups can be put together.

>>> where = Addresses("https://w3id.org/kgbench/", "https://example.org/bench/")
>>> where.published("https://w3id.org/kgbench/run/0199")
'https://example.org/bench/run/0199'
>>> where.published("https://w3id.org/kgbench/metric/Text2KG/1/f1")
'https://w3id.org/kgbench/metric/Text2KG/1/f1'
>>> where.place("https://w3id.org/kgbench/metric/Text2KG/1/f1")
'metric/Text2KG/1/f1'
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

from kgbench.vocab import BASE

RECORDED = frozenset(
    ("run", "pass", "analysis", "invalidation", "import", "software", "graph", "agent")
)
#: The names at the root that are the site's own: nothing recorded may stand there.
OWN = frozenset(
    ("index.html", "style.css", "robots.txt", "canary.txt", "data", "leaderboard", "figures")
) | frozenset(("queries", "version", "thing", "catalog", "void", "SHA256SUMS"))
_SUFFIXES = (".html", ".ttl", ".jsonld", ".nt")
_SEGMENT = re.compile(r"[^\x00-\x1f\x7f\\?*:|\"<>]{1,200}")
_SAFE = "!$&'()*+,;=~-._@"


@dataclass(frozen=True)
class Addresses:
    """The bases of a store and of its publication; ``renamed`` has path segments to replace.

    A segment is replaced where it would give away what is not published, such as the host in the
    name of a model.
    """

    store: str
    base: str
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def moves(self) -> bool:
        """Whether anything recorded gets another IRI."""
        return self.store != self.base

    def published(self, iri: str) -> str:
        """The IRI under which ``iri`` is published."""
        if not iri.startswith(self.store):
            return iri
        rest = iri[len(self.store) :]
        if self.renamed:
            rest = "/".join(self.renamed.get(part, part) for part in rest.split("/"))
        first = rest.partition("/")[0]
        return (self.base if first in RECORDED else self.store) + rest

    def place(self, iri: str) -> str | None:
        """The folder of the document about ``iri`` (published or not), without slashes around it.

        ``None`` where a document cannot be about it because it is not below a base of ours.
        """
        found = self.published(iri).partition("#")[0]
        for base in (self.base, self.store, BASE):
            if found.startswith(base):
                rest = found[len(base) :].rstrip("/")
                return _path(rest) or f"thing/{hashlib.sha256(found.encode()).hexdigest()[:24]}"
        return None

    def link(self, iri: str, root: str) -> str | None:
        """Where a link to ``iri`` leads on a page that reaches the root of the site by ``root``."""
        place = self.place(iri)
        if place is None:
            return None
        _, mark, part = iri.partition("#")
        return f"{root}{quote(place, safe=_SAFE + '/')}/" + (f"#{part}" if mark and part else "")


def root_of(path: str) -> str:
    """How the root is reached, relative to the file at ``path``.

    >>> root_of("run/0199/index.html"), root_of("index.html")
    ('../../', './')
    """
    return "../" * path.count("/") or "./"


def _path(rest: str) -> str | None:
    """``rest`` of an IRI as a path that every file system takes, or ``None``."""
    parts = [unquote(part) for part in rest.split("/")]
    if not rest or parts[0] in OWN or any(parts[0] == name + s for name in OWN for s in _SUFFIXES):
        return None
    safe = all(_SEGMENT.fullmatch(part) and part[0] != "." and "/" not in part for part in parts)
    # A file with the data of one thing must not stand where another has its folder.
    if not safe or any(part.endswith(_SUFFIXES) for part in parts) or len(rest) > 800:  # noqa: PLR2004
        return None
    return "/".join(parts)
