# SPDX-License-Identifier: Apache-2.0
"""What a staged data set holds, and where each statement of it belongs.

The names of graphs in a data set are not believed. Where a statement goes follows from its subject
alone: what is below a run, a pass or an invalidation goes into the graph that the layout of stores
gives to it; descriptions of tasks, cases, models and software go into the catalogue; all else is
foreign, and goes into the graph of the import. Nothing can so overwrite what the store says.

Stored analyses are left out: they can be made again from the evaluations, and a table that somebody
sends is not to be taken for one that was computed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import ImportRefused
from kgbench.shapes import SHAPE_FILES
from kgbench.store import layouts
from kgbench.vocab import BASE, KGB, OUTCOME, PROV, RDF, compact

KINDS = {
    KGB.Run: "run",
    KGB.EvaluationPass: "pass",
    KGB.Invalidation: "invalidation",
    KGB.Analysis: "analysis",
    KGB.Import: "import",
}
"""The activities that have a graph of their own, with their place in the layout."""

LEFT_OUT = frozenset(("analysis",))

CATALOGUED = frozenset(
    (
        KGB.Task,
        KGB.TaskClass,
        KGB.Case,
        KGB.Model,
        KGB.Suite,
        KGB.Metric,
        KGB.Parameter,
        KGB.LabelledTask,
        KGB.Setting,
        KGB.Reviewer,
        PROV.SoftwareAgent,
    )
)
"""What the catalogue takes over where this kgbench does not declare it."""

_RECORDED_AS = ox.NamedNode(KGB.recordedAs)
#: What publications said in place of kgb:recordedAs until November 2026.
_EARLIER = ox.NamedNode(PROV.alternateOf)
_TIMES = frozenset((PROV.startedAtTime, PROV.endedAtTime))
_ACTIVITY = re.compile(r"(.+/)(run|pass|invalidation|analysis|import)/[A-Za-z0-9._-]+")
_PLACE = re.compile(r"/(?:run|pass|invalidation|analysis|import)/[^/]+")
_GRAPH = re.compile(
    r".+/graph/(?:catalogue|(?:run|pass|invalidation|analysis|import|aggregates)/[^/]+)"
)
_AHEAD = timedelta(days=1)  # how far clocks of others may be ahead


@dataclass(frozen=True, slots=True)
class Home:
    """The graph of one activity: its IRI, the activity's, and the kind (``run``, ``pass`` ...)."""

    graph: str
    activity: str
    kind: str


@dataclass(slots=True)
class Contents:
    """A staged data set: its activities with their graphs, and the types of what it describes.

    ``origins`` maps a published activity to the one that it was published from, where that has
    another IRI.
    """

    staged: ox.Store
    homes: dict[str, Home] = field(default_factory=dict)
    types: dict[str, set[str]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def taken(self) -> list[Home]:
        """The graphs that an import takes over."""
        return [home for home in self.homes.values() if home.kind not in LEFT_OUT]

    def home(self, subject: str) -> Home | None:
        """The graph that statements about ``subject`` belong to, or ``None``."""
        found = self.homes.get(subject)
        if found is not None or "/" not in subject:
            return found
        for place in _PLACE.finditer(subject):
            found = self.homes.get(subject[: place.end()])
            if found is not None:
                return found
        return None


def read(staged: ox.Store) -> Contents:
    """Look a staged data set over. Raises :class:`ImportRefused` where its frame is not right."""
    found = Contents(staged)
    _refuse_newer_layout(staged)
    for quad in staged.quads_for_pattern(None, ox.NamedNode(RDF.type), None):
        if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode):
            kind = KINDS.get(quad.object.value)
            if kind is not None:
                _add_home(found, quad.subject.value, kind)
            elif quad.object.value in CATALOGUED:
                found.types.setdefault(quad.subject.value, set()).add(quad.object.value)
        elif is_guarded_type(quad.object):
            raise ImportRefused(
                f"a node without an IRI is said to be a {quad.object}: "
                f"everything that kgbench records has an IRI"
            )
    for property_ in (_EARLIER, _RECORDED_AS):
        for quad in staged.quads_for_pattern(None, property_, None):
            if isinstance(quad.object, ox.NamedNode) and isinstance(quad.subject, ox.NamedNode):
                found.origins[quad.subject.value] = quad.object.value
    _check_registry(found)
    return found


def _add_home(found: Contents, activity: str, kind: str) -> None:
    shape = _ACTIVITY.fullmatch(activity)
    if shape is None or shape.group(2) != kind:
        raise ImportRefused(f"<{activity}> is no IRI that kgbench gives to an activity ({kind})")
    name = activity.rpartition("/")[2]
    found.homes[activity] = Home(f"{shape.group(1)}graph/{kind}/{name}", activity, kind)


def _refuse_newer_layout(staged: ox.Store) -> None:
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.layoutVersion), None):
        value = getattr(quad.object, "value", "")
        if not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII) or int(value) != layouts.current():
            raise ImportRefused(
                f"the data have the layout {value[:20]!r}, this kgbench reads layout "
                f"{layouts.current()}: update kgbench, or ask for a dump of that layout"
            )


