# SPDX-License-Identifier: Apache-2.0
"""All dialogues of one model and task: their pages and data, in a process of its own.

A process opens the snapshot itself, and holds one dialogue at a time.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.pages import contents, things
from kgbench.pages.snapshot import Memory
from kgbench.publish import dumps, framing
from kgbench.publish.addresses import Addresses, url
from kgbench.publish.dialogues import Gathered, Telling, gather, places, value
from kgbench.publish.folder import Folder
from kgbench.publish.outgoing import Outgoing, Rules
from kgbench.publish.presenting import Presenting
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, SKOS

_PART_OF = ox.NamedNode(DCTERMS.isPartOf)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a process needs: where the snapshot and the shown things are, and the rules.

    ``shown`` is a file with what is published besides dialogues, as N-Quads. ``rules`` are those
    of pages, ``dumped`` those of dumps. ``graphs`` are the published ones, as the store names
    them; ``others`` are those of no run, as they are published.
    """

    snapshot: str
    shown: str
    out: Path
    addresses: Addresses
    documents: frozenset[str]
    graphs: frozenset[str]
    others: frozenset[str]
    rules: Rules
    dumped: Rules
    canaries: tuple[str, ...]


class Done(NamedTuple):
    """What was made of one execution: its files, how many dialogues, and the file of its trees.

    Of the dialogues some are ``complete``, and some ``invalid``: those are not counted.
    """

    files: list[str]
    changed: int
    dialogues: int
    complete: int
    invalid: int
    trees: str


