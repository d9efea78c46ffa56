# SPDX-License-Identifier: Apache-2.0
"""Contents of pages by the kind of resource: models, suites, queries, and any other resource."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from kgbench.analysis.compass import compass_table
from kgbench.analysis.leaderboard import standings_table
from kgbench.errors import QueryError
from kgbench.pages import rendering, score_tables, things
from kgbench.pages.conversation import conversation
from kgbench.pages.exercises import execution_page, suite_page, task_page
from kgbench.pages.rendering import embedded
from kgbench.pages.runs import run_page
from kgbench.pages.things import View
from kgbench.rdf import queries
from kgbench.scores import catalogue
from kgbench.scores.catalogue import model_names, recorded, records
from kgbench.scores.selection import FIRST, Selection, filled, select
from kgbench.tables import Table
from kgbench.vocab import KGB, PROV, QB, RDF, SKOS

HIDDEN = frozenset((KGB.caseData,))


def filled_query(view: View, parameters: Mapping[str, str]) -> str:
    """Return the text of the declared query ``parameters["name"]`` with values for its parameters.

    Values are taken from ``parameters``. Missing ones are filled from the store: the graphs of the
    passes that ``parameters`` select by ``suite``, ``run`` and ``pass`` (by default the first), the
    first dialogue, the first observation.
    """
    query = queries.load(parameters["name"])
    values: dict[str, Any] = {
        p.name: parameters[p.name]
        for p in query.parameters
        if p.name in parameters and p.name != "name"
    }
    values = filled(query, values, lambda: _selected(view, parameters))
    for name in {p.name for p in query.parameters if not p.optional} - set(values):
        values[name] = _first(view, name)
    for name in ("suite", "run", "pass"):  # may be names, which select graphs only
        if name in values and not values[name].startswith("http"):
            del values[name]
    lines = queries.bind(query, **values).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# SPDX-"))


def _selected(view: View, parameters: Mapping[str, str]) -> Selection:
    """Select by the parameters of a link; without suite and run, of the first suite."""
    suite, run = parameters.get("suite"), parameters.get("run")
    if suite is None and run is None:
        suite = next((str(iri) for iri, *_ in queries.rows(view, "list-suites")), None)
    return select(view, suite, parameters.get("pass", FIRST), run=run)


def _first(view: View, name: str) -> str | list[str]:
    """Return a value for a parameter from the store; an empty list if there is none."""
    if name == "text":
        return "text"
    kind = {"dialogue": KGB.Dialogue, "observation": QB.Observation}.get(name)
    return [] if kind is None else things.subjects(view, RDF.type, kind, 1)


def _model(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    suites = []
    models = catalogue.models(view)
    name = models.name(iri)
    for suite, label, selected in score_tables.selections(view):
        table = score_tables.of_one(view, selected, "model", iri, name)
        if table is None or not table.rows:
            continue
        spokes = rendering.spokes(_axes(view, selected, iri, name))
        suites.append(
            {
                "suite": suite,
                "label": label,
                "name": name,
                "facts": list(_standing(view, selected, name)),
                "results": score_tables.results(table, {}, "task"),
                "table": table,
                "boxes": [rendering.box(record) for record in table],
                "spokes": spokes,
                "outline": rendering.outline(spokes),
            }
        )
    return {
        "suites": suites,
        "title": model_names(view).get(iri, name),
        "name": name,
        "published": list(_published(models[iri].id)) if iri in models else [],
    }


def _standing(view: View, selected: Selection, name: str) -> Iterator[tuple[str, str]]:
    """Yield what the leaderboard of a suite says about a model: titles and values."""

    def standings() -> Table | None:
        try:
            return standings_table(view, selected)
        except QueryError:  # tasks without a main metric
            return None

    table = score_tables.kept(view, ("standings", selected.suite), standings)
    if table is None:
        return
    row = next((row for row in table.records() if row["model"] == name), None)
    if row is None or row["score"] is None:
        return
    ranked = sum(rank is not None for rank in table.column("rank"))
    yield "Rank", "none" if row["rank"] is None else f"{row['rank']} of {ranked}"
    yield "Score", f"{row['score']:.3f}"
    yield "Tasks", str(row["tasks"])
    yield "Dialogues", f"{row['n']:,}"
    if row["failed"]:
        yield "Failed", f"{row['failed']:,}"
    if row["unreadable"]:
        yield "Unreadable", f"{100 * row['unreadable']:.1f} %"


def _published(model_id: str) -> Iterator[tuple[str, str]]:
    """Yield the published facts about a model (id) that are declared: titles and values."""
    record = recorded(model_id, records())
    if record is None:
        return
    yield "Family", record.family
    if record.parameters is not None:
        yield "Parameters", f"{record.parameters:g} billion"
    if record.active is not None and record.active != record.parameters:
        yield "Active parameters", f"{record.active:g} billion"
    if record.context is not None:
        yield "Context", f"{record.context:,} tokens"
    if record.released is not None:
        yield "Released", record.released.isoformat()
    if record.license is not None:
        yield "Licence", record.license


def _suite(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:
    name = quote(things.text(view, iri, SKOS.notation) or iri)
    return {**suite_page(view, iri, reveal=reveal), "board": f"leaderboard?suite={name}"}


def _axes(view: View, selected: Selection, iri: str, name: str) -> list[tuple[str, float | None]]:
    """Return a model's means by the declared compass; empty if it does not fit the tasks."""
    chosen = selected if view.tables is not None else replace(selected, models=iri)

    def table() -> Table | None:
        try:
            return compass_table(view, chosen)
        except QueryError:
            return None

    row = score_tables.only(score_tables.kept(view, ("axes", chosen.suite), table), "model", name)
    records = [] if row is None else row.records()
    return [(str(record["label"]), _number(record["mean"])) for record in records]


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _analysis(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    """Return the table of a stored analysis and its provenance; no table if it cannot be read."""
    recorded = things.text(view, iri, KGB.tableJson)
    try:
        table = Table.from_json(json.loads(recorded or ""))
    except (ValueError, TypeError, LookupError, AttributeError):  # imported data may be malformed
        table = None
    return {
        "table": table,
        "suite": things.text(view, iri, KGB.suite),
        "pass_": things.text(view, iri, KGB.passChoice),
        "ended": things.text(view, iri, PROV.endedAtTime),
        "software": things.text(view, iri, PROV.wasAssociatedWith),
    }


_SPECIAL: tuple[tuple[str, str, Callable[..., dict[str, Any]]], ...] = (
    (KGB.Run, "run.html", run_page),
    (KGB.TaskExecution, "execution.html", execution_page),
    (KGB.Model, "model.html", _model),
    (KGB.Task, "task.html", task_page),
    (KGB.Analysis, "analysis.html", _analysis),
    (KGB.Suite, "suite.html", _suite),
    (KGB.Dialogue, "dialogue.html", conversation),
)


def template(kinds: set[str]) -> tuple[str, Callable[..., dict[str, Any]] | None]:
    """Return the template for a resource of these classes, and the function for its contents.

    The function takes a view, the IRI, and ``reveal``, whether reference answers are shown. It is
    ``None`` for resources without special contents.
    """
    matching = ((name, build) for kind, name, build in _SPECIAL if kind in kinds)
    return next(matching, ("thing.html", None))


def statements(view: View, iri: str, *, reveal: bool, title: str | None = None) -> dict[str, Any]:
    """Return what every page of a resource shows: title, classes and statements."""
    described = things.describe(view, iri)
    quads = [q for q in described.quads if reveal or q.predicate.value not in HIDDEN]
    return {
        "iri": iri,
        "title": title or things.label(view, iri),
        "kinds": own_kinds(things.kinds(view, iri)),
        "reveal": reveal,
        "hidden": HIDDEN,
        "statements": sorted(
            grouped(described.outgoing), key=lambda each: (each[0] != iri, each[0])
        ),
        "nested": grouped(described.nested),
        "incoming": _by_predicate(described.incoming),
        "limits": described.limits,
        "embedded": embedded(quads),
    }


def own_kinds(kinds: set[str]) -> list[str]:
    """Return the classes that a page names: those of our vocabulary, or else all."""
    return sorted({kind for kind in kinds if kind.startswith(KGB)} or kinds)


def grouped(quads: list[Any]) -> list[tuple[str, dict[str, list[Any]]]]:
    """Group statements by subject, then by property."""
    subjects: dict[str, dict[str, list[Any]]] = {}
    for quad in quads:
        objects = subjects.setdefault(str(quad.subject.value), {})
        values = objects.setdefault(quad.predicate.value, [])
        if quad.object not in values:
            values.append(quad.object)
    return [(subject, dict(sorted(objects.items()))) for subject, objects in subjects.items()]


def _by_predicate(quads: list[Any]) -> dict[str, list[str]]:
    predicates: dict[str, list[str]] = {}
    for quad in quads:
        subjects = predicates.setdefault(quad.predicate.value, [])
        if quad.subject.value not in subjects:
            subjects.append(quad.subject.value)
    return dict(sorted(predicates.items()))