def _check_registry(found: Contents) -> None:
    """Every registry entry names a graph as the layout does, and was stamped in the past."""
    staged = found.staged
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.describes), None):
        home = found.homes.get(getattr(quad.object, "value", ""))
        graph = getattr(quad.subject, "value", "")
        if home is None:
            continue  # a part of a data set comes with the registry of the whole
        if home.graph != graph:
            raise ImportRefused(
                f"the graph <{graph}> is said to hold <{home.activity}>, which belongs into "
                f"<{home.graph}>: it would overwrite what it does not own"
            )
    latest = int((datetime.now(UTC) + _AHEAD).timestamp() * 1_000_000_000)
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.changeStamp), None):
        value = getattr(quad.object, "value", "")
        if not re.fullmatch(r"[0-9]{1,20}", value, re.ASCII) or int(value) > latest:
            raise ImportRefused(f"{quad.subject} has a change stamp from the future: {value[:30]}")


# --- statements ------------------------------------------------------------------------------


def names_graph(iri: str) -> bool:
    """Whether an IRI is the name of a graph, whether or not the data set holds that graph."""
    return _GRAPH.fullmatch(iri) is not None


def is_guarded_type(term: Any) -> bool:
    """Whether only kgbench itself says that something is of this type."""
    return isinstance(term, ox.NamedNode) and term.value.startswith(KGB)


@cache
def _known() -> frozenset[str]:
    """Every property that the shapes of results speak of, and every type that they ask for."""
    return frozenset(
        quad.object.value
        for name in SHAPE_FILES["results"]
        for quad in ox.parse(resources.text("shapes", name), ox.RdfFormat.TURTLE, base_iri=BASE)
        if isinstance(quad.object, ox.NamedNode)
    )


def is_ours(quad: ox.Quad) -> bool:
    """Whether the shapes have to do with a statement about something that kgbench recorded.

    Other statements about it are foreign terms: they may say what they like, and are kept apart.
    """
    predicate = quad.predicate.value
    if predicate == RDF.type:
        return is_guarded_type(quad.object) or (
            isinstance(quad.object, ox.NamedNode) and quad.object.value in _known()
        )
    if predicate == PROV.wasInvalidatedBy:
        return False
    return (
        predicate.startswith((KGB, OUTCOME, BASE))
        or "/metric/" in predicate
        or predicate in _known()
    )


def check_statement(quad: ox.Quad, latest_day: str) -> None:
    """Raise :class:`ImportRefused` for what no statement may be."""
    if isinstance(quad.object, ox.Triple):
        raise ImportRefused(f"{quad.subject} {quad.predicate}: triples as terms are not read")
    if isinstance(quad.object, ox.Literal) and quad.object.direction is not None:
        raise ImportRefused(f"{quad.subject} {quad.predicate}: texts with a direction are not read")
    if quad.predicate.value in _TIMES:
        value = getattr(quad.object, "value", "")
        if value[:10] > latest_day or not value[:4].isdigit() or value[4:5] != "-":
            raise ImportRefused(
                f"{quad.subject} {compact(quad.predicate.value)}: {value[:40]!r} is in the future, "
                f"or no time"
            )


def latest_day() -> str:
    """The last day that a time may name, because clocks are not always right."""
    return (datetime.now(UTC) + _AHEAD).date().isoformat()


def home_of(contents: Contents, quad: ox.Quad) -> Home | None:
    """The activity's graph that a statement belongs to.

    That something was invalidated is said in the graph of the invalidation.
    """
    if quad.predicate.value == PROV.wasInvalidatedBy and isinstance(quad.object, ox.NamedNode):
        found = contents.homes.get(quad.object.value)
        if found is not None and found.kind == "invalidation":
            return found
    subject = quad.subject
    return contents.home(subject.value) if isinstance(subject, ox.NamedNode) else None


def statements(contents: Contents, home: Home) -> Iterator[ox.Quad]:
    """The statements of the data set that belong into one activity's graph, foreign ones aside."""
    staged = contents.staged
    graphs: tuple[ox.NamedNode | ox.DefaultGraph, ...] = (
        ox.NamedNode(home.graph),
        ox.DefaultGraph(),
    )
    seen: set[ox.Triple] = set()
    both = len(contents.homes) > 0 and _has_default(staged)
    for graph in graphs if both else graphs[:1]:
        for quad in staged.quads_for_pattern(None, None, None, graph):
            if home_of(contents, quad) != home or not belongs(contents, quad):
                continue
            if both:
                if quad.triple in seen:
                    continue
                seen.add(quad.triple)
            yield quad if quad.predicate != _EARLIER else _current(quad)


def _current(quad: ox.Quad) -> ox.Quad:
    return ox.Quad(quad.subject, _RECORDED_AS, quad.object, quad.graph_name)


def belongs(contents: Contents, quad: ox.Quad) -> bool:
    """Whether a statement about something recorded is one of the record."""
    if quad.predicate.value == PROV.wasInvalidatedBy:
        return home_of(contents, quad) is not None
    return is_ours(quad)


def _has_default(staged: ox.Store) -> bool:
    return next(staged.quads_for_pattern(None, None, None, ox.DefaultGraph()), None) is not None


def normalised(triples: Iterable[ox.Triple]) -> set[ox.Triple]:
    """Triples with their literals as the embedded store writes them (``0.0`` as ``0``)."""
    store = ox.Store()
    store.extend(ox.Quad(t.subject, t.predicate, t.object) for t in triples)
    return {quad.triple for quad in store}


def recorded(triples: Iterable[ox.Triple]) -> set[ox.Triple]:
    """The triples of an activity's graph, normalised, as :func:`statements` gives them."""
    return {
        ox.Triple(t.subject, _RECORDED_AS, t.object) if t.predicate == _EARLIER else t
        for t in normalised(triples)
    }
