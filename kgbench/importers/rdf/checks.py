# SPDX-License-Identifier: Apache-2.0
"""Checks of a sorted data set before anything of it is written.

* Its digests are computed again, of texts and of cases. The IRI of a text ends with the SHA-256 of
  it, a case names the SHA-256 of its content. A text or case that was withheld from a publication
  has nothing to compare with; a commitment to it stays for whoever is told the original.
* It is compared with what the store says of the same IRIs. IRIs of kgbench name one thing
  everywhere. Where two stores say different things of one IRI, one of them has been altered, and
  nothing is written. A run may have grown since it was imported; it may not have become another.
* What an import would make of the store is built beside it and held against the result shapes. The
  shapes look around each thing they check. So what is new is put together with the catalogue of the
  store, and with those of its runs that the new results refer to, in a database of its own. What is
  loaded into the store afterwards is taken from there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf.contents import Contents, Home, normalised, recorded, statements
from kgbench.importers.rdf.sorting import Sorted
from kgbench.rdf import digest, integer, original_text
from kgbench.record.entries import registry_entry
from kgbench.secrets.commitments import VEILED, is_withheld
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue
from kgbench.validation import Data, complaints, result_shapes
from kgbench.vocab import KGB, PROV, RDF, RDFS, SKOS, compact

_MORE_IS_FINE = frozenset(
    (KGB.sourceModelId, KGB.metric, KGB.labelledTask, KGB.parameter, KGB.taskClass)
)
_WORDING = frozenset((RDFS.label, RDFS.comment, SKOS.definition, SKOS.scopeNote))
_SHOWN = 5
_TOLD = 10_000  # statements between two reports of progress


# --- digests ---------------------------------------------------------------------------------


def check_digests(contents: Contents, sorted_: Sorted) -> None:
    """Raise :class:`ImportRefused` for a text or case that is not what its digest says."""
    staged = contents.staged
    # In no variable, which an error would keep: the engine's iterators must end in their thread.
    for quad in staged.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Text)):
        subject: Any = quad.subject
        value = _only(staged, subject, PROV.value)
        if value is None:
            continue
        try:
            text = original_text(value, _only(staged, subject, KGB.originalBytes))
        except ValueError:
            text = value
        # In encrypted dumps texts are whole, and have the veiled IRIs of pages, which lack them.
        told = subject.value.rpartition("/")[2]
        if not told.startswith((digest(text), VEILED)):
            raise ImportRefused(f"{subject} is not the text whose checksum its IRI names")
    for iri, said in sorted_.catalogue.items():
        if KGB.Case in contents.types.get(iri, ()):
            _check_case(iri, said, sorted_)


def _check_case(iri: str, said: list[ox.Triple], sorted_: Sorted) -> None:
    values = {t.predicate.value: getattr(t.object, "value", "") for t in said}
    try:
        data = json.loads(values[KGB.caseData])
        parameters = json.loads(values[KGB.parameters])
    except (KeyError, ValueError, RecursionError):
        return  # the shapes say what is missing
    if isinstance(data, dict) and any(map(is_withheld, data.values())):
        return
    if not isinstance(data, dict) or not isinstance(parameters, dict):
        raise ImportRefused(f"<{iri}> has no task data as a JSON object")
    of_class = _class_name(values.get(KGB.taskClass, ""), sorted_)
    made = catalogue.make_case("", of_class, parameters, data)
    ending = made.iri.rpartition("/")[2]
    told = iri.rpartition("/")[2]
    # In encrypted dumps the data are whole, and IRIs those of pages, which leave out texts.
    if made.digest != values.get(KGB.digest) or not told.startswith((ending, VEILED)):
        raise ImportRefused(f"<{iri}> is not the case whose checksum it names")


def _class_name(task_class: str, sorted_: Sorted) -> str:
    """The name of a task class: as it is described, else as its IRI has it."""
    for triple in sorted_.catalogue.get(task_class, ()):
        if triple.predicate.value == SKOS.notation:
            return str(getattr(triple.object, "value", ""))
    parts = task_class.split("/")
    return parts[-2] if len(parts) > 1 else ""


def _only(staged: ox.Store, subject: Any, predicate: str) -> str | None:
    found = next(staged.quads_for_pattern(subject, ox.NamedNode(predicate), None), None)
    return None if found is None else str(getattr(found.object, "value", ""))


# --- what the store says already -------------------------------------------------------------


@dataclass(slots=True)
class Additions:
    """What a data set adds to a store.

    ``graphs`` has each graph that is new (``None``) or has grown (the missing statements, as
    N-Triples); ``described`` what the catalogue lacks.
    """

    graphs: dict[Home, list[str] | None]
    described: list[str]

    @property
    def loaded(self) -> list[Home]:
        """The graphs that the store does not have yet."""
        return [home for home, missing in self.graphs.items() if missing is None]


def new_descriptions(store: Store, sorted_: Sorted) -> list[str]:
    """What the catalogue of ``store`` lacks of the descriptions in a data set, as N-Triples.

    Raises :class:`ImportRefused` for a thing that both describe, but differently.
    """
    known: dict[str, set[ox.Triple]] = {}
    for triple in normalised(store.triples(store.iris.catalogue)):
        if isinstance(triple.subject, ox.NamedNode) and triple.subject.value in sorted_.catalogue:
            known.setdefault(triple.subject.value, set()).add(triple)
    found: list[str] = []
    for subject, said in sorted_.catalogue.items():
        there = known.get(subject)
        new = set(said)
        if there is not None:
            new = _additions(subject, there, new)
        found += sorted(f"{triple} ." for triple in new)
    return found


def _additions(subject: str, there: set[ox.Triple], said: set[ox.Triple]) -> set[ox.Triple]:
    found = set()
    for triple in said - there:
        predicate = triple.predicate.value
        if predicate in _MORE_IS_FINE:
            found.add(triple)
        elif predicate == KGB.caseData and _one_is_withheld(there | said):
            continue  # what the store has stays
        elif predicate not in _WORDING:
            raise ImportRefused(
                f"<{subject}> is described otherwise in the store "
                f"({compact(predicate)} {_short(triple.object, 80)}): one IRI, two things"
            )
    return found


def _one_is_withheld(said: Iterable[ox.Triple]) -> bool:
    values = [str(t.object) for t in said if t.predicate.value == KGB.caseData]
    return any('{\\"sha256\\":\\"' in one or '{\\"commitment\\":\\"' in one for one in values)


def new_statements(store: Store, contents: Contents, home: Home) -> list[str]:
    """What a data set adds to a graph that ``store`` has, as N-Triples.

    Raises :class:`ImportRefused` where the data set lacks, or has otherwise, something that the
    store says there.
    """
    there = recorded(store.triples(home.graph))
    new = []
    for quad in statements(contents, home):
        if quad.triple in there:
            there.discard(quad.triple)
        else:
            new.append(f"{quad.triple} .")
    if there and new:
        one = min(there, key=str)
        raise ImportRefused(
            f"<{home.activity}> is in the store with other content ({_short(one.subject, 80)} "
            f"{compact(one.predicate.value)}): one IRI, two records; was one of them altered, or "
            f"published with texts left out?"
        )
    return new


# --- shapes ----------------------------------------------------------------------------------


def prepare(
    store: Store,
    contents: Contents,
    additions: Additions,
    folder: Path,
    progress: Callable[[int], None] | None = None,
) -> ox.Store:
    """A database in ``folder`` with the graphs that are added to, as they will be.

    With them come those of the store that they refer to. ``progress`` is told how many statements
    have been copied.
    """
    found = ox.Store(str(folder))
    catalogue = ox.NamedNode(store.iris.catalogue)
    found.bulk_extend(_in(catalogue, store.triples(store.iris.catalogue)))
    entries = [*additions.described]
    for home in additions.loaded:
        entries += registry_entry(home.graph, home.activity)
        entries.append(f"<{home.graph}> <{KGB.changeStamp}> {integer(1)} .")
    found.bulk_load("\n".join(entries).encode("utf-8"), ox.RdfFormat.N_TRIPLES, to_graph=catalogue)
    copying = _Copying(store, contents, progress)
    for home in additions.graphs:
        found.bulk_extend(copying.graph(home))
    for graph in sorted(copying.referred):
        found.bulk_extend(_in(ox.NamedNode(graph), store.triples(graph)))
    return found


def validate(
    prepared: ox.Store, contents: Contents, additions: Additions, described: Iterable[str]
) -> None:
    """Raise :class:`ImportRefused` naming the first complaints of the shapes about what is new.

    ``described`` are the IRIs of the things that the data set describes.
    """
    data = Data(prepared)
    new = {home.activity for home in additions.graphs}
    graphs = {home.graph for home in additions.graphs}
    subjects = set(described)
    wrong: list[str] = []
    count = 0
    for complaint in complaints(data, result_shapes(data)):
        focus = str(getattr(complaint.focus, "value", complaint.focus))
        home = contents.home(focus)
        if (home is not None and home.activity in new) or focus in graphs or focus in subjects:
            count += 1
            if len(wrong) < _SHOWN:
                wrong.append(_short(complaint, 300))
    if wrong:
        more = f" (and {count - len(wrong)} more)" if count > len(wrong) else ""
        raise ImportRefused(
            f"the data do not conform to the shapes of results: {'; '.join(wrong)}{more}"
        )


class _Copying:
    """Copies the graphs of a data set, and notes which graphs of the store they refer to."""

    def __init__(
        self, store: Store, contents: Contents, progress: Callable[[int], None] | None
    ) -> None:
        self.referred: set[str] = set()
        self._contents = contents
        self._progress = progress
        self._copied = 0
        self._activities = {g.replace("/graph/", "/", 1): g for g in store.graphs()}
        self._starts = tuple(name for name in self._activities if name != store.iris.catalogue)

    def graph(self, home: Home) -> Iterator[ox.Quad]:
        name = ox.NamedNode(home.graph)
        for quad in statements(self._contents, home):
            value = quad.object
            if isinstance(value, ox.NamedNode) and value.value.startswith(self._starts):
                self._note(value.value)
            yield ox.Quad(quad.subject, quad.predicate, value, name)
            self._copied += 1
            if self._progress is not None and not self._copied % _TOLD:
                self._progress(self._copied)

    def _note(self, iri: str) -> None:
        """Remember the store's graph that an IRI belongs to, unless the data set brings it."""
        if self._contents.home(iri) is None:
            for name in self._starts:
                if iri == name or iri.startswith(name + "/"):
                    self.referred.add(self._activities[name])


def _in(graph: ox.NamedNode, triples: Iterable[ox.Triple]) -> Iterator[ox.Quad]:
    for triple in triples:
        yield ox.Quad(triple.subject, triple.predicate, triple.object, graph)


def _short(term: object, most: int) -> str:
    line = " ".join(str(term).split())
    return line if len(line) <= most else f"{line[:most]}..."
