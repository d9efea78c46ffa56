# SPDX-License-Identifier: Apache-2.0
"""Where things are found: their published IRIs, and the places of their documents in the folder.

What was recorded (runs, passes, analyses ...) moves from the base of the store to that of the
publication. What is declared, or named by its content (the vocabulary, metrics, tasks, cases,
models), keeps its IRI, so that results of several groups can be put together.

>>> where = Addresses("https://w3id.org/kgbench/", "https://example.org/bench/", runs={})
>>> where.published("https://w3id.org/kgbench/run/0199")
'https://example.org/bench/run/0199'
>>> where.published("https://w3id.org/kgbench/metric/Text2KG/1/f1")
'https://w3id.org/kgbench/metric/Text2KG/1/f1'
>>> where.document_path("https://w3id.org/kgbench/metric/Text2KG/1/f1")
'metric/Text2KG/1/f1'
>>> where.published("https://w3id.org/kgbench/run/0199/oracle/Spell/0-d1d1d1d1/0/answer")
'https://example.org/bench/run/0199/oracle/Spell#0-d1d1d1d1-0-answer'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import quote, unquote

from kgbench.publish.veiling import Veil
from kgbench.store import fragments
from kgbench.vocab import BASE

RECORDED = frozenset(
    (
        *("run", "pass", "analysis", "invalidation", "import", "software", "graph", "agent"),
        *("reviewer", "tool-server"),
    )
)
#: The names at the root that are the site's own: nothing recorded may stand there.
OWN = (
    frozenset(
        (
            "index.html",
            "static",
            "robots.txt",
            "canary.txt",
            "data",
            "leaderboard",
            "figures",
            "shapes",
        )
    )
    | frozenset(("keys", "signature", "signed", "claims", "changes"))
    | frozenset(("queries", "version", "thing", "catalog", "void", "SHA256SUMS", ".well-known"))
)
_FOREIGN = re.compile("thing/[0-9a-f]{24}")
_SUFFIXES = (".html", ".ttl", ".jsonld", ".nt")
_SEGMENT = re.compile(r"[^\x00-\x1f\x7f\\?*:|\"<>]{1,200}")
_LONGEST_NAME = 200  # bytes; file systems take 255, suffixes included
_SAFE = "!$&'()*+,;=~-._@"


@dataclass(frozen=True)
class Addresses:
    """The bases of a store and of its publication; ``renamed`` has path segments to replace.

    ``runs`` has the run (IRI in the store) of each evaluation pass. Without it parts keep their
    paths, as in exports, which have no documents.

    A segment is replaced where it would give away what is not published, such as the host in the
    name of a model. ``veil`` does the same for digests of what is left out.
    """

    store: str
    base: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    veil: Veil | None = None
    runs: Mapping[str, str] | None = None

    @property
    def moves(self) -> bool:
        """Whether anything recorded gets another IRI."""
        return self.store != self.base

    def published(self, iri: str) -> str:
        """The IRI under which ``iri`` is published."""
        return self.within(self.moved(iri))

    def within(self, iri: str) -> str:
        """The IRI of a part (moved already) by a fragment of the document that it stands in."""
        return iri if self.runs is None else fragments.published(iri, self._runs)

    @cached_property
    def _runs(self) -> dict[str, str]:
        return {self.moved(one): self.moved(run) for one, run in (self.runs or {}).items()}

    def moved(self, iri: str) -> str:
        """``iri`` below the base under which it is published."""
        if not iri.startswith(self.store):
            # Cases are declared below our base in every store.
            return BASE + self._told(iri[len(BASE) :]) if iri.startswith(BASE) else iri
        rest = self._told(iri[len(self.store) :])
        first = rest.partition("/")[0]
        return (self.base if first in RECORDED else self.store) + rest

    def outgoing(self, iri: str) -> str:
        """The IRI that stands in dumps and documents for one in the database."""
        return self.published(iri)

    def held(self, iri: str) -> str:
        """The IRI in the database of what a store names ``iri``."""
        return iri

    def hides(self, iri: str) -> bool:
        """Whether ``iri`` as the store has it would give something away."""
        rest = iri.removeprefix(self.store if iri.startswith(self.store) else BASE)
        return self._told(rest) != rest

    def _told(self, rest: str) -> str:
        """A path below the base of the store, as it is published."""
        if self.renamed:
            rest = "/".join(self.renamed.get(part, part) for part in rest.split("/"))
        return rest if self.veil is None else self.veil.path(rest)

    def original(self, iri: str) -> str:
        """The IRI in the store of what is published as ``iri``."""
        iri = fragments.recorded(iri)
        if not iri.startswith(self.base):
            return self._renamed_back(iri)
        return self._renamed_back(self.store + iri[len(self.base) :])

    def _renamed_back(self, iri: str) -> str:
        base = next((one for one in (self.store, BASE) if iri.startswith(one)), None)
        if base is None:
            return iri
        rest = iri[len(base) :]
        if self.veil is not None:
            rest = self.veil.original(rest)
        if self.renamed:
            rest = "/".join(self._back.get(part, part) for part in rest.split("/"))
        return base + rest

    @cached_property
    def _back(self) -> dict[str, str]:
        return {new: old for old, new in self.renamed.items()}

    def document_path(self, iri: str) -> str:
        """The folder of the document about ``iri`` (published or not), without slashes around it.

        What is not below a base, or cannot be a path, has a place of its own.
        """
        found = self.published(iri).partition("#")[0]
        for base in (self.base, self.store, BASE):
            if found.startswith(base):
                if _FOREIGN.fullmatch(found[len(base) :]):
                    return found[len(base) :]
                path = _path(found[len(base) :].rstrip("/"))
                if path is not None:
                    return path
        return fragments.foreign_place(found)


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
