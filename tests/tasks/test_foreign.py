# SPDX-License-Identifier: Apache-2.0
"""Task classes of other packages and tasks of installed data sets in the catalogue."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kgbench.datasets import home
from kgbench.errors import TaskError
from kgbench.tasks import catalogue
from tests.support import documented_package

NAME, MODULE = documented_package.NAME, documented_package.MODULE
DECLARATION = f"{MODULE}/task.ttl"


def forget() -> None:
    """Clear the caches, so that the catalogue searches the installed packages again."""
    catalogue.clear_caches()
    for name in (MODULE, f"{MODULE}.judge"):
        sys.modules.pop(name, None)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Provide the package of the documentation, as if it were installed."""
    documented_package.write(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    forget()
    yield tmp_path
    monkeypatch.undo()
    forget()


def test_a_class_of_another_package_is_one_among_others(package: Path) -> None:
    """A class of another package has its tasks, code and folder; kgbench's own are unchanged."""
    own = catalogue._own()
    assert catalogue.task_classes().keys() == {*own, NAME}
    assert {f"{NAME}-terse", "RdfFriendCount-turtle-1"} <= catalogue.labelled_tasks().keys()
    assert catalogue.module(NAME).NAME == NAME
    assert catalogue.folder(NAME) == package / MODULE
    assert catalogue.foreign_declaration(NAME, "1.0") == package / DECLARATION
    assert catalogue.foreign_declaration(NAME, "0.9") is None
    assert catalogue.foreign_declaration("RdfFriendCount", own["RdfFriendCount"].version) is None
    assert catalogue.unusable() == {}


@pytest.mark.parametrize(
    ("file", "found", "instead", "why"),
    [
        (DECLARATION, f'"{NAME}" ; schema', '"Another" ; schema', "declares Another instead of"),
        (
            *(DECLARATION, f'"{NAME}-terse"', '"RdfFriendCount-turtle-1"'),
            f"label RdfFriendCount-turtle-1 is declared by RdfFriendCount and {NAME}",
        ),
        (
            *(DECLARATION, "kgb:maxRounds 1", "kgb:maxRounds 3"),
            "main metric f1 is a score of each round.*an aggregate such as max_f1",
        ),
        (f"{MODULE}/judge.py", f"= {NAME}(", "= print(", "nor does the module name one with FOL"),
        (f"{MODULE}/judge.py", "import Listed", "import Road, Listed", "cannot import name 'Road'"),
        (f"{MODULE}/judge.py", "family =", "assert False\nfamily =", "AssertionError"),
    ],
)
def test_a_class_that_cannot_be_used_says_why(
    package: Path, file: str, found: str, instead: str, why: str
) -> None:
    """A faulty class of another package is refused when it is used; other classes work."""
    text = (package / file).read_text(encoding="utf-8")
    assert found in text
    (package / file).write_text(text.replace(found, instead, 1), encoding="utf-8")
    assert catalogue.task_classes().keys() == catalogue._own().keys()
    assert f"{NAME}-terse" not in catalogue.labelled_tasks()
    assert catalogue.unusable().keys() == {NAME}
    assert MODULE in catalogue.unusable()[NAME]
    with pytest.raises(TaskError, match=f"'{NAME}' cannot be used: {MODULE}.judge:family: .*{why}"):
        catalogue.task_class(NAME)


def test_tasks_of_data_sets_need_the_code_of_their_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task of a data set is listed if the code of its class is installed."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    tasks = [
        {"class": "RdfFriendCount", "label": "Friends-of-mine", "parameters": {"size": 2000}},
        {"class": "Gone", "label": "Gone-1", "parameters": {}},
        {"class": "RdfFriendCount", "label": "RdfFriendCount-xml-1", "parameters": {"size": 7000}},
    ]
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / home.RECORD).write_text(json.dumps({"tasks": tasks}))
    found = catalogue.labelled_tasks()
    assert found["Friends-of-mine"].parameters["size"] == 2000
    assert "Gone-1" not in found
    assert found["RdfFriendCount-xml-1"].parameters["size"] == 1000
