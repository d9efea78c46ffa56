# SPDX-License-Identifier: Apache-2.0
"""Files at the root of a site: landing page, leaderboards, catalogue files, versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgbench.analysis import scores as fetch
from kgbench.analysis.display_names import display_names, model_names
from kgbench.pages import runs, things
from kgbench.pages.board import Board, HeatMap, board, heat_map
from kgbench.pages.rendering import STATIC, script
from kgbench.pages.snapshot import MemoryView
from kgbench.publish import discovery, robots
from kgbench.publish.catalog import Publication
from kgbench.publish.data_files import write_data
from kgbench.publish.dataset_metadata import datacite, schema_org, zenodo
from kgbench.publish.drawings import Figure
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump, Unit, Version
from kgbench.publish.page_renderer import FORMATS, PageRenderer
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.publish.suite_results import SuiteResults, as_sheet, filled_links
from kgbench.publish.void import void
from kgbench.rdf import queries, query_examples
from kgbench.resources import text as declared_text
from kgbench.validation import Data, whole_shapes
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

SHAPES = "shapes"  # the folder of SHACL shapes
_FEW_MODELS = 25  # rows of a leaderboard on the landing page
_MOST_ROWS = 5_000  # of scores by task on the page of a leaderboard: 4 MB
Figures = Mapping[str, Sequence[Figure]]


@dataclass(frozen=True, slots=True)
class RootFiles:
    """Writes the files at the root of a site.

    ``figures`` has the figures by suite, and ``names`` the IRIs by the names in tables.
    """

    folder: Folder
    renderer: PageRenderer
    publication: Publication
    standings: Sequence[SuiteResults]
    figures: Figures
    names: Mapping[str, str]
    units: Mapping[str, Unit]

    def write(self, texts: Mapping[str, str]) -> None:
        """Write all files; ``texts`` are the texts of bound queries by path."""
        for asset in sorted(STATIC.iterdir()):
            self.folder.write(f"static/{asset.name}", asset.read_bytes())
        self.folder.write("robots.txt", robots.text(self.publication.base))
        self.folder.write("canary.txt", robots.canary_text(self.publication.canaries))
        for name in queries.names():
            for suffix in ("rq", "ttl"):
                self.folder.write(
                    f"queries/{name}.{suffix}", declared_text("queries", f"{name}.{suffix}")
                )
        for path, text in texts.items():
            self.folder.write(path, text)
        self._write_examples()
        self._write_shapes()
        self._write_discovery()
        for number, results in enumerate(self.standings):
            self._write_board(results, f"leaderboard/{results.slug}/index.html")
            if number == 0:
                self._write_board(results, "leaderboard/index.html")
        if not self.standings:
            self.folder.write("leaderboard/index.html", self._empty_board())
        self._write_documents()
        self.folder.write("index.html", self._landing())

    def _write_examples(self) -> None:
        """Write the queries as SPARQL examples, where readers of SPARQL endpoints look for them."""
        path = f"{query_examples.SITE_PATH}/index.html"
        context = {"queries": [queries.load(name) for name in queries.names()]}
        self.folder.write(path, self._page("examples.html", path, context))
        quads = query_examples.examples(self.publication.endpoint)
        write_data(self.folder, query_examples.SITE_PATH, quads)

    def _write_shapes(self) -> None:
        """Write the shapes that dumps and catalogue conform to, complete, for any SHACL engine."""
        shapes = whole_shapes(Data(self.renderer.site_graph.database))
        self.folder.write(f"{SHAPES}/results.ttl", shapes)
        self.folder.write(f"{SHAPES}/catalogue.ttl", declared_text("shapes", "published.ttl"))

    def _write_discovery(self) -> None:
        """Write what machines look for: metadata of archives, rules of servers."""
        published = self.publication
        for path, serialise in (("datacite.json", datacite), (".zenodo.json", zenodo)):
            self.folder.write(
                path, json.dumps(serialise(published), indent=1, ensure_ascii=False) + "\n"
            )
        for path, rules in discovery.server_rules(published.base):
            self.folder.write(path, rules)
        self.folder.write(".nojekyll", "")  # otherwise GitHub Pages leaves out .well-known

    def _write_board(self, results: SuiteResults, path: str) -> None:
        tables = results.tables
        tasks = tables.get("tasks")
        rows = 0 if tasks is None else len(tasks.rows)
        context = {
            "label_of_suite": results.label,
            "others": [(other.slug, other.label) for other in self.standings],
            "here": results.slug,
            "board": self._leaderboard(results),
            "heat": self._heat(results),
            "answers": self._answers(results, path),
            "tasks": as_sheet(results, "tasks", tasks, self.names)
            if tasks is not None and rows <= _MOST_ROWS
            else None,
            "rows": rows,
            "drawn": self.figures.get(results.suite, ()),
            "asked": results.queries,
            "packed": self.publication.packing.suffix,
        }
        self.folder.write(path, self._page("board.html", path, context))

    def _empty_board(self) -> str:
        context: dict[str, Any] = {
            "label_of_suite": "no scores yet",
            "others": [],
            "here": "",
            "board": None,
            "heat": None,
            "tasks": None,
            "rows": 0,
            "drawn": (),
            "asked": {},
        }
        return self._page("board.html", "leaderboard/index.html", context)

    def _write_documents(self) -> None:
        published = self.publication
        write_data(self.folder, "catalog", published.catalog())
        runs = {
            f"run-{iri.rpartition('/')[2]}": iri
            for iri in things.instances(self.renderer.site_graph, KGB.Run, 1_000_000)
        }
        write_data(self.folder, "void", void(published, self.units, runs))
        versions = published.versions
        for position, version in enumerate(versions):
            write_data(self.folder, f"version/{version.number}", published.of_version(version))
            path = f"version/{version.number}/index.html"
            context = {
                "title": published.metadata.title,
                "version": version,
                "iri": published.version(version),
                "before": versions[position - 1] if position else None,
                "after": versions[position + 1] if position + 1 < len(versions) else None,
            }
            self.folder.write(path, self._page("version.html", path, context))

    def _landing(self) -> str:
        published, site_graph = self.publication, self.renderer.site_graph
        versions, displayed = published.versions, model_names(site_graph)
        suites = [
            {
                "label": results.label,
                "slug": results.slug,
                "board": self._leaderboard(results),
                "heat": self._heat(results),
                "answers": self._answers(results, "index.html"),
                "drawn": self.figures.get(results.suite, ()),
                "asked": results.queries,
            }
            for results in self.standings
        ]
        context = {
            "title": published.metadata.title,
            "description": published.metadata.description,
            "signposts": list(discovery.signposts(published)),
            "dataset": published.dataset.value,
            "described": self._fragments(),
            "creators": published.metadata.creators,
            "licence": published.metadata.licence,
            "version": published.now,
            "most": _FEW_MODELS,
            "before": versions[-2] if len(versions) > 1 else None,
            "left_out": published.left_out,
            "citation": published.citation,
            "endpoint": published.endpoint,
            "companions": published.companions,
            "signed": [KEYS, SIGNATURE] if published.signed else [],
            "dialogues": published.now.dialogues,
            "runs": sorted(self._runs(displayed), key=_start_time, reverse=True),
            "models": _sorted(displayed.items()),
            "tasks": _sorted((task.iri, task.name) for task in fetch.tasks(site_graph).values()),
            "suites": suites,
            "downloads": [d for d in published.now.dumps if not d.path.startswith("data/run-")],
            "queries": [queries.load(name) for name in queries.names()],
            "embedded": script(json.dumps(schema_org(published), ensure_ascii=False)),
        }
        return self._page("landing.html", "index.html", context)

    def _fragments(self) -> list[str]:
        """Return the fragments by which the catalogue names things on the landing page."""
        start = f"{self.publication.base}#"
        subjects = (str(quad.subject).strip("<>") for quad in self.publication.catalog())
        return sorted({subject[len(start) :] for subject in subjects if subject.startswith(start)})

    def _runs(self, displayed: Mapping[str, str]) -> Iterator[dict[str, Any]]:
        """Yield the context of each run; ``displayed`` are the display names of models by IRI."""
        kinds = runs.pass_kinds(self.renderer.site_graph)
        for iri in things.runs(self.renderer.site_graph):
            yield self._run(iri, self._run_name(iri, displayed, kinds.get(iri, ())))

    def _run(self, iri: str, name: str) -> dict[str, Any]:
        site_graph = self.renderer.site_graph
        unit = self.units.get(f"run-{iri.rpartition('/')[2]}")
        executions = {} if unit is None else unit.facts["executions"]
        return {
            "iri": iri,
            "name": name,
            "suite": things.text(site_graph, iri, KGB.suite) or "",
            **runs.run_times(site_graph, iri),
            "dialogues": 0 if unit is None else unit.facts["dialogues"],
            "complete": sum(done for done, *_ in executions.values()),
        }

    def _run_name(self, iri: str, displayed: Mapping[str, str], kinds: Iterable[str]) -> str:
        site_graph = self.renderer.site_graph
        executions = things.subjects(site_graph, DCTERMS.isPartOf, iri, 1_000_000)
        models = {things.text(site_graph, iri, KGB.model) for iri in executions} - {None}
        label = things.text(site_graph, iri, RDFS.label) or iri
        return runs.display_name(
            label, kinds, sorted(displayed.get(str(model), "") for model in models)
        )

    def _leaderboard(self, results: SuiteResults) -> Board | None:
        """Return the leaderboard of a suite, with the exact queries behind it."""
        table = results.tables.get("leaderboard")
        if table is None:
            return None
        leaderboard = board(table, display_names(self.renderer.site_graph), results.suite)
        return leaderboard._replace(queries=filled_links(results.queries["leaderboard"]))

    def _heat(self, results: SuiteResults) -> HeatMap | None:
        table, ranked = results.tables.get("tasks"), results.tables.get("leaderboard")
        if table is None:
            return None
        order = [] if ranked is None else [str(name) for name in ranked.column("model")]
        heat = heat_map(table, order, display_names(self.renderer.site_graph), results.suite)
        return heat._replace(queries=filled_links(results.queries["tasks"]))

    def _answers(self, results: SuiteResults, path: str) -> Callable[[str, str | None], str | None]:
        """Return a function from model and task names to the page of their dialogues.

        Links are relative to ``path``. There is none (``None``) unless exactly one run has such
        dialogues.
        """
        site_graph = self.renderer.site_graph
        executions_by_cell: dict[tuple[str, str], list[str]] = {}
        for execution in things.instances(site_graph, KGB.TaskExecution, 1_000_000):
            of_run = things.text(site_graph, execution, DCTERMS.isPartOf)
            if of_run is None or things.text(site_graph, of_run, KGB.suite) != self._published_iri(
                results.suite
            ):
                continue
            cell = tuple(things.text(site_graph, execution, p) or "" for p in (KGB.model, KGB.task))
            executions_by_cell.setdefault((cell[0], cell[1]), []).append(execution)

        def answers(model: str, task: str | None) -> str | None:
            iris = tuple(
                self._published_iri(self.names.get(name or "", "")) for name in (model, task)
            )
            executions = executions_by_cell.get((iris[0], iris[1]), [])
            return self.renderer.link(executions[0], path) if len(executions) == 1 else None

        return answers

    def _published_iri(self, iri: str) -> str:
        return self.renderer.addresses.published(iri)

    def _page(self, template: str, path: str, context: Mapping[str, Any]) -> str:
        return self.renderer.page(template, path, context, documents=dict(FORMATS))


def next_version(
    versions: Sequence[Version], units: Mapping[str, Unit], dumps: Sequence[Dump], date: str
) -> list[Version]:
    """Return the versions of the data set, with a new one if the content of dumps has changed."""
    from kgbench.rdf import canonical_json, digest

    content = digest(canonical_json(sorted((d.path, d.content) for d in dumps)))
    if versions and versions[-1].digest == content:
        return list(versions)
    facts = [unit.facts for unit in units.values()]
    new_version = Version(
        number=versions[-1].number + 1 if versions else 1,
        date=max(date, versions[-1].date) if versions else date,
        digest=content,
        runs=sum("executions" in unit_facts for unit_facts in facts),
        dialogues=sum(unit_facts.get("dialogues", 0) for unit_facts in facts),
        triples=sum(unit_facts.get("triples", 0) for unit_facts in facts),
        dumps=tuple(sorted(dumps, key=lambda fact: fact.path)),
    )
    return [*versions, new_version]


def _start_time(run: Mapping[str, Any]) -> str:
    return run["started"] or ""


def _sorted(pairs: Any) -> list[tuple[str, str]]:
    return sorted(pairs, key=lambda pair: (pair[1].lower(), pair[0]))


def main_metrics(site_graph: MemoryView) -> list[tuple[str, str]]:
    """Return the main metrics of the task classes in use, as pairs of IRI and label."""
    metrics = {}
    for task in things.instances(site_graph, KGB.Task, 1_000_000):
        for of_class in things.values(site_graph, task, KGB.taskClass):
            for metric in things.values(site_graph, of_class.value, KGB.mainMetric):
                name = things.text(site_graph, of_class.value, SKOS.notation) or ""
                metrics[metric.value] = f"{name}: {things.label(site_graph, metric.value)}"
    return sorted(metrics.items())
