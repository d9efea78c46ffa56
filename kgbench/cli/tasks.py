# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks``: list, show, create, check and encrypt tasks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kgbench.cli import completion, options, task_authoring
from kgbench.cli.messages import count, echo_visible
from kgbench.on_demand import OnDemand

if TYPE_CHECKING:
    from kgbench.model import Case, Json, Task

_Files = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Files, or folders with such files.")
]
_ALL = 1_000_000  # more cases than any task without generated cases has


def command(app: typer.Typer) -> None:
    """Register the command and its subcommands."""
    group = typer.Typer(
        help="List and show tasks; create, check and encrypt your own.", no_args_is_help=True
    )
    group.command("list")(list_)
    group.command("show")(show)
    task_authoring.command(group)
    group.command("encrypt")(encrypt)
    group.command("decrypt")(decrypt)
    app.add_typer(group, name="tasks")


def list_(
    globs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GLOB]...", help="Only labels that match.", autocompletion=completion.tasks
        ),
    ] = None,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """List task labels with class, version, main metric and number of cases."""
    from fnmatch import fnmatchcase

    from kgbench.errors import TaskError
    from kgbench.nearest import nearest
    from kgbench.tables import Column, Table
    from kgbench.tables.rendering import render
    from kgbench.tasks import catalogue

    summaries = [
        _summary(task)
        for label, task in sorted(catalogue.labelled_tasks().items())
        if not globs or any(fnmatchcase(label, glob) for glob in globs)
    ]
    _report_unusable()
    _report_sealed(summary["class"] for summary in summaries if summary["sealed"])
    if globs and not summaries:
        raise TaskError(
            f"no task fits {' '.join(globs)}: {nearest(globs[0], catalogue.labelled_tasks())}"
        )
    if json_:
        typer.echo(json.dumps(summaries, indent=2, ensure_ascii=False))
        return
    columns = (
        Column("label", "Task"),
        Column("class", "Class"),
        Column("version", "Version"),
        Column("main_metric", "Main metric"),
        Column("cases", "Cases"),
    )
    display_entries = [
        {**summary, "cases": "sealed" if summary["sealed"] else summary["cases"] or "generated"}
        for summary in summaries
    ]
    rows = tuple(tuple(summary[column.name] for column in columns) for summary in display_entries)
    typer.echo(render(Table("Tasks", columns, rows), "table"), nl=False)


def show(
    label: Annotated[
        str,
        typer.Argument(
            metavar="LABEL", help="A label: see 'tasks list'.", autocompletion=completion.tasks
        ),
    ],
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Show one task: parameters, metrics, names of its cases, and the first prompt."""
    from kgbench.errors import TaskError
    from kgbench.nearest import nearest
    from kgbench.tasks import catalogue

    tasks = catalogue.labelled_tasks()
    if label not in tasks:
        _report_unusable()
        raise TaskError(f"there is no task '{label}': {nearest(label, tasks)}")
    task = tasks[label]
    summary = _summary(task)
    if summary["sealed"]:
        _report_sealed([task.task_class])
    cases = None if summary["sealed"] else _cases(task)
    first = () if summary["sealed"] else _drawn(task, 0, 1)
    data = {
        **summary,
        "ranges": _ranges(task, json_=json_),
        "folder": str(catalogue.folder(task.task_class)),
        "case_names": [case.uid or case.digest[:12] for case in cases or ()],
        "prompt": catalogue.module(task.task_class).prompt(first[0]) if first else None,
    }
    if json_:
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
        return
    for key, value in data.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        typer.echo(f"\n{text}" if key == "prompt" else f"{key:12} {text}")


def encrypt(
    paths: _Files,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    *,
    published: Annotated[
        bool,
        typer.Option("--published", help="Use the published key, which only keeps crawlers out."),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only list the files that would be encrypted.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Encrypt the data of task classes: each FILE becomes FILE.enc.

    In folders, only data beside or below a task.ttl are encrypted; the task.ttl stays readable.
    Keys, stores, configurations and code are never encrypted.
    """
    from kgbench.tasks import class_files, encryption, keys

    key = keys.published_key() if published else _key()
    files = class_files.data_files(paths, [key])
    if dry_run:
        for path in files:
            typer.echo(str(path))
        return
    if not yes:
        for path in files:
            typer.echo(str(path), err=True)
        typer.confirm(f"Encrypt {count(len(files), 'file')}?", abort=True, err=True)
    for path in encryption.encrypt(files, key):
        typer.echo(str(path))


def decrypt(paths: _Files, key_file: options.KeyFile = None) -> None:
    """Decrypt task files: each FILE.enc becomes FILE again."""
    from kgbench.tasks import encryption, keys

    known = keys.available_keys() if key_file is None else [keys.read_key_file(key_file)]
    for path in encryption.files_to_decrypt(paths):
        typer.echo(str(encryption.decrypt(path, known)))


def _report_unusable() -> None:
    from kgbench.tasks import catalogue

    for name, reason in catalogue.unusable().items():
        echo_visible(f"The task class {name} cannot be used: {reason}", err=True)


def _report_sealed(class_names: Iterable[str]) -> None:
    from kgbench.tasks import texts

    for name in sorted(set(class_names)):
        echo_visible(f"The task class {name} is sealed: {texts.missing_key(name)}", err=True)


def _key() -> str:
    from kgbench.errors import ResourceError
    from kgbench.tasks import keys

    key = keys.user_key()
    if key is None:
        raise ResourceError(f"there is no key: set {keys.VARIABLE}, or name a file by --key-file")
    return key


def _summary(task: Task) -> dict[str, Json]:
    from kgbench.tasks import catalogue, texts

    task_class = catalogue.task_class(task.task_class)
    sealed = texts.missing_key(task.task_class) is not None
    return {
        "label": task.label,
        "class": task.task_class,
        "version": task.version,
        "parameters": dict(task.parameters),
        "main_metric": task_class.main_metric,
        "metrics": sorted(task_class.metrics),
        "cases": None if sealed or (cases := _cases(task)) is None else len(cases),
        "sealed": sealed,
    }


def _ranges(task: Task, *, json_: bool) -> dict[str, Json]:
    """Return the declared ranges of parameters, as numbers for JSON, else in words."""
    from kgbench.tasks import catalogue
    from kgbench.tasks.declaration import range_of

    declared = catalogue.task_class(task.task_class).parameters
    return {
        name: {"minimum": parameter.minimum, "maximum": parameter.maximum, "unit": parameter.unit}
        if json_
        else range_of(parameter)
        for name, parameter in declared.items()
        if range_of(parameter)
    }


def _cases(task: Task) -> list[Case] | None:
    """Return all cases of a task; ``None`` if they are generated from a seed, without limit."""
    first = _drawn(task, 0, 1)
    if isinstance(first, OnDemand):  # generating a case takes a second in large worlds
        every = _drawn(task, 0, _ALL)
        return None if len(every) == _ALL else list(every)
    return None if first != _drawn(task, 1, 1) else list(_drawn(task, 0, _ALL))


def _drawn(task: Task, seed: int, count: int) -> Sequence[Case]:
    from kgbench.config.planning import DEFAULT_SUITE
    from kgbench.tasks import catalogue

    cases: Sequence[Case] = catalogue.module(task.task_class).cases(
        task, DEFAULT_SUITE, seed, count
    )
    return cases
