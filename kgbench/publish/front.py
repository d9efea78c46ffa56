# SPDX-License-Identifier: Apache-2.0
"""What stands at the root of a site: landing page, leaderboards, catalogue files, versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgbench.analysis import scores as fetch
from kgbench.analysis.display_names import display_names, model_names
from kgbench.pages import runs, things
from kgbench.pages.board import Board, HeatMap, board, heat_map
from kgbench.pages.rendering import STATIC, script
from kgbench.pages.snapshot import Memory
from kgbench.publish import discovery, robots
from kgbench.publish.catalog import Publication
from kgbench.publish.dataset_metadata import datacite, schema_org, zenodo
from kgbench.publish.executions import write_data
from kgbench.publish.folder import Folder
from kgbench.publish.manifest import Dump, Unit, Version
from kgbench.publish.presenting import FORMATS, Presenting
from kgbench.publish.signing import KEYS, SIGNATURE
from kgbench.publish.standing import Drawn, Standing, as_sheet, filled_links
from kgbench.publish.void import void
from kgbench.rdf import queries, query_examples
from kgbench.resources import text as declared_text
from kgbench.validation import Data, whole_shapes
from kgbench.vocab import DCTERMS, KGB, RDFS, SKOS

SHAPES = "shapes"  # their folder
_FEW_MODELS = 25  # rows of a leaderboard on the landing page
Figures = Mapping[str, Sequence[Drawn]]


@dataclass(frozen=True, slots=True)
class Front:
    """Writes the files at the root; ``figures`` by suite, ``names`` IRIs by names in tables."""

    folder: Folder
    presenting: Presenting
    publication: Publication
    standings: Sequence[Standing]
    figures: Figures
    names: Mapping[str, str]
    units: Mapping[str, Unit]

    def write(self, texts: Mapping[str, str]) -> None:
        """All of them; ``texts`` are the filled queries by their paths."""
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
        self._examples()
        self._shapes()
        self._discovery()
        for number, found in enumerate(self.standings):
            self._board(found, f"leaderboard/{found.slug}/index.html")
            if number == 0:
                self._board(found, "leaderboard/index.html")
        if not self.standings:
            self.folder.write("leaderboard/index.html", self._nothing())
        self._documents()
        self.folder.write("index.html", self._landing())

    def _examples(self) -> None:
        """The questions with their texts, where readers of SPARQL endpoints look for them."""
        path = f"{query_examples.PLACE}/index.html"
        context = {"queries": [queries.load(name) for name in queries.names()]}
        self.folder.write(path, self._page("examples.html", path, context))
        quads = query_examples.examples(self.publication.endpoint)
        write_data(self.folder, query_examples.PLACE, quads)

    def _shapes(self) -> None:
        """The shapes that dumps and catalogue conform to, whole, for any SHACL engine."""
        shapes = whole_shapes(Data(self.presenting.shown.database))
        self.folder.write(f"{SHAPES}/results.ttl", shapes)
        self.folder.write(f"{SHAPES}/catalogue.ttl", declared_text("shapes", "published.ttl"))

    def _discovery(self) -> None:
        """What machines look for: links, metadata of archives, rules of servers."""
        published = self.publication
        self.folder.write(discovery.LINKSET, discovery.linkset(published))
        for path, said in (("datacite.json", datacite), (".zenodo.json", zenodo)):
            self.folder.write(
                path, json.dumps(said(published), indent=1, ensure_ascii=False) + "\n"
            )
        for path, rules in discovery.server_rules(published.base):
            self.folder.write(path, rules)
        self.folder.write(".nojekyll", "")  # else GitHub Pages leaves out .well-known

    def _board(self, found: Standing, path: str) -> None:
        tables = found.tables
        tasks = tables.get("tasks")
        context = {
            "label_of_suite": found.label,
            "others": [(one.slug, one.label) for one in self.standings],
            "here": found.slug,
            "board": self._places(found),
            "heat": self._heat(found),
            "answers": self._answers(found, path),
            "tasks": None if tasks is None else as_sheet(found, "tasks", tasks, self.names),
            "drawn": self.figures.get(found.suite, ()),
            "asked": found.asked,
            "packed": self.publication.packing.suffix,
        }
        self.folder.write(path, self._page("board.html", path, context))

    def _nothing(self) -> str:
        context: dict[str, Any] = {
            "label_of_suite": "nothing was scored yet",
            "others": [],
            "here": "",
            "board": None,
            "heat": None,
            "tasks": None,
            "drawn": (),
            "asked": {},
        }
        return self._page("board.html", "leaderboard/index.html", context)

    def _documents(self) -> None:
        published = self.publication
        write_data(self.folder, "catalog", published.catalog())
        runs = {
            f"run-{iri.rpartition('/')[2]}": iri
            for iri in things.instances(self.presenting.shown, KGB.Run, 1_000_000)
        }
        write_data(self.folder, "void", void(published, self.units, runs))
        versions = published.versions
        for place, one in enumerate(versions):
            write_data(self.folder, f"version/{one.number}", published.of_version(one))
            path = f"version/{one.number}/index.html"
            context = {
                "title": published.about.title,
                "version": one,
                "iri": published.version(one),
                "before": versions[place - 1] if place else None,
                "after": versions[place + 1] if place + 1 < len(versions) else None,
            }
            self.folder.write(path, self._page("version.html", path, context))

    def _landing(self) -> str:
        published, shown = self.publication, self.presenting.shown
        versions = published.versions
        suites = [
            {
                "label": found.label,
                "slug": found.slug,
                "board": self._places(found),
                "heat": self._heat(found),
                "answers": self._answers(found, "index.html"),
                "drawn": self.figures.get(found.suite, ()),
                "asked": found.asked,
            }
            for found in self.standings
        ]
        context = {
            "title": published.about.title,
            "description": published.about.description,
            "signposts": list(discovery.signposts(published)),
            "dataset": published.dataset.value,
            "described": self._described(),
            "creators": published.about.creators,
            "licence": published.about.licence,
            "version": published.now,
            "most": _FEW_MODELS,
            "before": versions[-2] if len(versions) > 1 else None,
            "left_out": published.left_out,
            "citation": published.citation,
            "endpoint": published.endpoint,
            "companions": published.companions,
            "signed": [KEYS, SIGNATURE] if published.signed else [],
            "dialogues": published.now.dialogues,
            "runs": sorted(map(self._run, things.runs(shown)), key=_begun, reverse=True),
            "models": _sorted(model_names(shown).items()),
            "tasks": _sorted((one.iri, one.name) for one in fetch.tasks(shown).values()),
            "suites": suites,
            "downloads": [d for d in published.now.dumps if not d.path.startswith("data/run-")],
            "queries": [queries.load(name) for name in queries.names()],
            "embedded": script(json.dumps(schema_org(published), ensure_ascii=False)),
        }
        return self._page("landing.html", "index.html", context)

    def _described(self) -> list[str]:
        """The places on the landing page by which the catalogue names things."""
        start = f"{self.publication.base}#"
        subjects = (str(quad.subject).strip("<>") for quad in self.publication.catalog())
        return sorted({one[len(start) :] for one in subjects if one.startswith(start)})

    def _run(self, iri: str) -> dict[str, Any]:
        shown = self.presenting.shown
        unit = self.units.get(f"run-{iri.rpartition('/')[2]}")
        executions = {} if unit is None else unit.facts["executions"]
        return {
            "iri": iri,
            "name": self._run_name(iri),
            "suite": things.text(shown, iri, KGB.suite) or "",
            **runs.when(shown, iri),
            "dialogues": 0 if unit is None else unit.facts["dialogues"],
            "complete": sum(done for done, *_ in executions.values()),
        }

    def _run_name(self, iri: str) -> str:
        shown = self.presenting.shown
        named = model_names(shown)
        executions = things.subjects(shown, DCTERMS.isPartOf, iri, 1_000_000)
        models = {things.text(shown, one, KGB.model) for one in executions} - {None}
        kinds = runs.pass_kinds(shown).get(iri, ())
        label = things.text(shown, iri, RDFS.label) or iri
        return runs.called(label, kinds, sorted(named.get(str(one), "") for one in models))

    def _places(self, found: Standing) -> Board | None:
        """The leaderboard of a suite, with the exact queries behind it."""
        table = found.tables.get("leaderboard")
        if table is None:
            return None
        made = board(table, display_names(self.presenting.shown), found.suite)
        return made._replace(queries=filled_links(found.asked["leaderboard"]))

    def _heat(self, found: Standing) -> HeatMap | None:
        table, ranked = found.tables.get("tasks"), found.tables.get("leaderboard")
        if table is None:
            return None
        order = [] if ranked is None else [str(name) for name in ranked.column("model")]
        made = heat_map(table, order, display_names(self.presenting.shown), found.suite)
        return made._replace(queries=filled_links(found.asked["tasks"]))

    def _answers(self, found: Standing, path: str) -> Callable[[str, str | None], str | None]:
        """Where the dialogues of a model on a task (names) are listed, seen from ``path``.

        They have no such place where several runs have some.
        """
        shown = self.presenting.shown
        places: dict[tuple[str, str], list[str]] = {}
        for one in things.instances(shown, KGB.TaskExecution, 1_000_000):
            of_run = things.text(shown, one, DCTERMS.isPartOf)
            if of_run is None or things.text(shown, of_run, KGB.suite) != self._published(
                found.suite
            ):
                continue
            cell = tuple(things.text(shown, one, p) or "" for p in (KGB.model, KGB.task))
            places.setdefault((cell[0], cell[1]), []).append(one)

        def answers(model: str, task: str | None) -> str | None:
            iris = tuple(self._published(self.names.get(name or "", "")) for name in (model, task))
            executions = places.get((iris[0], iris[1]), [])
            return self.presenting.link(executions[0], path) if len(executions) == 1 else None

        return answers

    def _published(self, iri: str) -> str:
        return self.presenting.addresses.published(iri)

    def _page(self, template: str, path: str, context: Mapping[str, Any]) -> str:
        return self.presenting.page(template, path, context, documents=dict(FORMATS))


def next_version(
    versions: Sequence[Version], units: Mapping[str, Unit], dumps: Sequence[Dump], date: str
) -> list[Version]:
    """The versions of the data set; a new one where its content is not that of the last."""
    from kgbench.rdf import canonical_json, digest

    content = digest(canonical_json(sorted((d.path, d.content) for d in dumps)))
    if versions and versions[-1].digest == content:
        return list(versions)
    facts = [unit.facts for unit in units.values()]
    made = Version(
        number=versions[-1].number + 1 if versions else 1,
        date=max(date, versions[-1].date) if versions else date,
        digest=content,
        runs=sum("executions" in one for one in facts),
        dialogues=sum(one.get("dialogues", 0) for one in facts),
        triples=sum(one.get("triples", 0) for one in facts),
        dumps=tuple(sorted(dumps, key=lambda one: one.path)),
    )
    return [*versions, made]


def _begun(run: Mapping[str, Any]) -> str:
    return run["started"] or ""


def _sorted(pairs: Any) -> list[tuple[str, str]]:
    return sorted(pairs, key=lambda one: (one[1].lower(), one[0]))


def measured(made: Memory) -> list[tuple[str, str]]:
    """The main metrics of the task classes that were used."""
    found = {}
    for task in things.instances(made, KGB.Task, 1_000_000):
        for of_class in things.values(made, task, KGB.taskClass):
            for metric in things.values(made, of_class.value, KGB.mainMetric):
                name = things.text(made, of_class.value, SKOS.notation) or ""
                found[metric.value] = f"{name}: {things.label(made, metric.value)}"
    return sorted(found.items())
