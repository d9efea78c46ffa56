# SPDX-License-Identifier: Apache-2.0
"""Resolution of the entries of a configuration to tasks and models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Generic, TypeAlias, TypeVar

from kgbench.config import names, specs
from kgbench.config.gathering import Entry
from kgbench.connectors import declared
from kgbench.errors import Finding, ModelSpecError, TaskError
from kgbench.model import Json, ModelSetup, Task
from kgbench.nearest import nearest
from kgbench.tasks import catalogue, locked_classes, successors

SIZE = "size"  # the parameter that 'sizes' sets


V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Choice(Generic[V]):
    """A selected task or model, and the ``names`` that patterns are matched against.

    ``value`` is ``None`` for a known task or model class that is not installed; ``missing`` is then
    the reason. A model whose connector is missing has a value nevertheless, and so has a task of a
    class whose sealed files cannot be decrypted.
    """

    entry: Entry
    label: str
    names: tuple[str, ...]
    value: V | None
    missing: str = ""


TaskChoice: TypeAlias = Choice[Task]
ModelChoice: TypeAlias = Choice[ModelSetup]


def is_pattern(text: str) -> bool:
    """Return whether ``text`` is a pattern over labels."""
    return any(character in text for character in "*?[")


# --- tasks ----------------------------------------------------------------------------------


def tasks(entries: Sequence[Entry], sizes: Sequence[int]) -> tuple[list[TaskChoice], list[Finding]]:
    """Return the selected tasks, in each of ``sizes`` if they have a size, and the findings."""
    selected: list[TaskChoice] = []
    findings: list[Finding] = []
    for entry in entries:
        chosen, wrong = _of_entry(entry)
        findings += wrong
        by_pattern = entry.text is not None and is_pattern(entry.text)
        sized, refused = _sized(chosen, sizes)
        findings += refused
        for choice in sized:
            if any(choice.label == other.label for other in selected):
                if not by_pattern:
                    findings.append(_twice(entry, choice.label))
            else:
                selected.append(choice)
    return selected, findings


def _twice(entry: Entry, label: str) -> Finding:
    position = entry if entry.label is None else replace(entry, pointer=f"{entry.pointer}/label")
    return position.finding(f"the label '{label}' is used twice; each label names one thing")


def _of_entry(entry: Entry) -> tuple[list[TaskChoice], list[Finding]]:
    if entry.text is not None and is_pattern(entry.text):
        return _by_pattern(entry, entry.text)
    name = entry.text or entry.class_name or entry.label or ""
    label = entry.label or name
    if entry.class_name is None and name in catalogue.labelled_tasks():
        return [_choice(entry, catalogue.labelled_tasks()[name])], []
    name = successors.successor(name)
    if name in catalogue.task_classes():
        return _by_class(entry, name, label)
    if name in catalogue.unusable():
        missing = f"the task class '{name}' cannot be used: {catalogue.unusable()[name]}"
        return [Choice(entry, label, (label, name), None, missing)], []
    if name in names.task_classes():
        reason = names.task_classes()[name]
        missing = f"the task class '{name}' is not installed{reason and f': {reason}'}"
        return [Choice(entry, label, (label, name), None, missing)], []
    return [], [_unknown_task(entry, name)]


def _choice(entry: Entry, task: Task) -> TaskChoice:
    missing = locked_classes.missing_key(task.task_class) or ""
    return Choice(entry, task.label, (task.label, task.task_class), task, missing)


def _by_pattern(entry: Entry, pattern: str) -> tuple[list[TaskChoice], list[Finding]]:
    known = catalogue.labelled_tasks()
    matching = [
        _choice(entry, task) for label, task in known.items() if fnmatchcase(label, pattern)
    ]
    if matching:
        return matching, []
    return [], [entry.finding(f"no task matches '{pattern}': {nearest(pattern, known)}")]


def _by_class(entry: Entry, name: str, label: str) -> tuple[list[TaskChoice], list[Finding]]:
    sizes = entry.params.get(SIZE)
    if isinstance(sizes, list) and len(sizes) > 1 and SIZE in catalogue.task_class(name).parameters:
        return _by_size(entry, name, label, sizes)
    reasons = {
        key: note
        for key, value in entry.params.items()
        if (note := names.unusable_values().get((name, key, str(value)))) is not None
    }
    others = {key: value for key, value in entry.params.items() if key not in reasons}
    try:
        task = _make_task(name, label, others)
        if reasons:
            missing = (
                f"{name} does not take this {' and '.join(reasons)}: {'; '.join(reasons.values())}"
            )
            return [Choice(entry, label, (label, name), None, missing)], []
        return [_choice(entry, task)], []
    except TaskError as error:
        wrong = [
            entry.finding(str(refusal), parameter)
            for parameter, value in entry.params.items()
            if (refusal := _refused(name, label, {parameter: value})) is not None
        ]
        return [], wrong or [entry.finding(str(error))]


def _by_size(
    entry: Entry, name: str, label: str, sizes: list[Json]
) -> tuple[list[TaskChoice], list[Finding]]:
    """Return a separate task for each size that an entry lists."""
    selected: list[TaskChoice] = []
    findings: list[Finding] = []
    for size in sizes:
        entry_of_size = replace(entry, params={**entry.params, SIZE: size})
        chosen, wrong = _by_class(entry_of_size, name, f"{label}-{size}")
        selected += chosen
        findings += wrong
    return selected, findings


def _refused(name: str, label: str, params: Mapping[str, Json]) -> TaskError | None:
    try:
        _make_task(name, label, params)
    except TaskError as error:
        return error
    return None


def _make_task(name: str, label: str, params: Mapping[str, Json]) -> Task:
    task = catalogue.make_task(name, label, params)
    catalogue.check(task)
    return task


def _unknown_task(entry: Entry, name: str) -> Finding:
    if entry.class_name is not None:
        known = {*catalogue.task_classes(), *names.task_classes()}
        position = replace(entry, pointer=f"{entry.pointer}/class")
        return position.finding(f"unknown task class '{name}': {nearest(name, known)}")
    known = {*catalogue.labelled_tasks(), *catalogue.task_classes(), *names.task_classes()}
    return entry.finding(f"unknown task '{name}': {nearest(name, known)}")


def _sized(
    chosen: Sequence[TaskChoice], sizes: Sequence[int]
) -> tuple[list[TaskChoice], list[Finding]]:
    """Repeat each choice for all sizes, unless it has no size or fixes it; also the findings."""
    selected: list[TaskChoice] = []
    findings: list[Finding] = []
    for choice in chosen:
        task = choice.value
        if task is None or not sizes or not _takes_sizes(choice.entry, task):
            selected.append(choice)
            continue
        for size in dict.fromkeys(sizes):
            label = task.label if len(set(sizes)) == 1 else f"{task.label}-{size}"
            try:
                of_size = _make_task(task.task_class, label, {**task.parameters, SIZE: size})
            except TaskError as error:
                message = (
                    f"{error}; leave the size out of sizes, or give the task one in its params"
                )
                findings.append(choice.entry.finding(message))
                continue
            selected.append(
                replace(choice, label=label, names=(label, *choice.names), value=of_size)
            )
    return selected, findings


def _takes_sizes(entry: Entry, task: Task) -> bool:
    declared = catalogue.task_class(task.task_class).parameters.get(SIZE)
    if declared is None or SIZE in entry.params:
        return False
    return bool(task.parameters[SIZE] == declared.default)


# --- models ---------------------------------------------------------------------------------


def models(entries: Iterable[Entry]) -> tuple[list[ModelChoice], list[Finding]]:
    """Return the selected models, and the findings."""
    selected: list[ModelChoice] = []
    findings: list[Finding] = []
    for entry in entries:
        try:
            choice = model(entry)
        except ModelSpecError as error:
            findings += _refused_params(entry) or [_model_place(entry).finding(str(error))]
            continue
        # Different labels imply different IRIs, which are made from the labels.
        if any(choice.label == other.label for other in selected):
            findings.append(_twice(entry, choice.label))
        else:
            selected.append(choice)
    return selected, findings


def model(entry: Entry) -> ModelChoice:
    """Return the model of an entry.

    Raises :class:`~kgbench.errors.ModelSpecError` if there is none.
    """
    unasked = names.models_without_connector().get(entry.class_name or "")
    if unasked is not None:
        label = entry.label or str(entry.params.get("model", entry.class_name))
        return Choice(entry, label, (label, str(entry.class_name)), None, unasked)
    if entry.class_name is None:
        setup = specs.model_setup(entry.text or entry.spec or "", entry.label)
    else:
        known = names.model_classes() | {name: name for name in names.installed_connectors()}
        if entry.class_name not in known:
            hint = nearest(entry.class_name, known)
            raise ModelSpecError(f"unknown model class '{entry.class_name}': {hint}")
        params = dict(entry.params)
        identifier = str(params.pop("model"))
        written = specs.ParsedSpec(known[entry.class_name], identifier, values=params)
        setup = specs.setup(written, entry.label)
    return choice_of(entry, setup)


def _refused_params(entry: Entry) -> list[Finding]:
    """Return a finding for each invalid parameter, unless the class itself is refused."""
    if entry.class_name is None or _refusal(entry, {}) is not None:
        return []
    refused = {name: _refusal(entry, {name: value}) for name, value in entry.params.items()}
    return [entry.finding(str(error), name) for name, error in refused.items() if error]


def _refusal(entry: Entry, params: Mapping[str, Json]) -> ModelSpecError | None:
    try:
        model(replace(entry, params={"model": "any", **params}))
    except ModelSpecError as error:
        return error
    return None


def choice_of(entry: Entry, setup: ModelSetup) -> ModelChoice:
    """Return ``setup`` as a choice, with the names by which it can be selected.

    Raises :class:`~kgbench.errors.ModelSpecError` for options that its connector does not have.
    """
    missing = ""
    if setup.connector not in names.installed_connectors():
        missing = (
            f"the connector '{setup.connector}' is not installed "
            f"(see the extras of the package: pip install 'kgbench[{setup.connector}]')"
        )
    else:
        declared.check(setup)
    of_model = (setup.label, setup.model_id, setup.spec)
    return Choice(entry, setup.label, of_model, setup, missing)


def _model_place(entry: Entry) -> Entry:
    key = "spec" if entry.spec is not None else None
    return entry if key is None else replace(entry, pointer=f"{entry.pointer}/{key}")
