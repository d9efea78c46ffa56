# SPDX-License-Identifier: Apache-2.0
"""The analyses that pages show, by name; they run in a process that can be killed.

Each takes a snapshot and what the page was asked, and answers with what its template shows, all of
it in types that travel between processes. What the store lacks is a
:class:`~kgbench.errors.QueryError`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kgbench.analysis import leaders, queries
from kgbench.analysis import scores as fetch
from kgbench.analysis.compare import compare, flips, matches
from kgbench.analysis.selection import select
from kgbench.analysis.sides import sides
from kgbench.analysis.stored import remembered
from kgbench.pages import contents, things
from kgbench.pages.snapshot import View
from kgbench.pages.tables import Sheet, sheet
from kgbench.vocab import KGB, QB, RDF

_BOOTSTRAPS = 1_000


def _models(view: View) -> list[tuple[str, str]]:
    """IRI and name of each model, by name."""
    models = sorted(fetch.models(view).values(), key=lambda one: one.name)
    return [(one.iri, one.name) for one in models]


def _suites(view: View) -> list[tuple[str, str]]:
    """IRI and name of each suite."""
    rows = queries.rows(view, "list-suites")
    return [(str(iri), name or things.label(view, str(iri))) for iri, name, *_ in rows]


def _leaderboard(view: View, suite: str | None) -> Sheet:
    chosen = select(view, suite)
    asked = leaders.arguments()  # as `kgbench analyze leaderboard --significance` keeps them
    table, *_ = remembered(
        view, chosen, "leaderboard", asked, lambda: leaders.leaders(view, chosen)
    )
    return sheet(table, contents.names(view), suite)


def _comparison(view: View, suite: str | None, a: str, b: str) -> list[Sheet]:
    first, second = sides(view, a, b)
    found = matches(view, select(view, suite), first, second)
    tables = (
        compare(found, first, second, samples=_BOOTSTRAPS),
        flips(found, first, second),
    )
    return [sheet(table, contents.names(view), suite) for table in tables]


def _thing(view: View, iri: str, reveal: bool) -> dict[str, Any]:
    """What the page of a thing shows beyond its statements."""
    _, build = contents.template(things.kinds(view, iri))
    return {} if build is None else build(view, iri, reveal=reveal)


def example(view: View, asked: Mapping[str, str]) -> str:
    """The declared query that ``asked`` names, with values for the parameters that it needs.

    Values come from ``asked``; what is missing is filled from the store: the graphs of the suite's
    first passes, the first dialogue, the first observation.
    """
    query = queries.load(asked["name"])
    given: dict[str, Any] = {
        p.name: asked[p.name] for p in query.parameters if p.name in asked and p.name != "name"
    }
    needed = {p.name for p in query.parameters if not p.optional} - set(given)
    wanted = needed | ({p.name for p in query.parameters} & {"passGraph", "runGraph"})
    for name in wanted - set(given):
        given[name] = _filled(view, name, asked.get("suite"))
    if "suite" in given and not given["suite"].startswith("http"):
        del given["suite"]
    lines = queries.bind(query, **given).splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("# SPDX-"))


def _filled(view: View, name: str, suite: str | None) -> str | list[str]:
    """A value for a parameter; no value, where the store has none, leaves a place for one."""
    if name in ("passGraph", "runGraph"):
        if suite is None:
            suite = next((str(iri) for iri, *_ in queries.rows(view, "list-suites")), None)
        selection = select(view, suite)
        return list(selection.pass_graphs if name == "passGraph" else selection.run_graphs)
    if name == "text":
        return "text"
    kind = {"dialogue": KGB.Dialogue, "observation": QB.Observation}.get(name)
    return [] if kind is None else things.subjects(view, RDF.type, kind, 1)


ANALYSES: Mapping[str, Callable[..., Any]] = {
    "overview": contents.overview,
    "models": _models,
    "suites": _suites,
    "leaderboard": _leaderboard,
    "comparison": _comparison,
    "thing": _thing,
    "example": example,
}
