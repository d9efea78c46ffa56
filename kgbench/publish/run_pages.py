# SPDX-License-Identifier: Apache-2.0
"""Output of a run: pages and data of its dialogues, and its dump.

A run that fits into memory is made by one worker process. For a large run, worker processes make
the executions while this process writes the dump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyoxigraph as ox

from kgbench.publish import text_indexes
from kgbench.publish.dumps import Packing, PartDump
from kgbench.publish.execution_pages import ExecutionBuilder, ExecutionResult
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump, Unit
from kgbench.publish.page_renderer import PageRenderer
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.result_documents import ResultWorkers
from kgbench.publish.selection import RunPart
from kgbench.publish.void import Statistics
from kgbench.rdf.quads import Quads
from kgbench.record import schema
from kgbench.vocab import KGB, RDF

_TYPE, _TEXT = (ox.NamedNode(iri) for iri in (RDF.type, KGB.Text))


class BuiltRun(NamedTuple):
    """The output of a run: its unit, and the number of changed files."""

    unit: Unit
    changed: int


class ExecutionWorkers(Protocol):
    """A place where executions are made."""

    def submit(self, execution: str, name: str) -> Callable[[], ExecutionResult]:
        """Start an execution with work files of this name; the result waits for it."""
        ...


class Workers(ExecutionWorkers, ResultWorkers, Protocol):
    """A place where runs, executions and results are made."""

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], BuiltRun]:
        """Start a run; the result waits for it."""
        ...


@dataclass(frozen=True, slots=True)
class RunBuilder:
    """Makes runs; ``outgoing`` gives the quads of dumps, ``original`` the IRIs in the store."""

    folder: Folder
    database: Quads
    outgoing: QuadRedactor
    packing: Packing
    workers: ExecutionWorkers
    original: Callable[[str], str]
    renderer: PageRenderer

    def run(
        self, part: RunPart, key: str, earlier: Unit | None, progress: Callable[[int], None]
    ) -> Unit:
        """Make one run; ``progress`` is called with the number of dialogues made."""
        pending = [
            (execution, self.workers.submit(execution, f"{part.name}-{number}"))
            for number, execution in enumerate(self._executions(part))
        ]
        statistics = Statistics()
        unused: list[str] = []
        dump = self._write_dump(part.name, self._subjects(part, unused), earlier, statistics)
        results: list[tuple[str, ExecutionResult]] = []
        for execution, result in pending:
            execution_result = result()
            progress(execution_result.dialogues)
            self.folder.changed += execution_result.changed
            self.folder.keep(execution_result.files)
            results.append((execution, execution_result))
        counts = {
            self.outgoing.node(execution).value: (done.complete, done.dialogues, done.invalid)
            for execution, done in results
        }
        files = {path: sha256 for _, done in results for path, sha256 in done.files.items()}
        pages = text_indexes.write(
            self.folder, self.renderer, part.run, [done.texts for _, done in results], unused
        )
        files |= {path: self.folder.written[path] for path in pages}
        facts = {
            **statistics.facts(),
            "dialogues": sum(done.dialogues for _, done in results),
            "executions": counts,
        }
        return Unit(key, {**files, dump.path: dump.sha256}, (dump,), facts)

    def other(
        self,
        name: str,
        subjects: Iterable[list[ox.Quad]],
        key: str,
        earlier: Unit | None,
    ) -> Unit:
        """Make the dump of a part without dialogues, given by subject."""
        statistics = Statistics()
        dump = self._write_dump(name, subjects, earlier, statistics)
        return Unit(key, {dump.path: dump.sha256}, (dump,), statistics.facts())

    def _write_dump(
        self,
        name: str,
        subjects: Iterable[list[ox.Quad]],
        earlier: Unit | None,
        statistics: Statistics,
    ) -> Dump:
        dumping = PartDump(self.folder, name, self.packing)
        for quads in subjects:
            statistics.add(quads)
            dumping.add(quads)
        before = () if earlier is None else earlier.dumps
        return dumping.finish(next((dump for dump in before if ".nq." in dump.path), None))

    def _subjects(self, part: RunPart, unused: list[str]) -> Iterator[list[ox.Quad]]:
        """Yield all quads of a run by subject; add the IRIs of unused texts to ``unused``."""
        for graph in part.graphs:
            for quads in self.outgoing.graph(graph):
                if self._is_unused_text(quads):
                    unused.append(str(quads[0].subject).strip("<>"))
                yield quads

    def _is_unused_text(self, quads: list[ox.Quad]) -> bool:
        """Return whether a subject is a text that belongs to no dialogue."""
        if all(quad.predicate != _TYPE or quad.object != _TEXT for quad in quads):
            return False
        node = ox.NamedNode(self.original(str(quads[0].subject).strip("<>")))
        used = (
            self.database.quads_for_pattern(None, ox.NamedNode(name), node)
            for name in schema.texts()
        )
        return all(next(matches, None) is None for matches in used)

    def _executions(self, part: RunPart) -> list[str]:
        kind = ox.NamedNode(KGB.TaskExecution)
        subjects: list[Any] = [
            quad.subject
            for quad in self.database.quads_for_pattern(
                None, ox.NamedNode(RDF.type), kind, ox.NamedNode(part.graph)
            )
        ]
        nodes = (node.value for node in subjects if isinstance(node, ox.NamedNode))
        return sorted(nodes, key=lambda iri: self.outgoing.node(iri).value)


def make_run(maker: ExecutionBuilder, part: RunPart, key: str, earlier: Unit | None) -> BuiltRun:
    """Make a run that fits into memory, in this process."""
    run_maker = maker.holding(part)
    folder = run_maker.folder()
    try:
        making = RunBuilder(
            folder,
            run_maker.database,
            run_maker.dump_outgoing,
            maker.setup.packing,
            run_maker,
            maker.setup.addresses.original,
            maker.renderer,
        )
        unit = making.run(part, key, earlier, lambda _: None)
    finally:
        folder.close()
    return BuiltRun(unit, folder.changed)
