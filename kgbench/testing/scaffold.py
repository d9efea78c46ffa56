# SPDX-License-Identifier: Apache-2.0
"""Generator of a package with a working example of a task class, for authors to adapt."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from string import Template
from typing import Final, Literal

from kgbench import files
from kgbench.errors import TaskError
from kgbench.tasks import catalogue

Kind = Literal["answer", "dialogue"]
Answers = Literal["text", "graph"]

_TEMPLATES: Final = Path(__file__).parent / "templates"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_WORD_BREAKS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


_OF_KIND: Final[Mapping[str, Mapping[str, str]]] = {
    "answer": {"rounds": "1", "main": "f1"},
    "dialogue": {"rounds": "3", "main": "max_f1"},
}
_OF_ANSWERS: Final[Mapping[str, Mapping[str, str]]] = {
    "text": {
        "label": "list what a graph says",
        "definition": "A small graph and a question are shown; the answer must list names.",
        "templates": "template:f1 , template:precision , template:recall",
        "reads": "graph",
        "writes": "nodes",
        "process": "understand",
        "things": "names",
        "further": "",
        "dropped": "-1",
    },
    "graph": {
        "label": "write what a text says as a graph",
        "definition": "A short text is shown; the answer must state in Turtle what it says.",
        "templates": "template:answerParse , template:exact , template:f1 , template:precision ,\n"
        "        template:recall",
        "reads": "text",
        "writes": "graph",
        "process": "create",
        "things": "triples",
        "further": """
metric:exact skos:definition "Whether the triples are the expected ones."@en .
metric:answerParse skos:definition "Whether the answer has a fenced block that is Turtle."@en .""",
        "dropped": "-2",
    },
}
_FEEDBACK: Final = {"text": "feedback.txt", "graph": "feedback-content.txt"}


def module_name(name: str) -> str:
    """Return the name of the Python package of a task class.

    >>> module_name("TurtleObjectList"), module_name("RDFLists2")
    ('turtle_object_list', 'rdf_lists2')
    """
    return _WORD_BREAKS.sub("_", name).lower()


def make(
    name: str,
    folder: Path | None = None,
    *,
    kind: Kind = "answer",
    answers: Answers = "text",
) -> list[Path]:
    """Write the package of a new task class called ``name`` into ``folder``; return its files.

    The default is a folder in the current one, named after the package. Raises
    :class:`~kgbench.errors.TaskError` for a name that is invalid or already used, and for a folder
    that exists.
    """
    module = module_name(name)
    _check_name(name, module)
    project = module.replace("_", "-")
    target = Path(project) if folder is None else folder
    if target.exists() or target.is_symlink():
        raise TaskError(f"{target} exists already: name another folder with --folder")
    written = []
    for path, text in _files(name, module, project, kind, answers).items():
        files.write(target / path, text)
        written.append(target / path)
    return written


def _check_name(name: str, module: str) -> None:
    if not _NAME.fullmatch(name):
        raise TaskError(
            f"'{name}' cannot be the name of a task class: a name begins with a letter and has "
            f"only letters and digits, at most 64, such as TurtleObjectList"
        )
    labels = catalogue.labelled_tasks()
    if name in catalogue.task_classes() or name in catalogue.unusable() or name in labels:
        raise TaskError(f"there is a task called {name} already: choose another name")
    if keyword.iskeyword(module) or module in sys.stdlib_module_names or _is_module(module):
        raise TaskError(f"there is a Python module called {module} already: choose another name")


def _is_module(name: str) -> bool:
    """Return whether a module or package is installed.

    A folder without ``__init__.py`` does not count.
    """
    spec = find_spec(name)
    return spec is not None and spec.origin is not None


def _files(name: str, module: str, project: str, kind: Kind, answers: Answers) -> dict[str, str]:
    values = {
        "name": name,
        "module": module,
        "project": project,
        **_OF_KIND[kind],
        **_OF_ANSWERS[answers],
    }
    texts = {
        "pyproject.toml": _filled("pyproject.toml", values),
        "README.md": _filled("README.md", values),
        f"test_{module}.py": _filled("test.py", values),
        f"{module}/__init__.py": _filled("init.py", values),
        f"{module}/judge.py": _filled(f"{answers}/{kind}.py", values),
        f"{module}/task.ttl": _filled("task.ttl", values),
        f"{module}/prompt.txt": _text(f"{answers}/prompt.txt"),
        f"{module}/cases.json": _text(f"{answers}/cases.json"),
    }
    if kind == "dialogue":
        feedback = _FEEDBACK[answers]
        texts[f"{module}/{feedback}"] = _text(f"{answers}/{feedback}")
    return texts


def _filled(name: str, values: Mapping[str, str]) -> str:
    return Template(_text(f"{name}.template")).substitute(values)


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
