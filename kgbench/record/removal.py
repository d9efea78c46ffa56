# SPDX-License-Identifier: Apache-2.0
"""Removes a run with the graphs derived from it; keeps what other runs share."""

from __future__ import annotations

from typing import NamedTuple

from kgbench.record import reading
from kgbench.record.reading import RunInfo
from kgbench.store.maintenance import analyses_of
from kgbench.store.protocol import Store
from kgbench.store.templates import fill


class Removal(NamedTuple):
    """The graphs that are removed with a run."""

    run: str
    passes: tuple[str, ...]
    analyses: tuple[str, ...]
    invalidations: tuple[str, ...]

    @property
    def graphs(self) -> list[str]:
        """All of them; the run comes first, so that no graph refers to one that is gone already."""
        return [self.run, *self.passes, *self.analyses, *self.invalidations]


def removal(store: Store, run: RunInfo) -> Removal:
    """Find the passes of ``run``, the analyses that read it, and invalidations of it alone."""
    passes = tuple(pass_.graph for pass_ in reading.passes(store, run))
    rows = store.query(fill("invalidations-of.rq", catalogue=store.iris.catalogue, run=run.iri))
    invalidations = tuple(
        sorted(row["graph"].value for row in rows if row["of"].value == row["all"].value)
    )
    analyses = tuple(analyses_of(store, {run.graph, *passes}))
    return Removal(run.graph, passes, analyses, invalidations)
