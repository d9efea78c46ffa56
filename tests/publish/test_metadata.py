# SPDX-License-Identifier: Apache-2.0
"""The queries that make the metadata of a publication, each on a small graph."""

from __future__ import annotations

from typing import Any

import pyoxigraph as ox
import pytest

from kgbench.rdf import queries
from kgbench.vocab import DCAT, DCTERMS, IT6, KGB, PREFIXES, RDF, SCHEMA, SKOS, VOID

BASE = "https://example.org/bench/"
HEAD = "".join(f"@prefix {name}: <{space}> .\n" for name, space in PREFIXES.items())
HEAD += f"@prefix : <urn:kgbench:publication:> . @base <{BASE}> .\n"
EU = "http://publications.europa.eu/resource/authority/"


def made(name: str, written: str, **parameters: str) -> set[tuple[str, str, str]]:
    """Return what a query makes of graphs in TriG, as triples of values."""
    store = ox.Store()
    store.load((HEAD + written).encode(), ox.RdfFormat.TRIG)
    found: Any = queries.construct(store, f"publish/{name}", **parameters)
    return {tuple(term.value for term in quad.triple) for quad in found}


@pytest.mark.parametrize("name", queries.constructs())
def test_each_query_is_described_and_makes_nothing_of_nothing(name: str) -> None:
    """Each query has a label and a description, and an empty store gives no resources."""
    query = queries.load(name)
    assert query.label
    assert query.description.endswith(".")
    given = {parameter.name: BASE for parameter in query.parameters}
    found: Any = queries.construct(ox.Store(), name, **given)
    assert {quad.subject.value for quad in found} <= {BASE}


def test_a_catalogue_has_data_set_version_and_file() -> None:
    """Facts about a data set become its catalogue entry, version and distribution in DCAT."""
    found = made(
        "dcat",
        """<#dataset> a :Dataset ; :catalogue <#catalog> ; :base <> ; :title "Results"@en ;
          :description "Scores"@en ; :citation "Ada" ; :rights "none"@en ; :current <version/1> ;
          :issued "2026-01-01T00:00:00Z" ; :modified "2026-01-02T00:00:00Z" ; :collected "x" ;
          :software "1" ; :encrypted true ; :number "1" ; :level "gold" ; :dataset <#dataset> ;
          :keyword "RDF"@en ; :creator <#agent-0> ; :file <data/all.nq.zst> .
        <#agent-0> :name "Ada" .
        <version/1> a :Version ; :title "Version 1"@en ; :description "Scores"@en ; :number "1" ;
          :issued "x" ; :collected "x" ; :dataset <#dataset> ; :triples 3 .
        <data/all.nq.zst> :name "all.nq.zst" ; :base <> ; :media "application/n-quads" ;
          :bytes 5 ; :sha256 "ab" ; :document <version/1> ; :compression "application/zstd" .""",
    )
    dataset, file = f"{BASE}#dataset", f"{BASE}data/all.nq.zst"
    assert {
        (f"{BASE}#catalog", DCAT.dataset, dataset),
        (dataset, DCTERMS.accessRights, f"{EU}access-right/RESTRICTED"),
        (dataset, DCTERMS.creator, f"{BASE}#agent-0"),
        (dataset, DCAT.distribution, file),
        (f"{BASE}version/1", VOID.triples, "3"),
        (file, DCTERMS["format"], f"{EU}file-type/RDF_N_QUADS"),
        (
            file,
            DCAT.compressFormat,
            "https://www.iana.org/assignments/media-types/application/zstd",
        ),
    } <= found
    assert DCAT.downloadURL not in {name for _, name, _ in found}, "no address is known"


def test_references_have_the_classes_of_the_profiles() -> None:
    """A licence of the European register has its class and the IRI of the register."""
    licence = "https://spdx.org/licenses/CC-BY-4.0"
    found = made("references", f"<#dataset> dcterms:license <{licence}> ; dcterms:title 'a' .")
    assert found == {
        (licence, RDF.type, DCTERMS.LicenseDocument),
        (licence, SKOS.exactMatch, f"{EU}licence/CC_BY_4_0"),
    }


