# SPDX-License-Identifier: Apache-2.0
"""Leaderboards, scores by task and compasses as Data Cubes, with the evaluations behind each cell.

The document of a suite's leaderboard contains its cubes. Their observations derive from collections
of evaluations, one for each model, task, metric and round. The document describes the collections.
Their members, which are as many as the scores, are in a packed file of N-Triples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import pyoxigraph as ox

from kgbench.analysis import explain
from kgbench.analysis.compass import compass
from kgbench.analysis.cubes import cube_triples, is_cube
from kgbench.analysis.declarations import score_set
from kgbench.analysis.score_selectors import Score
from kgbench.analysis.superseding_metrics import SupersedingMetrics
from kgbench.analysis.tables import Table, Value
from kgbench.pages.snapshot import View
from kgbench.publish import evaluation_lists
from kgbench.publish.catalog import Publication
from kgbench.publish.claims import claim_iri
from kgbench.publish.companions import Companion
from kgbench.publish.dumps import DumpWriter
from kgbench.publish.evaluation_lists import ListedEvaluation
from kgbench.publish.folder import Folder
from kgbench.publish.large_documents import as_lines, write_document
from kgbench.publish.members import Members
from kgbench.publish.selection import RunPart
from kgbench.publish.suite_results import BOARD, COMPASS, TASKS, SuiteResults
from kgbench.rdf import digest
from kgbench.rdf.statements import integer, node, statements_about, text, type_statements
from kgbench.vocab import DCAT, DCTERMS, KGB, PROV, QB, RDFS

_INHERITED = frozenset(
    (DCTERMS.creator, DCTERMS.publisher, DCTERMS.license, DCTERMS.issued, DCTERMS.modified)
)
_AT_ONCE = 10_000  # lines
_DATA_CUBE = "https://www.w3.org/TR/vocab-data-cube/"
_PROV_O = "https://www.w3.org/TR/prov-o/"


def write(
    folder: Folder,
    standings: Iterable[SuiteResults],
    view: View,
    publication: Publication,
    published: Callable[[str], str],
    *,
    runs: Sequence[RunPart],
) -> Iterator[Companion]:
    """Write the cubes of all suites; ``published`` maps IRIs of the store to published IRIs.

    ``runs`` are all published runs, whose evaluations the folder lists. Yields two companion data
    sets for each suite with scores: its tables, and the evaluations behind them.
    """
    for results in standings:
        if results.tables:
            cubes = _Cubes(results, view, publication, published, folder)
            cubes.list_evaluations(view, runs)
            yield from cubes.write()


class _Cubes:
    """The cubes of one suite; ``document`` is the IRI of the document that describes them."""

    def __init__(
        self,
        results: SuiteResults,
        view: View,
        publication: Publication,
        published: Callable[[str], str],
        folder: Folder,
    ) -> None:
        self._results = results
        self._publication = publication
        self._published = published
        self._folder = folder
        self.document = results.document(publication.base)
        self._parts = dict(_parts(results, view))
        self._members = Members(folder, f"{self.document}#evaluations-")
        self._names: dict[tuple[str, Score], str] = {}  # by published model

    def write(self) -> Iterator[Companion]:
        """Write the document in all formats, and the file with the members of collections."""
        folder = self._folder
        results, packing = self._results, self._publication.packing
        document_path = f"leaderboard/{results.slug}"
        members = DumpWriter(folder, f"{document_path}-evaluations.nt", packing)
        members.write(f"# {packing.comment}\n".encode())
        for lines in self._members.sorted():
            for start in range(0, len(lines), _AT_ONCE):
                members.write("".join(lines[start : start + _AT_ONCE]).encode())
        packed = members.finish(None)
        suite = self._published(results.suite)
        tables, evaluations = node(f"{self.document}#tables"), node(f"{self.document}#evaluations")
        cubes = {
            results.cube(self._publication.base, kind): table.title
            for kind, table in results.tables.items()
            if is_cube(table)
        }
        titles = (f"Tables: {results.label}", f"Evaluations behind the tables: {results.label}")
        quads: list[ox.Quad] = []
        for dataset, title in zip((tables, evaluations), titles, strict=True):
            quads += type_statements(dataset, DCAT.Dataset)
            quads += statements_about(
                dataset,
                (DCTERMS["title"], text(title, "en")),
                (DCTERMS.isPartOf, self._publication.dataset),
            )
        quads += statements_about(tables, *((DCTERMS.hasPart, cube) for cube in cubes))
        cells = (line for kind in results.tables for line in self._cube(kind))
        behind_cells = self._collections(self._publication.base + packed.path)
        files, triples = write_document(
            folder, document_path, chain(cells, as_lines(chain(behind_cells, quads))), packing
        )
        yield Companion(
            iri=tables.value,
            title=titles[0],
            description=f"Data Cubes with intervals: {'; '.join(cubes.values())}.",
            files=files,
            triples=triples,
            standard=_DATA_CUBE,
            vocabularies=(KGB, DCTERMS, PROV, QB),
            parts=tuple(cubes),
            subject=suite,
        )
        yield Companion(
            iri=evaluations.value,
            title=titles[1],
            description="The members of the collections of evaluations that the observations of "
            "the tables derive from.",
            files=(packed,),
            triples=self._members.counts.total(),
            standard=_PROV_O,
            vocabularies=(PROV,),
            subject=suite,
        )

    # --- cubes ------------------------------------------------------------------------------

    def _cube(self, kind: str) -> Iterator[str]:
        """Yield the lines of N-Triples of a table; nothing if it cannot be a cube."""
        table = self._results.tables[kind]
        iris = {
            column: {name: self._published(iri) for name, iri in iris_by_name.items()}
            for column, iris_by_name in table.iris.items()
        }
        if not is_cube(table):
            return
        dataset = self._results.cube(self._publication.base, kind)
        yield from cube_triples(
            replace(table, iris=iris),
            dataset,
            self._published(self._results.suite),
            self._results.selection.choice,
            links=lambda row: self._links(kind, table, row),
        )
        yield from as_lines(self._metadata(node(dataset), kind, table))

    def _metadata(self, dataset: ox.NamedNode, kind: str, table: Table) -> list[ox.Quad]:
        """Return the metadata of a cube; people, licence and dates are those of the data set."""
        published = self._publication
        activity = node(f"{published.base}#publication")
        query_paths = sorted(self._results.queries[kind])
        notes = " ".join(table.notes)
        return [
            *(
                quad
                for quad in published.common(dataset)
                if quad.subject == dataset and quad.predicate.value in _INHERITED
            ),
            *statements_about(
                dataset,
                (RDFS.label, text(table.title)),
                (DCTERMS["title"], text(table.title, "en")),
                (DCTERMS.description, text(notes, "en") if notes else None),
                (DCTERMS.subject, self._published(self._results.suite)),
                (DCTERMS.isPartOf, published.dataset),
                (PROV.wasGeneratedBy, activity),
                *((DCTERMS.source, published.base + path) for path in query_paths),
            ),
            *type_statements(activity, PROV.Activity),
            *type_statements(published.dataset, DCAT.Dataset),
        ]

    def _links(
        self, kind: str, table: Table, row: Mapping[str, Value]
    ) -> Iterator[tuple[str, str]]:
        """Yield the collections behind a row's observations, and the claim that cites these."""
        yield from (
            (PROV.wasDerivedFrom, collection)
            for collection in self._collections_behind(kind, table, row)
        )
        if kind == BOARD:
            claim = claim_iri(self._publication.base, self._results, str(row["model"]))
            yield DCTERMS.isReferencedBy, claim

    def _collections_behind(self, kind: str, table: Table, row: Mapping[str, Value]) -> list[str]:
        """Return the collections of evaluations that a row was computed from."""
        model = self._published(table.iris["model"][str(row["model"])])
        scores: Iterable[Score] = self._parts[kind].get(str(row.get("axis", "")), ())
        if kind == TASKS:
            task = table.iris["task"][str(row["task"])]
            scores = [score for score in scores if score.task == task]
        keys = ((model, score) for score in scores)
        return sorted({self._collection(self._names[key]) for key in keys if key in self._names})

    # --- evaluations ------------------------------------------------------------------------

    def list_evaluations(self, view: View, runs: Iterable[RunPart]) -> None:
        """Name the collections, and add the evaluations of ``runs`` as their members.

        The passes of each model are kept in the results, for its claim.
        """
        needed = {
            score for parts in self._parts.values() for scores in parts.values() for score in scores
        }
        selection = self._results.selection
        later = SupersedingMetrics(view, selection)
        tasks = {self._published(score.task): score.task for score in needed}
        metrics = {
            self._published(metric): metric
            for metric in later.with_later(score.metric for score in needed)
        }
        selected_graphs = set(selection.pass_graphs)
        passes_of_models = self._results.passes
        for run in runs:
            passes = {
                self._published(iri): self._published(graph)
                for iri, graph in run.passes
                if graph in selected_graphs
            }
            for listed in evaluation_lists.read(self._folder, run.name) if passes else ():
                if listed.evaluation_pass in passes and listed.task in tasks:
                    task = tasks[listed.task]
                    graph = passes[listed.evaluation_pass]
                    passes_of_models.setdefault(listed.model, set()).add(graph)
                    for name in filter(metrics.__contains__, listed.metrics):
                        metric = later.of_task(task, metrics[name])
                        for of_round in {None, listed.round}:
                            score = Score(task, metric, of_round)
                            if score in needed:
                                self._add(listed, score)

    def _add(self, listed: ListedEvaluation, score: Score) -> None:
        key = listed.model, score
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = self._name(*key)
        self._members.add(name, listed.iri)

    def _name(self, model: str, score: Score) -> str:
        key = " ".join((model, *map(self._published, (score.task, score.metric))))
        return digest(f"{key} {score.round}")[:16]

    def _collection(self, name: str) -> str:
        return f"{self.document}#evaluations-{name}"

    def _collections(self, file: str) -> Iterator[ox.Quad]:
        for (model, score), name in sorted(self._names.items(), key=lambda item: item[1]):
            collection = node(self._collection(name))
            yield from type_statements(collection, PROV.Collection, PROV.Entity)
            yield from statements_about(
                collection,
                (KGB.model, model),
                (KGB.task, self._published(score.task)),
                (KGB.metric, self._published(score.metric)),
                (KGB.round, None if score.round is None else integer(score.round)),
                (KGB["count"], integer(self._members.counts[name])),
                (RDFS.seeAlso, file),
            )


def _parts(results: SuiteResults, view: View) -> Iterator[tuple[str, dict[str, list[Score]]]]:
    """Yield the scores behind each table: by axis of a compass, otherwise under an empty name."""
    for kind in results.tables:
        if kind.startswith(COMPASS):
            yield kind, explain.of_compass(view, compass(kind.removeprefix(COMPASS)))
        else:
            by_task = (
                explain.of_score_set(view, score_set("main"))
                if kind == BOARD
                else explain.of_tasks(view, "*", None)
            )
            yield kind, {"": [score for scores in by_task.values() for score in scores]}
