# SPDX-License-Identifier: Apache-2.0
"""Digests in a data set, computed again: of texts and of cases.

The IRI of a text ends with the SHA-256 of it, a case names the SHA-256 of its content. A text or
case that was withheld from a publication has nothing to compare with; a commitment to it stays for
whoever is told the original.
"""

from __future__ import annotations

import json
from typing import Any

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf_contents import Contents
from kgbench.importers.rdf_sorting import Sorted
from kgbench.rdf import digest, original_text
from kgbench.secrets.commitments import VEILED, is_withheld
from kgbench.tasks import catalogue
from kgbench.vocab import KGB, PROV, RDF, SKOS


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
