# SPDX-License-Identifier: Apache-2.0
"""Making what belongs to one run: pages and data of its dialogues, and its dumps.

A run that can be held in memory is made whole by one process, side by side with others. Of a large
one the dialogues are made by a few processes, execution by execution, while this one writes the
dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pyoxigraph as ox

from kgbench.publish import framing, text_indexes
from kgbench.publish.dialogues import TEXTS
from kgbench.publish.dumps import Dumping, Packing, Writer
from kgbench.publish.executions import Done, Maker
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump, Unit
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.parts import RunPart
from kgbench.publish.presenting import Presenting
from kgbench.publish.result_documents import ResultWorkers
from kgbench.publish.shown import RUN_LEVEL, run_level
from kgbench.publish.void import Statistics
from kgbench.vocab import KGB, PROV, RDF

_CHUNK = 1 << 20
_TYPE, _USED = ox.NamedNode(RDF.type), ox.NamedNode(PROV.used)
IN_DIALOGUES = frozenset(
    (
        *(KGB.Dialogue, KGB.ModelCall, KGB.Prompt, KGB.Answer, KGB.Text, KGB.Evaluation),
        *(KGB.ToolCall, KGB.ToolResult, KGB.Verdict, KGB.CalibrationVerdict, KGB.JudgedItem),
    )
)


class MadeRun(NamedTuple):
    """A run that was made: its unit, and how many files were changed."""

    unit: Unit
    changed: int


class Executions(Protocol):
    """Where executions are made."""

    def submit(self, execution: str, name: str) -> Callable[[], Done]:
        """Begin with one, whose work files have this name; the answer waits for it."""
        ...


class Workers(Executions, ResultWorkers, Protocol):
    """Where runs, executions and results are made."""

    def submit_run(self, part: RunPart, key: str, earlier: Unit | None) -> Callable[[], MadeRun]:
        """Begin with a run; the answer waits for it."""
        ...


@dataclass(frozen=True, slots=True)
class Making:
    """Makes runs: ``outgoing`` are the quads of dumps, ``original`` gives IRIs of the store."""

    folder: Folder
    database: ox.Store
    outgoing: Outgoing
    packing: Packing
    workers: Executions
    original: Callable[[str], str]
    renderer: Presenting

    def run(
        self, part: RunPart, key: str, earlier: Unit | None, told: Callable[[int], None]
    ) -> Unit:
        """One run; ``told`` hears of the dialogues that were made."""
        waiting = [
            (execution, self.workers.submit(execution, f"{part.name}-{number}"))
            for number, execution in enumerate(self._executions(part))
        ]
        before = {} if earlier is None else {dump.path: dump for dump in earlier.dumps}
        statistics = Statistics()
        left: list[str] = []
        unused: list[str] = []
        dumps = self._dump(part.name, self._subjects(part, left, unused), before, statistics)
        done: list[tuple[str, Done]] = []
        for execution, result in waiting:
            made = result()
            told(made.dialogues)
            self.folder.changed += made.changed
            self.folder.keep(made.files)
            done.append((execution, made))
        dumps.append(self._trees(part, [one.trees for _, one in done], left, before))
        counts = {
            self.outgoing.node(execution).value: (one.complete, one.dialogues, one.invalid)
            for execution, one in done
        }
        files = {path: sha256 for _, one in done for path, sha256 in one.files.items()}
        pages = text_indexes.write(
            self.folder, self.renderer, part.run, [one.texts for _, one in done], unused
        )
        files |= {path: self.folder.written[path] for path in pages}
        facts = {
            **statistics.facts(),
            "dialogues": sum(one.dialogues for _, one in done),
            "executions": counts,
        }
        return Unit(key, files | _sums(dumps), tuple(dumps), facts)

    def other(
        self,
        name: str,
        subjects: Callable[[], Iterable[list[ox.Quad]]],
        key: str,
        earlier: Unit | None,
    ) -> Unit:
        """A part without dialogues, subject by subject: its dumps."""
        before = {} if earlier is None else {dump.path: dump for dump in earlier.dumps}
        statistics = Statistics()
        dumps = self._dump(name, subjects(), before, statistics)
        writer = Writer(self.folder, f"data/{name}.jsonld", self.packing)
        writer.write(framing.opening(self.packing.comment).encode())
        for quads in subjects():
            for tree in framing.node_trees(quads):
                writer.write(f",\n{tree}".encode())
        writer.write(b"\n]}\n")
        dumps.append(writer.finish(_of(before, "jsonld")))
        return Unit(key, _sums(dumps), tuple(dumps), statistics.facts())

    def _dump(
        self,
        name: str,
        subjects: Iterable[list[ox.Quad]],
        before: dict[str, Dump],
        statistics: Statistics,
    ) -> list[Dump]:
        dumping = Dumping(self.folder, name, self.packing)
        for quads in subjects:
            statistics.add(quads)
            dumping.add(quads)
        return dumping.finish(before)

    def _subjects(
        self, part: RunPart, left: list[str], unused: list[str]
    ) -> Iterator[list[ox.Quad]]:
        """All of a run, subject by subject.

        Trees of what no dialogue has go to ``left``, the IRIs of texts among it to ``unused``.
        """
        for graph in part.graphs:
            for quads in self.outgoing.graph(graph):
                if self._is_alone(quads):
                    left += framing.node_trees(quads)
                    if any(str(q.object) == f"<{KGB.Text}>" for q in quads):
                        unused.append(str(quads[0].subject).strip("<>"))
                yield quads

    def _is_alone(self, quads: list[ox.Quad]) -> bool:
        """Whether something stands neither at the level of the run, nor in a dialogue."""
        kinds = {str(getattr(q.object, "value", "")) for q in quads if q.predicate == _TYPE}
        if not kinds.isdisjoint(RUN_LEVEL):
            return False
        if KGB.Text in kinds:
            node = ox.NamedNode(self.original(str(quads[0].subject).strip("<>")))
            used = (self.database.quads_for_pattern(None, one, node) for one in (*TEXTS, _USED))
            return all(next(one, None) is None for one in used)
        return kinds.isdisjoint(IN_DIALOGUES)

    def _trees(
        self, part: RunPart, files: list[str], left: list[str], before: dict[str, Dump]
    ) -> Dump:
        """The run, then its dialogues, then what else there is, as one list of trees."""
        writer = Writer(self.folder, f"data/{part.name}.jsonld", self.packing)
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
        for tree in left:
            writer.write(f",\n{tree}".encode())
        writer.write(b"\n]}\n")
        return writer.finish(_of(before, "jsonld"))

    def _executions(self, part: RunPart) -> list[str]:
        kind = ox.NamedNode(KGB.TaskExecution)
        found: list[Any] = [
            quad.subject
            for quad in self.database.quads_for_pattern(
                None, ox.NamedNode(RDF.type), kind, ox.NamedNode(part.graph)
            )
        ]
        named = (node.value for node in found if isinstance(node, ox.NamedNode))
        return sorted(named, key=lambda iri: self.outgoing.node(iri).value)


def make_run(maker: Maker, part: RunPart, key: str, earlier: Unit | None) -> MadeRun:
    """Make a run that can be held, in this process."""
    holding = maker.holding(part.graphs)
    folder = holding.folder()
    try:
        making = Making(
            folder,
            holding.database,
            holding.dump_outgoing,
            maker.setup.packing,
            holding,
            maker.setup.addresses.original,
            maker.renderer,
        )
        unit = making.run(part, key, earlier, lambda _: None)
    finally:
        folder.close()
    return MadeRun(unit, folder.changed)


def _of(before: dict[str, Dump], form: str) -> Dump | None:
    return next((one for path, one in before.items() if f".{form}." in path), None)


def _sums(dumps: Iterable[Dump]) -> dict[str, str]:
    return {dump.path: dump.sha256 for dump in dumps}


def code_digest() -> str:
    """The SHA-256 over the code and templates that make pages: other code, other pages."""
    import hashlib

    package = Path(__file__).resolve().parent.parent
    found = hashlib.sha256()
    for part in ("publish", "pages"):
        for path in sorted((package / part).rglob("*")):
            if path.suffix in (".py", ".html", ".css", ".js") and "checks" not in path.parts:
                found.update(path.name.encode() + path.read_bytes())
    return found.hexdigest()
