# SPDX-License-Identifier: Apache-2.0
"""Contents of a staged data set, and the graph that each of its statements belongs to.

The graph names in a data set are not trusted. The subject of a statement determines its graph: that
of a run, a pass or an invalidation, as the store's layout names it; the catalogue for descriptions
of tasks, cases, models and software; the graph of the import for all other (foreign) statements. So
a data set cannot overwrite what the store says.

Stored analyses are left out: they can be computed again from the evaluations, and a table from a
data set must not be mistaken for one that was computed here.
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
from kgbench.store import registry
from kgbench.validation import SHAPE_FILES
from kgbench.vocab import BASE, KGB, OUTCOME, PROV, RDF, compact

ACTIVITY_KINDS = {
    KGB.Run: "run",
    KGB.EvaluationPass: "pass",
    KGB.Invalidation: "invalidation",
    KGB.Analysis: "analysis",
    KGB.Import: "import",
}
"""The classes of activities with a graph of their own, and their names in the layout."""

IGNORED_KINDS = frozenset(("analysis",))

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
"""Classes whose instances are added to the catalogue unless this kgbench declares them."""

_RECORDED_AS = ox.NamedNode(KGB.recordedAs)
_TIMES = frozenset((PROV.startedAtTime, PROV.endedAtTime))
_ACTIVITY = re.compile(r"(.+/)(run|pass|invalidation|analysis|import)/[A-Za-z0-9._-]+")
_ACTIVITY_PART = re.compile(r"/(?:run|pass|invalidation|analysis|import)/[^/]+")
_GRAPH = re.compile(r".+/graph/(?:catalogue|(?:run|pass|invalidation|analysis|import)/[^/]+)")
_CLOCK_TOLERANCE = timedelta(days=1)  # tolerance for clocks of other machines


@dataclass(frozen=True, slots=True)
class TargetGraph:
    """The graph of one activity: its IRI, the activity's, and the kind (``run``, ``pass`` ...)."""

    graph: str
    activity: str
    kind: str


@dataclass(slots=True)
class Contents:
    """A staged data set, its activities (by IRI) and the types of the resources it describes.

    ``origins`` maps a published activity to the original one, if that has another IRI.
    """

    staged: ox.Store
    targets: dict[str, TargetGraph] = field(default_factory=dict)
    types: dict[str, set[str]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)

    @property
    def imported(self) -> list[TargetGraph]:
        """The activities that are imported."""
        return [target for target in self.targets.values() if target.kind not in IGNORED_KINDS]

    def target(self, subject: str) -> TargetGraph | None:
        """Return the activity whose graph has the statements about ``subject``, or ``None``."""
        result = self.targets.get(subject)
        if result is not None or "/" not in subject:
            return result
        for match in _ACTIVITY_PART.finditer(subject):
            result = self.targets.get(subject[: match.end()])
            if result is not None:
                return result
        return None


def read(staged: ox.Store) -> Contents:
    """Read the activities and types of a staged data set.

    Raises :class:`ImportRefused` for an unsupported layout version, malformed IRIs of activities,
    and registry entries that name a wrong graph or a change stamp in the future.
    """
    contents = Contents(staged)
    _refuse_newer_layout(staged)
    for quad in staged.quads_for_pattern(None, ox.NamedNode(RDF.type), None):
        if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode):
            kind = ACTIVITY_KINDS.get(quad.object.value)
            if kind is not None:
                _add_target(contents, quad.subject.value, kind)
            elif quad.object.value in CATALOGUED:
                contents.types.setdefault(quad.subject.value, set()).add(quad.object.value)
        elif is_kgbench_class(quad.object):
            raise ImportRefused(
                f"a blank node has the type {quad.object}: "
                f"everything that kgbench records has an IRI"
            )
    for quad in staged.quads_for_pattern(None, _RECORDED_AS, None):
        if isinstance(quad.object, ox.NamedNode) and isinstance(quad.subject, ox.NamedNode):
            contents.origins[quad.subject.value] = quad.object.value
    _check_registry(contents)
    return contents


def _add_target(contents: Contents, activity: str, kind: str) -> None:
    match = _ACTIVITY.fullmatch(activity)
    if match is None or match.group(2) != kind:
        raise ImportRefused(f"<{activity}> is not an IRI of kgbench for an activity ({kind})")
    name = activity.rpartition("/")[2]
    contents.targets[activity] = TargetGraph(f"{match.group(1)}graph/{kind}/{name}", activity, kind)


def _refuse_newer_layout(staged: ox.Store) -> None:
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.layoutVersion), None):
        value = getattr(quad.object, "value", "")
        if (
            not re.fullmatch(r"[0-9]{1,9}", value, re.ASCII)
            or int(value) != registry.current_layout()
        ):
            raise ImportRefused(
                f"the data have the layout {value[:20]!r}, this kgbench reads layout "
                f"{registry.current_layout()}: update kgbench, or ask for a dump of that layout"
            )


