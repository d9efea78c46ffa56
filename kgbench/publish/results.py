# SPDX-License-Identifier: Apache-2.0
"""Results by suite: tables and figures of pages; Data Cubes and headline claims beside the dumps.

There is a document with cubes for each suite: its leaderboard, scores by task and compasses.

A claim is the score of one model over one suite, as a document of its own that can be signed
(:mod:`kgbench.publish.signing`), passed on and checked. It has the measures, estimand and method of
the leaderboard's cube. It derives from the observations of its row, which refer back to it, and
from the graphs of the selected passes that evaluate its model. Its rank also depends on the other
models, whose passes are named by their own claims: if each claim named all passes, claims would
grow with models times passes. One more document contains all claims.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.analysis.compass import compass_table, find_compass
from kgbench.analysis.leaders import leaders
from kgbench.analysis.stored_results import cube_triples, is_cube, measures_of, observations
from kgbench.analysis.task_scores import task_scores
from kgbench.characters import one_line
from kgbench.errors import QueryError
from kgbench.pages import neighbours, things
from kgbench.pages.rendering import serialised
from kgbench.pages.score_tables import asked
from kgbench.pages.things import View
from kgbench.publish.folder import Dump, Folder
from kgbench.publish.metadata import Companion, Publication
from kgbench.publish.selection import PublishedParts
from kgbench.publish.signing import CLAIMS
from kgbench.rdf.quads import integer, node, statements_about, text, type_statements
from kgbench.scores.inference import inference_statements
from kgbench.scores.selection import Selection, select
from kgbench.store.iris import slug
from kgbench.tables import Ref, Table, Value
from kgbench.vocab import BASE, DCAT, DCTERMS, KGB, PROV, QB, RDFS, SKOS, XSD

_MODEL = ox.NamedNode(KGB.model)
_MOST_DRAWN = 100  # models in a figure; more cannot be told apart, and take minutes to draw
BOARD, TASKS, _COMPASS = "leaderboard", "tasks", "compass-"
_INHERITED = frozenset(
    (DCTERMS.creator, DCTERMS.publisher, DCTERMS.license, DCTERMS.issued, DCTERMS.modified)
)
_DATA_CUBE = "https://www.w3.org/TR/vocab-data-cube/"
_QueryPath = Callable[[str, Mapping[str, str]], str]


@dataclass(frozen=True)
class SuiteResults:
    """The results within one suite.

    ``tables`` are by kind (``leaderboard``, ``tasks``, ``compass-NAME``). ``passes`` has the graphs
    of the selected passes that evaluate each model (IRI).
    """

    suite: str
    name: str
    label: str
    selection: Selection
    tables: dict[str, Table] = field(default_factory=dict)
    passes: dict[str, set[str]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of the suite in paths."""
        return slug(self.name)

    def document(self, base: str) -> str:
        """Return the IRI of the document with the suite's tables, which is also its page."""
        return f"{base}leaderboard/{self.slug}"

    def cube(self, base: str, kind: str) -> str:
        """Return the IRI of a table as a data cube."""
        return f"{self.document(base)}#{kind}"


def suite_results(view: View, parts: PublishedParts, suite: str) -> SuiteResults | None:
    """Return the results of a suite (IRI); ``None`` if it has dialogues, but no pass yet."""
    name = things.text(view, suite, SKOS.notation) or suite
    label = things.text(view, suite, RDFS.label) or name
    try:
        selection = select(view, suite)
    except QueryError:
        return None
    kinds: dict[str, Callable[[Any, Selection], Table]] = {BOARD: leaders, TASKS: task_scores}
    for compass_iri in things.instances(view, KGB.Compass):
        notation = things.text(view, compass_iri, SKOS.notation)
        if notation:
            kinds[f"{_COMPASS}{notation}"] = partial(_compass, notation)
    results = SuiteResults(suite, name, label, selection)
    for kind, compute in sorted(kinds.items(), key=lambda pair: pair[0].startswith(_COMPASS)):
        with contextlib.suppress(QueryError):  # the suite lacks the tasks of this table
            table = compute(view, selection)
            if table.rows:
                results.tables[kind] = table
    _find_passes(view, parts, results)
    return results


def _compass(name: str, store: Any, selection: Selection) -> Table:
    return compass_table(store, selection, find_compass(name))


def _find_passes(view: View, parts: PublishedParts, results: SuiteResults) -> None:
    database, selected = view.database, set(results.selection.pass_graphs)
    for run in parts.runs:
        models: set[Any] = {
            quad.object
            for execution in neighbours.of_run(database, ox.NamedNode(run.run))
            for quad in database.quads_for_pattern(execution, _MODEL, None)
        }
        for graph in (graph for _, graph in run.passes if graph in selected):
            for model in models:
                evaluated = database.quads_for_pattern(None, _MODEL, model, ox.NamedNode(graph))
                if next(iter(evaluated), None) is not None:
                    results.passes.setdefault(model.value, set()).add(graph)


