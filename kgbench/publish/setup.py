# SPDX-License-Identifier: Apache-2.0
"""What a process that makes a publication is given, and what it has open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.pages.snapshot import Memory, View
from kgbench.publish.addresses import Addresses
from kgbench.publish.dumps import Packing
from kgbench.publish.held import Recorded
from kgbench.publish.outgoing import Rules
from kgbench.publish.parts import Parts


@dataclass(frozen=True, slots=True)
class Setup:
    """What a process needs: where the snapshot and the shown things are, and the rules.

    ``view_base`` is the base of IRIs in the snapshot. ``shown`` is a file with what is published
    besides dialogues, as N-Quads. ``rules`` are those of pages, ``dumped`` those of dumps.
    ``graphs`` are those of the published ``parts``, as the store names them; ``others`` are those
    of no run, as they are published, and ``shared`` the same with the catalogue, as the store
    names them.
    """

    snapshot: str
    view_base: str
    site_graph: Path
    out: Path
    addresses: Addresses
    documents: frozenset[str]
    parts: Parts
    graphs: frozenset[str]
    others: frozenset[str]
    shared: tuple[str, ...]
    rules: Rules
    dump_rules: Rules
    packing: Packing
    canaries: tuple[str, ...]


class Opened(NamedTuple):
    """What a process has open: the snapshot, and how graphs are read.

    ``recorded`` gives the statements of a graph in the order of its dump.
    """

    view: View
    recorded: Recorded


def shown_by(setup: Setup) -> Memory:
    """The shown things, in the same order in every process."""
    loaded = ox.Store()
    loaded.bulk_load(path=str(setup.site_graph), format=ox.RdfFormat.N_QUADS)
    return Memory(loaded, setup.addresses.base)