class Maker:
    """Makes the pages and data of executions."""

    def __init__(self, setup: Setup, journal: str) -> None:
        self._setup = setup
        self._journal = journal
        self._database = ox.Store.read_only(setup.snapshot)
        loaded = ox.Store()
        loaded.bulk_load(path=setup.shown, format=ox.RdfFormat.N_QUADS)
        self._shown = Memory(loaded, setup.addresses.base)
        self._outgoing = Outgoing(self._database, setup.addresses, setup.rules)
        self._dumped = Outgoing(self._database, setup.addresses, setup.dumped)
        self._presenting = Presenting(
            self._shown, setup.addresses, setup.documents, self._database, setup.canaries
        )
        notation = ox.NamedNode(SKOS.notation)
        metrics = {
            iri: next((q.object.value for q in self._quads(iri, notation)), iri)
            for iri in things.instances(self._shown, KGB.Metric, 1_000_000)
        }
        self._telling = Telling(metrics, self._passes())

    def make(self, execution: str, number: int) -> Done:
        """Everything about the execution with this IRI in the store."""
        folder = Folder(self._setup.out, self._journal)
        try:
            return self._make(folder, ox.NamedNode(execution), number)
        finally:
            folder.close()

    def _make(self, folder: Folder, execution: ox.NamedNode, number: int) -> Done:
        iri = self._outgoing.node(execution.value).value
        about = {
            name: things.text(self._shown, iri, predicate) or ""
            for name, predicate in (
                ("model", KGB.model),
                ("task", KGB.task),
                ("run", DCTERMS.isPartOf),
            )
        }
        main = self._main_metric(about["task"])
        nodes = self._dialogues(execution)
        rows: list[dict[str, Any]] = []
        complete = invalid = 0
        trees = folder.work(f"trees-{number}.jsonld")
        with trees.open("w", encoding="utf-8") as out:
            for place, node in enumerate(nodes):
                found = gather(self._outgoing, self._database, node, self._setup.graphs)
                self._write(folder, found, about, nodes[max(place - 1, 0) : place + 2], node)
                rows.append(self._row(found, iri, main))
                invalid += bool(self._reasons(found.iri))
                complete += PROV.endedAtTime in found.said[found.iri]
                if self._setup.dumped != self._setup.rules:
                    found = gather(self._dumped, self._database, node, self._setup.graphs)
                # What other parts of the store say of a dialogue stands in their own dumps.
                own = (q for q in found.quads if _graph(q) not in self._setup.others)
                out.write(",\n" + framing.dialogue_tree(own))
        self._index(folder, iri, about, main, rows)
        return Done(list(folder.written), folder.changed, len(nodes), complete, invalid, trees.name)

    def _dialogues(self, execution: ox.NamedNode) -> list[ox.NamedNode]:
        found = []
        kind, type_ = ox.NamedNode(KGB.Dialogue), ox.NamedNode(RDF.type)
        for quad in self._database.quads_for_pattern(None, _PART_OF, execution):
            node: Any = quad.subject
            if next(self._database.quads_for_pattern(node, type_, kind), None) is not None:
                found.append(node)
        return sorted(found, key=lambda node: _natural(node.value))

    def _write(
        self,
        folder: Folder,
        found: Gathered,
        about: dict[str, str],
        near: list[ox.NamedNode],
        node: ox.NamedNode,
    ) -> None:
        where = self._setup.addresses
        place = where.place(found.iri)
        task, model = (self._presenting.label(about[name]) for name in ("task", "model"))
        context = self._telling.context(found, about["run"], f"{task} by {model}")
        at = near.index(node)
        context |= {
            "reasons": self._reasons(found.iri),
            "before": self._beside(place, near[at - 1]) if at > 0 else None,
            "after": self._beside(place, near[at + 1]) if at + 1 < len(near) else None,
        }
        path = f"{place}/index.html"
        page = self._presenting.page(
            "dialogue.html",
            path,
            context,
            parts=places(found),
            documents={"ttl": "text/turtle"},
        )
        folder.write(path, page)
        folder.write(f"{place}.ttl", dumps.as_bytes(found.quads, "ttl"))

    def _reasons(self, dialogue: str) -> list[tuple[str, str]]:
        """The invalidations of a dialogue, and why."""
        return [
            (one, things.text(self._shown, one, KGB.reason) or "no reason was recorded")
            for one in things.subjects(self._shown, KGB.invalidates, dialogue)
        ]

    def _beside(self, place: str, node: ox.NamedNode) -> str:
        root = "../" * (place.count("/") + 1)
        return url(self._setup.addresses.place(node.value), root)

    def _row(self, found: Gathered, execution: str, main: str | None) -> dict[str, Any]:
        said = found.said[found.iri]
        verdicts = list(self._telling.verdicts(found))
        case = value(said, KGB.case) or ""
        scores = [dict(one.scores) for one in verdicts]
        depth = self._setup.addresses.place(execution).count("/") + 1
        return {
            "link": url(self._setup.addresses.place(found.iri), "../" * depth),
            "iteration": value(said, KGB.iteration) or "?",
            "case": case,
            "case_label": self._presenting.label(case),
            "answers": len(found.answers),
            "outcome": verdicts[-1].outcome if verdicts else "not judged",
            "score": next((one[main] for one in scores if main in one), None) if main else None,
        }

    def _index(
        self,
        folder: Folder,
        iri: str,
        about: dict[str, str],
        main: str | None,
        rows: list[dict[str, Any]],
    ) -> None:
        place = self._setup.addresses.place(iri)
        said = contents.statements(self._shown, iri, reveal=False)
        task, model = (self._presenting.label(about[name]) for name in ("task", "model"))
        context = {**said, **about, "main": main, "rows": rows, "title": f"{task} by {model}"}
        path = f"{place}/index.html"
        folder.write(path, self._presenting.page("execution.html", path, context))
        # The dialogues themselves say whose they are; here they can be found.
        quads = list(things.describe(self._shown, iri).quads) + [
            quad
            for node in self._dialogues(ox.NamedNode(self._setup.addresses.original(iri)))
            for quad in self._outgoing.about(node)
            if quad.predicate == _PART_OF
        ]
        write_data(folder, place, quads)

    def _main_metric(self, task: str) -> str | None:
        classes = things.values(self._shown, task, KGB.taskClass) if task else []
        for one in classes:
            for metric in things.values(self._shown, one.value, KGB.mainMetric):
                return things.text(self._shown, metric.value, SKOS.notation)
        return None

    def _passes(self) -> dict[str, str]:
        """What each pass is called: its kind and when it began."""
        found = {}
        for iri in things.instances(self._shown, KGB.EvaluationPass, 1_000_000):
            kind = things.text(self._shown, iri, KGB.passKind) or "pass"
            started = (things.text(self._shown, iri, PROV.startedAtTime) or "")[:16]
            found[iri] = f"{kind}, {started}"
        return found

    def _quads(self, iri: str, predicate: ox.NamedNode) -> Iterator[Any]:
        return self._shown.database.quads_for_pattern(ox.NamedNode(iri), predicate, None)


def write_data(folder: Folder, place: str, quads: list[ox.Quad]) -> None:
    """The data of one document in all formats that things have."""
    folder.write(f"{place}.ttl", dumps.as_bytes(quads, "ttl"))
    folder.write(f"{place}.nt", dumps.as_bytes(quads, "nt"))
    folder.write(f"{place}.jsonld", framing.document(quads))


_MAKER: dict[str, Maker] = {}


def start(setup: Setup) -> None:
    """Begin a process: open what it reads once. Ctrl-C is for the process that started it."""
    import os

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _MAKER["this"] = Maker(setup, f"process-{os.getpid()}")


def make(execution: str, number: int) -> Done:
    """What a process is asked for."""
    return _MAKER["this"].make(execution, number)


def _graph(quad: ox.Quad) -> str:
    return str(quad.graph_name).strip("<>")


def _natural(iri: str) -> tuple[str, int, str]:
    """The order of dialogues: by iteration, which stands before the digest in the last segment."""
    head, _, last = iri.rpartition("/")
    number = last.partition("-")[0]
    return head, int(number) if number.isdecimal() else -1, last
