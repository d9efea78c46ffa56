# SPDX-License-Identifier: Apache-2.0
"""The graphs of tasks: generation, numbering, serialisation and installation."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.datasets import home
from kgbench.errors import EvaluationError, TaskError
from kgbench.tasks import bestiary, catalogue, graphs, renaming, serialising, texts
from kgbench.testing.judging import PlainExecutor

LITERALS = """@prefix e: <http://e.org/> .
e:a e:plain "x < y" , "de"@de-ch ; e:typed 1 , "2026-11-22"^^e:day , "true"^^e:boolean ;
    e:knows _:b .
_:b e:label "a \\"b\\" & c" ."""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the location of the published graph, which is not installed."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "sets"))
    return tmp_path / "sets" / graphs.PUBLISHED


def test_no_creature_preys_on_itself() -> None:
    """A creature preys on others only, however few there are."""
    hunts = [
        line.split()
        for seed in range(40)
        for line in bestiary.lines(creatures=2, seed=seed)
        if "preysOn" in line
    ]
    assert len(hunts) > 10
    assert not [line for line in hunts if line[0] == line[2]]


def test_names_that_meet_have_different_numbers() -> None:
    """A number stands for one name, even if two names have the same hash."""
    names = [f":name{k}" for k in range(400)]
    found = renaming.number_names(" ".join(names))
    assert sorted(found) == sorted(names)
    assert len(set(found.values())) == 400
    assert found == renaming.number_names(" ".join(reversed(names)))


@pytest.mark.parametrize("graph_format", ["turtle", "ntriples", "xml", "json-ld"])
def test_literals_are_the_same_in_every_format(graph_format: str) -> None:
    """Languages, datatypes and special characters of a literal survive each format."""
    prefixes = {"e": "http://e.org/"}
    graph = serialising.triples(LITERALS)
    parsed = PlainExecutor().parse(
        serialising.serialise(graph, graph_format, prefixes), graph_format
    )
    assert parsed.triples is not None, parsed.error
    expected, found = ox.Dataset(), ox.Dataset()
    for triple in graph:
        expected.add(ox.Quad(triple.subject, triple.predicate, triple.object))
    for quad in ox.parse("\n".join(parsed.triples), ox.RdfFormat.N_TRIPLES):
        found.add(quad)
    for each in (expected, found):
        each.canonicalize(ox.CanonicalizationAlgorithm.UNSTABLE)
    assert expected == found


def test_properties_without_a_prefix_are_no_xml() -> None:
    """RDF/XML needs a prefixed name for each property; a property without one is named."""
    graph = serialising.triples("<http://e.org/a> <http://e.org/b> 1 .")
    with pytest.raises(TaskError, match=r"XML name of the property http://e\.org/b"):
        serialising.serialise(graph, "xml", {})


@pytest.mark.parametrize(
    "name",
    [
        *("RdfConnectionExplainStatic", "RdfFriendCount"),
        *("Sparql2AnswerListOrganizational", "Text2AnswerListOrganizational"),
    ],
)
def test_a_case_without_its_graph_cannot_be_asked(name: str) -> None:
    """A published case without its graph is refused by name when its prompt is needed."""
    data = {"uid": "x", "question": "?", "refSparql": "", "graphFormat": "turtle"}
    case = catalogue.make_case("llm-kg-bench-3", name, {}, data)
    with pytest.raises(TaskError, match=f"{case.iri} has no graph"):
        catalogue.module(name).prompt(case)


def judge_without_files() -> None:
    """Judge answers that have feedback, first normally and then without opening any file."""
    module = catalogue.module("Text2SparqlExecEvalListOrganizational")
    task = catalogue.make_task(module.NAME, "any", {})
    case, executor = module.cases(task, "test", 0, 1)[0], PlainExecutor()
    answers = ["", "```sparql\nSELECT\n```", "```sparql\nSELECT ?x { ?x <urn:no> 1 }\n```"]
    expected = [module.judge(case, [answer], executor).next_prompt for answer in answers]
    texts._read.cache_clear()
    module.prepare()
    texts.read_all_shared()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        found = [module.judge(case, [answer], executor).next_prompt for answer in answers]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert found == expected
    assert len(set(expected)) == 3


def test_what_is_prepared_needs_no_file_later(place: Path, repository: Path) -> None:
    """A prepared judge gives feedback without opening files; an absent graph does not matter."""
    # in a process of its own, because a server of another test here would not survive it
    program = f"from {__name__} import judge_without_files; judge_without_files()"
    subprocess.run([sys.executable, "-c", program], cwd=repository, check=True)
    with pytest.raises(EvaluationError, match=f"not installed in {place}"):
        graphs.text(graphs.PUBLISHED)


def test_a_graph_is_installed_whole_or_not_at_all(place: Path, tmp_path: Path) -> None:
    """If the graph cannot be written, an error is raised and no part of it is left."""
    (place / "graph.nt").mkdir(parents=True)
    source = tmp_path / "beastiary_kg.rdf"
    source.write_text(
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        '<rdf:Description rdf:about="http://e/a"><e:b>1</e:b></rdf:Description></rdf:RDF>'
    )
    with pytest.raises(IsADirectoryError):
        graphs.install(source)
    assert [path.name for path in place.iterdir()] == ["graph.nt"]
