# SPDX-License-Identifier: Apache-2.0
"""Views of snapshots, and what pages read from them: statements, links, labels and times.

Resources are read by index look-ups. All functions read a bounded number of statements.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.scores.catalogue import model_names
from kgbench.store import Iris, SnapshotReader
from kgbench.store.reader import undamaged, warn_damaged
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, RDFS, SKOS, compact

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MOST_OUTGOING = 2_000
_MOST_OF_VOCABULARY = 20_000  # statements about all terms of a vocabulary; ours has some 2,200
MOST_INCOMING = 200
_MOST_COUNTED = 200_000  # statements about a resource; counting so many takes 0.3 s
_LABELS = (RDFS.label, SKOS.prefLabel, DCTERMS["title"], SKOS.notation)
_DEEPEST = 4  # levels of blank nodes
_MOST_LABELS = 20_000  # cached labels of a snapshot, a few MB


def day(recorded: str | None) -> str:
    """Format the day of a recorded time (``xsd:dateTime``); invalid times are returned unchanged.

    >>> day("2024-12-19T06:29:39.034515")
    '19 Dec 2024'
    """
    time = _read(recorded)
    return recorded or "" if time is None else f"{time.day} {_MONTHS[time.month - 1]} {time:%Y}"


def moment(recorded: str | None) -> str:
    """Format a recorded time (``xsd:dateTime``) to the minute, in UTC if it has a zone.

    >>> moment("2026-11-22T19:43:33.07+01:00")
    '22 Nov 2026, 18:43 UTC'
    >>> moment("2024-12-19T06:29:39.034515")
    '19 Dec 2024, 06:29'
    """
    time = _read(recorded)
    if time is None:
        return recorded or ""
    return f"{day(time.isoformat())}, {time:%H:%M}" + (" UTC" if time.tzinfo else "")


def machine_time(recorded: str | None) -> str:
    """Format a recorded time for the attribute ``datetime``, which allows three decimals.

    The result is empty for invalid times, so that the attribute can be left out.

    >>> machine_time("2024-12-19T06:29:39.034515")
    '2024-12-19T06:29:39.034'
    >>> machine_time("2026-11-22T19:43:33+01:00")
    '2026-11-22T18:43:33+00:00'
    """
    time = _read(recorded)
    if time is None:
        return ""
    return time.isoformat(timespec="milliseconds" if time.microsecond else "seconds")


def seconds_between(begin: str | None, end: str | None) -> float | None:
    """Return the seconds between two recorded times; ``None`` if they cannot be compared."""
    first, last = _read(begin), _read(end)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
        return None
    return max((last - first).total_seconds(), 0.0)


def _read(recorded: str | None) -> datetime | None:
    try:
        time = datetime.fromisoformat(recorded or "")
        return time if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


class View(SnapshotReader):
    """A snapshot that is open for reading; ``name`` identifies it among those of its store.

    ``identity`` also distinguishes it from snapshots of other stores, even of one that was at the
    same location before. ``lock_file`` is its lock, which keeps it on disk until the view is
    garbage-collected; ``None`` if another process holds the lock. ``labels`` caches labels of
    resources; ``None`` if they can change. ``tables`` caches tables of all models and tasks,
    for readers who make many pages; ``None`` if a page computes its rows alone.
    """

    def __init__(self, path: Path, lock_file: IO[bytes] | None, base: str) -> None:
        # Does not call the superclass, which would look for a snapshot itself.
        self.iris = Iris(base)
        self.location = str(path.parent.parent)
        self.path = str(path)
        self.name = path.name
        self.database = ox.Store.read_only(str(path))
        current = (path / "CURRENT").stat()  # each snapshot has its own; its data files are shared
        self.identity = f"{current.st_dev}-{current.st_ino}-{current.st_mtime_ns}"
        self._db = self.database
        self._lock_file = lock_file
        self.labels: dict[str, str] | None = {}
        self.tables: dict[tuple[str, ...], Any] | None = None
        if lock_file is not None:
            weakref.finalize(self, lock_file.close)


class MemoryView(View):
    """A view of a database in memory instead of a snapshot."""

    is_snapshot = False  # the database can still change

    def __init__(self, database: ox.Store, base: str) -> None:
        self.iris = Iris(base)
        self.location = self.path = self.name = self.identity = "memory:"
        self.database = database
        self._db = database
        self._lock_file = None
        self.labels = None
        self.tables = None


def open_view(path: Path, lock_file: IO[bytes] | None, base: str) -> View:
    """Open the snapshot at ``path``; raises :class:`~kgbench.errors.StoreError`."""
    try:
        return View(path, lock_file, base)
    except (OSError, RuntimeError, ValueError) as error:  # pyoxigraph's errors for damage
        if lock_file is not None:
            lock_file.close()
        raise StoreError(f"the snapshot {path} cannot be opened: {error}") from error


def open_newest(folder: Path, base: str) -> View:
    """Open the newest snapshot in ``folder`` that is not damaged.

    Raises :class:`~kgbench.errors.StoreError` if there is none.
    """
    for path, lock_file in undamaged(folder):
        try:
            return open_view(path, lock_file, base)
        except StoreError as error:
            warn_damaged(path, str(error))
    raise StoreError(f"{folder} has no snapshot to read")


class Description(NamedTuple):
    """Statements about an IRI.

    ``omitted`` of them are not in ``outgoing``. ``deeper`` is set if not all statements about
    nested blank nodes are included, ``more`` if not all incoming links are.
    """

    iri: str
    outgoing: list[ox.Quad]
    nested: list[ox.Quad]
    incoming: list[ox.Quad]
    omitted: int
    deeper: bool
    more: bool

    @property
    def quads(self) -> list[ox.Quad]:
        """All statements, for RDF responses."""
        return [*self.outgoing, *self.nested, *self.incoming]

    @property
    def limits(self) -> list[str]:
        """How much is included of what is not complete, in words."""
        shown, omitted = len(self.outgoing), min(self.omitted, _MOST_COUNTED)
        least = "" if self.omitted == omitted else "more than "
        return [
            words
            for holds, words in (
                (omitted, f"{shown:,} of {least}{shown + omitted:,} statements about the resource"),
                (self.deeper, "not all statements about its blank nodes"),
                (self.more, f"only {len(self.incoming):,} of the statements that refer to it"),
            )
            if holds
        ]


def exists(view: View, iri: str) -> bool:
    """Return whether ``iri`` occurs as subject, predicate, object or graph."""
    try:
        node = ox.NamedNode(iri)
    except ValueError:
        return False
    patterns = ((node, None, None), (None, None, node), (None, node, None))
    occurs = any(
        next(view.database.quads_for_pattern(*pattern), None) is not None for pattern in patterns
    )
    return occurs or view.database.contains_named_graph(node)


def describe(view: View, iri: str) -> Description:
    """Return the statements about ``iri``; if it ends in ``#``, about all terms that it defines."""
    node = ox.NamedNode(iri)
    subjects: list[Any] = [node]
    most = MOST_OUTGOING
    if iri.endswith("#"):
        most = _MOST_OF_VOCABULARY
        defined = view.database.quads_for_pattern(None, ox.NamedNode(RDFS.isDefinedBy), node)
        subjects += [quad.subject for quad in defined]
    statements = (
        statement
        for subject in subjects
        for statement in view.database.quads_for_pattern(subject, None, None)
    )
    outgoing = list(islice(statements, most))
    omitted = sum(1 for _ in islice(statements, _MOST_COUNTED + 1))
    nested, deeper = _nested(view, outgoing)
    incoming: list[ox.Quad] = []
    if len(subjects) == 1:
        pointing = view.database.quads_for_pattern(None, None, node)
        incoming = list(islice(pointing, MOST_INCOMING + 1))
    more = len(incoming) > MOST_INCOMING
    return Description(iri, outgoing, nested, incoming[:MOST_INCOMING], omitted, deeper, more)


