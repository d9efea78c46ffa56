# SPDX-License-Identifier: Apache-2.0
"""Resolution of the entries of a configuration to tasks and models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Generic, TypeAlias, TypeVar

from kgbench.config import names, specs
from kgbench.config.reading import Entry
from kgbench.connectors import declared
from kgbench.errors import Finding, KgbenchError, ModelSpecError, TaskError, nearest, pip_install
from kgbench.model import Json, ModelSetup, Task
from kgbench.tasks import catalogue, texts

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

    @property
    def available(self) -> V | None:
        """The task or model, if it can be run here."""
        return None if self.missing else self.value


TaskChoice: TypeAlias = Choice[Task]
ModelChoice: TypeAlias = Choice[ModelSetup]


def is_pattern(text: str) -> bool:
    """Return whether ``text`` is a pattern over labels."""
    return any(character in text for character in "*?[")


# --- tasks ----------------------------------------------------------------------------------


def tasks(
    entries: Iterable[Entry], sizes: Sequence[int], findings: list[Finding]
) -> list[TaskChoice]:
    """Return the selected tasks, in each of ``sizes`` if they have a size; add the findings."""
    selected: dict[str, TaskChoice] = {}
    for entry in entries:
        by_pattern = entry.text is not None and is_pattern(entry.text)
        repeated = [
            choice.label
            for choice in _sized(_of_entry(entry, findings), sizes, findings)
            if selected.setdefault(choice.label, choice) is not choice
        ]
        if not by_pattern:
            findings += [_twice(entry, label) for label in repeated]
    return list(selected.values())


def _twice(entry: Entry, label: str) -> Finding:
    position = entry if entry.label is None else entry.at("label")
    return position.finding(f"the label '{label}' is used twice; each label names one thing")


def _of_entry(entry: Entry, findings: list[Finding]) -> list[TaskChoice]:
    labelled = catalogue.labelled_tasks()
    if entry.text is not None and is_pattern(entry.text):
        matching = [task for label, task in labelled.items() if fnmatchcase(label, entry.text)]
        if not matching:
            hint = nearest(entry.text, labelled)
            findings.append(entry.finding(f"no task matches '{entry.text}': {hint}"))
        return [_choice(entry, task) for task in matching]
    name = entry.text or entry.class_name or entry.label or ""
    label = entry.label or name
    if entry.class_name is None and name in labelled:
        return [_choice(entry, labelled[name])]
    name = catalogue.successor(name)
    if name in catalogue.task_classes():
        return _by_class(entry, name, label, findings)
    if name in catalogue.unusable():
        missing = f"the task class '{name}' cannot be used: {catalogue.unusable()[name]}"
        return [Choice(entry, label, (label, name), None, missing)]
    if name in names.task_classes():
        reason = names.task_classes()[name]
        missing = f"the task class '{name}' is not installed{reason and f': {reason}'}"
        return [Choice(entry, label, (label, name), None, missing)]
    known = {*catalogue.task_classes(), *names.task_classes()}
    if entry.class_name is not None:
        message = f"unknown task class '{name}': {nearest(name, known)}"
        findings.append(entry.at("class").finding(message))
    else:
        hint = nearest(name, {*labelled, *known})
        findings.append(entry.finding(f"unknown task '{name}': {hint}"))
    return []


def _choice(entry: Entry, task: Task) -> TaskChoice:
    missing = texts.missing_key(task.task_class) or ""
    return Choice(entry, task.label, (task.label, task.task_class), task, missing)


def _by_class(entry: Entry, name: str, label: str, findings: list[Finding]) -> list[TaskChoice]:
    sizes = entry.params.get(SIZE)
    if isinstance(sizes, list) and len(sizes) > 1 and SIZE in catalogue.task_class(name).parameters:
        params = [{**entry.params, SIZE: size} for size in sizes]
        return [
            choice
            for one in params
            for choice in _by_class(
                replace(entry, params=one), name, f"{label}-{one[SIZE]}", findings
            )
        ]
    reasons = {
        key: note
        for key, value in entry.params.items()
        if (note := names.unusable_values().get((name, key, str(value)))) is not None
    }
    others = {key: value for key, value in entry.params.items() if key not in reasons}
    try:
        task = _make_task(name, label, others)
    except TaskError as error:
        refused = {
            key: _error(_make_task, name, label, {key: value})
            for key, value in entry.params.items()
        }
        findings += _of_params(entry, refused) or [entry.finding(str(error))]
        return []
    if not reasons:
        return [_choice(entry, task)]
    missing = f"{name} does not take this {' and '.join(reasons)}: {'; '.join(reasons.values())}"
    return [Choice(entry, label, (label, name), None, missing)]


def _error(make: Callable[..., object], *arguments: object) -> KgbenchError | None:
    """Return the error that a call raises about a task or model, if any."""
    try:
        make(*arguments)
    except (TaskError, ModelSpecError) as error:
        return error
    return None


def _of_params(entry: Entry, refused: Mapping[str, KgbenchError | None]) -> list[Finding]:
    return [entry.finding(str(error), name) for name, error in refused.items() if error]


def _make_task(name: str, label: str, params: Mapping[str, Json]) -> Task:
    task = catalogue.make_task(name, label, params)
    catalogue.check(task)
    return task


def _sized(
    chosen: Iterable[TaskChoice], sizes: Sequence[int], findings: list[Finding]
) -> Iterator[TaskChoice]:
    """Repeat each choice for all sizes, unless it has no size or fixes it."""
    for choice in chosen:
        task = choice.value
        if task is None or not sizes or not _takes_sizes(choice.entry, task):
            yield choice
            continue
        for size in dict.fromkeys(sizes):
            label = task.label if len(set(sizes)) == 1 else f"{task.label}-{size}"
            try:
                of_size = _make_task(task.task_class, label, {**task.parameters, SIZE: size})
            except TaskError as error:
                advice = "leave the size out of sizes, or give the task one in its params"
                findings.append(choice.entry.finding(f"{error}; {advice}"))
                continue
            yield replace(choice, label=label, names=(label, *choice.names), value=of_size)


def _takes_sizes(entry: Entry, task: Task) -> bool:
    declared = catalogue.task_class(task.task_class).parameters.get(SIZE)
    if declared is None or SIZE in entry.params:
        return False
    return bool(task.parameters[SIZE] == declared.default)


# --- models ---------------------------------------------------------------------------------


def models(entries: Iterable[Entry], findings: list[Finding]) -> list[ModelChoice]:
    """Return the selected models; add the findings."""
    selected: list[ModelChoice] = []
    for entry in entries:
        try:
            choice = model(entry)
        except ModelSpecError as error:
            place = entry if entry.spec is None else entry.at("spec")
            findings += _refused_params(entry) or [place.finding(str(error))]
            continue
        # Different labels imply different IRIs, which are made from the labels.
        if any(choice.label == other.label for other in selected):
            findings.append(_twice(entry, choice.label))
        else:
            selected.append(choice)
    return selected


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

    def refused(params: Mapping[str, Json]) -> KgbenchError | None:
        return _error(model, replace(entry, params={"model": "any", **params}))

    if entry.class_name is None or refused({}) is not None:
        return []
    return _of_params(entry, {name: refused({name: value}) for name, value in entry.params.items()})


def choice_of(entry: Entry, setup: ModelSetup) -> ModelChoice:
    """Return ``setup`` as a choice, with the names by which it can be selected.

    Raises :class:`~kgbench.errors.ModelSpecError` for options that its connector does not have.
    """
    missing = ""
    if setup.connector not in names.installed_connectors():
        missing = (
            f"the connector '{setup.connector}' is not installed "
            f"(see the extras of the package: {pip_install(f'kgbench[{setup.connector}]')})"
        )
    else:
        declared.check(setup)
    of_model = (setup.label, setup.model_id, setup.spec)
    return Choice(entry, setup.label, of_model, setup, missing)
