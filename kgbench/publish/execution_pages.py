# SPDX-License-Identifier: Apache-2.0
"""The document of one task execution: page and data of all dialogues of a model and task.

The dialogues share a document, because a separate file and page frame would be larger than most
dialogues. A page has at most 50 dialogues; if there are more, the page of the execution lists them
and further pages show them. Each worker process opens the snapshot itself and holds the dialogues
of one page at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyoxigraph as ox

from kgbench.analysis.dialogues import VerdictView
from kgbench.pages import neighbours, things
from kgbench.pages.measures import measures
from kgbench.pages.rendering import anchor
from kgbench.pages.snapshot import View
from kgbench.pages.times import moment
from kgbench.publish import dumps, text_indexes
from kgbench.publish.dialogues import DialoguePresenter, DialogueQuads, dialogue_quads, value
from kgbench.publish.execution_document import ExecutionDocument
from kgbench.publish.folder import Folder
from kgbench.publish.page_renderer import PAGE, PageRenderer
from kgbench.publish.published_graph import run_level
from kgbench.publish.quad_redaction import QuadRedactor
from kgbench.publish.run_cache import CachedQuadRedactor, RunCache
from kgbench.publish.selection import RunPart
from kgbench.publish.worker_setup import OpenResources, WorkerSetup, load_site_graph
from kgbench.rdf.quads import Quads
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, SKOS

_MOST_KEPT = 1_000  # tasks whose metrics are cached


class ExecutionResult(NamedTuple):
    """The outcome of making one execution: its files, counts of dialogues, and work files.

    ``texts`` is the work file that lists the texts in its dialogues. ``invalid`` dialogues are not
    counted in scores.
    """

    files: dict[str, str]
    changed: int
    dialogues: int
    complete: int
    invalid: int
    texts: str


class ExecutionBuilder:
    """Makes the pages and data of executions.

    ``opened`` has the resources that this process has open; without it the maker opens them.
    """

    def __init__(
        self, setup: WorkerSetup, journal: str, opened: OpenResources | None = None
    ) -> None:
        self.setup = setup
        self._journal = journal
        self.view = opened.view if opened else View(Path(setup.snapshot), None, setup.view_base)
        self._site_graph = load_site_graph(setup)
        self.database: Quads = self.view.database
        self.outgoing = QuadRedactor(self.database, setup.addresses, setup.rules)
        self.dump_outgoing = QuadRedactor(self.database, setup.addresses, setup.dump_rules)
        self._recorded = opened.recorded if opened else self.dump_outgoing.recorded
        self.renderer = PageRenderer(
            self._site_graph,
            setup.addresses,
            setup.documents,
            self.view.database,
            setup.canaries,
        )
        notation = ox.NamedNode(SKOS.notation)
        self._metrics = {
            iri: next((q.object.value for q in self._quads(iri, notation)), iri)
            for iri in things.instances(self._site_graph, KGB.Metric, 1_000_000)
        }
        self._known = lru_cache(maxsize=_MOST_KEPT)(partial(measures, self._site_graph))
        self._run: tuple[str, list[ox.NamedNode]] = ("", [])
        # The run in the site graph, with a presenter of its dialogues; shared by all copies.
        self._described: dict[RunPart, DialoguePresenter] = {}

    def holding(self, part: RunPart) -> Self:
        """Return a maker for a run, which is cached until the next call.

        Links from its pages may lead to other runs, which are looked up on disk.
        """
        held = self._holder.hold(part.graphs)
        maker = copy.copy(self)
        maker.database = held.quads
        maker.outgoing = CachedQuadRedactor(held, self.setup.addresses, self.setup.rules)
        maker.dump_outgoing = (
            maker.outgoing
            if self.setup.dump_rules == self.setup.rules
            else CachedQuadRedactor(held, self.setup.addresses, self.setup.dump_rules)
        )
        maker.describe(part)
        return maker

    def describe(self, part: RunPart) -> DialoguePresenter:
        """Add a run and its executions and passes to the site graph, in place of the last run.

        A process needs one run at a time, so its memory does not grow with the number of runs.
        Returns a presenter of the dialogues of this run.
        """
        if part not in self._described:
            database = self._site_graph.database
            for graph in (graph for last in self._described for graph in last.graphs):
                database.clear_graph(self.outgoing.node(graph))
            self._described.clear()
            for graph in part.graphs:
                database.extend(run_level(self.database, self.outgoing, graph))
            self._described[part] = DialoguePresenter(self._metrics, self._passes(), self._known)
        return self._described[part]

    def _part_of(self, execution: ox.NamedNode) -> RunPart:
        kind = ox.NamedNode(KGB.TaskExecution)
        graphs = {
            _graph(quad)
            for quad in self.database.quads_for_pattern(execution, ox.NamedNode(RDF.type), kind)
        }
        return next(part for part in self.setup.parts.runs if part.graph in graphs)

    @cached_property
    def _holder(self) -> RunCache:
        return RunCache(self._recorded, self.setup.shared)

    def folder(self) -> Folder:
        """Open the folder of the publication, with a journal for this process."""
        return Folder(self.setup.out, self._journal)

    def submit(self, execution: str, name: str) -> Callable[[], ExecutionResult]:
        """Return a function that makes an execution with work files of this name."""
        return lambda: self.make(execution, name)

    def make(self, execution: str, name: str) -> ExecutionResult:
        """Make everything about the execution with this IRI in the store."""
        folder = self.folder()
        try:
            return self._make(folder, ox.NamedNode(execution), name)
        finally:
            folder.close()

    def _make(self, folder: Folder, execution: ox.NamedNode, name: str) -> ExecutionResult:
        presenter = self.describe(self._part_of(execution))
        iri = self.outgoing.node(execution.value).value
        properties = {
            name: things.text(self._site_graph, iri, predicate) or ""
            for name, predicate in (
                ("model", KGB.model),
                ("task", KGB.task),
                ("run", DCTERMS.isPartOf),
            )
        }
        nodes = self._dialogues(execution)
        pages = [nodes[start : start + PAGE] for start in range(0, len(nodes), PAGE)] or [[]]
        document = ExecutionDocument(
            self.setup.addresses.document_path(iri), iri, properties, len(pages)
        )
        texts, data = (folder.work(f"{name}-{suffix}") for suffix in ("texts.tsv", "data.ttl"))
        rows: list[dict[str, Any]] = []
        complete = invalid = 0
        with (
            texts.open("w", encoding="utf-8") as text_lines,
            data.open("wb") as turtle,
        ):
            description = sorted(things.describe(self._site_graph, iri).quads, key=str)
            for page, nodes_of_page in enumerate(pages, 1):
                dialogues: list[tuple[DialogueQuads, dict[str, Any]]] = []
                shown_prompts: dict[str, str] = {}
                for node in nodes_of_page:
                    dialogue = dialogue_quads(self.outgoing, self.database, node, self.setup.graphs)
                    verdicts = list(presenter.verdicts(dialogue))
                    talk = presenter.conversation(dialogue, verdicts, shown_prompts)
                    reasons = self._reasons(dialogue.iri)
                    dialogues.append((dialogue, {**talk, "reasons": reasons}))
                    text_lines.writelines(text_indexes.text_lines(dialogue, document.page(page)))
                    link = document.link(page)
                    rows.append(self._row(dialogue, verdicts, link, properties["task"]))
                    invalid += bool(reasons)
                    complete += PROV.endedAtTime in dialogue.properties[dialogue.iri]
                turtle.write(
                    dumps.turtle(
                        [
                            *description,
                            *(quad for dialogue, _ in dialogues for quad in dialogue.quads),
                        ],
                        iri,
                    )
                )
                description = []
                self._write_page(folder, document, page, dialogues, rows)
        if document.is_long:
            self._write_list(folder, document, rows)
        folder.adopt(f"{document.path}.ttl", data)
        return ExecutionResult(
            files=dict(folder.written),
            changed=folder.changed,
            dialogues=len(nodes),
            complete=complete,
            invalid=invalid,
            texts=texts.name,
        )

    def _dialogues(self, execution: ox.NamedNode) -> list[ox.NamedNode]:
        dialogues = neighbours.parts_of(self.database, execution)
        return sorted(dialogues, key=lambda node: neighbours.natural(self._published(node.value)))

    def _executions(self, run: str) -> list[ox.NamedNode]:
        """Return the executions of a run (published IRI), in the order of their pages."""
        if self._run[0] != run:
            stored = ox.NamedNode(self.setup.addresses.original(run))
            executions = neighbours.of_run(self.database, stored)
            self._run = (
                run,
                sorted(executions, key=lambda execution: self._published(execution.value)),
            )
        return self._run[1]

    def _write_page(
        self,
        folder: Folder,
        document: ExecutionDocument,
        number: int,
        dialogues: list[tuple[DialogueQuads, dict[str, Any]]],
        rows: list[dict[str, Any]],
    ) -> None:
        evaluations = (iri for dialogue, _ in dialogues for iri in dialogue.evaluations)
        context = {
            "talks": [talk for _, talk in dialogues],
            "rows": [
                {**row, "page": ""} if document.is_long else row for row in rows[-len(dialogues) :]
            ],
            "whole": "../" if document.is_long else None,
        }
        anchors = {iri: anchor(iri) for iri in evaluations}
        self._render(folder, document, f"{document.page(number)}/index.html", context, anchors)

    def _write_list(
        self, folder: Folder, document: ExecutionDocument, rows: list[dict[str, Any]]
    ) -> None:
        """Write the page of an execution whose dialogues are on further pages."""
        context = {"talks": [], "rows": rows, "whole": None}
        self._render(folder, document, f"{document.path}/index.html", context, {})

    def _render(
        self,
        folder: Folder,
        document: ExecutionDocument,
        path: str,
        context: dict[str, Any],
        anchors: dict[str, str],
    ) -> None:
        task, model = (self.renderer.label(document.properties[name]) for name in ("task", "model"))
        run = document.properties["run"]
        common = {
            "iri": document.iri,
            "title": f"{task} by {model}",
            "kinds": sorted(things.kinds(self._site_graph, document.iri)),
            "facts": {name: iri for name, iri in document.properties.items() if iri},
            "main": self._main_metric(document.properties["task"]),
            "beside": self._beside(document, path, run),
            "others": self._others(document),
        }
        page = self.renderer.page(
            "dialogues.html",
            path,
            {**common, **context},
            parts=anchors,
            documents={"ttl": "text/turtle"},
        )
        folder.write(path, page)

    def _beside(self, document: ExecutionDocument, path: str, run: str) -> neighbours.Adjacent:
        """Return links to the previous and the next execution of the run."""
        executions = [self._published(iri.value) for iri in self._executions(run)]
        if document.iri not in executions:
            return neighbours.Adjacent(None, None)
        position = executions.index(document.iri)
        near = (
            executions[position - 1] if position else None,
            *executions[position + 1 : position + 2],
            None,
        )
        before, after = near[:2]
        return neighbours.Adjacent(
            *(None if iri is None else self.renderer.link(iri, path) for iri in (before, after))
        )

    def _others(self, document: ExecutionDocument) -> list[tuple[str, str]]:
        """Return the other executions of a task in its run, with their models.

        Other runs are left out, so that pages of a run do not depend on them.
        """
        others = []
        for node in self._executions(document.properties["run"]):
            iri = self._published(node.value)
            if iri != document.iri and self._text(iri, KGB.task) == document.properties["task"]:
                others.append((self._text(iri, KGB.model), iri))
        return sorted(others)

    def _text(self, iri: str, predicate: str) -> str:
        return things.text(self._site_graph, iri, predicate) or ""

    def _reasons(self, dialogue: str) -> list[tuple[str, str]]:
        """Return the invalidations of a dialogue, with their reasons."""
        return [
            (
                invalidation,
                things.text(self._site_graph, invalidation, KGB.reason) or "no reason was recorded",
            )
            for invalidation in things.subjects(self._site_graph, KGB.invalidates, dialogue)
        ]

    def _published(self, iri: str) -> str:
        return self.outgoing.node(iri).value

    def _row(
        self, dialogue: DialogueQuads, verdicts: list[VerdictView], page: str, task: str
    ) -> dict[str, Any]:
        properties = dialogue.properties[dialogue.iri]
        main = self._main_metric(task)
        scores = [dict(verdict.scores) for verdict in verdicts]
        return {
            "page": page,
            "place": anchor(dialogue.iri),
            "iteration": value(properties, KGB.iteration) or "?",
            "case": value(properties, KGB.case) or "",
            "answers": len(dialogue.answers),
            "outcome": verdicts[-1].outcome if verdicts else "not judged",
            "score": next((by_metric[main] for by_metric in scores if main in by_metric), None)
            if main
            else None,
        }

    def _main_metric(self, task: str) -> str | None:
        classes = things.values(self._site_graph, task, KGB.taskClass) if task else []
        for task_class in classes:
            for metric in things.values(self._site_graph, task_class.value, KGB.mainMetric):
                return things.text(self._site_graph, metric.value, SKOS.notation)
        return None

    def _passes(self) -> dict[str, str]:
        """Return the names of passes by IRI: kind and start time, the earliest first."""
        passes = []
        for iri in things.instances(self._site_graph, KGB.EvaluationPass, 1_000_000):
            kind = things.text(self._site_graph, iri, KGB.passKind) or "pass"
            started = things.text(self._site_graph, iri, PROV.startedAtTime) or ""
            passes.append((started, iri, f"{kind}, {moment(started)}"))
        return {iri: name for _, iri, name in sorted(passes)}

    def _quads(self, iri: str, predicate: ox.NamedNode) -> Iterator[Any]:
        return self._site_graph.database.quads_for_pattern(ox.NamedNode(iri), predicate, None)


def _graph(quad: ox.Quad) -> str:
    return str(quad.graph_name).strip("<>")
