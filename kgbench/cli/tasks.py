# SPDX-License-Identifier: Apache-2.0
"""``kgbench tasks``: list, show, create, check and encrypt tasks."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kgbench.cli import options
from kgbench.cli.printing import count, echo_visible, listing, report
from kgbench.on_demand import OnDemand

if TYPE_CHECKING:
    from kgbench.model import Case, Json, Task
    from kgbench.tables import Table
    from kgbench.testing.checking import Check

_Files = Annotated[
    list[Path], typer.Argument(metavar="PATH...", help="Files, or folders with such files.")
]
_ALL = 1_000_000  # more cases than any task without generated cases has
group = typer.Typer(
    help="List and show tasks; create, check and encrypt your own.", no_args_is_help=True
)


@group.command("list")
def list_(
    globs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[GLOB]...",
            help="Only labels that match.",
            autocompletion=options.complete_tasks,
        ),
    ] = None,
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """List task labels with class, version, main metric and number of cases."""
    from fnmatch import fnmatchcase

    from kgbench.errors import TaskError, nearest
    from kgbench.tasks import catalogue

    labels = catalogue.labelled_tasks()
    summaries = [
        _summary(task)
        for label, task in sorted(labels.items())
        if not globs or any(fnmatchcase(label, glob) for glob in globs)
    ]
    _report_unusable()
    _report_sealed(summary["class"] for summary in summaries if summary["sealed"])
    if globs and not summaries:
        raise TaskError(f"no task fits {' '.join(globs)}: {nearest(globs[0], labels)}")
    columns = {"label": "Task", "class": "Class", "version": "Version"}
    columns |= {"main_metric": "Main metric", "cases": "Cases"}
    entries = [
        {**each, "cases": "sealed" if each["sealed"] else each["cases"] or "generated"}
        for each in summaries
    ]
    report(summaries, [listing("Tasks", columns, entries)], json_=json_)


@group.command("show")
def show(
    label: Annotated[
        str,
        typer.Argument(
            metavar="LABEL",
            help="A label: see 'tasks list'.",
            autocompletion=options.complete_tasks,
        ),
    ],
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Show one task: parameters, metrics, names of its cases, and the first prompt."""
    from kgbench.errors import TaskError, nearest
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
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in data.items()
    }
    prompt = texts.pop("prompt")
    report(data, [*(f"{key:12} {text}" for key, text in texts.items()), "", prompt], json_=json_)


@group.command("new")
def new(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The name of the class, such as TurtleObjectList.")
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--folder",
            metavar="FOLDER",
            help="The folder to create. Default: named after the class.",
        ),
    ] = None,
    kind: Annotated[
        Literal["answer", "dialogue"],
        typer.Option("--kind", help="One answer, or a dialogue with feedback."),
    ] = "answer",
    answers: Annotated[
        Literal["text", "graph"],
        typer.Option("--answers", help="Lines of text, or a graph in Turtle."),
    ] = "text",
    json_: options.AsJson = False,
) -> None:
    """Create a package with a new, working task class.

    The package has a declaration, a prompt, cases, a judge, and a test that passes once it is
    installed.
    """
    from kgbench.testing import scaffold

    files = scaffold.make(name, folder, kind=kind, answers=answers)
    package = files[0].parent
    written = [path.relative_to(package).as_posix() for path in files]
    lines = (
        *map(str, files),
        f"Check it with: kgbench tasks check {shlex.quote(str(package))}",
        f"Install it with: pip install {shlex.quote(str(package.absolute()))}",
    )
    report({"name": name, "folder": str(package), "files": written}, lines, json_=json_)


@group.command("check")
def check(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="[FOLDER]", help="A task folder, or the folder of a package with task folders."
        ),
    ] = Path(),
    key_file: options.KeyFile = None,  # noqa: ARG001 - acts through its callback
    json_: options.AsJson = False,
) -> None:
    """Check the task classes in FOLDER, installed or not.

    Exits with 1 if there are findings. Checks the declaration, vocabulary, levels, cases, prompts
    that reveal the answer, reference answers, and the judge, with 200 hostile answers in a
    restricted process.
    """
    from kgbench.cli.printing import progress
    from kgbench.testing.checking import check_folder

    checks: list[Check] = []
    with progress("checks", None, quiet=json_) as advance:
        for result in check_folder(folder):
            checks.append(result)
            advance(len(checks), f"{result.task_class}: {result.name}")
    faults = [(each, fault) for each in checks for fault in each.faults]
    data = {
        "passed": not faults,
        "checks": [
            {
                **asdict(each),
                "file": str(each.file),
                "faults": [fault._asdict() for fault in each.faults],
            }
            for each in checks
        ],
    }
    report(data, _checked(checks), json_=json_)
    if not json_:
        for each, fault in faults:
            place = each.file if fault.line is None else f"{each.file}:{fault.line}"
            echo_visible(f"{place}: {each.name}: {fault.message}", err=True)
        found = count(len(faults), "finding") if faults else "no findings"
        classes = count(len({each.task_class for each in checks}), "task class", "task classes")
        rest = ", but not everything is checked" if any(each.skipped for each in checks) else ""
        echo_visible(f"{found} in {classes}{rest}", err=bool(faults))
    if faults:
        raise typer.Exit(1)


