# SPDX-License-Identifier: Apache-2.0
"""What the units of a publication depend on, and the keys by which unchanged units are found."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.model import Json
from kgbench.pages import things
from kgbench.pages.snapshot import MemoryView, View
from kgbench.publish import published_graph
from kgbench.publish.addresses import Addresses
from kgbench.publish.dumps import Packing
from kgbench.publish.quad_redaction import QuadRedactor, RedactionRules
from kgbench.publish.selection import PublishedParts, RunPart
from kgbench.rdf import canonical_json, digest
from kgbench.vocab import KGB

_DECLARED = ox.NamedNode(KGB.declaredDigest)


@dataclass(frozen=True)
class Dependencies:
    """The data, settings, rules and code that units depend on.

    ``outgoing`` and its rules apply to pages, ``dump_rules`` to dumps; ``site_graph`` is the graph
    that pages are made from.
    """

    view: View
    parts: PublishedParts
    outgoing: QuadRedactor
    dump_rules: RedactionRules
    packing: Packing
    canaries: Sequence[str]
    addresses: Addresses
    site_graph: MemoryView

    @cached_property
    def stamps(self) -> list[str]:
        """The change stamps of the published graphs."""
        graphs = self.parts.graphs
        return sorted(stamp for graph, stamp in self.parts.stamps.items() if graph in graphs)

    def key_of_run(self, part: RunPart) -> str:
        """Return the key of a run: a digest of what its pages and dumps depend on."""
        return _key(self._of_all_runs, self._context(part), list(part.stamps))

    def key_of_store(self, *facts: Json) -> str:
        """Return the key of a unit that depends on all published data, and on further ``facts``."""
        return _key(self._common, self._identity, self.stamps, *facts)

    @cached_property
    def _identity(self) -> str:
        return published_graph.identity(self.site_graph)

    @cached_property
    def _common(self) -> str:
        """The digest of what all units depend on: settings, rules and code."""
        rules = self.outgoing.rules
        return _key(
            self.addresses.store,
            self.addresses.base,
            dict(self.addresses.renamed),
            int(rules.level),
            int(self.dump_rules.level),
            sorted(rules.scrubber.names),
            rules.scrubber.secrets.identity(),
            rules.key.tag("state", ""),
            self.packing.suffix,
            rules.key.tag("password", self.packing.password or ""),
            list(self.canaries),
            code_digest(),
        )

    @cached_property
    def _of_all_runs(self) -> str:
        declared = sorted(str(quad) for quad in self._quads(_DECLARED))
        return _key(self._common, declared, self._invalidations())

    def _context(self, part: RunPart) -> list[str]:
        """Return what pages of a run say of its models and its tasks."""
        graph = self.outgoing.node(part.graph)
        descriptions = set()
        for predicate in (ox.NamedNode(KGB.model), ox.NamedNode(KGB.task)):
            for quad in self._quads(predicate, graph):
                thing: Any = quad.object
                descriptions.add(f"{thing.value} {things.label(self.site_graph, thing.value)}")
        return sorted(descriptions)

    def _invalidations(self) -> list[tuple[str, str]]:
        """Return the invalidations, which may change pages of runs from outside their graphs."""
        return [
            (thing, self.parts.stamps.get(graph, ""))
            for graph, thing in self.parts.others
            if KGB.Invalidation in things.kinds(self.view, thing)
        ]

    def _quads(
        self, predicate: ox.NamedNode, graph: ox.NamedNode | None = None
    ) -> Iterator[ox.Quad]:
        return self.site_graph.database.quads_for_pattern(None, predicate, None, graph)


def _key(*facts: Json) -> str:
    return digest(canonical_json(list(facts)))


def code_digest() -> str:
    """Return the SHA-256 over the code and templates of pages, which change with these."""
    package = Path(__file__).resolve().parent.parent
    hasher = hashlib.sha256()
    for part in ("publish", "pages"):
        for path in sorted((package / part).rglob("*")):
            if path.suffix in (".py", ".html", ".css", ".js") and "checks" not in path.parts:
                hasher.update(path.name.encode() + path.read_bytes())
    return hasher.hexdigest()