class Figure(NamedTuple):
    """A figure: its kind and title, and the paths of the SVG and of the plotted numbers."""

    kind: str
    title: str
    svg: str
    numbers: str


def figures(results: SuiteResults, folder: Path, state: str) -> Iterator[Figure]:
    """Draw the figures of a suite into ``folder``, with its best hundred models.

    The paths in the results are relative to the site; their last parts are the names in ``folder``.
    """
    from kgbench.plots.compasses import compass_figure
    from kgbench.plots.figures import save
    from kgbench.plots.standings import standings_figure

    ranked = results.tables.get(BOARD) or next(iter(results.tables.values()), None)
    best = [] if ranked is None else list(dict.fromkeys(ranked.column("model")))[:_MOST_DRAWN]
    for kind, table in results.tables.items():
        if kind == TASKS:
            continue
        name = f"{results.slug}-{kind}"
        drawable = _drawable(table, best)
        with warnings.catch_warnings():
            # Readers of the SVG may have fonts for characters that this machine lacks.
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            figure = standings_figure(drawable) if kind == BOARD else compass_figure(drawable)
            svg, numbers = save(figure, folder, name, formats=["svg"], tables=[table], state=state)
        yield Figure(kind, table.title, f"figures/{svg.name}", f"figures/{numbers.name}")


def _drawable(table: Table, models: Collection[Value]) -> Table:
    """Return the rows of these models, with names that are safe to draw.

    These are short, and without control characters.
    """

    def name(value: Value) -> Value:
        return one_line(value)[:80] if isinstance(value, str) else value

    index = table.names.index("model")
    rows = tuple(tuple(map(name, row)) for row in table.rows if row[index] in models)
    all_shown = len(rows) == len(table.rows)
    title = table.title if all_shown else f"{table.title}: the {len(models)} best models"
    return replace(table, title=title, rows=rows)


def write_companions(
    folder: Folder,
    standings: Sequence[SuiteResults],
    publication: Publication,
    query_path: _QueryPath,
) -> list[Companion]:
    """Write the cubes and claims of all suites, and return them as data sets.

    ``query_path`` returns the path of a query with parameters.
    """
    written = [_cubes(folder, each, publication, query_path) for each in standings if each.tables]
    if any(BOARD in each.tables for each in standings):
        written.append(_claims(folder, standings, publication.base))
    return written


def write_document(folder: Folder, path: str, quads: Iterable[ox.Quad]) -> Dump:
    """Write the triples of ``quads``, each once and sorted, as a document in Turtle."""
    distinct = sorted({quad.triple for quad in quads}, key=str)
    content = serialised((ox.Quad(*triple) for triple in distinct), "ttl")
    folder.write(path, content)
    sha256 = folder.written[path]
    return Dump(path, len(content), sha256, sha256, len(distinct))


def _parsed(lines: Iterable[str]) -> Iterator[ox.Quad]:
    """Parse lines of N-Triples."""
    yield from ox.parse("\n".join(lines).encode(), ox.RdfFormat.N_TRIPLES)


# --- cubes ----------------------------------------------------------------------------------------


def _cubes(
    folder: Folder, results: SuiteResults, publication: Publication, query_path: _QueryPath
) -> Companion:
    """Write the document with the cubes of a suite: its tables."""
    base = publication.base
    dataset = node(f"{results.document(base)}#tables")
    title = f"Tables: {results.label}"
    cubes = {kind: table for kind, table in results.tables.items() if is_cube(table)}
    iris = [results.cube(base, kind) for kind in cubes]
    quads = [
        *type_statements(dataset, DCAT.Dataset),
        *statements_about(
            dataset,
            (DCTERMS["title"], text(title, "en")),
            (DCTERMS.isPartOf, publication.dataset),
            *((DCTERMS.hasPart, cube) for cube in iris),
        ),
    ]
    for iri, (kind, table) in zip(iris, cubes.items(), strict=True):
        links = partial(_citing, base, results) if kind == BOARD else lambda _: ()
        pass_ = results.selection.pass_
        quads += _parsed(cube_triples(table, iri, results.suite, pass_, links=links))
        quads += _about_cube(node(iri), results.suite, table, publication, query_path)
    return Companion(
        iri=dataset.value,
        title=title,
        description=f"Data Cubes with intervals: {'; '.join(t.title for t in cubes.values())}.",
        file=write_document(folder, f"leaderboard/{results.slug}.ttl", quads),
        standard=_DATA_CUBE,
        vocabularies=(KGB, DCTERMS, PROV, QB),
        parts=tuple(iris),
        subject=results.suite,
    )


