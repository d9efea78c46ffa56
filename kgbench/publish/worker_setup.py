# SPDX-License-Identifier: Apache-2.0
"""Configuration and open resources of a process that makes parts of a publication."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.pages.snapshot import MemoryView, View
from kgbench.publish.addresses import Addresses
from kgbench.publish.dumps import Packing
from kgbench.publish.quad_redaction import RedactionRules
from kgbench.publish.run_cache import Recorded
from kgbench.publish.selection import PublishedParts


@dataclass(frozen=True, slots=True)
class WorkerSetup:
    """The configuration of a worker process.

    ``view_base`` is the base of IRIs in the snapshot. ``site_graph`` is a file with the site graph
    as N-Quads, without the graphs of runs. ``rules`` apply to pages, ``dump_rules`` to dumps.
    ``graphs`` are the graphs of the published ``parts``, and ``shared`` those of them that belong
    to no run, as the store names them.
    """

    snapshot: str
    view_base: str
    site_graph: Path
    out: Path
    addresses: Addresses
    documents: frozenset[str]
    parts: PublishedParts
    graphs: frozenset[str]
    shared: tuple[str, ...]
    rules: RedactionRules
    dump_rules: RedactionRules
    packing: Packing
    canaries: tuple[str, ...]


class OpenResources(NamedTuple):
    """The open resources of a process: the snapshot, and a function that reads graphs.

    ``recorded`` yields the statements of a graph in the order of its dump.
    """

    view: View
    recorded: Recorded


def write_site_graph(path: Path, site_graph: MemoryView, without: Collection[Any]) -> None:
    """Write the site graph as N-Quads, ``without`` these graphs."""
    described = (quad for quad in site_graph.database if quad.graph_name not in without)
    ox.serialize(described, str(path), ox.RdfFormat.N_QUADS)


def load_site_graph(setup: WorkerSetup) -> MemoryView:
    """Load the site graph without runs; the order of its quads is the same in every process."""
    database = ox.Store()
    database.bulk_load(path=str(setup.site_graph), format=ox.RdfFormat.N_QUADS)
    return MemoryView(database, setup.addresses.base)
