# SPDX-License-Identifier: Apache-2.0
"""``kgbench init``: create a first configuration from three questions or from options."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kgbench.cli import completion, options
from kgbench.cli.messages import report

if TYPE_CHECKING:
    from kgbench.config.starter import Choices

T = TypeVar("T")


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Target folder. Default: the current folder.")
    ] = Path(),
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A model such as openai:NAME@http://host/v1; repeatable.",
            autocompletion=completion.models,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help="The suite whose cases are run.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", min=1, help="Dialogues per task label.")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="Stop a run at this cost.")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Ask no questions; use the defaults.")
    ] = False,
    json_: options.AsJson = False,
) -> None:
    """Create a first configuration with comments, FOLDER/kgbench.yaml.

    Asks three questions on a terminal, and none if an option is given. The defaults need no
    provider and can be run at once. Existing files are never overwritten.
    """
    from kgbench.config import model_setup, starter
    from kgbench.connectors.keys import key_location
    from kgbench.connectors.permissions import requirements

    path = folder / starter.FILE
    _refuse(path)
    overrides = {
        "models": model,
        "tasks": task,
        "suite": suite,
        "iterations": iterations,
        "max_cost": None if max_cost is None else Decimal(str(max_cost)),
    }
    values: dict[str, Any] = {name: value for name, value in overrides.items() if value is not None}
    if values or yes or json_ or not (sys.stdin.isatty() and sys.stderr.isatty()):
        choices = starter.Choices(**values)
    else:
        choices = _ask_questions()
    keys = _keys(choices.models)
    starter.write(path, choices, {spec: " or ".join(names) for spec, names in keys.items()})
    missing = [
        " or ".join(names)
        for names in dict.fromkeys(keys.values())
        if not any(key_location(name) for name in names)
    ]
    quoted = shlex.quote(str(path))
    setups = map(model_setup, choices.models)
    needed = {needed.option: None for setup in setups for needed in requirements(setup)}
    lines = (
        f"{path} is written.",
        *(f"Set {names} to the key of the provider." for names in missing),
        f"Check it with: kgbench validate {quoted}",
        f"See what it would ask with: kgbench run {quoted} --dry-run",
        f"Run it with: {' '.join(('kgbench run', quoted, *needed))}",
    )
    report({"file": str(path), "keys_not_set": missing}, lines, json_=json_)


def _refuse(path: Path) -> None:
    """Refuse a path that cannot be written, before any question is asked."""
    from kgbench.errors import ConfigurationError, Finding

    if path.exists() or path.is_symlink():
        message = "the file exists and is kept as it is: name another folder"
        raise ConfigurationError([Finding(str(path), "", message)])
    if path.parent.exists() and not path.parent.is_dir():
        raise ConfigurationError([Finding(str(path.parent), "", "it is not a folder: name one")])


def _ask_questions() -> Choices:
    from kgbench.config.starter import Choices

    default = Choices()
    models = _ask("Models, as CONNECTOR:NAME", " ".join(default.models), _models)
    suite, tasks = _ask("Tasks, as labels or patterns, or a suite", "*", _tasks)
    iterations, cost = _ask(
        "Dialogues per task, and optionally a cost limit in US dollars",
        str(default.iterations),
        _count_and_cost,
    )
    return Choices(models, tasks, suite or default.suite, iterations, cost)


def _ask(question: str, default: str, read: Callable[[str], T]) -> T:
    """Ask a question until ``read`` accepts the answer; return what ``read`` returns."""
    from kgbench.errors import KgbenchError

    def accepted(text: str) -> T:
        try:
            return read(text)
        except (KgbenchError, ValueError) as error:
            raise typer.BadParameter(str(error)) from None

    answer: T = typer.prompt(question, default=default, value_proc=accepted, err=True)
    return answer


def _models(text: str) -> Sequence[str]:
    from kgbench import config

    specs = text.split()
    for spec in specs:
        config.model_setup(spec)
    return _not_empty(specs)


def _tasks(text: str) -> tuple[str | None, Sequence[str]]:
    """Read an answer as a suite and all its tasks, or as tasks of the default suite (``None``)."""
    from fnmatch import fnmatchcase

    from kgbench.config.names import suites
    from kgbench.nearest import nearest
    from kgbench.tasks import catalogue

    words = _not_empty(text.split())
    if len(words) == 1 and words[0] in suites():
        return words[0], ("*",)
    labels = catalogue.labelled_tasks()
    for word in words:
        if word not in catalogue.task_classes() and not any(
            fnmatchcase(label, word) for label in labels
        ):
            raise ValueError(f"no task fits {word}: {nearest(word, [*labels, *suites()])}")
    return None, words


def _count_and_cost(text: str) -> tuple[int, Decimal | None]:
    """Read the number of dialogues and an optional cost limit: ``5``, or ``5 2.50``."""
    words = text.replace("$", " ").split()
    if not 1 <= len(words) <= 2 or not words[0].isdecimal() or int(words[0]) < 1:  # noqa: PLR2004 - number and cost
        raise ValueError("enter a whole number above 0, and optionally an amount in dollars")
    try:
        cost = Decimal(words[1]) if words[1:] else None
    except InvalidOperation:
        cost = Decimal("NaN")
    if cost is not None and not (math.isfinite(cost) and cost >= 0):
        raise ValueError(f"{words[1]} is not an amount in dollars")
    return int(words[0]), cost


def _not_empty(words: list[str]) -> list[str]:
    if not words:
        raise ValueError("name at least one")
    return words


def _keys(models: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Map each model that needs an API key to the environment variables that may hold it."""
    from kgbench import config
    from kgbench.connectors.declared import declarations

    declared = declarations()
    variables: dict[str, tuple[str, ...]] = {}
    for spec in models:
        setup = config.model_setup(spec)
        service = getattr(declared.get(setup.connector), "service", None)
        if named := setup.options.get("key_env"):
            variables[spec] = (str(named),)
        elif service is not None and service.own is not None and setup.base_url is None:
            variables[spec] = service.keys
    return variables
