# SPDX-License-Identifier: Apache-2.0
"""Published IRIs of things, and the paths of their documents in the folder.

Recorded things (runs, passes, analyses ...) move from the base of the store to that of the
publication. Things that are declared, or identified by their content (the vocabulary, metrics,
tasks, cases, models), keep their IRIs, so that results of several groups can be combined.

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

from kgbench.publish.veiling import DigestVeil
from kgbench.store import fragments
from kgbench.vocab import BASE

RECORDED = frozenset(
    (
        "run",
        "pass",
        "analysis",
        "invalidation",
        "import",
        "software",
        "graph",
        "agent",
        "reviewer",
        "tool-server",
    )
)
#: Names at the root that the site itself uses, so that no document may have them as path.
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
# U+FFFD replaces bytes that are not UTF-8, so different IRIs would get the same path.
_SEGMENT = re.compile(r"[^\\?*:|\"<>\uFFFD]{1,200}")
_LONGEST_NAME = 200  # bytes; file systems take 255, suffixes included
_SAFE = "!$&'()*+,;=~-._@"


@dataclass(frozen=True)
class Addresses:
    """Maps IRIs of a store to published IRIs, and these to document paths.

    ``renamed`` has replacements for path segments that would reveal what is not published, such as
    the host in the name of a model. ``veil`` replaces digests of what is left out. ``runs`` has the
    run (IRI in the store) of each evaluation pass. Without it parts keep their paths, as in
    exports, which have no documents.
    """

    store: str
    base: str
    renamed: Mapping[str, str] = field(default_factory=dict)
    veil: DigestVeil | None = None
    runs: Mapping[str, str] | None = None

    @property
    def moves(self) -> bool:
        """Whether recorded things get other IRIs."""
        return self.store != self.base

    def published(self, iri: str) -> str:
        """Return the published form of ``iri``."""
        return self.within(self.rebase(iri))

    def within(self, iri: str) -> str:
        """Return the IRI of a part (below the published base) as a fragment of its document."""
        return iri if self.runs is None else fragments.published_iri(iri, self._runs)

    @cached_property
    def _runs(self) -> dict[str, str]:
        return {self.rebase(pass_): self.rebase(run) for pass_, run in (self.runs or {}).items()}

    def rebase(self, iri: str) -> str:
        """Return ``iri`` with the base under which it is published."""
        if not iri.startswith(self.store):
            # Cases have IRIs below the base of kgbench in every store.
            return BASE + self._public_path(iri[len(BASE) :]) if iri.startswith(BASE) else iri
        rest = self._public_path(iri[len(self.store) :])
        first = rest.partition("/")[0]
        return (self.base if first in RECORDED else self.store) + rest

    def outgoing(self, iri: str) -> str:
        """Return the IRI that dumps and documents have for an IRI in the database."""
        return self.published(iri)

    def stored_iri(self, iri: str) -> str:
        """Return the IRI that the database has for ``iri`` of the store."""
        return iri

    def hides(self, iri: str) -> bool:
        """Return whether the recorded form of ``iri`` would reveal what is not published."""
        rest = self._rest(iri)
        return self._public_path(rest) != rest

    def digest(self, iri: str, value: str) -> str:
        """Return the published digest of a resource that has the digest ``value``."""
        return value if self.veil is None else self.veil.digest(self._rest(iri), value)

    def _rest(self, iri: str) -> str:
        return iri.removeprefix(self.store if iri.startswith(self.store) else BASE)

    def _public_path(self, rest: str) -> str:
        """Return the published form of a path below the base of the store."""
        if self.renamed:
            rest = "/".join(self.renamed.get(part, part) for part in rest.split("/"))
        return rest if self.veil is None else self.veil.path(rest)

    def original(self, iri: str) -> str:
        """Return the IRI in the store of a published IRI."""
        iri = fragments.recorded_iri(iri)
        if not iri.startswith(self.base):
            return self._original_iri(iri)
        return self._original_iri(self.store + iri[len(self.base) :])

    def _original_iri(self, iri: str) -> str:
        base = next((known for known in (self.store, BASE) if iri.startswith(known)), None)
        if base is None:
            return iri
        rest = iri[len(base) :]
        if self.veil is not None:
            rest = self.veil.original(rest)
        if self.renamed:
            rest = "/".join(self._original_segments.get(part, part) for part in rest.split("/"))
        return base + rest

    @cached_property
    def _original_segments(self) -> dict[str, str]:
        return {new: old for old, new in self.renamed.items()}

    def document_path(self, iri: str) -> str:
        """Return the path of the document about ``iri`` (published or not), without outer slashes.

        An IRI that is not below a base, or cannot be a path, gets a path derived from its digest.
        """
        published = self.published(iri).partition("#")[0]
        for base in (self.base, self.store, BASE):
            if published.startswith(base):
                if _FOREIGN.fullmatch(published[len(base) :]):
                    return published[len(base) :]
                path = _path(published[len(base) :].rstrip("/"))
                if path is not None:
                    return path
        return fragments.foreign_place(published)


def url(document_path: str, root: str, suffix: str = "/", fragment: str = "") -> str:
    """Return a link to a document from a page with the relative path ``root`` to the root.

    >>> url("run/0199", "../", ".ttl"), url("ns", "./", fragment="Run")
    ('../run/0199.ttl', './ns/#Run')
    """
    path = quote(document_path, safe=_SAFE + "/")
    return f"{root}{path}{suffix}" + (f"#{fragment}" if fragment else "")


def root_of(path: str) -> str:
    """Return the relative path from the file at ``path`` to the root.

    >>> root_of("run/0199/index.html"), root_of("index.html")
    ('../../', './')
    """
    return "../" * path.count("/") or "./"


@lru_cache(maxsize=10_000)
def _path(rest: str) -> str | None:
    """Return ``rest`` of an IRI as a path that is valid in all file systems, or ``None``."""
    parts = [unquote(part) for part in rest.split("/")]
    if not rest or parts[0] in OWN or any(parts[0] == name + s for name in OWN for s in _SUFFIXES):
        return None
    safe = all(
        _SEGMENT.fullmatch(part)
        and part.isprintable()  # a line separator would end the line of a file in SHA256SUMS
        and part[0] != "."
        and "/" not in part
        and len(part.encode("utf-8", "surrogatepass")) <= _LONGEST_NAME
        for part in parts
    )
    # A file with the data of one thing must not have the path of another thing's folder.
    if not safe or any(part.endswith(_SUFFIXES) for part in parts) or len(rest) > 800:  # noqa: PLR2004
        return None
    return "/".join(parts)
