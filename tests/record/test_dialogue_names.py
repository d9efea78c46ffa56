# SPDX-License-Identifier: Apache-2.0
"""Dialogues have short names, where these are unique."""

import pytest

from kgbench.errors import NotRecorded
from kgbench.record.identity import find_dialogue, short_names
from kgbench.store import open_store
from kgbench.store.protocol import Block
from kgbench.vocab import KGB, RDF

RUNS = ("run/1/m/Task", "run/2/m/Task")


@pytest.fixture
def store():
    """Return a store of two runs with one equal end among three dialogues."""
    with open_store("memory:") as opened:
        for run, ends in zip(RUNS, [("0-aa", "1-bb"), ("0-aa",)], strict=True):
            iris = [f"{opened.iris.base}{run}/{end}" for end in ends]
            graph = f"{opened.iris.base}graph/{run}"
            opened.write([Block(graph, [f"<{i}> <{RDF.type}> <{KGB.Dialogue}> ." for i in iris])])
        yield opened


def test_a_unique_end_is_a_name(store):
    """What is printed short is found again, and so are paths and IRIs."""
    path = f"{RUNS[0]}/1-bb"

    assert short_names(store, [path]) == {path: "1-bb"}
    for name in ("1-bb", path, f"/{path}", store.iris.base + path):
        assert find_dialogue(store, name) == store.iris.base + path


def test_an_end_of_several_dialogues_needs_the_run(store):
    """Repeated ends are printed after the run, and refused alone with all candidates."""
    paths = [f"{run}/0-aa" for run in RUNS]
    names = ["1/0-aa", "2/0-aa"]

    assert short_names(store, paths) == dict(zip(paths, names, strict=True))
    assert [find_dialogue(store, name) for name in names] == [store.iris.base + p for p in paths]
    with pytest.raises(NotRecorded, match="the end of 2 dialogues: 1/0-aa, 2/0-aa"):
        find_dialogue(store, "0-aa")


def test_runs_of_one_minute_are_told_apart():
    """The beginning of a run's id is as long as it must be, and at least eight characters."""
    runs = ("01a2281f-53c2-7935", "01a2281f-53c4-7935", "01b2281f-53c4-7935")
    with open_store("memory:") as opened:
        paths = [f"run/{run}/m/Task/0-aa" for run in runs]
        triples = [f"<{opened.iris.base}{p}> <{RDF.type}> <{KGB.Dialogue}> ." for p in paths]
        opened.write([Block(f"{opened.iris.base}graph/run/1", triples)])
        names = ["01a2281f-53c2/0-aa", "01a2281f-53c4/0-aa", "01b2281f/0-aa"]
        assert [*short_names(opened, paths).values()] == names
        assert find_dialogue(opened, names[0]) == opened.iris.base + paths[0]


@pytest.mark.parametrize("name", ["none", 'a"b\\', "", "3/0-aa"])
def test_an_unknown_name_is_refused(store, name):
    """The refusal says which command lists names; quotes and backslashes are harmless."""
    assert short_names(store, []) == {}
    with pytest.raises(NotRecorded, match="no dialogue is called"):
        find_dialogue(store, name)
