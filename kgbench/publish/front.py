# SPDX-License-Identifier: Apache-2.0
"""What stands at the root of a site: landing page, leaderboards, catalogue files, versions."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kgbench.analysis import queries
from kgbench.analysis import scores as fetch
from kgbench.pages import things
from kgbench.pages.rendering import STYLE, script
from kgbench.pages.snapshot import Memory
from kgbench.publish import robots
from kgbench.publish.catalog import Publication
from kgbench.publish.dumps import MEDIA
from kgbench.publish.executions import write_data
from kgbench.publish.folder import Folder, checksum
from kgbench.publish.manifest import Dump, Unit, Version
from kgbench.publish.presenting import FORMATS, Presenting
from kgbench.publish.standing import Standing, as_sheet
from kgbench.publish.void import void
from kgbench.resources import text as declared_text
from kgbench.vocab import KGB, PROV, RDFS, SKOS

_FEW_MODELS = 25  # rows of a leaderboard on the landing page
Figures = Mapping[str, Sequence[tuple[str, str, str, str]]]


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
        self.folder.write("style.css", STYLE.read_bytes())
        self.folder.write("robots.txt", robots.text(self.publication.base))
        self.folder.write("canary.txt", robots.canary_text(self.publication.canaries))
        for name in queries.names():
            for suffix in ("rq", "ttl"):
                self.folder.write(
                    f"queries/{name}.{suffix}", declared_text("queries", f"{name}.{suffix}")
                )
        for path, text in texts.items():
            self.folder.write(path, text)
        for number, found in enumerate(self.standings):
            self._board(found, f"leaderboard/{found.slug}/index.html")
            if number == 0:
                self._board(found, "leaderboard/index.html")
        if not self.standings:
            self.folder.write("leaderboard/index.html", self._nothing())
        self._documents()
        self.folder.write("index.html", self._landing())
        self._checksums()

    def _board(self, found: Standing, path: str) -> None:
        tables = found.tables
        tasks = tables.get("tasks")
        context = {
            "label_of_suite": found.label,
            "others": [(one.slug, one.label) for one in self.standings],
            "here": found.slug,
            "board": self._sheet(found, "leaderboard"),
            "tasks": None if tasks is None else as_sheet(found, "tasks", tasks, self.names),
            "figures": self.figures.get(found.suite, ()),
            "asked": found.asked,
        }
        self.folder.write(path, self._page("board.html", path, context))

    def _nothing(self) -> str:
        context: dict[str, Any] = {
            "label_of_suite": "nothing was scored yet",
            "others": [],
            "here": "",
            "board": {"title": "", "heads": [], "rows": [], "notes": (), "queries": []},
            "tasks": None,
            "figures": (),
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
        suites = []
        for found in self.standings:
            board = self._sheet(found, "leaderboard")
            if board is not None and len(board.rows) > _FEW_MODELS:
                more = f"the first {_FEW_MODELS} of {len(board.rows)} models"
                board = board._replace(rows=board.rows[:_FEW_MODELS], notes=(*board.notes, more))
            suites.append(
                {
                    "label": found.label,
                    "slug": found.slug,
                    "board": board,
                    "figures": self.figures.get(found.suite, ()),
                    "asked": found.asked,
                }
            )
        context = {
            "title": published.about.title,
            "description": published.about.description,
            "dataset": published.dataset.value,
            "creators": published.about.creators,
            "licence": published.about.licence,
            "version": published.now,
            "before": versions[-2] if len(versions) > 1 else None,
            "left_out": published.left_out,
            "endpoint": published.endpoint,
            "dialogues": published.now.dialogues,
            "runs": [self._run(iri) for iri in things.runs(shown)],
            "models": _sorted((one.iri, one.name) for one in fetch.models(shown).values()),
            "tasks": _sorted((one.iri, one.name) for one in fetch.tasks(shown).values()),
            "suites": suites,
            "downloads": [d for d in published.now.dumps if not d.path.startswith("data/run-")],
            "queries": [queries.load(name) for name in queries.names()],
            "embedded": script(json.dumps(self._schema_org(), ensure_ascii=False)),
        }
        return self._page("landing.html", "index.html", context)

    def _run(self, iri: str) -> dict[str, Any]:
        shown = self.presenting.shown
        unit = self.units.get(f"run-{iri.rpartition('/')[2]}")
        executions = {} if unit is None else unit.facts["executions"]
        return {
            "iri": iri,
            "label": things.text(shown, iri, RDFS.label) or iri,
            "suite": things.text(shown, iri, KGB.suite) or "",
            "started": things.text(shown, iri, PROV.startedAtTime),
            "dialogues": 0 if unit is None else unit.facts["dialogues"],
            "complete": sum(done for done, *_ in executions.values()),
        }

    def _schema_org(self) -> dict[str, Any]:
        """The data set as search engines for data sets read it."""
        published, about = self.publication, self.publication.about
        agents = [
            {"@type": "Person", "name": one.name, **({"@id": one.iri} if one.iri else {})}
            for one in about.creators
        ]
        found: dict[str, Any] = {
            "@context": "https://schema.org/",
            "@type": "Dataset",
            "@id": published.dataset.value,
            "name": about.title,
            "description": about.description,
            "url": published.base,
            "identifier": published.dataset.value,
            "version": str(published.now.number),
            "datePublished": published.versions[0].date,
            "dateModified": published.now.date,
            "isAccessibleForFree": True,
            "conditionsOfAccess": published.rights,
            "keywords": list(about.keywords) or ["benchmark", "knowledge graph", "language model"],
            "measurementTechnique": "kgbench",
            "variableMeasured": [
                {"@type": "PropertyValue", "@id": iri, "name": name}
                for iri, name in published.measured
            ],
            "includedInDataCatalog": {"@type": "DataCatalog", "@id": published.base + "#catalog"},
            "distribution": [self._download(dump) for dump in published.now.dumps],
        }
        if about.licence:
            found["license"] = about.licence
        if agents:
            found["creator"] = agents
        publisher = about.publisher or next(iter(about.creators), None)
        if publisher is not None:
            found["publisher"] = {"@type": "Organization", "name": publisher.name}
        return found

    def _download(self, dump: Dump) -> dict[str, Any]:
        return {
            "@type": "DataDownload",
            "name": dump.path.rpartition("/")[2],
            "contentUrl": self.publication.base + dump.path,
            "encodingFormat": [MEDIA[dump.path.split(".")[-2]], self.publication.packing.media],
            "contentSize": f"{dump.bytes} B",
            "sha256": dump.sha256,
        }

    def _checksums(self) -> None:
        known = {dump.path: dump.sha256 for dump in self.publication.now.dumps}
        lines = []
        for path in sorted(self.folder.written):
            if path.startswith(("data/", "queries/", "catalog.", "void.")):
                found = known.get(path) or checksum(self.folder.path / path)[0]
                lines.append(f"{found}  {path}\n")
        self.folder.write("SHA256SUMS", "".join(lines))

    def _sheet(self, found: Standing, kind: str) -> Any:
        table = found.tables.get(kind)
        return None if table is None else as_sheet(found, kind, table, self.names)

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