def _citing(
    base: str, results: SuiteResults, row: Mapping[str, Value]
) -> Iterator[tuple[str, str]]:
    """Yield the claim that cites the observations of a row of the leaderboard."""
    yield DCTERMS.isReferencedBy, _claim_iri(base, results, row)


def _about_cube(
    dataset: ox.NamedNode,
    suite: str,
    table: Table,
    published: Publication,
    query_path: _QueryPath,
) -> list[ox.Quad]:
    """Return the metadata of a cube; people, licence and dates are those of the data set."""
    activity = node(f"{published.base}#publication")
    notes = " ".join(table.notes)
    return [
        *statements_about(
            dataset,
            *published.about(_INHERITED),
            (RDFS.label, text(table.title)),
            (DCTERMS["title"], text(table.title, "en")),
            (DCTERMS.description, text(notes, "en") if notes else None),
            (DCTERMS.subject, suite),
            (DCTERMS.isPartOf, published.dataset),
            (PROV.wasGeneratedBy, activity),
            *((DCTERMS.source, published.base + query_path(*query)) for query in asked(table)),
        ),
        *type_statements(activity, PROV.Activity),
        *type_statements(node(published.dataset), DCAT.Dataset),
    ]


# --- claims ---------------------------------------------------------------------------------------


def _claims(folder: Folder, standings: Iterable[SuiteResults], base: str) -> Companion:
    """Write each claim, and one document with all."""
    dataset = node(f"{base}{CLAIMS}.ttl#claims")
    title = "Claims: the score of each model over each suite"
    parts: list[str] = []
    stated: list[ox.Quad] = []
    for standing in standings:
        for iri, quads in claims(standing, base) if BOARD in standing.tables else ():
            path = iri.removeprefix(base).partition("#")[0]
            folder.write(path, serialised(quads, "ttl"))
            parts.append(iri)
            stated += quads
    stated += type_statements(dataset, DCAT.Dataset)
    stated += statements_about(
        dataset,
        (DCTERMS["title"], text(title, "en")),
        (DCTERMS.isPartOf, f"{base}#dataset"),
        *((DCTERMS.hasPart, part) for part in parts),
    )
    return Companion(
        iri=dataset.value,
        title=title,
        description="Headline scores with intervals, estimands and methods, each with the "
        "observations of the leaderboard and the graphs of evaluations that it is derived from.",
        file=write_document(folder, f"{CLAIMS}.ttl", stated),
        standard=KGB,
        vocabularies=(KGB, DCTERMS, PROV),
        parts=tuple(parts),
    )


def _claim_iri(base: str, standing: SuiteResults, row: Mapping[str, Value]) -> str:
    """Return the IRI of the claim about the model in a row of the leaderboard of a suite."""
    return f"{base}{CLAIMS}/{standing.slug}/{slug(str(row['model']))}.ttl#claim"


def claims(standing: SuiteResults, base: str) -> Iterator[tuple[str, list[ox.Quad]]]:
    """Yield the claims of the leaderboard of a suite: the IRI of each, and its statements."""
    table = standing.tables[BOARD]
    measures, has_cube = measures_of(table), is_cube(table)
    for row, observed in observations(table, standing.cube(base, BOARD)):
        name = row["model"]
        model = name.iri if isinstance(name, Ref) else str(name)
        derived = [
            *sorted(standing.passes.get(model, ())),
            *(observed.values() if has_cube else ()),
        ]
        claim = node(_claim_iri(base, standing, row))
        quads = [
            *type_statements(claim, KGB.Claim, PROV.Entity),
            *statements_about(
                claim,
                (RDFS.label, text(f"{name}: {table.title}", "en")),
                (KGB.model, model),
                (KGB.suite, standing.suite),
                (KGB.scoreSet, f"{BASE}score-set/{table.context.get('score_set')}"),
                (KGB.passChoice, text(standing.selection.pass_)),
                (DCTERMS.isPartOf, f"{base}#dataset"),
                *((PROV.wasDerivedFrom, iri) for iri in derived),
                *((prop, _number(row.get(m), kind)) for m, (prop, kind) in measures.items()),
            ),
            *_parsed(inference_statements(claim.value, table)),
        ]
        yield claim.value, quads


def _number(value: Value, datatype: str) -> ox.Literal | None:
    if value is None or isinstance(value, str):
        return None
    if datatype == XSD.integer:
        return integer(int(value))
    return ox.Literal(repr(float(value)), datatype=node(datatype))
