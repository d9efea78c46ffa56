# SPDX-License-Identifier: Apache-2.0
"""All dialogues of one model and task: their page and data, in a process of its own.

They have one document, because a file takes a block of the disk and a page has its frame, which
together are more than a dialogue says. A page has at most 50 dialogues: where there are more, the
page of the execution lists them, and others show them. A process opens the snapshot itself, and
holds the dialogues of one page at a time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import pyoxigraph as ox

from kgbench.pages import neighbours, things
from kgbench.pages.measures import measures
from kgbench.pages.rendering import anchor
from kgbench.pages.snapshot import View
from kgbench.pages.words import moment
from kgbench.publish import dumps, framing, text_indexes
from kgbench.publish.dialogues import Gathered, Telling, gather, value
from kgbench.publish.folder import Folder
from kgbench.publish.held import HeldOutgoing, Holder
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.presenting import PAGE, Presenting
from kgbench.publish.setup import Opened, Setup, shown_by
from kgbench.vocab import DCTERMS, KGB, PROV, SKOS

_MOST_KEPT = 1_000  # tasks whose metrics are kept for the next page


class Done(NamedTuple):
    """What was made of one execution: its files, how many dialogues, and two work files.

    ``trees`` has the trees of its dialogues, ``texts`` says which texts stand in them.

    Of the dialogues some are ``complete``, and some ``invalid``: those are not counted.
    """

    files: dict[str, str]
    changed: int
    dialogues: int
    complete: int
    invalid: int
    trees: str
    texts: str


@dataclass(frozen=True, slots=True)
class _Document:
    """The document of an execution: its place and IRI, what the IRI is ``about``, its pages."""

    place: str
    iri: str
    about: dict[str, str]
    pages: int

    @property
    def is_long(self) -> bool:
        return self.pages > 1

    def page(self, number: int) -> str:
        """The place of a page with dialogues."""
        return f"{self.place}/{self._name(number)}" if self.is_long else self.place

    def link(self, number: int) -> str:
        """A link from the page of the document to one with dialogues."""
        return f"{self._name(number)}/" if self.is_long else ""

    @staticmethod
    def _name(number: int) -> str:
        return f"page-{number}"


class Maker:
    """Makes the pages and data of executions.

    ``opened`` is what this process has open; otherwise the maker opens it as ``setup`` says.
    """

    def __init__(self, setup: Setup, journal: str, opened: Opened | None = None) -> None:
        self.setup = setup
        self._journal = journal
        self.view = opened.view if opened else View(Path(setup.snapshot), None, setup.view_base)
        self._shown = shown_by(setup)
        self.database = self.view.database
        self.outgoing = Outgoing(self.database, setup.addresses, setup.rules)
        self.dumped = Outgoing(self.database, setup.addresses, setup.dumped)
        self._recorded = opened.recorded if opened else self.dumped.recorded
        self.presenting = Presenting(
            self._shown, setup.addresses, setup.documents, self.database, setup.canaries
        )
        notation = ox.NamedNode(SKOS.notation)
        metrics = {
            iri: next((q.object.value for q in self._quads(iri, notation)), iri)
            for iri in things.instances(self._shown, KGB.Metric, 1_000_000)
        }
        known = lru_cache(maxsize=_MOST_KEPT)(partial(measures, self._shown))
        self._run: tuple[str, list[ox.NamedNode]] = ("", [])
        self._telling = Telling(metrics, self._passes(), known)

    def holding(self, graphs: Iterable[str]) -> Self:
        """The same for a run with these graphs (IRIs), which is held until the next one is.

        Links from its pages may lead to other runs, and are looked up on disk.
        """
        held = self._holder.hold(graphs)
        found = copy.copy(self)
        found.database = held.database
        found.outgoing = HeldOutgoing(held, self.setup.addresses, self.setup.rules)
        found.dumped = (
            found.outgoing
            if self.setup.dumped == self.setup.rules
            else HeldOutgoing(held, self.setup.addresses, self.setup.dumped)
        )
        return found

    @cached_property
    def _holder(self) -> Holder:
        return Holder(self._recorded, self.setup.shared)

    def folder(self) -> Folder:
        """The folder of the publication, with the journal of this process."""
        return Folder(self.setup.out, self._journal)

    def submit(self, execution: str, name: str) -> Callable[[], Done]:
        """What makes an execution, when it is called; its work files have this name."""
        return lambda: self.make(execution, name)

    def make(self, execution: str, name: str) -> Done:
        """Everything about the execution with this IRI in the store."""
        folder = self.folder()
        try:
            return self._make(folder, ox.NamedNode(execution), name)
        finally:
            folder.close()

    def _make(self, folder: Folder, execution: ox.NamedNode, name: str) -> Done:
        iri = self.outgoing.node(execution.value).value
        about = {
            name: things.text(self._shown, iri, predicate) or ""
            for name, predicate in (
                ("model", KGB.model),
                ("task", KGB.task),
                ("run", DCTERMS.isPartOf),
            )
        }
        nodes = self._dialogues(execution)
        pages = [nodes[at : at + PAGE] for at in range(0, len(nodes), PAGE)] or [[]]
        document = _Document(self.setup.addresses.place(iri), iri, about, len(pages))
        trees, texts, data = (
            folder.work(f"{name}-{suffix}") for suffix in ("trees.jsonld", "texts.tsv", "data.ttl")
        )
        rows: list[dict[str, Any]] = []
        complete = invalid = 0
        with (
            trees.open("w", encoding="utf-8") as out,
            texts.open("w", encoding="utf-8") as lines,
            data.open("wb") as turtle,
        ):
            said = list(things.describe(self._shown, iri).quads)
            for page, here in enumerate(pages, 1):
                every = []
                for node in here:
                    found = gather(self.outgoing, self.database, node, self.setup.graphs)
                    every.append(found)
                    lines.writelines(text_indexes.noted(found, document.page(page)))
                    rows.append(self._row(found, document.link(page), about["task"]))
                    invalid += bool(self._reasons(found.iri))
                    complete += PROV.endedAtTime in found.said[found.iri]
                    out.write(",\n" + framing.dialogue_tree(self._own(found, node)))
                turtle.write(dumps.turtle([*said, *(q for one in every for q in one.quads)], iri))
                said = []
                self._page(folder, document, page, every, rows)
        if document.is_long:
            self._list(folder, document, rows)
        folder.adopt(f"{document.place}.ttl", data)
        return Done(
            files=dict(folder.written),
            changed=folder.changed,
            dialogues=len(nodes),
            complete=complete,
            invalid=invalid,
            trees=trees.name,
            texts=texts.name,
        )

    def _dialogues(self, execution: ox.NamedNode) -> list[ox.NamedNode]:
        found = neighbours.parts_of(self.database, execution)
        return sorted(found, key=lambda node: neighbours.natural(self._published(node.value)))

    def _own(self, found: Gathered, node: ox.NamedNode) -> Iterator[ox.Quad]:
        """The quads of a dialogue in dumps of its run, which may leave out other texts."""
        if self.setup.dumped != self.setup.rules:
            found = gather(self.dumped, self.database, node, self.setup.graphs)
        # What other parts of the store say of a dialogue stands in their own dumps.
        others = self.setup.others
        return (q for q in found.quads if not others or _graph(q) not in others)

    def _executions(self, run: str) -> list[ox.NamedNode]:
        """The executions of a run, named as it is published, in the order of their pages."""
        if self._run[0] != run:
            stored = ox.NamedNode(self.setup.addresses.original(run))
            found = neighbours.of_run(self.database, stored)
            self._run = (run, sorted(found, key=lambda one: self._published(one.value)))
        return self._run[1]

    def _page(
        self,
        folder: Folder,
        document: _Document,
        number: int,
        every: list[Gathered],
        rows: list[dict[str, Any]],
    ) -> None:
        told: dict[str, str] = {}
        talks = [
            {**self._telling.conversation(one, told), "reasons": self._reasons(one.iri)}
            for one in every
        ]
        evaluations = (iri for one in every for iri in one.evaluations)
        context = {
            "talks": talks,
            "rows": [
                {**row, "page": ""} if document.is_long else row for row in rows[-len(every) :]
            ],
            "whole": "../" if document.is_long else None,
        }
        here = {iri: anchor(iri) for iri in evaluations}
        self._render(folder, document, f"{document.page(number)}/index.html", context, here)

    def _list(self, folder: Folder, document: _Document, rows: list[dict[str, Any]]) -> None:
        """The page of an execution whose dialogues stand on others."""
        context = {"talks": [], "rows": rows, "whole": None}
        self._render(folder, document, f"{document.place}/index.html", context, {})

    def _render(
        self,
        folder: Folder,
        document: _Document,
        path: str,
        context: dict[str, Any],
        here: dict[str, str],
    ) -> None:
        task, model = (self.presenting.label(document.about[name]) for name in ("task", "model"))
        run = document.about["run"]
        shown = {
            "iri": document.iri,
            "title": f"{task} by {model}",
            "kinds": sorted(things.kinds(self._shown, document.iri)),
            "facts": {name: iri for name, iri in document.about.items() if iri},
            "main": self._main_metric(document.about["task"]),
            "beside": self._beside(document, path, run),
            "others": self._others(document),
        }
        page = self.presenting.page(
            "dialogues.html",
            path,
            {**shown, **context},
            parts=here,
            documents={"ttl": "text/turtle"},
        )
        folder.write(path, page)

    def _beside(self, document: _Document, path: str, run: str) -> neighbours.Beside:
        """Links to the executions before and after one, in its run."""
        executions = [self._published(one.value) for one in self._executions(run)]
        if document.iri not in executions:
            return neighbours.Beside(None, None)
        at = executions.index(document.iri)
        near = (executions[at - 1] if at else None, *executions[at + 1 : at + 2], None)
        before, after = near[:2]
        return neighbours.Beside(
            *(None if one is None else self.presenting.link(one, path) for one in (before, after))
        )

    def _others(self, document: _Document) -> list[tuple[str, str]]:
        """The other executions of a task in its run, by their models.

        Other runs are left out, so that the pages of a run do not change with them.
        """
        found = []
        for node in self._executions(document.about["run"]):
            iri = self._published(node.value)
            if iri != document.iri and self._said(iri, KGB.task) == document.about["task"]:
                found.append((self._said(iri, KGB.model), iri))
        return sorted(found)

    def _said(self, iri: str, predicate: str) -> str:
        return things.text(self._shown, iri, predicate) or ""

    def _reasons(self, dialogue: str) -> list[tuple[str, str]]:
        """The invalidations of a dialogue, and why."""
        return [
            (one, things.text(self._shown, one, KGB.reason) or "no reason was recorded")
            for one in things.subjects(self._shown, KGB.invalidates, dialogue)
        ]

    def _published(self, iri: str) -> str:
        return self.outgoing.node(iri).value

    def _row(self, found: Gathered, page: str, task: str) -> dict[str, Any]:
        said = found.said[found.iri]
        verdicts = list(self._telling.verdicts(found))
        main = self._main_metric(task)
        scores = [dict(one.scores) for one in verdicts]
        return {
            "page": page,
            "place": anchor(found.iri),
            "iteration": value(said, KGB.iteration) or "?",
            "case": value(said, KGB.case) or "",
            "answers": len(found.answers),
            "outcome": verdicts[-1].outcome if verdicts else "not judged",
            "score": next((one[main] for one in scores if main in one), None) if main else None,
        }

    def _main_metric(self, task: str) -> str | None:
        classes = things.values(self._shown, task, KGB.taskClass) if task else []
        for one in classes:
            for metric in things.values(self._shown, one.value, KGB.mainMetric):
                return things.text(self._shown, metric.value, SKOS.notation)
        return None

    def _passes(self) -> dict[str, str]:
        """What each pass is called: its kind and when it began; the earliest first."""
        found = []
        for iri in things.instances(self._shown, KGB.EvaluationPass, 1_000_000):
            kind = things.text(self._shown, iri, KGB.passKind) or "pass"
            started = things.text(self._shown, iri, PROV.startedAtTime) or ""
            found.append((started, iri, f"{kind}, {moment(started)}"))
        return {iri: name for _, iri, name in sorted(found)}

    def _quads(self, iri: str, predicate: ox.NamedNode) -> Iterator[Any]:
        return self._shown.database.quads_for_pattern(ox.NamedNode(iri), predicate, None)


def write_data(folder: Folder, place: str, quads: list[ox.Quad]) -> None:
    """The data of one document in all formats that things have."""
    for suffix, content in encoded(quads).items():
        folder.write(f"{place}.{suffix}", content)


def encoded(quads: list[ox.Quad]) -> dict[str, bytes]:
    """The data of one document in all formats that things have, by their suffixes."""
    return {
        "ttl": dumps.as_bytes(quads, "ttl"),
        "nt": dumps.as_bytes(quads, "nt"),
        "jsonld": framing.document(quads).encode("utf-8", "backslashreplace"),
    }


def _graph(quad: ox.Quad) -> str:
    return str(quad.graph_name).strip("<>")
