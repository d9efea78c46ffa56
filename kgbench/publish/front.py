# SPDX-License-Identifier: Apache-2.0
"""Files at the root of a site: landing page, leaderboards, catalogue files, versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyoxigraph as ox

from kgbench.pages import runs, things
from kgbench.pages.rendering import STATIC, script
from kgbench.pages.score_tables import asked, board, heat_map
from kgbench.pages.things import View
from kgbench.publish import discovery
from kgbench.publish.discovery import datacite, schema_org, zenodo
from kgbench.publish.folder import Folder
from kgbench.publish.metadata import Publication
from kgbench.publish.pages import Renderer, data
from kgbench.publish.results import BOARD, TASKS, Figure, SuiteResults
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.rdf import queries, query_examples
from kgbench.resources import text as declared_text
from kgbench.scores.catalogue import display_names
from kgbench.scores.declared import score_set
from kgbench.validation import Data, whole_shapes
from kgbench.vocab import KGB, SKOS

SHAPES = "shapes"  # the folder of SHACL shapes
_FEW_MODELS = 25  # rows of a leaderboard on the landing page
_MOST_ROWS = 5_000  # of scores by task on the page of a leaderboard: 4 MB
Figures = Mapping[str, Sequence[Figure]]


@dataclass(frozen=True)
class FrontFiles:
    """Writes the files at the root of a site; ``figures`` are by suite (IRI)."""

    folder: Folder
    renderer: Renderer
    publication: Publication
    standings: Sequence[SuiteResults]
    figures: Figures

    @cached_property
    def catalogue(self) -> list[ox.Quad]:
        """The statements of the catalogue."""
        return self.publication.catalogue(self.renderer.view)

    def write(self) -> None:
        """Write all files."""
        for asset in sorted(STATIC.iterdir()):
            self.folder.write(f"static/{asset.name}", asset.read_bytes())
        self._write_queries()
        self._write_shapes()
        self._write_discovery()
        for number, results in enumerate(self.standings):
            context = self._standing(results)
            self._write_page("board.html", f"leaderboard/{results.slug}/index.html", context)
            if number == 0:
                self._write_page("board.html", "leaderboard/index.html", context)
        if not self.standings:
            self._write_page("board.html", "leaderboard/index.html", self._standing(None))
        self._write_documents()
        self._write_page("landing.html", "index.html", self._landing())
        for path, text in self.renderer.queries.items():
            self.folder.write(path, text)

    def _write_page(self, template: str, path: str, context: Mapping[str, Any]) -> None:
        self.folder.write(path, self.renderer.page(template, path, context))

    def _write_data(self, path: str, quads: Sequence[Any]) -> None:
        for suffix, content in data(quads).items():
            self.folder.write(f"{path}.{suffix}", content)

    def _write_queries(self) -> None:
        """Write the queries, also as SPARQL examples, where readers of endpoints look for them."""
        for name in queries.names():
            self.folder.write(f"queries/{name}.rq", declared_text("queries", f"{name}.rq"))
        context = {"queries": [queries.load(name) for name in queries.names()]}
        self._write_page("examples.html", f"{query_examples.SITE_PATH}/index.html", context)
        quads = query_examples.examples(self.publication.endpoint)
        self._write_data(query_examples.SITE_PATH, quads)

    def _write_shapes(self) -> None:
        """Write the shapes that dumps and catalogue conform to, complete, for any SHACL engine."""
        shapes = whole_shapes(Data(self.renderer.view.database))
        self.folder.write(f"{SHAPES}/results.ttl", shapes)
        self.folder.write(f"{SHAPES}/catalogue.ttl", declared_text("shapes", "published.ttl"))

    def _write_discovery(self) -> None:
        """Write what machines look for: metadata of archives, rules of servers."""
        published = self.publication
        for path, serialise in (("datacite.json", datacite), (".zenodo.json", zenodo)):
            self.folder.write(
                path, json.dumps(serialise(published), indent=1, ensure_ascii=False) + "\n"
            )
        kinds = discovery.kinds(self.renderer.documents)
        for path, text in discovery.texts(published.base, kinds, published.canaries):
            self.folder.write(path, text)
        self.folder.write(".nojekyll", "")  # otherwise GitHub Pages leaves out .well-known

    def _standing(self, results: SuiteResults | None) -> dict[str, Any]:
        """Return the context of a leaderboard; without ``results`` there are no scores yet."""
        context: dict[str, Any] = {
            "described": score_set("main").description,
            "others": [(other.slug, other.label) for other in self.standings],
            "here": "" if results is None else results.slug,
            "label_of_suite": "no scores yet" if results is None else results.label,
            "problem": None,
            "board": None,
            "heat": None,
            "tasks": None,
            "rows": 0,
            "drawn": (),
        }
        if results is None:
            return context
        ranked, tasks = results.tables.get(BOARD), results.tables.get(TASKS)
        display, suite = display_names(self.renderer.view), results.suite
        if ranked is not None:
            context["board"] = board(ranked, display)
        if tasks is not None:
            order = [] if ranked is None else [str(name) for name in ranked.column("model")]
            short = len(tasks.rows) <= _MOST_ROWS
            context |= {
                "heat": heat_map(tasks, order, display),
                "rows": len(tasks.rows),
                "tasks": tasks if short else None,
            }
        drawn = [
            (*figure[1:], asked(results.tables[figure.kind]))
            for figure in self.figures.get(suite, ())
        ]
        return {**context, "drawn": drawn, "scope": {"suite": suite}}

    def _write_documents(self) -> None:
        published = self.publication
        self._write_data("catalog", self.catalogue)
        self._write_data("void", published.statistics(self.renderer.view))
        versions = published.versions
        for position, version in enumerate(versions):
            self._write_data(f"version/{version.number}", published.of_version(version))
            context = {
                "title": published.metadata.title,
                "version": version,
                "iri": published.version(version),
                "before": versions[position - 1] if position else None,
                "after": versions[position + 1] if position + 1 < len(versions) else None,
            }
            self._write_page("version.html", f"version/{version.number}/index.html", context)

    def _landing(self) -> dict[str, Any]:
        published, metadata = self.publication, self.publication.metadata
        first = next(iter(self.standings), None)
        return {
            **self._standing(first),
            **runs.overview(self.renderer.view),
            "suite": None if first is None else first.suite,
            "waiting": False,
            "most": _FEW_MODELS,
            "title": metadata.title,
            "description": metadata.description,
            "signposts": list(discovery.signposts(published)),
            "dataset": published.dataset,
            "described_here": self._fragments(),
            "creators": metadata.creators,
            "licence": metadata.licence,
            "version": published.now,
            "before": published.versions[-2] if len(published.versions) > 1 else None,
            "left_out": published.left_out,
            "citation": published.citation,
            "endpoint": published.endpoint,
            "companions": published.companions,
            "signed": [KEYS, SIGNATURE] if published.signed else [],
            "downloads": [d for d in published.now.dumps if not d.path.startswith("data/run-")],
            "embedded": script(json.dumps(schema_org(published), ensure_ascii=False)),
        }

    def _fragments(self) -> list[str]:
        """Return the fragments by which the catalogue names things on the landing page."""
        start = f"{self.publication.base}#"
        subjects = (str(quad.subject).strip("<>") for quad in self.catalogue)
        return sorted({subject[len(start) :] for subject in subjects if subject.startswith(start)})


def main_metrics(view: View) -> list[tuple[str, str]]:
    """Return the main metrics of the task classes in use, as pairs of IRI and label."""
    metrics = {}
    for task in things.instances(view, KGB.Task, 1_000_000):
        for of_class in things.values(view, task, KGB.taskClass):
            for metric in things.values(view, of_class.value, KGB.mainMetric):
                name = things.text(view, of_class.value, SKOS.notation) or ""
                metrics[metric.value] = f"{name}: {things.label(view, metric.value)}"
    return sorted(metrics.items())
