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
from typing import Final

from kgbench import files
from kgbench.errors import TaskError
from kgbench.tasks import catalogue
from kgbench.tasks.scaffold_options import Answers, Kind

_TEMPLATES: Final = Path(__file__).parent / "templates"
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{0,63}")
_WORD_BREAKS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


_OF_KIND: Final[Mapping[Kind, Mapping[str, str]]] = {
    Kind.ANSWER: {
        "rounds": "1",
        "main": "f1",
        "constants": "",
    },
    Kind.DIALOGUE: {
        "rounds": "3",
        "main": "max_f1",
        "constants": "ROUNDS = 3  # kgb:maxRounds in task.ttl\n",
    },
}
_OF_ANSWERS: Final[Mapping[Answers, Mapping[str, str]]] = {
    Answers.TEXT: {
        "label": "list what a graph says",
        "definition": "A small graph and a question are shown; the answer must list names.",
        "reads": "graph",
        "writes": "nodes",
        "process": "understand",
        "things": "names",
    },
    Answers.GRAPH: {
        "label": "write what a text says as a graph",
        "definition": "A short text is shown; the answer must state in Turtle what it says.",
        "reads": "text",
        "writes": "graph",
        "process": "create",
        "things": "triples",
    },
}


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
    kind: Kind = Kind.ANSWER,
    answers: Answers = Answers.TEXT,
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
        "imports": _imports(answers),
        **_OF_KIND[kind],
        **_OF_ANSWERS[answers],
    }
    values["asking"] = _filled(f"{answers}/asking.py", values)
    values["judging"] = _filled(f"{kind}/judging.py", values)
    texts = {
        "pyproject.toml": _filled("pyproject.toml", values),
        "README.md": _filled("README.md", values),
        f"test_{module}.py": _filled("test.py", values),
        f"{module}/__init__.py": _filled("init.py", values),
        f"{module}/judge.py": _filled("judge.py", values),
        f"{module}/task.ttl": _filled("task.ttl", values),
        f"{module}/prompt.txt": _text(f"{answers}/prompt.txt"),
        f"{module}/cases.json": _text(f"{answers}/cases.json"),
    }
    if kind is Kind.DIALOGUE:
        texts[f"{module}/feedback.txt"] = _text("dialogue/feedback.txt")
    return texts


def _imports(answers: Answers) -> str:
    lines = (
        "from kgbench.model import Outcome, Verdict",
        "from kgbench.scoring.agreement import compare_sets",
        *(["from kgbench.scoring.fences import fenced_blocks"] if answers is Answers.GRAPH else []),
        "from kgbench.tasks import catalogue, texts",
    )
    return "\n".join(lines)


def _filled(name: str, values: Mapping[str, str]) -> str:
    filled = Template(_text(f"{name}.template")).substitute(values)
    return filled.removesuffix("\n") if name.endswith("ing.py") else filled


def _text(name: str) -> str:
    return (_TEMPLATES / name).read_text(encoding="utf-8")
