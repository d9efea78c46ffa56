# SPDX-License-Identifier: Apache-2.0
"""What was measured, suite by suite: leaderboard, scores by task, compasses, outcomes.

Everything is computed once for all models; pages show their part of it. Names in the tables are
scrubbed like everything else, and each table knows the queries that it was made with.
"""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kgbench.analysis import scores as fetch
from kgbench.analysis.compass import compass, compass_of, compass_table
from kgbench.analysis.leaders import leaders
from kgbench.analysis.selection import Selection, select
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.analysis.task_scores import task_scores
from kgbench.errors import QueryError
from kgbench.pages import drawing, exercises, things
from kgbench.pages.board import board
from kgbench.pages.scored import results
from kgbench.pages.snapshot import View
from kgbench.pages.tables import Sheet, sheet
from kgbench.publish.addresses import Addresses
from kgbench.publish.asked import Catalogue, Recording, filled
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.parts import Parts
from kgbench.rdf import queries
from kgbench.store.iris import slug
from kgbench.vocab import KGB, OUTCOME, RDFS, SKOS

BOARD, TASKS, _OUTCOMES, COMPASS = "leaderboard", "tasks", "outcomes", "compass-"


@dataclass(frozen=True, slots=True)
class Standing:
    """What was measured within one suite.

    ``tables`` by kind (``leaderboard``, ``tasks``, ``compass-NAME``), ``asked`` the paths of the
    queries of each, with their names. ``outcomes`` counts answers by model and outcome.
    """

    suite: str
    name: str
    label: str
    selection: Selection
    tables: dict[str, Table] = field(default_factory=dict)
    asked: dict[str, dict[str, str]] = field(default_factory=dict)
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        """The name of the suite in paths."""
        return slug(self.name)

    def document(self, base: str) -> str:
        """The IRI of the document with the tables of the suite, and of its page."""
        return f"{base}leaderboard/{self.slug}"

    def cube(self, base: str, kind: str) -> str:
        """The IRI of a table as a data cube."""
        return f"{self.document(base)}#{kind}"


class Drawn(NamedTuple):
    """A figure: its kind and title, and the paths of the SVG and of the numbers drawn."""

    kind: str
    title: str
    svg: str
    numbers: str


class Measuring:
    """Takes the standings of the published runs."""

    def __init__(
        self,
        view: View,
        parts: Parts,
        addresses: Addresses,
        outgoing: Outgoing,
    ) -> None:
        self._view = view
        self.catalogue = Catalogue(view)
        self._parts = parts
        self._addresses = addresses
        self._outgoing = outgoing
        self.texts: dict[str, str] = {}

    def standings(self, done: Callable[[str], None]) -> Iterator[Standing]:
        """One for each suite that has scores; ``done`` is told what was finished."""
        for suite in sorted(self._parts.suites):
            name = things.text(self._view, suite, SKOS.notation) or suite
            label = self._outgoing.clean(things.text(self._view, suite, RDFS.label) or name)
            try:
                selection = self.selected(suite)
            except QueryError:  # dialogues, and no pass yet
                continue
            found = Standing(suite, name, label, selection)
            self._take(found, BOARD, leaders)
            self._take(found, TASKS, task_scores)
            for one in self._compasses():
                self._take(found, f"{COMPASS}{one}", partial(_compass, one))
            self._count(found)
            done(f"scores of {name}")
            yield found

    def selected(self, suite: str, run: str | None = None) -> Selection:
        """The scores that count, of the runs that are published, or of one ``run`` (IRI).

        Raises :class:`~kgbench.errors.QueryError` where there are dialogues, and no pass yet.
        """
        found = select(self._view, suite, run=run)
        graphs = self._parts.graphs
        return replace(
            found,
            pass_graphs=tuple(g for g in found.pass_graphs if g in graphs),
            run_graphs=tuple(g for g in found.run_graphs if g in graphs),
        )

    def _take(self, found: Standing, kind: str, make: Callable[[Any, Selection], Table]) -> None:
        recording = Recording(self.catalogue)
        with contextlib.suppress(QueryError):  # a suite without the tasks that it asks for
            table = make(recording.store(), found.selection)
            if table.rows:
                found.tables[kind] = self.clean_table(table)
                found.asked[kind] = self.filled(recording.asked)

    def _count(self, found: Standing) -> None:
        recording = Recording(self.catalogue)
        for row in queries.run(
            recording.store(),
            "outcome-counts",
            passGraph=list(found.selection.pass_graphs),
            latest=found.selection.latest,
        ):
            if row["round"] is not None:
                of_model = found.outcomes.setdefault(row["model"].value, {})
                name = row["outcome"].value.removeprefix(OUTCOME)
                of_model[name] = of_model.get(name, 0) + int(row["count"].value)
        found.asked[_OUTCOMES] = self.filled(recording.asked)

    def filled(self, asked: dict[str, None]) -> dict[str, str]:
        """The paths of the files with these queries, and their names; the site gets the files."""
        files = filled(asked, self._addresses.published)
        self.texts |= {path: text for path, (_, text) in files.items()}
        return {path: name for path, (name, _) in files.items()}

    def _compasses(self) -> list[str]:
        found = things.instances(self._view, KGB.Compass)
        return sorted(filter(None, (things.text(self._view, c, SKOS.notation) for c in found)))

    def clean_table(self, table: Table) -> Table:
        """The table with all texts as they are published."""
        clean = self.cleaned
        return replace(
            table,
            rows=tuple(tuple(clean(v) if isinstance(v, str) else v for v in r) for r in table.rows),
            notes=tuple(map(self._outgoing.clean, table.notes)),
            iris={
                column: {clean(name): iri for name, iri in iris.items()}
                for column, iris in table.iris.items()
            },
        )

    def published(self, iri: str) -> str:
        """The IRI in the publication of what the store calls ``iri``."""
        return self._outgoing.node(iri).value

    def cleaned(self, text: str) -> str:
        """A name in a table; one that loses its host still differs from others."""
        if text.startswith(self._addresses.store):
            return self._addresses.published(text)
        return self._outgoing.model_name(text)