def _nested(view: View, quads: Iterable[ox.Quad]) -> tuple[list[ox.Quad], bool]:
    """Return statements about blank nodes below ``quads``, and whether there are more."""
    found: list[ox.Quad] = []
    seen: set[str] = set()
    more = False
    level = [quad.object for quad in quads if isinstance(quad.object, ox.BlankNode)]
    for depth in range(_DEEPEST + 1):
        following = []
        for node in level:
            if node.value in seen:
                continue
            about = view.database.quads_for_pattern(node, None, None)
            if depth == _DEEPEST or len(seen) >= MOST_OUTGOING:
                more = more or next(about, None) is not None
                continue
            seen.add(node.value)
            for quad in about:
                found.append(quad)
                if isinstance(quad.object, ox.BlankNode):
                    following.append(quad.object)
        level = following
    return found, more


def values(view: View, subject: str, predicate: str) -> list[Any]:
    """Return the distinct objects of a property."""
    quads = view.database.quads_for_pattern(ox.NamedNode(subject), ox.NamedNode(predicate), None)
    return list(dict.fromkeys(quad.object for quad in islice(quads, MOST_OUTGOING)))


def text(view: View, subject: str, predicate: str) -> str | None:
    """Return the first value of a property as text, or ``None``."""
    objects = values(view, subject, predicate)
    return objects[0].value if objects else None


