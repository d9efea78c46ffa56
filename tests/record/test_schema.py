# SPDX-License-Identifier: Apache-2.0
"""Recorded resources are described as the shapes say, and nothing else is written or read."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import NamedTuple

import pyoxigraph as ox
import pytest

from kgbench.errors import StoreError
from kgbench.model import Call, Usage
from kgbench.record import schema
from kgbench.vocab import KGB, PROV, RDF, RDFS, XSD, Outcome

IRI = "urn:x:1"
BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CALL = {
    "dialogue": "urn:x:d",
    "round": 0,
    "prompt": "urn:x:p",
    "agent": "urn:x:m",
    "started": BEGAN,
    "ended": BEGAN,
}


class Named(NamedTuple):
    """A value with a label."""

    label: str


class Facts(dict[str, dict[str, str]]):
    """Values by node and property."""

    def value(self, subject: str, name: str) -> str | None:
        """Return the value of a property, if any."""
        return self.get(subject, {}).get(name)


def facts(lines: list[str]) -> Facts:
    """Return N-Triples as statements that can be read."""
    found = Facts()
    for triple in ox.parse("\n".join(lines), ox.RdfFormat.N_TRIPLES):
        about = found.setdefault(triple.subject.value, {})
        about[triple.predicate.value] = triple.object.value
    return found


def test_types_and_datatypes_are_those_of_the_shape():
    """A description has the types of its class; a value has the datatype of its property."""
    lines = schema.of("Reviewer").triples(IRI, label='a "name"')

    assert lines == [
        f"<{IRI}> <{RDF.type}> <{KGB.Reviewer}> .",
        f"<{IRI}> <{RDF.type}> <{PROV.Agent}> .",
        f'<{IRI}> <{RDFS.label}> "a \\"name\\"" .',
    ]
    (counted,) = schema.of("ModelCall").facts(IRI, input=3)
    assert counted == f'<{IRI}> <{KGB.inputTokens}> "3"^^<{XSD.integer}> .'


def test_the_first_object_with_a_name_gives_the_value():
    """Values are taken by name first, then from the objects in their order."""
    of_reviewer = schema.of("Reviewer")
    both = Named("first"), Named("second")

    assert of_reviewer.triples(IRI, *both) == of_reviewer.triples(IRI, label="first")
    assert of_reviewer.triples(IRI, *both, label="own") == of_reviewer.triples(IRI, label="own")


@pytest.mark.parametrize("missing", CALL)
def test_a_required_value_is_needed(missing):
    """Without a required value nothing is written, and its absence in a store is named."""
    of_call = schema.of("ModelCall")
    with pytest.raises(TypeError, match=f"ModelCall needs {missing}"):
        of_call.triples(IRI, **{name: CALL[name] for name in CALL if name != missing})
    with pytest.raises(TypeError, match=f"ModelCall needs {missing}"):
        of_call.triples(IRI, **CALL | {missing: None})


def test_an_unknown_name_is_refused():
    """A misspelt name is an error, not a value that is missing in the store."""
    with pytest.raises(TypeError, match="ModelCall has no retry"):
        schema.of("ModelCall").triples(IRI, **CALL, retry=1)


def test_an_iri_of_others_is_checked():
    """What is no IRI cannot end the statement it stands in."""
    with pytest.raises(ValueError, match="Invalid IRI"):
        schema.of("Verdict").facts(IRI, rubric="urn:x> . <urn:y> <urn:z> <urn:a")


def test_values_come_back():
    """Times, numbers, outcomes and defaults are read as they were written."""
    of_call = schema.of("ModelCall")
    lines = of_call.triples(IRI, Usage(1, None, 0), **CALL, retries=0, outcome=Outcome.REFUSED)
    source = facts(lines)

    assert Usage(**of_call.read(source, IRI, Usage)) == Usage(1, None, 0)
    assert Call(**of_call.read(source, IRI, Call)) == Call(BEGAN, BEGAN)
    assert not any(KGB.retries in line for line in lines)
    del source[IRI][PROV.endedAtTime]
    with pytest.raises(StoreError, match="endedAtTime: the store is damaged"):
        of_call.read(source, IRI, Call)


@pytest.mark.parametrize("infos", ["[1]", "no JSON", "[" * 100_000, '{"a": 1}'])
def test_json_of_others_is_an_object_or_nothing(infos):
    """Imported literals that are not JSON objects are read as none."""
    evaluation = schema.of("Evaluation").fields["infos"]

    assert evaluation.read(infos) == ({"a": 1} if infos.startswith("{") else {})
    assert evaluation.write({"a": 1}) == str(
        ox.Literal(json.dumps({"a": 1}, separators=(",", ":")), datatype=ox.NamedNode(RDF.JSON))
    )