def names(view: View, measuring: Measuring) -> dict[str, str]:
    """The IRIs of models and tasks by the names that tables show."""
    from kgbench.pages import contents

    return {measuring.cleaned(name): iri for name, iri in contents.names(view).items()}


def part(table: Table | None, column: str, value: str) -> Table | None:
    """The rows of one model or task; ``None`` where there are none."""
    if table is None or column not in table.names:
        return None
    place = table.names.index(column)
    rows = tuple(row for row in table.rows if row[place] == value)
    return replace(table, rows=rows) if rows else None


def as_sheet(
    found: Standing, kind: str, table: Table, named: Mapping[str, str], **how: str
) -> Sheet:
    """A table for a page, with the exact queries behind it."""
    made = sheet(table, named, found.suite, **how)
    return made._replace(queries=filled_links(found.asked[kind]))


def filled_links(asked: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Queries (names by path) as pages link them: each with where it stands."""
    return [(name, {"path": path}) for path, name in asked.items()]


def of_model(
    found: Standing, name: str, iri: str, named: Mapping[str, str]
) -> dict[str, Any] | None:
    """What the card of a model says of one suite; ``None`` where it has no results in it."""
    table = part(found.tables.get(TASKS), "model", name)
    if table is None:
        return None
    whole = as_sheet(found, TASKS, table, named, hide="model")
    spokes = []
    drawn = drawn_compass(found)
    if drawn is not None:
        axes = part(found.tables[drawn], "model", name)
        records = [] if axes is None else axes.records()
        spokes = drawing.spokes([(str(r["label"]), _number(r["mean"])) for r in records])
    whole_board = found.tables.get(BOARD)
    outcomes = _outcomes(found.outcomes.get(iri, {}))
    return {
        "suite": found.suite,
        "label": found.label,
        "name": name,
        "facts": [] if whole_board is None else list(_facts(whole_board, name)),
        "results": results(table, {}, "task"),
        "sheet": whole,
        "boxes": [drawing.box(record) for record in whole.records],
        "spokes": spokes,
        "polygon": drawing.polygon(spokes),
        "compass_queries": [] if drawn is None else list(found.asked[drawn].items()),
        "outcomes": as_sheet(found, _OUTCOMES, outcomes, named) if outcomes.rows else None,
    }


def of_task(
    found: Standing, name: str, named: Mapping[str, str], shown: Mapping[str, str]
) -> dict[str, Any] | None:
    """The results of one task in one suite; ``shown`` has the display names of models."""
    table = part(found.tables.get(TASKS), "task", name)
    if table is None:
        return None
    made = exercises.of_suite(table, shown, found.suite, found.label)
    return {**made, "sheet": as_sheet(found, TASKS, table, named, hide="task")}


def of_suite(found: Standing | None, view: View, suite: str) -> dict[str, Any]:
    """What the page of a suite shows, with the exact queries behind its results."""
    table = None if found is None else found.tables.get(TASKS)
    made = exercises.of_tasks(view, suite, table, fetch.tasks(view).values())
    if found is not None and made["heat"] is not None:
        made["heat"] = made["heat"]._replace(queries=filled_links(found.asked[TASKS]))
    return {**made, "board": None if found is None else f"leaderboard/{found.slug}/"}


def figures(found: Standing, folder: Path, addresses: Addresses, state: str) -> Iterator[Drawn]:
    """Figures of a suite.

    They are made in ``folder``; paths there are the last parts of those that are given.
    """
    from kgbench.plots.compasses import compass_figure
    from kgbench.plots.figures import save
    from kgbench.plots.standings import standings_figure

    for kind, table in found.tables.items():
        if kind == TASKS:
            continue
        name = f"{found.slug}-{kind}"
        drawn = _drawable(table)
        with warnings.catch_warnings():
            # A reader of the file has fonts for more letters than this machine.
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            figure = standings_figure(drawn) if kind == BOARD else compass_figure(drawn)
            svg, numbers = save(figure, folder, name, formats=["svg"], tables=[table], state=state)
        said = json.loads(numbers.read_text(encoding="utf-8"))
        said["filled"] = found.asked[kind]
        text = json.dumps(_published(said, addresses), indent=2, ensure_ascii=False)
        numbers.write_text(text + "\n", encoding="utf-8")
        yield Drawn(kind, table.title, f"figures/{svg.name}", f"figures/{numbers.name}")


def _drawable(table: Table) -> Table:
    """The table with names that can be drawn: nothing in them steers."""
    from kgbench.characters import one_line

    def name(value: Value) -> Value:
        return one_line(value)[:80] if isinstance(value, str) else value

    return replace(table, rows=tuple(tuple(map(name, row)) for row in table.rows))


def drawn_compass(found: Standing) -> str | None:
    """The compass that cards draw: that of the suite, or else any that has results."""
    kinds = [kind for kind in found.tables if kind.startswith(COMPASS)]
    preferred = f"{COMPASS}{compass_of(found.selection.suite).name}"
    return preferred if preferred in kinds else next(iter(kinds), None)


def _compass(name: str, store: Any, selection: Selection) -> Table:
    return compass_table(store, selection, compass(name))


def _published(value: Any, addresses: Addresses) -> Any:
    if isinstance(value, str):
        return addresses.published(value)
    if isinstance(value, list):
        return [_published(one, addresses) for one in value]
    if isinstance(value, dict):
        return {_published(k, addresses): _published(v, addresses) for k, v in value.items()}
    return value


def _facts(whole: Table, name: str) -> Iterator[tuple[str, str]]:
    """What the leaderboard says of a model (name), by what it is called."""
    made = board(whole, {}, None)
    place = next((one for one in made.places if one.name == name), None)
    if place is None or place.score is None:
        return
    ranked = sum(one.rank is not None for one in made.places)
    yield "Rank", "none" if place.rank is None else f"{place.rank} of {ranked}"
    yield "Score", f"{place.score:.3f}"
    if place.low is not None and place.high is not None:
        about = "" if made.about is None else f" ({made.about})"
        yield "95 % interval", f"{place.low:.3f} to {place.high:.3f}{about}"
    yield "Tasks", f"{place.tasks} of {made.tasks}"
    yield "Scores", f"{place.n:,}"
    if place.unreadable is not None:
        yield "Unreadable", f"{100 * place.unreadable:.1f} %"
    for title, count in (("Failed", place.failed), ("Not judged", place.not_judged)):
        if count:
            yield title, f"{count:,}"


def _outcomes(counts: Mapping[str, int]) -> Table:
    total = sum(counts.values())
    rows: list[tuple[Value, ...]] = [
        (name, count, count / total)
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    return Table(
        "Outcomes of answers",
        (
            Column("outcome", "Outcome"),
            Column("count", "Answers", Kind.COUNT),
            Column("share", "Share", Kind.SHARE),
        ),
        tuple(rows),
    )


def _number(value: Value) -> float | None:
    return float(value) if isinstance(value, int | float) else None