def subjects(view: View, predicate: str, value: str, limit: int = MOST_INCOMING) -> list[str]:
    """Return the distinct IRIs that have ``value`` (an IRI) as object of ``predicate``."""
    quads = view.database.quads_for_pattern(None, ox.NamedNode(predicate), ox.NamedNode(value))
    iris = (quad.subject.value for quad in quads if isinstance(quad.subject, ox.NamedNode))
    return list(dict.fromkeys(islice(iris, limit)))


def kinds(view: View, iri: str) -> set[str]:
    """Return the classes of ``iri``."""
    return {term.value for term in values(view, iri, RDF.type)}


def instances(view: View, kind: str, limit: int = 1_000) -> list[str]:
    """Return the instances of a class, sorted."""
    return sorted(subjects(view, RDF.type, kind, limit))


def label(view: View, iri: str) -> str:
    """Return the label of ``iri``, or else the end of its path.

    Models have the names that leaderboards show. Dialogues, verdicts and task executions have no
    labels and are named after task and model, evaluation passes after their kind and time.
    """
    if view.labels is None:
        return _label(view, iri)
    cached = view.labels.get(iri)
    if cached is None:
        if len(view.labels) >= _MOST_LABELS:
            view.labels.clear()
        cached = view.labels[iri] = _label(view, iri)
    return cached


def _label(view: View, iri: str) -> str:
    if (shown := model_names(view).get(iri)) is not None:
        return shown
    try:
        node = ox.NamedNode(iri)
    except ValueError:
        return iri
    for predicate in _LABELS:
        quad = next(view.database.quads_for_pattern(node, ox.NamedNode(predicate), None), None)
        if quad is not None and isinstance(quad.object, ox.Literal) and quad.object.value:
            return quad.object.value
    task, model = text(view, iri, KGB.task), text(view, iri, KGB.model)
    if task and model:
        number, answer = (text(view, iri, property_) for property_ in (KGB.iteration, KGB.round))
        name = f"{label(view, task)} by {label(view, model)}"
        name += "" if number is None else f" #{number}"
        if text(view, iri, KGB.dialogue) is not None:
            name = f"verdict on {name}" + ("" if answer is None else f", answer {answer}")
        return name
    if (kind := text(view, iri, KGB.passKind)) is not None:
        return f"{kind} pass of {moment(text(view, iri, PROV.startedAtTime))}"
    short = compact(iri)
    return iri.removeprefix(view.iris.base) if short == iri else short


def runs(view: View) -> list[str]:
    """Return all runs, the newest first."""
    return instances(view, KGB.Run)[::-1]
