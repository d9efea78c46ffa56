# SPDX-License-Identifier: Apache-2.0
"""``kgbench init`` and ``kgbench validate``: write a first configuration, and check one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from kgbench.cli import options
from kgbench.cli.printing import count, report

if TYPE_CHECKING:
    from kgbench.config import Report

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
            autocompletion=options.complete_models,
        ),
    ] = None,
    task: options.TaskGlobs = None,
    suite: Annotated[
        str | None, typer.Option(metavar="NAME", help="The suite whose cases are run.")
    ] = None,
    iterations: options.Iterations = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="Stop a run at this cost.")
    ] = None,
    json_: options.AsJson = False,
) -> None:
    """Create a first configuration with comments, FOLDER/kgbench.yaml.

    The defaults need no provider and can be run at once. Existing files are never overwritten.
    """
    from kgbench.config import model_setup, starter
    from kgbench.connectors.declared import requirements
    from kgbench.connectors.keys import key_location

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
    choices = starter.Choices(**values)
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
    """Refuse a path that cannot be written."""
    from kgbench.errors import ConfigurationError, Finding

    if path.exists() or path.is_symlink():
        message = "the file exists and is kept as it is: name another folder"
        raise ConfigurationError([Finding(str(path), "", message)])
    if path.parent.exists() and not path.parent.is_dir():
        raise ConfigurationError([Finding(str(path.parent), "", "it is not a folder: name one")])


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


def validate(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="A configuration (YAML, JSON or Turtle).")
    ],
    *,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Check a configuration without running it.

    Exits with 1 if the configuration is refused.
    """
    from kgbench import config as configurations

    checked = configurations.check(config)
    data = {
        "accepted": not checked.findings,
        **asdict(checked),
        "requirements": [needed._asdict() for needed in checked.requirements],
    }
    report(data, _accepted(config, checked) if not checked.findings else (), json_=json_)
    if checked.findings:
        refused = f"refused: {count(len(checked.findings), 'finding')}"
        for line in () if json_ else (*checked.findings, refused):
            typer.echo(str(line), err=True)
        raise typer.Exit(1)


def _accepted(config: Path, checked: Report) -> Iterator[str]:
    for note in (*checked.unavailable, *checked.requirements, *checked.lacking):
        yield f"note: {note}"
    per_case = " per case" if checked.per_case else ""
    yield (
        f"accepted: {config}: {count(checked.tasks, 'task')}, {count(checked.models, 'model')}, "
        f"{count(checked.iterations, 'iteration')}{per_case}"
    )
    if checked.unavailable:
        yield f"{len(checked.unavailable)} of them cannot be run here: `kgbench run` skips them"
