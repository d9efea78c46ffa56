# SPDX-License-Identifier: Apache-2.0
"""Renamings of the bestiary: the same graph without any of its names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgbench.errors import EvaluationError
from kgbench.tasks import bestiary, catalogue, graphs, texts
from kgbench.tasks.bestiary import Renamed
from kgbench.testing.judging import PlainExecutor
from tests.support.families import cases

NATURAL, OPAQUE = "Text2SparqlTwin-bestiary-natural", "Text2SparqlTwin-bestiary-opaque"
PUBLISHED = "Text2SparqlExecEvalListBeastiary-turtle-subgraph"
QUESTIONS = 12
WORD = re.compile(r"\?\w+|[A-Za-z]+")


def names(key="names"):
    """Return every word that a natural renaming replaces or draws, except creatures."""
    declared = texts.shared_structure("twins", "names.json")["bestiary"]["kinds"]
    return [form for kind in declared for name in kind[key] for form in name.split("/")]


def test_every_name_of_the_bestiary_is_exchanged():
    """The list of names has all words in labels except those of creatures."""
    words = {word for value in bestiary.values() for word in value.split()}
    assert words <= set(names())
    assert {*words, *names()}.isdisjoint(WORD.findall(" ".join(bestiary.creatures())))


def test_drawn_words_are_new():
    """No word is drawn for two names, or occurs in a published case."""
    drawn = names("drawn")
    assert len(set(drawn)) == len(drawn)
    for case in cases(PUBLISHED, QUESTIONS):
        shown = " ".join(case.data[key] for key in ("question", "refSparql", "subGraph"))
        assert set(drawn).isdisjoint(WORD.findall(shown)), case.uid
    assert set(drawn).isdisjoint(names())


def test_natural_twins_keep_no_name():
    """Neither cases nor graph contain a name of the bestiary, and the lifespans differ."""
    old = {*names(), *bestiary.creatures(), *map(bestiary.local_name, bestiary.values())}
    found = cases(NATURAL, QUESTIONS)
    for case in found:
        data = case.data
        shown = " ".join([data["question"], data["refSparql"], data["subGraph"]])
        values = " ".join(data["refResultSet"])
        assert old.isdisjoint(WORD.findall(f"{shown} {values}")), data["uid"]
    graph = graphs.text(found[0].data["graphName"])
    assert old.isdisjoint(WORD.findall(graph))
    years = re.compile(r'lifespan> "(\d+)"')
    assert years.findall(graph) != years.findall(bestiary.text())
    assert min(map(int, years.findall(graph))) == 1


def test_natural_names_keep_their_order():
    """Creatures have the same order under their new names."""
    graph = graphs.text(cases(NATURAL, 1)[0].data["graphName"])
    weighed = re.compile(rf"<{bestiary.NAMESPACE}(\w+)> <{bestiary.SCHEMA}weight>")
    before, after = (weighed.findall(text) for text in (bestiary.text(), graph))
    assert len(set(after)) == len(after) == bestiary.CREATURES
    exchanged = dict(zip(before, after, strict=True))
    assert [exchanged[name] for name in sorted(before)] == sorted(after)


def test_opaque_twins_have_numbers_for_names_and_keep_labels():
    """Every local name of the graph is a number; labels and amounts are those of the bestiary."""
    graph = graphs.text(cases(OPAQUE, 1)[0].data["graphName"])
    own = re.findall(rf"<{bestiary.NAMESPACE}(?:schema#)?([^>]+)>", graph)
    assert all(map(str.isdigit, own))
    quoted = re.compile(r'"[^"]*"')
    assert quoted.findall(graph) == quoted.findall(bestiary.text())


def test_tables_say_what_names_mean():
    """Each number in an opaque prompt and its reference query has a row in the table."""
    for case in cases(OPAQUE, QUESTIONS):
        data = case.data
        rows = {row.partition(",")[0] for row in data["entityHelpCsv"].splitlines()[1:]}
        used = re.findall(r"(?<![\w?])(?:best)?:\d+", f"{data['subGraph']} {data['refSparql']}")
        assert rows == set(used)
        assert "The whole graph" not in catalogue.module(case.task_class).prompt(case)


def test_published_queries_on_natural_twins():
    """Two published queries name nothing of the graph and find the results of their twins."""
    module, executor = catalogue.module("Text2SparqlTwin"), PlainExecutor()
    originals, found = cases(PUBLISHED, QUESTIONS), cases(NATURAL, QUESTIONS)
    right = [
        case.uid
        for case, original in zip(found, originals, strict=True)
        if module.judge(case, [module.reference(original)], executor).scores["combined"] == 1.0
    ]
    assert right == ["best-common-habitat", "best-bold-hunters"]


@pytest.mark.parametrize("kind", ["natural", "opaque"])
def test_a_graph_is_called_after_what_its_names_are_drawn_from(kind):
    """The name of a graph identifies it; another seed or lap gives another graph."""
    renamed = Renamed(kind, "-3-0")
    assert bestiary.named(renamed.name) == renamed
    first, second = (graphs.text(Renamed(kind, seed).name) for seed in ("-3-0", "-3-1"))
    assert first != second
    assert first.count("\n") == second.count("\n") == bestiary.text().count("\n")


@pytest.mark.parametrize("name", ["bestiary-1-natural", "bestiary-0-natural-7-0", "bestiary-1-x-7"])
def test_names_of_no_graph_are_refused(name):
    """A graph with an unknown version or kind of names is refused."""
    with pytest.raises(EvaluationError, match=f"no graph '{name}'"):
        graphs.text(name)


def test_a_prepared_process_opens_no_file(monkeypatch):
    """A judging process reads the lists of names before its access to files ends."""
    texts.clear_caches()
    catalogue.module("Text2SparqlTwin").prepare()
    for reading in ("read_bytes", "read_text"):
        monkeypatch.setattr(Path, reading, _refused)
    graph = graphs.text(Renamed("natural", "unread").name)
    assert graph.count("\n") == bestiary.text().count("\n")


def _refused(path, **_options):
    raise AssertionError(path)
