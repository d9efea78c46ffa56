# SPDX-License-Identifier: Apache-2.0
"""Checks of a sorted data set before it is written to the store.

* Digests of texts and cases are computed again. The IRI of a text ends with its SHA-256, and a case
  states the SHA-256 of its content. Digests of what a
  publication left out (``kgb:redacted``) cannot be checked.
* The data set is compared with the store's statements about the same IRIs. An IRI of kgbench names
  the same resource everywhere: if two stores disagree about it, one of them was altered, and the
  import is refused. A run may have grown since it was last imported.
* The result of the import is validated against the result shapes. Shapes follow references, so
  the database of recorded statements also gets the store's catalogue, and the store's graphs that
  they refer to. What is then loaded into the store is taken from that database.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf.contents import Contents, TargetGraph
from kgbench.importers.rdf.sorting import SortedStatements, normalised
from kgbench.rdf import digest, integer, original_text
from kgbench.record.recorder import registry_entry
from kgbench.store.protocol import Store
from kgbench.store.publication_keys import VEILED
from kgbench.tasks import catalogue
from kgbench.validation import Data, complaints, result_shapes
from kgbench.vocab import KGB, PROV, RDF, RDFS, SKOS, compact

_MULTIVALUED = frozenset(
    (KGB.sourceModelId, KGB.metric, KGB.labelledTask, KGB.parameter, KGB.taskClass)
)
_WORDING = frozenset((RDFS.label, RDFS.comment, SKOS.definition, SKOS.scopeNote))
_MAX_COMPLAINTS = 5  # complaints in an error message


# --- digests ---------------------------------------------------------------------------------


def check_digests(contents: Contents, sorted_: SortedStatements) -> None:
    """Raise :class:`ImportRefused` for a text or case that does not match its digest."""
    staged = contents.staged
    # The iterator must not be held by a variable: a traceback would keep it alive, and iterators
    # of the engine must be closed in the thread that made them.
    for quad in staged.quads_for_pattern(None, ox.NamedNode(RDF.type), ox.NamedNode(KGB.Text)):
        subject: Any = quad.subject
        value = _text_value(staged, subject, PROV.value)
        if value is None:
            continue
        try:
            text = original_text(value, _text_value(staged, subject, KGB.originalBytes))
        except ValueError:
            text = value
        # Encrypted dumps contain the texts, but with the veiled IRIs of the pages that omit them.
        name = subject.value.rpartition("/")[2]
        if not name.startswith((digest(text), VEILED)):
            raise ImportRefused(f"{subject} is not the text whose checksum its IRI names")
    for iri, triples in sorted_.catalogue.items():
        if KGB.Case in contents.types.get(iri, ()):
            _check_case(iri, triples, sorted_)


def _check_case(iri: str, triples: list[ox.Triple], sorted_: SortedStatements) -> None:
    values = {t.predicate.value: getattr(t.object, "value", "") for t in triples}
    if KGB.redacted in values:
        return
    try:
        data = json.loads(values[KGB.caseData])
        parameters = json.loads(values[KGB.parameters])
    except (KeyError, ValueError, RecursionError):
        return  # validation reports what is missing
    if not isinstance(data, dict) or not isinstance(parameters, dict):
        raise ImportRefused(f"<{iri}> has no task data as a JSON object")
    task_class = _class_name(values.get(KGB.taskClass, ""), sorted_)
    case = catalogue.make_case("", task_class, parameters, data)
    ending = case.iri.rpartition("/")[2]
    name = iri.rpartition("/")[2]
    # Encrypted dumps contain all data, but with the veiled IRIs of the pages that omit texts.
    if case.digest != values.get(KGB.digest) or not name.startswith((ending, VEILED)):
        raise ImportRefused(f"<{iri}> is not the case whose checksum it names")


def _class_name(task_class: str, sorted_: SortedStatements) -> str:
    """Return the name of a task class from its description, else from its IRI."""
    for triple in sorted_.catalogue.get(task_class, ()):
        if triple.predicate.value == SKOS.notation:
            return str(getattr(triple.object, "value", ""))
    parts = task_class.split("/")
    return parts[-2] if len(parts) > 1 else ""


def _text_value(staged: ox.Store, subject: Any, predicate: str) -> str | None:
    quad = next(staged.quads_for_pattern(subject, ox.NamedNode(predicate), None), None)
    return None if quad is None else str(getattr(quad.object, "value", ""))


# --- comparison with the store ---------------------------------------------------------------


@dataclass(slots=True)
class Additions:
    """The statements that a data set adds to a store.

    ``graphs`` maps each new graph to ``None``, and each graph that has grown to its new statements
    (N-Triples). ``described`` has the new statements of the catalogue.
    """

    graphs: dict[TargetGraph, list[str] | None]
    described: list[str]

    @property
    def loaded(self) -> list[TargetGraph]:
        """The activities whose graphs the store does not have yet."""
        return [target for target, missing in self.graphs.items() if missing is None]


def new_descriptions(store: Store, sorted_: SortedStatements) -> list[str]:
    """Return, as N-Triples, the descriptions that the catalogue of ``store`` does not have yet.

    Raises :class:`ImportRefused` for a resource that both describe, but differently.
    """
    known: dict[str, set[ox.Triple]] = {}
    for triple in normalised(store.triples(store.iris.catalogue)):
        if isinstance(triple.subject, ox.NamedNode) and triple.subject.value in sorted_.catalogue:
            known.setdefault(triple.subject.value, set()).add(triple)
    lines: list[str] = []
    for subject, triples in sorted_.catalogue.items():
        stored = known.get(subject)
        new = set(triples)
        if stored is not None:
            new = _additions(subject, stored, new)
        lines += sorted(f"{triple} ." for triple in new)
    return lines


def _additions(subject: str, stored: set[ox.Triple], triples: set[ox.Triple]) -> set[ox.Triple]:
    additions = set()
    for triple in triples - stored:
        predicate = triple.predicate.value
        if predicate in _MULTIVALUED:
            additions.add(triple)
        elif predicate not in _WORDING:
            raise ImportRefused(
                f"<{subject}> is described otherwise in the store "
                f"({compact(predicate)} {_shortened(triple.object, 80)}): one IRI, two things"
            )
    return additions


def new_statements(store: Store, recorded: ox.Store, target: TargetGraph) -> list[str]:
    """Return, as N-Triples, what a data set adds to a graph that ``store`` already has.

    Raises :class:`ImportRefused` if the data set adds statements but lacks some of the store's.
    """
    stored = normalised(store.triples(target.graph))
    new = []
    for quad in recorded.quads_for_pattern(None, None, None, ox.NamedNode(target.graph)):
        if quad.triple in stored:
            stored.discard(quad.triple)
        else:
            new.append(f"{quad.triple} .")
    if stored and new:
        triple = min(stored, key=str)
        subject, predicate = _shortened(triple.subject, 80), compact(triple.predicate.value)
        raise ImportRefused(
            f"<{target.activity}> is in the store with other content ({subject} {predicate}): one "
            f"IRI, two records; was one of them altered, or published with texts left out?"
        )
    return new


# --- shapes ----------------------------------------------------------------------------------


def complete(store: Store, sorted_: SortedStatements, additions: Additions) -> None:
    """Add to the recorded graphs the catalogue as it will be, and the graphs they refer to."""
    database = sorted_.recorded
    catalogue = ox.NamedNode(store.iris.catalogue)
    for graph in (store.iris.catalogue, *sorted(sorted_.referred)):
        name = ox.NamedNode(graph)
        database.bulk_extend(
            ox.Quad(t.subject, t.predicate, t.object, name) for t in store.triples(graph)
        )
    entries = [*additions.described]
    for target in additions.loaded:
        entries += registry_entry(target.graph, target.activity)
        entries.append(f"<{target.graph}> <{KGB.changeStamp}> {integer(1)} .")
    database.bulk_load(
        "\n".join(entries).encode("utf-8"), ox.RdfFormat.N_TRIPLES, to_graph=catalogue
    )


def validate(contents: Contents, sorted_: SortedStatements, additions: Additions) -> None:
    """Raise :class:`ImportRefused` with the first complaints of the result shapes about new data.

    The data must be :func:`complete`.
    """
    data = Data(sorted_.recorded)
    new = {target.activity for target in additions.graphs}
    graphs = {target.graph for target in additions.graphs}
    messages: list[str] = []
    count = 0
    for complaint in complaints(data, result_shapes(data)):
        focus = str(getattr(complaint.focus, "value", complaint.focus))
        target = contents.target(focus)
        if (
            (target is not None and target.activity in new)
            or focus in graphs
            or focus in sorted_.catalogue
        ):
            count += 1
            if len(messages) < _MAX_COMPLAINTS:
                messages.append(_shortened(complaint, 300))
    if messages:
        more = f" (and {count - len(messages)} more)" if count > len(messages) else ""
        raise ImportRefused(
            f"the data do not conform to the shapes of results: {'; '.join(messages)}{more}"
        )


def _shortened(term: object, max_length: int) -> str:
    line = " ".join(str(term).split())
    return line if len(line) <= max_length else f"{line[:max_length]}..."
