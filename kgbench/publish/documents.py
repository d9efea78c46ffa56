# SPDX-License-Identifier: Apache-2.0
"""Documents of a publication: the path and the fragment at which a resource is described.

Recorded things, models, tasks and suites have documents of their own. Everything else that is
declared is described in one document for each kind, which is the first segment of its path.

>>> where = Documents("https://w3id.org/kgbench/", "https://example.org/bench/")
>>> where.place("https://example.org/bench/run/0199/oracle/Spell#0-d1d1d1d1")
Place(path='run/0199/oracle/Spell', fragment='0-d1d1d1d1')
>>> where.place("https://w3id.org/kgbench/metric/Text2KG/1/f1")
Place(path='metric', fragment='Text2KG/1/f1')
>>> where.place("https://w3id.org/kgbench/ns#Run")
Place(path='ns', fragment='Run')
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

import pyoxigraph as ox

from kgbench.pages.things import View
from kgbench.publish.selection import PublishedParts
from kgbench.store import fragments
from kgbench.vocab import BASE, KGB, PROV, RDF

#: Names at the root that the site itself uses, so that no document may have them as path.
OWN = frozenset(
    (
        *("index.html", "404.html", "static", "robots.txt", "canary.txt", "data", "leaderboard"),
        *("figures", "shapes", "keys", "signature", "signed", "claims", "queries", "version"),
        *("thing", "catalog", "void", "SHA256SUMS", ".well-known", "servers"),
    )
)
#: First segments of the paths of things that have a document each.
SINGLE = ("run", "analysis", "invalidation", "model", "task", "suite")
#: Segments in the path of a document for a kind, where it is not one.
DEPTHS = {"case": 3, "pass": 2}
_SUFFIXES = (".html", ".ttl", ".jsonld")
# U+FFFD replaces bytes that are not UTF-8, so different IRIs would get the same path.
_SEGMENT = re.compile(r"[^\\?*:|\"<>\uFFFD]{1,200}")
_LONGEST_NAME = 200  # bytes; file systems take 255, suffixes included
_LONGEST_PATH = 800
_SAFE = "!$&'()*+,;=~-._@"
_TYPE = ox.NamedNode(RDF.type)
_REVIEWER, _JUDGED = ox.NamedNode(KGB.reviewer), ox.NamedNode(KGB.judgedItem)
_EXECUTION = ox.NamedNode(KGB.TaskExecution)
_OF_MODEL, _OF_TASK = ox.NamedNode(KGB.model), ox.NamedNode(KGB.task)
_RESULT_KINDS = tuple(map(ox.NamedNode, (KGB.Suite, KGB.Model, KGB.Task)))
#: Types of what is recorded of a run beside its dialogues.
RUN_LEVEL = tuple(
    ox.NamedNode(iri)
    for iri in (
        *(KGB.Run, KGB.Session, KGB.Configuration, KGB.TaskExecution, KGB.Price, KGB.Batch),
        *(PROV.SoftwareAgent, PROV.Association, KGB.EvaluationPass, KGB.GraphVariant),
        *(KGB.Model, KGB.Suite),
    )
)


class Place(NamedTuple):
    """The path of a document, without outer slashes, and a fragment of it (may be empty)."""

    path: str
    fragment: str


@dataclass(frozen=True, slots=True)
class Documents:
    """Maps IRIs to documents; ``store`` is the base of the store, ``base`` that of the site."""

    store: str
    base: str

    def place(self, iri: str) -> Place:
        """Return the place of a published IRI.

        An IRI that is not below a base, or cannot be a path, gets a path derived from its digest.
        """
        document, _, fragment = iri.partition("#")
        for base in (self.base, self.store, BASE):
            if document.startswith(base):
                rest = document[len(base) :].rstrip("/")
                if fragments.is_foreign_place(rest):
                    return Place(rest, fragment)
                path = _path(self._document(rest))
                if path is not None:
                    inner = rest[len(self._document(rest)) + 1 :]
                    return Place(path, "#".join(filter(None, (inner, fragment))))
        return Place(fragments.foreign_place(document), fragment)

    @staticmethod
    def _document(rest: str) -> str:
        """Return the part of a path below a base that is the path of the document."""
        first = rest.partition("/")[0]
        if first in SINGLE:
            return rest
        return "/".join(rest.split("/")[: DEPTHS.get(first, 1)])

    def of(self, view: View, parts: PublishedParts) -> dict[str, list[str]]:
        """Return the documents about a published store: the IRIs they describe, by path.

        Dialogues and their parts are not among these IRIs: they belong to the documents of task
        executions. Suites, models and tasks without any execution have no document.
        """
        found: dict[str, list[str]] = {}
        unused = _unused(view.database, parts)
        for iri in sorted(set(_described(view.database, parts)) - unused):
            if iri.startswith((self.base, self.store, BASE)) or _is_ours(view.database, iri):
                found.setdefault(self.place(iri).path, []).append(iri)
        return dict(sorted(found.items()))


def _described(database: ox.Store, parts: PublishedParts) -> Iterator[str]:
    """Yield the subjects of a published store that are not parts of dialogues."""
    pattern = database.quads_for_pattern
    subjects: set[Any] = {
        quad.subject for quad in pattern(None, None, None, ox.NamedNode(parts.catalogue))
    }
    for graph in (ox.NamedNode(name) for run in parts.runs for name in run.graphs):
        for kind in RUN_LEVEL:
            subjects.update(quad.subject for quad in pattern(None, _TYPE, kind, graph))
        decided: set[Any] = {quad.subject for quad in pattern(None, _REVIEWER, None, graph)}
        subjects.update(decided)
        for verdict in decided:
            subjects.update(quad.object for quad in pattern(verdict, _JUDGED, None, graph))
    for name, thing in parts.others:
        about: set[Any] = {quad.subject for quad in pattern(None, None, None, ox.NamedNode(name))}
        # Rows of a table are part of the document of their analysis.
        subjects.update(node for node in about if not str(node.value).startswith(f"{thing}#"))
    for node in subjects:
        if isinstance(node, ox.NamedNode):
            yield node.value


def _unused(database: ox.Store, parts: PublishedParts) -> set[str]:
    """Return the suites, models and tasks that no published run has."""
    pattern = database.quads_for_pattern
    used: set[Any] = {ox.NamedNode(suite) for suite in parts.suites}
    for graph in (ox.NamedNode(run.graph) for run in parts.runs):
        for quad in pattern(None, _TYPE, _EXECUTION, graph):
            for predicate in (_OF_MODEL, _OF_TASK):
                used.update(other.object for other in pattern(quad.subject, predicate, None, graph))
    declared: set[Any] = {
        quad.subject for kind in _RESULT_KINDS for quad in pattern(None, _TYPE, kind)
    }
    return {node.value for node in declared - used if isinstance(node, ox.NamedNode)}


def _is_ours(database: ox.Store, iri: str) -> bool:
    """Return whether a resource has a class of kgbench, or is an association of its activities."""
    kinds = (str(q.object) for q in database.quads_for_pattern(ox.NamedNode(iri), _TYPE, None))
    return any(KGB in kind or PROV.Association in kind for kind in kinds)


def url(path: str, root: str, suffix: str = "/", fragment: str = "") -> str:
    """Return a link to a document from a page with the relative path ``root`` to the root.

    >>> url("run/0199", "../", ".ttl"), url("ns", "./", fragment="Run")
    ('../run/0199.ttl', './ns/#Run')
    """
    target = f"{root}{quote(path, safe=_SAFE + '/')}{suffix}"
    return f"{target}#{quote(fragment, safe=_SAFE + '/:?')}" if fragment else target


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
    if not safe or any(part.endswith(_SUFFIXES) for part in parts) or len(rest) > _LONGEST_PATH:
        return None
    return "/".join(parts)
