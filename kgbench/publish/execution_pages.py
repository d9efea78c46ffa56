# SPDX-License-Identifier: Apache-2.0
"""The documents of a run's task executions: pages and data of all dialogues of a model and task.

The dialogues share a document, because a separate file and page frame would be larger than most
dialogues. A page has at most 50 dialogues; if there are more, the page of the execution lists them
and further pages show them. Texts, which equal prompts and answers of a run share, are listed on
sixteen pages, by the last digit of their digests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.pages import neighbours, things
from kgbench.pages.conversation import talk
from kgbench.pages.rendering import anchor, plain, serialised
from kgbench.pages.things import View
from kgbench.pages.verdicts import measures
from kgbench.publish.folder import Folder
from kgbench.publish.pages import PAGE, Renderer
from kgbench.publish.selection import RunPart
from kgbench.rdf.quads import ByIndex, IndexedQuads, Quads
from kgbench.record import schema
from kgbench.record.dialogues import StoredDialogues
from kgbench.vocab import DCTERMS, KGB, RDF

MOST_DIALOGUES = 2_000
"""The limit for a run that is held in memory; the statements of a dialogue take some 40 kB."""

_LONGEST_INFO = 300  # characters; the published data have all of it
_LONG = 200  # characters; longer prompts are shown once per page
_TURTLE = (("ttl", "text/turtle"),)
_TYPE, _TEXT = ox.NamedNode(RDF.type), ox.NamedNode(KGB.Text)
_DECLARED = tuple(ox.NamedNode(kind) for kind in (KGB.Metric, KGB.ToolServer))
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
        self._declared = _declared(view.database)
        self._quads: Quads = view.database
        self._part = RunPart("", "", "", ())
        self._executions: list[ox.NamedNode] = []

    def write(self, folder: Folder, part: RunPart, dialogues: int) -> None:
        """Write all documents of a run with this many dialogues."""
        self._part = part
        self._quads = self._view.database
        if dialogues <= MOST_DIALOGUES:  # a look-up in memory takes a hundredth of the time
            graphs = map(ox.NamedNode, part.graphs)
            of_run = (q for g in graphs for q in self._quads.quads_for_pattern(None, None, None, g))
            self._quads = IndexedQuads(of_run, self._declared)
        self._executions = sorted(
            neighbours.of_run(self._quads, ox.NamedNode(part.run)), key=lambda node: node.value
        )
        pages: dict[str, str] = {}
        for node in self._executions:
            pages |= self._write(folder, node)
        self._write_texts(folder, pages)

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
                found = StoredDialogues(ByIndex(self._quads), [one.value for one in shown])
                # The pages of a run must not change with other runs.
                found.find_evaluations(self._part.graphs)
                quads = [quad for one in shown for quad in found.quads(one.value)]
                out.write(serialised(quads, "ttl"))
                rows += self._write_page(folder, execution, number, found)
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
        self, folder: Folder, execution: Execution, number: int, found: StoredDialogues
    ) -> list[dict[str, Any]]:
        """Write a page with dialogues; return their rows in the list of all."""
        shorten = partial(plain, max_characters=_LONGEST_INFO)
        talks = [
            {
                "place": anchor(iri),
                "case": found.value(iri, KGB.case),
                **talk(self._view, found, iri, shorten),
            }
            for iri in found.parts
        ]
        _refer_to_long_prompts(talks)
        rows = [_row(one, f"page-{number}/" if execution.pages > 1 else "") for one in talks]
        context = {
            "talks": talks,
            "rows": [{**row, "page": ""} for row in rows],
            "whole": "../" if execution.pages > 1 else None,
        }
        anchors = {iri: anchor(iri) for iris in found.evaluations.values() for iri in iris}
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
            "main": measures(self._view, execution.facts["task"]).main,
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


def _declared(database: ox.Store) -> IndexedQuads:
    """Return the statements about metrics and tool servers, which are beside runs."""
    pattern = database.quads_for_pattern
    nodes = [quad.subject for kind in _DECLARED for quad in pattern(None, _TYPE, kind)]
    return IndexedQuads(quad for node in nodes for quad in pattern(node, None, None))


def _refer_to_long_prompts(talks: Sequence[dict[str, Any]]) -> None:
    """Replace long prompts that are on the same page already by links."""
    places: dict[str, str] = {}
    for one in talks:
        for round_ in one["rounds"]:
            turn = round_["turn"]
            if len(turn.prompt) > _LONG:
                round_["same"] = places.get(turn.prompt)
                places.setdefault(turn.prompt, f"{one['place']}-{turn.round}-prompt")


def _row(one: Mapping[str, Any], page: str) -> dict[str, Any]:
    verdict = None if one["result"] is None else one["result"].verdict
    scores = {} if verdict is None or one["main"] is None else dict(verdict.scores)
    return {
        "page": page,
        "place": one["place"],
        "iteration": one["iteration"] or "?",
        "case": one["case"] or "",
        "answers": sum(round_["turn"].answer is not None for round_ in one["rounds"]),
        "outcome": "not judged" if verdict is None else verdict.outcome,
        "score": scores.get(one["main"].name) if scores else None,
    }


def _dialogue(part: str) -> str:
    """Return the dialogue (IRI) of a prompt, an answer or a tool call."""
    document, _, fragment = part.partition("#")
    return f"{document}#{'-'.join(fragment.split('-')[:2])}"
