# SPDX-License-Identifier: Apache-2.0
"""Twins of published cases: as difficult, solvable, and with new names."""

from __future__ import annotations

import re
from functools import cache

import pyoxigraph as ox
import pytest
from pyparsing import ParseException
from rdflib.plugins.sparql.parser import parseQuery

from kgbench import resources
from kgbench.errors import TaskError
from kgbench.families import twins
from kgbench.rdf.declared import Declared
from kgbench.rdf.lexer import tokens
from kgbench.tasks import catalogue, graphs, renaming, texts
from kgbench.testing.judging import FORMATS
from kgbench.vocab import KGB, SKOS
from tests.support.families import cases

CLASSES = (
    "FactExtractTwin",
    "RdfConnectionTwin",
    "RdfSyntaxTwin",
    "Sparql2AnswerTwin",
    "SparqlSyntaxTwin",
    "Text2AnswerTwin",
    "Text2SparqlTwin",
    "TurtleErrorsTwin",
)

LABELS = [label for label, task in catalogue.labelled_tasks().items() if task.task_class in CLASSES]


def declared(name):
    """Return the published tasks and the names of twins by label, as declared by a task class."""
    file = Declared(resources.path("tasks", name, "task.ttl"))
    found = {}
    for task in file.instances(KGB.LabelledTask):
        label = file.required(task, SKOS.notation)
        found[label] = (file.texts(task, KGB.twinOf), file.text(task, KGB.twinNames))
    return found


def published(label):
    """Return the cases of the first published task whose twins a task has."""
    (of, *_), _ = declared(catalogue.labelled_tasks()[label].task_class)[label]
    return cases(of, 100)


@cache
def size(text, language):
    """Return the number of triples and of properties of a graph."""
    triples = [quad.triple for quad in ox.parse(text.encode(), language)]
    return len(triples), len({triple.predicate for triple in triples})


def graph_of(case):
    """Return the text of the graph or document of a case, and its language."""
    data = case.data
    if "graphName" in data:
        return graphs.text(data["graphName"]), ox.RdfFormat.N_TRIPLES
    text = data.get("graphTurtle") or data.get("graph") or data["optimal"]
    carried = "graphTurtle" in data or "graphFormat" not in data
    return text, FORMATS["turtle" if carried else data["graphFormat"]]


@pytest.mark.parametrize("name", CLASSES)
def test_every_task_declares_whose_twins_it_has(name):
    """Each task names existing published tasks with the same main metric and rounds."""
    for label, (of, names) in declared(name).items():
        assert catalogue.labelled_tasks()[label].parameters["names"] == names
        assert of
        for each in of:
            other = catalogue.task_class(catalogue.labelled_tasks()[each].task_class)
            assert other.main_metric == catalogue.task_class(name).main_metric
            assert other.max_rounds == catalogue.task_class(name).max_rounds


@pytest.mark.parametrize("label", LABELS)
def test_twins_are_as_difficult_as_their_cases(label):
    """A twin has the name, query form, graph size and result size of its case."""
    module = catalogue.module(catalogue.labelled_tasks()[label].task_class)
    originals = published(label)
    found = cases(label, 2 * len(originals))
    longest = 1.4 if label.endswith("opaque") else 1.15
    for case, original in zip(found, [*originals, *originals], strict=True):
        assert case.uid == original.uid
        for key in {"refSparql", "testSparql"} & case.data.keys():
            first, second = ([t.kind for t in tokens(c.data[key])] for c in (case, original))
            assert first == second
        if "refResultSet" in case.data:
            assert len(case.data["refResultSet"]) == len(original.data["refResultSet"])
        assert size(*graph_of(case)) == size(*graph_of(original))
        asked = catalogue.module(original.task_class)
        ratio = len(module.prompt(case)) / len(asked.prompt(original))
        assert 0.7 < ratio < longest


@pytest.mark.parametrize("label", ["SparqlSyntaxTwin-natural", "SparqlSyntaxTwin-opaque"])
def test_messages_about_faults_are_those_of_the_parser(label):
    """The message about a fault is that of the parser for the renamed query."""
    for case in cases(label, 30):
        with pytest.raises(ParseException) as refused:
            parseQuery(case.data["testSparql"])
        assert str(refused.value) == case.data["errorMessage"]


@pytest.mark.parametrize("graph", ["organisation", "economy"])
def test_natural_twins_keep_no_name_that_is_replaced(graph):
    """No replaced name occurs in a question, query or result, in lower case or capitalised."""
    declared_names = texts.shared_structure(renaming.FOLDER, "names.json")[graph]["kinds"]
    names = [name for kind in declared_names for name in kind["names"]]
    data = renaming.natural(twins.questions(graph), 7, 0)
    for one in data:
        text = " ".join([one["question"], one["refSparql"], *one["refResultSet"]])
        found = set(re.findall(r"[A-Z]?[a-z]+|[A-Z]+", text))
        assert not found & {*names, *(name.capitalize() for name in names if name.islower())}, text


def test_opaque_twins_have_numbers_for_all_names():
    """Every instance and property of the graph's own namespace has a number as its name."""
    (case, *_) = cases("Text2SparqlTwin-economy-opaque", 1)
    for quad in ox.parse(*graph_of(case)):
        for term in (quad.subject, quad.predicate, quad.object):
            if isinstance(term, ox.NamedNode) and "kgbench/economy" in term.value:
                assert term.value.rpartition("#")[2].rpartition("/")[2].isdigit()


def test_a_renaming_that_no_draw_allows_is_refused():
    """If the reference queries find something else, no case is made."""
    wrong = [{**twins.questions("organisation").cases[0], "refResultSet": [":nobody"]}]
    source = renaming.Source("organisation", twins.questions("organisation").graph, wrong, ("",))
    with pytest.raises(TaskError, match="no renaming of the cases 'organisation'"):
        renaming.natural(source, 1)
