# SPDX-License-Identifier: Apache-2.0
"""Contents of a staged data set: its activities, each with a graph of its own.

The graph names in a data set are not trusted: the IRI of an activity determines its graph. Stored
analyses are left out: they can be computed again from the evaluations, and a table from a data set
must not be mistaken for one that was computed here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.store import registry
from kgbench.vocab import KGB, PROV, RDF

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
_ACTIVITY = re.compile(r"(.+/)(run|pass|invalidation|analysis|import)/[A-Za-z0-9._-]+")
_ACTIVITY_PART = re.compile(r"/(?:run|pass|invalidation|analysis|import)/[^/]+")
CLOCK_TOLERANCE = timedelta(days=1)
"""Tolerance for clocks of other machines."""


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
    latest = int((datetime.now(UTC) + CLOCK_TOLERANCE).timestamp() * 1_000_000_000)
    for quad in staged.quads_for_pattern(None, ox.NamedNode(KGB.changeStamp), None):
        value = getattr(quad.object, "value", "")
        if not re.fullmatch(r"[0-9]{1,20}", value, re.ASCII) or int(value) > latest:
            raise ImportRefused(
                f"{quad.subject} has a change stamp from the future: {value[:30]}; {clock_advice()}"
            )


def is_kgbench_class(term: Any) -> bool:
    """Return whether a term is a class of kgbench's own vocabulary."""
    return isinstance(term, ox.NamedNode) and term.value.startswith(KGB)


def clock_advice() -> str:
    """Return what to do about a time in the future, in words."""
    return (
        f"the clock of this computer shows {datetime.now(UTC).date()}: set it if it is wrong, or "
        f"else ask the publisher for data with correct times"
    )
