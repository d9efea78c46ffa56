# SPDX-License-Identifier: Apache-2.0
"""Published IRIs of what a store records.

Recorded things (runs, passes, analyses ...) move from the base of the store to that of the
publication. Things that are declared, or identified by their content (the vocabulary, metrics,
tasks, cases, models), keep their IRIs, so that results of several groups can be combined.

>>> where = Addresses("https://w3id.org/kgbench/", "https://example.org/bench/", runs={})
>>> where.published("https://w3id.org/kgbench/run/0199")
'https://example.org/bench/run/0199'
>>> where.published("https://w3id.org/kgbench/metric/Text2KG/1/f1")
'https://w3id.org/kgbench/metric/Text2KG/1/f1'
>>> where.published("https://w3id.org/kgbench/run/0199/oracle/Spell/0-d1d1d1d1/0/answer")
'https://example.org/bench/run/0199/oracle/Spell#0-d1d1d1d1-0-answer'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

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


@dataclass(frozen=True)
class Addresses:
    """Maps IRIs of a store to published IRIs.

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
