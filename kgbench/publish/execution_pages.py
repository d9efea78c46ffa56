# SPDX-License-Identifier: Apache-2.0
"""The documents of a run's task executions: pages and data of all dialogues of a model and task.

The dialogues share a document, because a separate file and page frame would be larger than most
dialogues. A page has at most 50 dialogues; if there are more, the page of the execution lists them
and further pages show them. Texts, which equal prompts and answers of a run share, are listed on
sixteen pages, by the last digit of their digests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.analysis.dialogues import VerdictView
from kgbench.pages import neighbours, things
from kgbench.pages.measures import Measures, measures
from kgbench.pages.rendering import anchor, serialised
from kgbench.pages.snapshot import View
from kgbench.pages.times import moment
from kgbench.publish.dialogues import DialoguePresenter, DialogueQuads, dialogue_quads, value
from kgbench.publish.folder import Folder
from kgbench.publish.pages import PAGE, Renderer
from kgbench.publish.selection import RunPart
from kgbench.rdf.quads import IndexedQuads, Quads
from kgbench.record import schema
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, SKOS

MOST_DIALOGUES = 2_000
"""The limit for a run that is held in memory; the statements of a dialogue take some 40 kB."""

_MOST_KEPT = 1_000  # tasks whose metrics are cached
_MOST_RUNS = 1_000_000
_TURTLE = (("ttl", "text/turtle"),)
_TYPE, _TEXT = ox.NamedNode(RDF.type), ox.NamedNode(KGB.Text)
_TEXTS = tuple(map(ox.NamedNode, schema.texts()))


class Entry(NamedTuple):
    """A text: a link to its first dialogue, and the number of its other occurrences."""

    name: str
    link: str | None
    more: int


class Execution(NamedTuple):
    """A task execution: its IRI, the path of its document, properties and number of pages."""

    iri: str
    path: str
    facts: Mapping[str, str]
    pages: int

    def page(self, number: int) -> str:
        """Return the path of a page with dialogues."""
        return f"{self.path}/page-{number}" if self.pages > 1 else self.path


class ExecutionPages:
    """Writes the documents of runs, one run at a time."""

    def __init__(self, view: View, renderer: Renderer) -> None:
        self._view = view
        self._renderer = renderer
        self._metrics = {
            iri: things.text(view, iri, SKOS.notation) or iri
            for iri in things.instances(view, KGB.Metric, _MOST_RUNS)
        }
        self._known: partial[Measures] | Any = lru_cache(maxsize=_MOST_KEPT)(
            partial(measures, view)
        )
        self._quads: Quads = view.database
        self._part = RunPart("", "", "", ())
        self._executions: list[ox.NamedNode] = []
        self._presenter = DialoguePresenter({}, {}, self._known)

    def write(self, folder: Folder, part: RunPart, dialogues: int) -> None:
        """Write all documents of a run with this many dialogues."""
        database = self._view.database
        self._part = part
        self._quads = database if dialogues > MOST_DIALOGUES else _in_memory(database, part)
        self._executions = sorted(
            neighbours.of_run(self._quads, ox.NamedNode(part.run)), key=lambda node: node.value
        )
        passes = dict(self._passes(part))
        self._presenter = DialoguePresenter(self._metrics, passes, self._known)
        pages: dict[str, str] = {}
        for node in self._executions:
            pages |= self._write(folder, node)
        self._write_texts(folder, pages)

    def _passes(self, part: RunPart) -> Iterator[tuple[str, str]]:
        """Yield the passes over a run (IRIs) with their names, the earliest first."""
        passes = []
        for iri, _ in part.passes:
            kind = things.text(self._view, iri, KGB.passKind) or "pass"
            started = things.text(self._view, iri, PROV.startedAtTime) or ""
            passes.append((started, iri, f"{kind}, {moment(started)}"))
        yield from ((iri, name) for _, iri, name in sorted(passes))

    def _write(self, folder: Folder, node: ox.NamedNode) -> dict[str, str]:
        """Write the documents of an execution; return the pages of long ones by dialogue."""
        iri = node.value
        facts = {
            name: self._text(iri, predicate)
            for name, predicate in (
                ("model", KGB.model),
                ("task", KGB.task),
                ("run", DCTERMS.isPartOf),
            )
        }
        nodes = neighbours.of_execution(self._quads, node)
        pages = [nodes[start : start + PAGE] for start in range(0, len(nodes), PAGE)] or [[]]
        execution = Execution(iri, self._renderer.where.place(iri).path, facts, len(pages))
        turtle = folder.work(f"{folder.journal}-data.ttl")
        rows: list[dict[str, Any]] = []
        with turtle.open("wb") as out:
            about = sorted(things.describe(self._view, iri).outgoing, key=str)
            out.write(serialised(about, "ttl"))
            for number, shown in enumerate(pages, 1):
                dialogues = [
                    dialogue_quads(self._quads, self._view.database, one, self._part.graphs)
                    for one in shown
                ]
                quads = [quad for dialogue in dialogues for quad in dialogue.quads]
                out.write(serialised(quads, "ttl"))
                rows += self._write_page(folder, execution, number, dialogues)
        if execution.pages > 1:
            context = {"talks": [], "rows": rows, "whole": None}
            self._render(folder, execution, execution.path, context, {})
        folder.adopt(f"{execution.path}.ttl", turtle)
        return {
            one.value: execution.page(number)
            for number, shown in enumerate(pages, 1)
            for one in shown
        }

    def _write_page(
        self,
        folder: Folder,
        execution: Execution,
        number: int,
        dialogues: Sequence[DialogueQuads],
    ) -> list[dict[str, Any]]:
        """Write a page with dialogues; return their rows in the list of all."""
        talks, rows, shown_prompts = [], [], dict[str, str]()
        link = f"page-{number}/" if execution.pages > 1 else ""
        for dialogue in dialogues:
            verdicts = list(self._presenter.verdicts(dialogue))
            talk = self._presenter.conversation(dialogue, verdicts, shown_prompts)
            talks.append({**talk, "reasons": self._reasons(dialogue.iri)})
            rows.append(self._row(dialogue, verdicts, link, execution.facts["task"]))
        context = {
            "talks": talks,
            "rows": [{**row, "page": ""} for row in rows],
            "whole": "../" if execution.pages > 1 else None,
        }
        evaluations = (iri for dialogue in dialogues for iri in dialogue.evaluations)
        anchors = {iri: anchor(iri) for iri in evaluations}
        self._render(folder, execution, execution.page(number), context, anchors)
        return rows

    def _render(
        self,
        folder: Folder,
        execution: Execution,
        place: str,
        context: dict[str, Any],
        anchors: dict[str, str],
    ) -> None:
        path, renderer = f"{place}/index.html", self._renderer
        task, model = (renderer.label(execution.facts[name]) for name in ("task", "model"))
        common = {
            "iri": execution.iri,
            "title": f"{task} by {model}",
            "kinds": sorted(things.kinds(self._view, execution.iri)),
            "facts": {name: iri for name, iri in execution.facts.items() if iri},
            "main": self._known(execution.facts["task"]).main,
            "beside": self._beside(execution, path),
            "others": self._others(execution),
        }
        page = renderer.page(
            "dialogues.html", path, {**common, **context}, parts=anchors, formats=_TURTLE
        )
        folder.write(path, page)

    def _beside(self, execution: Execution, path: str) -> neighbours.Adjacent:
        """Return links to the previous and the next execution of the run."""
        iris = [node.value for node in self._executions]
        position = iris.index(execution.iri)
        near = (iris[position - 1] if position else None, *iris[position + 1 : position + 2], None)
        return neighbours.Adjacent(
            *(None if iri is None else self._renderer.link(iri, path) for iri in near[:2])
        )

    def _others(self, execution: Execution) -> list[tuple[str, str]]:
        """Return the other executions of a task in its run, with their models.

        Other runs are left out, so that pages of a run do not depend on them.
        """
        return sorted(
            (self._text(node.value, KGB.model), node.value)
            for node in self._executions
            if node.value != execution.iri
            and self._text(node.value, KGB.task) == execution.facts["task"]
        )

    def _text(self, iri: str, predicate: str) -> str:
        return things.text(self._view, iri, predicate) or ""

    def _reasons(self, dialogue: str) -> list[tuple[str, str]]:
        """Return the invalidations of a dialogue, with their reasons."""
        return [
            (invalidation, self._text(invalidation, KGB.reason) or "no reason was recorded")
            for invalidation in things.subjects(self._view, KGB.invalidates, dialogue)
        ]

    def _row(
        self, dialogue: DialogueQuads, verdicts: list[VerdictView], page: str, task: str
    ) -> dict[str, Any]:
        properties = dialogue.properties[dialogue.iri]
        main = self._known(task).main
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

    # --- texts --------------------------------------------------------------------------------

    def _write_texts(self, folder: Folder, pages: Mapping[str, str]) -> None:
        """Write the lists of a run's texts, with links to the ``pages`` of dialogues."""
        pattern = self._quads.quads_for_pattern
        names = defaultdict[str, list[str]](list)
        for quad in pattern(None, _TYPE, _TEXT, ox.NamedNode(self._part.graph)):
            document, _, name = str(quad.subject).strip("<>").partition("#")
            names[document].append(name)
        for document, found in sorted(names.items()):
            place = self._renderer.where.place(document).path
            path = f"{place}/index.html"
            root = "../" * (place.count("/") + 1)
            entries = [
                self._entry(ox.NamedNode(f"{document}#{name}"), root, pages)
                for name in sorted(found)
            ]
            context = {"iri": document, "run": self._part.run, "entries": entries}
            folder.write(path, self._renderer.page("texts.html", path, context, formats=()))

    def _entry(self, text: ox.NamedNode, root: str, pages: Mapping[str, str]) -> Entry:
        """Return the entry of a text with the first of its uses, by the order of their IRIs."""
        users = sorted(
            str(quad.subject).strip("<>")
            for name in _TEXTS
            for quad in self._quads.quads_for_pattern(None, name, text)
        )
        name = text.value.partition("#")[2]
        for user in users:
            dialogue = _dialogue(user)
            if dialogue in pages:
                link = f"{root}{pages[dialogue]}/#{user.partition('#')[2]}"
                return Entry(name, link, len(users) - 1)
        return Entry(name, None, 0)


def _in_memory(database: ox.Store, part: RunPart) -> IndexedQuads:
    """Return the graphs of a run in memory, where a look-up takes a hundredth of the time."""
    graphs = map(ox.NamedNode, part.graphs)
    pattern = database.quads_for_pattern
    return IndexedQuads(quad for graph in graphs for quad in pattern(None, None, None, graph))


def _dialogue(part: str) -> str:
    """Return the dialogue (IRI) of a prompt, an answer or a tool call."""
    document, _, fragment = part.partition("#")
    return f"{document}#{'-'.join(fragment.split('-')[:2])}"