def _check_registry(contents: Contents) -> None:
    """Check that registry entries name graphs as the layout does, with stamps in the past."""
    staged = contents.staged
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.describes), None):
        target = contents.targets.get(getattr(quad.object, "value", ""))
        graph = getattr(quad.subject, "value", "")
        if target is None:
            continue  # an excerpt of a data set has the registry of all of it
        if target.graph != graph:
            raise ImportRefused(
                f"the graph <{graph}> is registered for <{target.activity}>, which belongs into "
                f"<{target.graph}>: it would overwrite another graph"
            )
    latest = int((datetime.now(UTC) + _CLOCK_TOLERANCE).timestamp() * 1_000_000_000)
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.changeStamp), None):
        value = getattr(quad.object, "value", "")
        if not re.fullmatch(r"[0-9]{1,20}", value, re.ASCII) or int(value) > latest:
            raise ImportRefused(
                f"{quad.subject} has a change stamp from the future: {value[:30]}; {_advice()}"
            )


# --- statements ------------------------------------------------------------------------------


def is_graph_name(iri: str) -> bool:
    """Return whether an IRI has the form of a graph name; the data set need not have that graph."""
    return _GRAPH.fullmatch(iri) is not None


def is_kgbench_class(term: Any) -> bool:
    """Return whether a term is a class of kgbench's own vocabulary."""
    return isinstance(term, ox.NamedNode) and term.value.startswith(KGB)


@cache
def _shape_terms() -> frozenset[str]:
    """Return every property and every class that the result shapes mention."""
    return frozenset(
        quad.object.value
        for name in SHAPE_FILES["results"]
        for quad in ox.parse(resources.text("shapes", name), ox.RdfFormat.TURTLE, base_iri=BASE)
        if isinstance(quad.object, ox.NamedNode)
    )


def is_covered_by_shapes(quad: ox.Quad) -> bool:
    """Return whether the result shapes cover a statement about a recorded resource.

    Other statements about it use foreign terms; they are not checked, and are kept separately.
    """
    predicate = quad.predicate.value
    if predicate == RDF.type:
        return is_kgbench_class(quad.object) or (
            isinstance(quad.object, ox.NamedNode) and quad.object.value in _shape_terms()
        )
    if predicate == PROV.wasInvalidatedBy:
        return False
    return (
        predicate.startswith((KGB, OUTCOME, BASE))
        or "/metric/" in predicate
        or predicate in _shape_terms()
    )


def check_statement(quad: ox.Quad, latest_day: str) -> None:
    """Raise :class:`ImportRefused` for unsupported terms and for times in the future."""
    if isinstance(quad.object, ox.Triple):
        raise ImportRefused(f"{quad.subject} {quad.predicate}: triple terms are not supported")
    if isinstance(quad.object, ox.Literal) and quad.object.direction is not None:
        raise ImportRefused(
            f"{quad.subject} {quad.predicate}: literals with a direction are not supported"
        )
    if quad.predicate.value in _TIMES:
        value = getattr(quad.object, "value", "")
        if value[:10] > latest_day or not value[:4].isdigit() or value[4:5] != "-":
            raise ImportRefused(
                f"{quad.subject} {compact(quad.predicate.value)}: {value[:40]!r} is in the future "
                f"or not a time; {_advice()}"
            )


def _advice() -> str:
    return (
        f"the clock of this computer shows {datetime.now(UTC).date()}: set it if it is wrong, or "
        f"else ask the publisher for data with correct times"
    )


def latest_day() -> str:
    """Return the last acceptable date (``YYYY-MM-DD``), one day ahead to tolerate clock skew."""
    return (datetime.now(UTC) + _CLOCK_TOLERANCE).date().isoformat()


def target_of(contents: Contents, quad: ox.Quad) -> TargetGraph | None:
    """Return the activity whose graph a statement belongs to, or ``None``.

    ``prov:wasInvalidatedBy`` belongs to the graph of the invalidation, not to that of its subject.
    """
    if quad.predicate.value == PROV.wasInvalidatedBy and isinstance(quad.object, ox.NamedNode):
        target = contents.targets.get(quad.object.value)
        if target is not None and target.kind == "invalidation":
            return target
    subject = quad.subject
    return contents.target(subject.value) if isinstance(subject, ox.NamedNode) else None


def statements(contents: Contents, target: TargetGraph) -> Iterator[ox.Quad]:
    """Yield the statements that belong to one activity's graph, without foreign ones."""
    staged = contents.staged
    graphs: tuple[ox.NamedNode | ox.DefaultGraph, ...] = (
        ox.NamedNode(target.graph),
        ox.DefaultGraph(),
    )
    seen: set[ox.Triple] = set()
    both = len(contents.targets) > 0 and _has_default(staged)
    for graph in graphs if both else graphs[:1]:
        for quad in staged.quads_for_pattern(None, None, None, graph):
            if target_of(contents, quad) != target or not is_recorded(contents, quad):
                continue
            if both:
                if quad.triple in seen:
                    continue
                seen.add(quad.triple)
            yield quad


def is_recorded(contents: Contents, quad: ox.Quad) -> bool:
    """Return whether a statement about a recorded resource is part of the record, not foreign."""
    if quad.predicate.value == PROV.wasInvalidatedBy:
        return target_of(contents, quad) is not None
    return is_covered_by_shapes(quad)


def _has_default(staged: ox.Store) -> bool:
    return next(staged.quads_for_pattern(None, None, None, ox.DefaultGraph()), None) is not None


def normalised(triples: Iterable[ox.Triple]) -> set[ox.Triple]:
    """Return triples with literals as the embedded store writes them (``0.0`` as ``0``)."""
    store = ox.Store()
    store.extend(ox.Quad(t.subject, t.predicate, t.object) for t in triples)
    return {quad.triple for quad in store}
