# SPDX-License-Identifier: Apache-2.0
"""``kgbench init``: a first configuration, by three questions or by options."""

from __future__ import annotations

import json
import math
import shlex
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kgbench.cli import completing, options
from kgbench.cli.wording import tell

if TYPE_CHECKING:
    from kgbench.config.beginning import Choices

T = TypeVar("T")


def command(app: typer.Typer) -> None:
    """Register the command."""
    app.command("init")(init)


def init(
    folder: Annotated[
        Path, typer.Argument(metavar="[FOLDER]", help="Where to; default: the current folder.")
    ] = Path(),
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="SPEC",
            help="A model such as openai:NAME@http://host/v1; repeatable.",
            autocompletion=completing.models,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    suite: Annotated[
        str | None, typer.Option("--suite", metavar="NAME", help="Whose cases are asked.")
    ] = None,
    iterations: Annotated[
        int | None, typer.Option("--iterations", "-n", min=1, help="Dialogues per task label.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option("--max-cost", metavar="USD", min=0, help="Stop a run when it costs this."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Ask nothing, take defaults.")] = False,
    json_: options.AsJson = False,
) -> None:
    """Write a configuration with comments, FOLDER/kgbench.yaml; no file is overwritten.

    Asks three questions on a terminal, and nothing where an option is given. The defaults need no
    provider and run at once.
    """
    from kgbench.config import beginning
    from kgbench.connectors.keys import place

    path = folder / beginning.FILE
    _refuse(path)
    given = {
        "models": model,
        "tasks": task,
        "suite": suite,
        "iterations": iterations,
        "max_cost": None if max_cost is None else Decimal(str(max_cost)),
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if chosen or yes or json_ or not (sys.stdin.isatty() and sys.stderr.isatty()):
        choices = beginning.Choices(**chosen)
    else:
        choices = _asked()
    keys = _keys(choices.models)
    beginning.write(path, choices, {spec: " or ".join(names) for spec, names in keys.items()})
    missing = [
        " or ".join(names)
        for names in dict.fromkeys(keys.values())
        if not any(place(name) for name in names)
    ]
    if json_:
        typer.echo(json.dumps({"file": str(path), "keys_not_set": missing}, indent=2))
        return
    shown = shlex.quote(str(path))
    tell(f"{path} is written.")
    for names in missing:
        tell(f"Set {names} to the key of the provider.")
    tell(f"Check it with: kgbench validate {shown}")
    tell(f"See what it would ask with: kgbench run {shown} --dry-run")
    tell(f"Run it with: kgbench run {shown}")


def _refuse(path: Path) -> None:
    """Refuse before anything is asked what could not be written afterwards."""
    from kgbench.errors import ConfigurationError, Finding

    if path.exists() or path.is_symlink():
        about = "there is a file already, and it is left as it is: name another folder"
        raise ConfigurationError([Finding(str(path), "", about)])
    if path.parent.exists() and not path.parent.is_dir():
        raise ConfigurationError([Finding(str(path.parent), "", "it is no folder: name one")])


def _asked() -> Choices:
    from kgbench.config.beginning import Choices

    default = Choices()
    models = _answer("Models, as CONNECTOR:NAME", " ".join(default.models), _models)
    suite, tasks = _answer("Tasks, as labels or patterns, or a suite", "*", _tasks)
    often, cost = _answer(
        "Dialogues per task, and US dollars at most if you like", str(default.iterations), _often
    )
    return Choices(models, tasks, suite or default.suite, often, cost)


def _answer(question: str, default: str, read: Callable[[str], T]) -> T:
    """The answer to a question, which is put again until ``read`` accepts it."""
    from kgbench.errors import KgbenchError

    def accepted(text: str) -> T:
        try:
            return read(text)
        except (KgbenchError, ValueError) as error:
            raise typer.BadParameter(str(error)) from None

    found: T = typer.prompt(question, default=default, value_proc=accepted, err=True)
    return found


def _models(text: str) -> Sequence[str]:
    from kgbench import config

    specs = text.split()
    for spec in specs:
        config.model_setup(spec)
    return _some(specs)


def _tasks(text: str) -> tuple[str | None, Sequence[str]]:
    """The suite that is named, if it is one, and the tasks."""
    from fnmatch import fnmatchcase

    from kgbench.config.names import suites
    from kgbench.nearest import nearest
    from kgbench.tasks import catalogue

    words = _some(text.split())
    if len(words) == 1 and words[0] in suites():
        return words[0], ("*",)
    labels = catalogue.labelled_tasks()
    for word in words:
        if word not in catalogue.task_classes() and not any(fnmatchcase(x, word) for x in labels):
            raise ValueError(f"no task fits {word}: {nearest(word, [*labels, *suites()])}")
    return None, words


def _often(text: str) -> tuple[int, Decimal | None]:
    """How many dialogues, and what they may cost: ``5``, or ``5 2.50``."""
    words = text.replace("$", " ").split()
    if not 1 <= len(words) <= 2 or not words[0].isdecimal() or int(words[0]) < 1:  # noqa: PLR2004 - number and cost
        raise ValueError("say a whole number above 0, and a second number for the dollars")
    try:
        cost = Decimal(words[1]) if words[1:] else None
    except InvalidOperation:
        cost = Decimal("NaN")
    if cost is not None and not (math.isfinite(cost) and cost >= 0):
        raise ValueError(f"{words[1]} is no amount of dollars")
    return int(words[0]), cost


def _some(words: list[str]) -> list[str]:
    if not words:
        raise ValueError("name one at least")
    return words


def _keys(models: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The environment variables in which the key of each model is looked for, if it needs one."""
    from kgbench import config
    from kgbench.connectors.declared import declarations

    declared = declarations()
    found: dict[str, tuple[str, ...]] = {}
    for spec in models:
        setup = config.model_setup(spec)
        service = getattr(declared.get(setup.connector), "service", None)
        if named := setup.options.get("key_env"):
            found[spec] = (str(named),)
        elif service is not None and service.own is not None and setup.base_url is None:
            found[spec] = service.keys
    return found