def _checked(checks: Sequence[Check]) -> Iterator[str | Table]:
    """Yield a table of the checks of one class, or of the results of several, and what is open."""
    by_class: dict[str, list[Check]] = {}
    for each in checks:
        by_class.setdefault(each.task_class, []).append(each)
    name, (head, last) = "Checks", ("Task class", "Hostile answers")
    groups = by_class
    if len(by_class) == 1:
        name, (head, last) = f"Checks of {next(iter(by_class))}", ("Check", "Looked at")
        groups = {each.name: [each] for each in checks}
    entries = [
        {"name": name, "result": _result(each), "looked_at": each[-1].looked_at}
        for name, each in groups.items()
    ]
    yield listing(name, {"name": head, "result": "Result", "looked_at": last}, entries)
    yield from dict.fromkeys(
        f"{each.task_class}: not everything is checked: {each.skipped}"
        for each in checks
        if each.skipped is not None
    )


def _result(checks: Sequence[Check]) -> str:
    """Summarise the result of checks in two words."""
    if faults := sum(len(check_.faults) for check_ in checks):
        return count(faults, "finding")
    skipped = sum(check_.skipped is not None for check_ in checks)
    if skipped == len(checks):
        return "not checked"
    return "partly checked" if skipped else "ok"


@group.command("encrypt")
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
    yes: options.Yes = False,
) -> None:
    """Encrypt the data of task classes: each FILE becomes FILE.enc.

    In folders, only data beside or below a task.ttl are encrypted; the task.ttl stays readable.
    Keys, stores, configurations and code are never encrypted.
    """
    from kgbench.errors import ResourceError
    from kgbench.tasks import class_files, protection

    key = protection.published_key() if published else protection.user_key()
    if key is None:
        raise ResourceError(
            f"there is no key: set {protection.VARIABLE}, or name a file by --key-file"
        )
    files = class_files.data_files(paths, [key])
    if dry_run or not yes:
        for path in files:
            typer.echo(str(path), err=not dry_run)
    if dry_run:
        return
    if not yes:
        typer.confirm(f"Encrypt {count(len(files), 'file')}?", abort=True, err=True)
    for path in protection.encrypt(files, key):
        typer.echo(str(path))


@group.command("decrypt")
def decrypt(paths: _Files, key_file: options.KeyFile = None) -> None:
    """Decrypt task files: each FILE.enc becomes FILE again."""
    from kgbench.tasks import protection

    known = (
        protection.available_keys() if key_file is None else [protection.read_key_file(key_file)]
    )
    for path in protection.files_to_decrypt(paths):
        typer.echo(str(protection.decrypt(path, known)))


def _report_unusable() -> None:
    from kgbench.tasks import catalogue

    for name, reason in catalogue.unusable().items():
        echo_visible(f"The task class {name} cannot be used: {reason}", err=True)


def _report_sealed(class_names: Iterable[str]) -> None:
    from kgbench.tasks import texts

    for name in sorted(set(class_names)):
        echo_visible(f"The task class {name} is sealed: {texts.missing_key(name)}", err=True)


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

    return {
        name: {"minimum": parameter.minimum, "maximum": parameter.maximum, "unit": parameter.unit}
        if json_
        else words
        for name, parameter in catalogue.task_class(task.task_class).parameters.items()
        if (words := range_of(parameter))
    }


def _cases(task: Task) -> list[Case] | None:
    """Return all cases of a task; ``None`` if they are generated from a seed, without limit."""
    first = _drawn(task, 0, 1)
    if isinstance(first, OnDemand):  # generating a case takes a second in large worlds
        every = _drawn(task, 0, _ALL)
        return None if len(every) == _ALL else list(every)
    return None if first != _drawn(task, 1, 1) else list(_drawn(task, 0, _ALL))


def _drawn(task: Task, seed: int, number: int) -> Sequence[Case]:
    from kgbench.config.planning import DEFAULT_SUITE
    from kgbench.tasks import catalogue

    module = catalogue.module(task.task_class)
    cases: Sequence[Case] = module.cases(task, DEFAULT_SUITE, seed, number)
    return cases
