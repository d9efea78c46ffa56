# SPDX-License-Identifier: Apache-2.0
"""Loading of a staged data set into a store: runs, passes and invalidations.

The data set is sorted, compared with the store and validated before the first statement is written.
New graphs are then loaded in bulk while no registry entry makes them visible, and become visible in
one atomic write. The graph of the import records the sources with checksums and time, and keeps the
foreign statements of the data set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import pyoxigraph as ox

from kgbench import clock
from kgbench.errors import ImportRefused
from kgbench.importers.rdf.checks import (
    Additions,
    check_digests,
    complete,
    new_descriptions,
    new_statements,
    validate,
)
from kgbench.importers.rdf.contents import Contents, TargetGraph
from kgbench.importers.rdf.sorting import SortedStatements, sort
from kgbench.importers.rdf.sources import Origin
from kgbench.model import Json
from kgbench.rdf import moment, string
from kgbench.record.recorder import registry_entry
from kgbench.software import this_software
from kgbench.store.iris import id_from
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill
from kgbench.vocab import DCTERMS, KGB, PROV, RDF

_BLOCK_SIZE = 5_000  # statements per block of a bulk load


@dataclass(slots=True)
class Summary:
    """The outcome of an import; the lists hold IRIs of activities.

    ``grown`` are activities that the store had in part, ``there`` those that it had completely,
    ``elsewhere`` those that it has under their original IRI (published IRI, IRI in the store).
    ``described`` counts statements added to the catalogue, ``foreign`` those kept in the graph of
    the import, ``left_out`` those ignored.
    """

    sources: list[Origin]
    runs: list[str] = field(default_factory=list)
    passes: list[str] = field(default_factory=list)
    invalidations: list[str] = field(default_factory=list)
    grown: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    elsewhere: list[tuple[str, str]] = field(default_factory=list)
    described: int = 0
    foreign: int = 0
    left_out: int = 0

    @property
    def brought(self) -> bool:
        """Whether anything was written to the store."""
        return bool(self.runs or self.passes or self.invalidations or self.grown or self.described)

    def as_json(self) -> dict[str, Json]:
        """Return the summary as JSON-shaped data."""
        return asdict(self)


def load(
    store: Store,
    contents: Contents,
    origins: Sequence[Origin],
    scratch: Path,
    progress: Callable[[int], None] | None = None,
) -> Summary:
    """Write the new parts of a staged data set to ``store``; existing statements stay.

    ``scratch`` is a folder for temporary data; ``progress`` is called with the number of statements
    copied there. Raises :class:`~kgbench.errors.ImportRefused`, before anything is written, for a
    data set that fails a check.
    """
    sorted_ = sort(store, contents, scratch / "recorded", progress)
    summary = Summary(list(origins), foreign=len(sorted_.foreign), left_out=sorted_.left_out)
    _skip_known_originals(store, contents, sorted_.recorded, summary)
    if not contents.imported and not sorted_.catalogue and not summary.elsewhere:
        raise ImportRefused(
            f"{', '.join(origin.name for origin in origins)}: no run, pass or invalidation of "
            f"kgbench in it, and nothing that one could refer to"
        )
    additions = Additions({}, new_descriptions(store, sorted_))
    for target in contents.imported:
        if not _is_registered(store, target):
            additions.graphs[target] = None
        elif missing := new_statements(store, sorted_.recorded, target):
            additions.graphs[target] = missing
        else:
            summary.there.append(target.activity)
    if summary.elsewhere and not additions.graphs:
        additions.described.clear()  # they describe what the store has under other IRIs
    summary.described = len(additions.described)
    if additions.graphs or additions.described:
        check_digests(contents, sorted_)
        complete(store, sorted_, additions)
        validate(contents, sorted_, additions)
        _write(store, sorted_, additions, summary)
    return summary


def _skip_known_originals(
    store: Store, contents: Contents, recorded: ox.Store, summary: Summary
) -> None:
    """Leave out activities that the store has under their original IRI.

    The same run under two IRIs would be counted twice.
    """
    for activity, target in list(contents.targets.items()):
        origin = contents.origins.get(activity)
        if origin is None or target.kind not in ("run", "pass", "invalidation"):
            continue
        is_stored = _catalogue_has(store, f"?graph <{KGB.describes}> <{origin}> .")
        if is_stored:
            summary.elsewhere.append((activity, origin))
            # Graphs of this kind are not loaded.
            contents.targets[activity] = TargetGraph(target.graph, target.activity, "analysis")
            recorded.remove_graph(ox.NamedNode(target.graph))


def _is_registered(store: Store, target: TargetGraph) -> bool:
    return _catalogue_has(store, f"<{target.graph}> <{KGB.describes}> <{target.activity}> .")


def _catalogue_has(store: Store, pattern: str) -> bool:
    return bool(store.query(fill("has.rq", catalogue=store.iris.catalogue, pattern=pattern)))


def _write(store: Store, sorted_: SortedStatements, additions: Additions, summary: Summary) -> None:
    identity = id_from("import/" + "/".join(sorted(o.digest for o in summary.sources)))
    node = store.iris.mint("import", **{"import": identity})
    graph = store.iris.mint("importGraph", **{"import": identity})
    started = clock.now()
    is_repeated = _catalogue_has(store, f"<{graph}> <{KGB.describes}> <{node}> .")
    store.drop([target.graph for target in additions.loaded] + ([] if is_repeated else [graph]))
    store.bulk_load(_content(sorted_.recorded, additions.loaded))
    lines = _import_activity(store, node, summary.sources, additions.graphs)
    blocks = [
        Block(store.iris.catalogue, [*additions.described, *this_software().entry(store.iris)])
    ]
    if not is_repeated:
        store.bulk_load([Block(graph, sorted_.foreign)])
        lines += [
            f"<{node}> <{PROV.startedAtTime}> {moment(started)} .",
            f"<{node}> <{PROV.endedAtTime}> {moment(clock.now())} .",
        ]
        blocks.append(Block(store.iris.catalogue, registry_entry(graph, node)))
    for target, missing in additions.graphs.items():
        blocks.append(Block(target.graph, missing or []))
        if missing is None:
            blocks.append(
                Block(store.iris.catalogue, registry_entry(target.graph, target.activity))
            )
            _count(summary, target)
        else:
            summary.grown.append(target.activity)
    store.write([*blocks, Block(graph, lines)])


def _count(summary: Summary, target: TargetGraph) -> None:
    lists = {"run": summary.runs, "pass": summary.passes, "invalidation": summary.invalidations}
    if target.kind in lists:
        lists[target.kind].append(target.activity)


def _content(recorded: ox.Store, targets: Iterable[TargetGraph]) -> Iterator[Block]:
    for target in targets:
        lines: list[str] = []
        for quad in recorded.quads_for_pattern(None, None, None, ox.NamedNode(target.graph)):
            lines.append(f"{quad.triple} .")
            if len(lines) == _BLOCK_SIZE:
                yield Block(target.graph, lines)
                lines = []
        yield Block(target.graph, lines)


def _import_activity(
    store: Store, node: str, sources: Sequence[Origin], targets: Iterable[TargetGraph]
) -> list[str]:
    """Return N-Triples that describe the import: its software, sources and graphs."""
    software = this_software()
    lines = [
        f"<{node}> <{RDF.type}> <{KGB.Import}> .",
        f"<{node}> <{RDF.type}> <{PROV.Activity}> .",
        f"<{node}> <{PROV.wasAssociatedWith}> <{software.iri(store.iris)}> .",
    ]
    for origin in sources:
        source = f"<{node}/source/{origin.digest}>"
        lines += [
            f"<{node}> <{PROV.used}> {source} .",
            f"{source} <{RDF.type}> <{PROV.Entity}> .",
            f"{source} <{DCTERMS.source}> {string(origin.name)} .",
            f"{source} <{KGB.sourceDigest}> {string(origin.digest)} .",
        ]
    return lines + [f"<{node}> <{PROV.generated}> <{target.graph}> ." for target in targets]
