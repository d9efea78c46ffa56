# SPDX-License-Identifier: Apache-2.0
"""Output of a run: pages and data of its dialogues, and its dumps.

A run that fits into memory is made by one worker process. For a large run, worker processes make
the executions while this process writes the dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyoxigraph as ox

from kgbench.publish import evaluation_lists, framing, text_indexes
from kgbench.publish.dialogues import TEXTS
from kgbench.publish.dumps import DumpWriter, Packing, PartDumps
from kgbench.publish.execution_pages import ExecutionBuilder, ExecutionResult
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump, Unit
from kgbench.publish.page_renderer import PageRenderer
from kgbench.publish.published_graph import RUN_LEVEL, run_level
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.result_documents import ResultWorkers
from kgbench.publish.selection import RunPart
from kgbench.publish.void import Statistics
from kgbench.rdf.quads import Quads
from kgbench.vocab import KGB, PROV, RDF

_CHUNK = 1 << 20
_TYPE, _USED = ox.NamedNode(RDF.type), ox.NamedNode(PROV.used)
IN_DIALOGUES = frozenset(
    (
        KGB.Dialogue,
        KGB.ModelCall,
        KGB.Prompt,
        KGB.Answer,
        KGB.Text,
        KGB.Evaluation,
        KGB.ToolCall,
        KGB.ToolResult,
        KGB.Verdict,
        KGB.CalibrationVerdict,
        KGB.JudgedItem,
    )
)


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
        before = {} if earlier is None else {dump.path: dump for dump in earlier.dumps}
        statistics = Statistics()
        other_trees: list[str] = []
        unused: list[str] = []
        dumps = self._write_dumps(
            part.name, self._subjects(part, other_trees, unused), before, statistics
        )
        results: list[tuple[str, ExecutionResult]] = []
        for execution, result in pending:
            execution_result = result()
            progress(execution_result.dialogues)
            self.folder.changed += execution_result.changed
            self.folder.keep(execution_result.files)
            results.append((execution, execution_result))
        dumps.append(
            self._write_trees(part, [done.trees for _, done in results], other_trees, before)
        )
        counts = {
            self.outgoing.node(execution).value: (done.complete, done.dialogues, done.invalid)
            for execution, done in results
        }
        files = {path: sha256 for _, done in results for path, sha256 in done.files.items()}
        pages = text_indexes.write(
            self.folder, self.renderer, part.run, [done.texts for _, done in results], unused
        )
        files |= {path: self.folder.written[path] for path in pages}
        evaluation_lists.keep(self.folder, part.name, [done.evaluations for _, done in results])
        facts = {
            **statistics.facts(),
            "dialogues": sum(done.dialogues for _, done in results),
            "executions": counts,
        }
        return Unit(key, files | _sums(dumps), tuple(dumps), facts)

    def other(
        self,
        name: str,
        subjects: Iterable[list[ox.Quad]],
        key: str,
        earlier: Unit | None,
    ) -> Unit:
        """Make the dumps of a part without dialogues, given by subject."""
        before = {} if earlier is None else {dump.path: dump for dump in earlier.dumps}
        statistics = Statistics()
        writer = DumpWriter(self.folder, f"data/{name}.jsonld", self.packing)
        writer.write(framing.opening(self.packing.comment).encode())

        def with_trees() -> Iterator[list[ox.Quad]]:
            for quads in subjects:
                for tree in framing.node_trees(quads):
                    writer.write(f",\n{tree}".encode())
                yield quads

        dumps = self._write_dumps(name, with_trees(), before, statistics)
        writer.write(b"\n]}\n")
        dumps.append(writer.finish(_dump_in_format(before, "jsonld")))
        return Unit(key, _sums(dumps), tuple(dumps), statistics.facts())

    def _write_dumps(
        self,
        name: str,
        subjects: Iterable[list[ox.Quad]],
        before: dict[str, Dump],
        statistics: Statistics,
    ) -> list[Dump]:
        dumping = PartDumps(self.folder, name, self.packing)
        for quads in subjects:
            statistics.add(quads)
            dumping.add(quads)
        return dumping.finish(before)

    def _subjects(
        self, part: RunPart, other_trees: list[str], unused: list[str]
    ) -> Iterator[list[ox.Quad]]:
        """Yield all quads of a run by subject.

        Trees of subjects outside of dialogues are added to ``other_trees``, IRIs of texts among
        them to ``unused``.
        """
        for graph in part.graphs:
            for quads in self.outgoing.graph(graph):
                if self._is_alone(quads):
                    other_trees += framing.node_trees(quads)
                    if any(str(q.object) == f"<{KGB.Text}>" for q in quads):
                        unused.append(str(quads[0].subject).strip("<>"))
                yield quads

    def _is_alone(self, quads: list[ox.Quad]) -> bool:
        """Return whether a subject belongs neither to the run level nor to a dialogue."""
        kinds = {str(getattr(q.object, "value", "")) for q in quads if q.predicate == _TYPE}
        if not kinds.isdisjoint(RUN_LEVEL):
            return False
        if KGB.Text in kinds:
            node = ox.NamedNode(self.original(str(quads[0].subject).strip("<>")))
            used = (
                self.database.quads_for_pattern(None, predicate, node)
                for predicate in (*TEXTS, _USED)
            )
            return all(next(matches, None) is None for matches in used)
        return kinds.isdisjoint(IN_DIALOGUES)

    def _write_trees(
        self, part: RunPart, files: list[str], other_trees: list[str], before: dict[str, Dump]
    ) -> Dump:
        """Write one list of trees: the run, its dialogues, then all other subjects."""
        writer = DumpWriter(self.folder, f"data/{part.name}.jsonld", self.packing)
        writer.write(framing.opening(self.packing.comment).encode())
        for graph in part.graphs:
            for tree in framing.node_trees(run_level(self.database, self.outgoing, graph)):
                writer.write(f",\n{tree}".encode())
        for name in files:
            path = self.folder.work(name)
            with path.open("rb") as trees:
                while chunk := trees.read(_CHUNK):
                    writer.write(chunk)
            path.unlink()
        for tree in other_trees:
            writer.write(f",\n{tree}".encode())
        writer.write(b"\n]}\n")
        return writer.finish(_dump_in_format(before, "jsonld"))

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


def _dump_in_format(before: dict[str, Dump], form: str) -> Dump | None:
    return next((dump for path, dump in before.items() if f".{form}." in path), None)


def _sums(dumps: Iterable[Dump]) -> dict[str, str]:
    return {dump.path: dump.sha256 for dump in dumps}
