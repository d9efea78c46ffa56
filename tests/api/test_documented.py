# SPDX-License-Identifier: Apache-2.0
"""The page documents exactly the public Python API, and its examples are right."""

from __future__ import annotations

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kgbench
from kgbench.analysis.index import ANALYSES
from kgbench.api.analysis_methods import analysis_method
from tests.support.python_examples import PAGE, prepared

HEADING = re.compile(r"^### `(?:kgbench\.)?(\w+)", re.MULTILINE)
CLASSES = [name for name in kgbench.__all__ if inspect.isclass(getattr(kgbench, name))]
FUNCTIONS = [name for name in kgbench.__all__ if inspect.isfunction(getattr(kgbench, name))]


def methods(name: str) -> dict[str, object]:
    """Return the public methods, properties and analyses of a class, with those of its parts."""
    own = {
        member: value
        for part in reversed(getattr(kgbench, name).__mro__)
        if part.__module__.startswith("kgbench.")
        for member, value in vars(part).items()
    }
    return {
        f"{name}.{member}": value
        for member, value in own.items()
        if not member.startswith("_")
        and (inspect.isroutine(value) or isinstance(value, (property, analysis_method)))
    }


EXAMPLES = {name: getattr(kgbench, name) for name in FUNCTIONS} | {
    "Results": kgbench.Results,
    **methods("Results"),
    **{f"Table.{name}": getattr(kgbench.Table, name) for name in ("column", "where", "records")},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the files of the page and the results of its run."""
    made = tmp_path_factory.mktemp("examples")
    prepared(made)
    return made


def test_all_is_the_documented_api():
    """The page has a section for each public name, and no section for another name."""
    described = HEADING.findall(PAGE)

    assert len(described) == len(set(described))
    assert set(described) == set(kgbench.__all__)
    assert set(dir(kgbench)) >= set(kgbench.__all__)


def test_all_methods_are_documented():
    """The page names each method of the classes that have any, and no others."""
    known = {name for of in CLASSES for name in methods(of)}
    told = set(re.findall(r"`((?:Results|Table|Dialogues|Run|Reevaluation)\.\w+)", PAGE))

    assert {name for name in known if name.startswith("Results.")} <= told
    assert told <= known | {f"{of}.{field}" for of in CLASSES for field in fields(of)}


def fields(name: str) -> set[str]:
    """Return the annotated fields of a class, and the attributes of its instances."""
    return set(inspect.get_annotations(getattr(kgbench, name))) | {"table"}


def test_every_analysis_is_a_method():
    """Each analysis of the command line is a method with the same parameters and defaults."""
    own = vars(kgbench.Results).items()
    made = {name: value.analysis for name, value in own if isinstance(value, analysis_method)}

    assert {one.name for one in made.values()} == set(ANALYSES)
    for name, analysis in made.items():
        method = getattr(kgbench.Results(None), name)
        _, _, *declared = inspect.signature(analysis.make).parameters.values()
        shown = inspect.signature(method).parameters
        assert [(p.name, p.default) for p in declared] == [
            (p.name, p.default) for p in shown.values()
        ]
        assert all(f"``{parameter}``: " in method.__doc__ for parameter in shown)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings_hold(name, folder, monkeypatch):
    """Each public function and method has an example, with its output below."""
    monkeypatch.chdir(folder)
    text = inspect.getdoc(EXAMPLES[name]) or ""
    globs = {"kgbench": kgbench, "Path": Path}
    test = doctest.DocTestParser().get_doctest(text, globs, name, None, None)
    said: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)

    assert test.examples
    assert runner.run(test, out=said.append).failed == 0, "".join(said)


def test_importing_costs_nothing():
    """``import kgbench`` imports no submodule and no slow package."""
    code = "import sys, kgbench; print([n for n in sys.modules if n.startswith('kgbench')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "['kgbench']"