def test_used_models_and_tasks_are_described() -> None:
    """A model and a task that a run has are described; others are not."""
    found = made(
        "mldcat",
        """<run/1/e> a kgb:TaskExecution ; kgb:task <urn:task> ;
          kgb:model <https://w3id.org/kgbench/model/m%201> .
        <urn:task> kgb:taskClass <urn:class> ; skos:notation "T" .
        <urn:class> kgb:mainMetric <urn:f1> . <urn:unused> a kgb:Model .""",
        base=BASE,
    )
    model = "https://w3id.org/kgbench/model/m%201"
    assert {
        (f"{BASE}#dataset", DCTERMS.subject, model),
        (model, IT6.hasFile, f"{BASE}model/m%201.ttl"),
        (model, DCAT.version, "unknown"),
        ("urn:task", DCTERMS["title"], "T"),
        ("urn:task", IT6.hasEvaluationMeasure, "urn:f1"),
    } <= found
    assert "urn:unused" not in {subject for subject, _, _ in found}


def test_statistics_count_each_run_with_its_passes() -> None:
    """Statements are counted by class and property, those of a run with those of its passes."""
    document, dataset = f"{BASE}void.ttl", f"{BASE}#dataset"
    found = made(
        "statistics",
        """<c> { <g> kgb:describes <run/1> . <h> kgb:describes <pass/1> }
        <g> { <run/1> a kgb:Run ; kgb:suite <s> }
        <h> { <pass/1> a kgb:EvaluationPass ; prov:wasInformedBy <run/1> }""",
        document=document,
        dataset=dataset,
    )
    assert {
        (dataset, VOID.triples, "6"),
        (dataset, VOID.classes, "2"),
        (dataset, VOID.properties, "4"),
        (f"{document}#run-1", VOID.triples, "4"),
    } <= found
    (part,) = (s for s, name, value in found if (name, value) == (VOID["class"], KGB.Run))
    assert (part, VOID.entities, "1") in found


def test_void_names_dumps_and_companions() -> None:
    """The dump of a run belongs to its subset; a companion has its number of triples."""
    found = made(
        "void",
        """<#dataset> a :Dataset ; :title "Results"@en ; :base <> ; :encrypted false ;
          :file <data/run-1.nq.zst> ; :companion <#tables> .
        <data/run-1.nq.zst> :name "run-1.nq.zst" .
        <#tables> :title "Tables"@en ; :triples 7 ; :file <tables.ttl> .""",
    )
    assert {
        (f"{BASE}#dataset", VOID.dataDump, f"{BASE}data/run-1.nq.zst"),
        (f"{BASE}void.ttl#run-1", VOID.dataDump, f"{BASE}data/run-1.nq.zst"),
        (f"{BASE}#tables", VOID.triples, "7"),
        (f"{BASE}#tables", VOID.dataDump, f"{BASE}tables.ttl"),
    } <= found


def test_search_engines_read_people_files_and_licence() -> None:
    """A publisher who is no creator is an organisation; the licence covers companions, too."""
    found = made(
        "schema-org",
        """<#dataset> a :Dataset ; :licence <urn:licence> ; :creator <#ada> ; :publisher <#lab> ;
          :file <data/all.nq.zst> ; :companion <#tables> ; :measured <urn:f1> .
        <#ada> :name "Ada" . <#lab> :name "Lab" . <urn:f1> :name "F1" .
        <data/all.nq.zst> :name "all.nq.zst" ; :media "application/n-quads" ; :bytes 5 ;
          :sha256 "ab" ; :compression "application/zstd" .""",
    )
    file = f"{BASE}data/all.nq.zst"
    assert {
        (f"{BASE}#dataset", SCHEMA.license, "urn:licence"),
        (f"{BASE}#tables", SCHEMA.license, "urn:licence"),
        (f"{BASE}#ada", RDF.type, SCHEMA.Person),
        (f"{BASE}#lab", RDF.type, SCHEMA.Organization),
        ("urn:f1", SCHEMA.name, "F1"),
        (file, SCHEMA.contentSize, "5 B"),
        (file, SCHEMA.encodingFormat, "application/zstd"),
    } <= found
