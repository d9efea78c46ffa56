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
from functools import lru_cache
from urllib.parse import quote, unquote

from kgbench.vocab import BASE

RECORDED = frozenset(
    ("run", "pass", "analysis", "invalidation", "import", "software", "graph", "agent")
)
#: The names at the root that are the site's own: nothing recorded may stand there.
OWN = frozenset(
    ("index.html", "style.css", "robots.txt", "canary.txt", "data", "leaderboard", "figures")
) | frozenset(("queries", "version", "thing", "catalog", "void", "SHA256SUMS", ".well-known"))
_SUFFIXES = (".html", ".ttl", ".jsonld", ".nt")
_SEGMENT = re.compile(r"[^\x00-\x1f\x7f\\?*:|\"<>]{1,200}")
_LONGEST_NAME = 200  # bytes; file systems take 255, suffixes included
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

    def original(self, iri: str) -> str:
        """The IRI in the store of what is published as ``iri``."""
        if not iri.startswith(self.base):
            return self._renamed_back(iri)
        return self._renamed_back(self.store + iri[len(self.base) :])

    def _renamed_back(self, iri: str) -> str:
        if not self.renamed or not iri.startswith(self.store):
            return iri
        back = {new: old for old, new in self.renamed.items()}
        rest = iri[len(self.store) :]
        return self.store + "/".join(back.get(part, part) for part in rest.split("/"))

    def place(self, iri: str) -> str:
        """The folder of the document about ``iri`` (published or not), without slashes around it.

        What is not below a base, or cannot be a path, has a place of its own.
        """
        found = self.published(iri).partition("#")[0]
        for base in (self.base, self.store, BASE):
            if found.startswith(base):
                path = _path(found[len(base) :].rstrip("/"))
                if path is not None:
                    return path
        return f"thing/{hashlib.sha256(found.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def url(place: str, root: str, suffix: str = "/", fragment: str = "") -> str:
    """A link to the document at ``place`` from a page that reaches the root by ``root``.

    >>> url("run/0199", "../", ".ttl"), url("ns", "./", fragment="Run")
    ('../run/0199.ttl', './ns/#Run')
    """
    return f"{root}{quote(place, safe=_SAFE + '/')}{suffix}" + (f"#{fragment}" if fragment else "")


def root_of(path: str) -> str:
    """How the root is reached, relative to the file at ``path``.

    >>> root_of("run/0199/index.html"), root_of("index.html")
    ('../../', './')
    """
    return "../" * path.count("/") or "./"


@lru_cache(maxsize=10_000)
def _path(rest: str) -> str | None:
    """``rest`` of an IRI as a path that every file system takes, or ``None``."""
    parts = [unquote(part) for part in rest.split("/")]
    if not rest or parts[0] in OWN or any(parts[0] == name + s for name in OWN for s in _SUFFIXES):
        return None
    safe = all(
        _SEGMENT.fullmatch(part)
        and part[0] != "."
        and "/" not in part
        and len(part.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
        for part in parts
    )
    # A file with the data of one thing must not stand where another has its folder.
    if not safe or any(part.endswith(_SUFFIXES) for part in parts) or len(rest) > 800:  # noqa: PLR2004
        return None
    return "/".join(parts)
