# SPDX-License-Identifier: Apache-2.0
"""The index of analyses says what their declarations say, and forgets none."""

import ast
import inspect
import pkgutil
from importlib import import_module

import pytest

from kgbench import analysis as package
from kgbench import entry_points
from kgbench.analysis import index
from kgbench.analysis.index import ANALYSES, FIGURES, GROUP, INDEX
from kgbench.analysis.registry import Analysis, Purpose
from kgbench.api import results
from kgbench.plots.figures import find_figure


def test_the_index_has_all_analyses():
    """Each analysis that a module declares is listed once, under its name and in its group."""
    declared = {
        f"{module.__name__}:{name}": value
        for info in pkgutil.iter_modules(package.__path__)
        for module in [import_module(f"{package.__name__}.{info.name}")]
        for name, value in vars(module).items()
        if isinstance(value, Analysis) and value.make.__module__ == module.__name__
    }

    own = {name: each for name, each in INDEX.items() if each.target.startswith(package.__name__)}
    assert {entry.target: name for name, entry in own.items()} == {
        target: each.name for target, each in declared.items()
    }
    groups = [list(Purpose).index(entry.group) for entry in INDEX.values()]
    assert groups == sorted(groups)


@pytest.mark.parametrize("name", INDEX)
def test_entries_say_what_the_declaration_says(name):
    """Group, first line of the help and figure are those of the function."""
    entry, analysis = INDEX[name], ANALYSES[name]

    assert entry[1:] == (analysis.group, analysis.description.splitlines()[0], analysis.figure)
    assert entry.method == analysis.make.__name__


@pytest.mark.parametrize("name", FIGURES)
def test_figures_have_options_of_their_analysis(name):
    """The options that a figure takes are parameters of the analysis that it draws."""
    figure = find_figure(name)
    assert figure.name == name
    if name in INDEX:
        named = () if figure.declared is None else figure.declared[:1]
        assert {*figure.options, *figure.fixed, *named} <= set(ANALYSES[name].arguments())


def test_results_name_the_types_of_all_methods():
    """The block that type checkers read has every analysis, under its name."""
    tree = ast.parse(inspect.getsource(results))
    typed = {
        node.targets[0].id: ast.unparse(node.value.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and "analysis_method(" in ast.unparse(node.value)
    }

    assert typed == {
        entry.method: f"{entry.target.rpartition('.')[2].replace(':', '_.')}"
        for entry in INDEX.values()
        if entry.target.startswith(package.__name__)
    }


def test_plugins_list_their_analyses():
    """Each analysis of an entry point is one of the index, a command and a method."""
    listed = {
        name: entry
        for point in entry_points.names(GROUP)
        for name, entry in entry_points.load(GROUP, point).items()
    }
    assert "scaling" in listed
    assert listed.items() <= INDEX.items()
    assert all(hasattr(results.Results, entry.method) for entry in listed.values())


def test_an_index_that_cannot_be_used_is_named(monkeypatch):
    """A plug-in that fails, or repeats a name of kgbench, spoils no other analysis."""
    broken = {"none": {}, "leaderboard": INDEX["leaderboard"], "mine": INDEX["tasks"]}
    monkeypatch.setattr(entry_points, "names", lambda _: ("broken", "other"))
    monkeypatch.setattr(entry_points, "origin", lambda _, name: f"a package {name}")
    monkeypatch.setattr(
        entry_points, "load", lambda _, name: {"other": broken}[name] if name == "other" else 1 / 0
    )
    with pytest.warns(UserWarning, match="a package (broken|other) cannot be used") as warned:
        found = dict(index._plugins())
    assert len(warned) == 2
    assert found == {"none": {}, "mine": INDEX["tasks"]}
