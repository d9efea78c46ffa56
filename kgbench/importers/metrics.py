# SPDX-License-Identifier: Apache-2.0
"""Metrics of published scores, and descriptions of those that kgbench does not declare.

If a task class is declared in the same version, its scores are the declared metrics. Other scores
get an IRI of the same pattern. Their metrics and task classes are described from the results, so
that the same queries find these scores as all others. A declaration in a later kgbench replaces
this description.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from kgbench.errors import TaskError
from kgbench.model import Metric, Task, TaskClass
from kgbench.rdf import boolean, double, integer, storable, string
from kgbench.store.iris import Iris, slug
from kgbench.tasks import catalogue
from kgbench.vocab import DQV, KGB, RDF, RDFS, SCHEMA, SKOS

_PARAMETER = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # as the shapes of tasks require

_MAIN_METRICS = (  # names of main metrics of known kinds of task classes, best first
    "max_combined",
    "combinedF1",
    "last_f1measure",
    "f1",
    "listTrimF1",
    "normAnswerF1Score",
    "norm_f-measure",
    "persons_agreement",
)
_AGGREGATIONS = ("last", "max", "mean", "meanExt")  # as the shapes of metrics require


@dataclass(frozen=True, slots=True)
class UndeclaredMetric:
    """A metric that no task class declares.

    ``aggregation`` and ``base`` (the IRI of the aggregated metric) are set for scores of dialogues
    with a known aggregation. ``agreement_of`` is the metric of errors (IRI) from which the import
    computes this one.
    """

    iri: str
    name: str
    task_class: str
    version: str
    aggregation: str | None = None
    base: str | None = None
    agreement_of: str | None = None


@dataclass(slots=True)
class MetricNames:
    """Resolves names of scores to metrics, and collects the undeclared ones by IRI.

    ``agreements`` maps the metrics of errors (IRIs) to those of the agreement that the import adds.
    """

    iris: Iris
    undeclared: dict[str, UndeclaredMetric] = field(default_factory=dict)
    agreements: dict[str, str] = field(default_factory=dict)
    _known: dict[tuple[str, str, str, str | None], str] = field(default_factory=dict)

    def iri(self, task_class: str, version: str, name: str, aggregation: str | None = None) -> str:
        """Return the IRI of the metric ``name``, or of its ``aggregation`` over a dialogue."""
        key = (task_class, version, name, aggregation)
        metric = self._known.get(key)
        if metric is None:
            metric = self._known[key] = self._resolve(*key)
        return metric

    def _resolve(self, task_class: str, version: str, name: str, aggregation: str | None) -> str:
        full_name = name if aggregation is None else f"{aggregation}_{name}"
        declared = declared_class(task_class, version)
        known = aggregation if aggregation in _AGGREGATIONS else None
        if declared is not None and full_name in declared.metrics:
            metric = declared.metrics[full_name].iri
        else:
            metric = self.iris.mint(
                "metric", task_class=task_class, version=version, name=slug(full_name)
            )
            base = None if known is None else self.iri(task_class, version, name)
            self.undeclared[metric] = UndeclaredMetric(
                metric, full_name, task_class, version, known, base
            )
        for agreement, error in catalogue.agreements(task_class).items():
            if error == full_name:
                added = self.agreements[metric] = self.iri(task_class, version, agreement)
                if added in self.undeclared:
                    described = replace(self.undeclared[added], agreement_of=metric)
                    self.undeclared[added] = described
        return metric


def range_error(metric: Metric | None, value: float) -> str | None:
    """Return an error message for a score outside the range of its metric, else ``None``.

    Undeclared metrics (``None``) have no range.

    >>> f1 = declared_class("RdfFriendCount", "4.4").metrics["f1"]
    >>> range_error(f1, 1.7)
    'is 1.7, which f1 cannot be: it is declared from 0 to 1'
    """
    if metric is None:
        return None
    low, high = metric.minimum, metric.maximum
    if (low is None or low <= value) and (high is None or value <= high):
        return None
    ends = [f"{word} {end:.17g}" for word, end in (("from", low), ("to", high)) if end is not None]
    return f"is {value!r}, which {metric.name} cannot be: it is declared {' '.join(ends)}"


def is_declared(task_class: str, version: str) -> bool:
    """Return whether a task class is declared in exactly this version."""
    return declared_class(task_class, version) is not None


def declared_class(task_class: str, version: str) -> TaskClass | None:
    """Return the declaration of a task class in exactly this version, or ``None``."""
    try:
        declared = catalogue.task_class(task_class)
    except TaskError:
        return None
    return declared if declared.version == version else None


def descriptions(
    tasks: Collection[Task],
    undeclared: Collection[UndeclaredMetric],
    iris: Iris,
    holds: Callable[[str], bool],
) -> list[str]:
    """Return triples about every undeclared task class and metric of a run with ``tasks``.

    ``holds`` returns whether the catalogue has a pattern. A task class that is known from an
    earlier run keeps its description; only new metrics and tasks are added, and the main metric if
    it had none.
    """
    lines = [line for metric in undeclared for line in _metric(metric)]
    for task_class, version in sorted({(task.task_class, task.version) for task in tasks}):
        key = (task_class, version)
        metrics = [m for m in undeclared if (m.task_class, m.version) == key]
        node = f"<{iris.mint('taskClass', task_class=task_class, version=version)}>"
        lines += [f"{node} <{KGB.metric}> <{metric.iri}> ." for metric in metrics]
        if not is_declared(task_class, version):
            if not holds(f"{node} a ?kind ."):
                lines += _task_class(node, task_class, version, metrics)
            if metrics and not holds(f"{node} <{KGB.mainMetric}> ?main ."):
                lines.append(f"{node} <{KGB.mainMetric}> <{_main_metric(metrics)}> .")
            class_tasks = [task for task in tasks if (task.task_class, task.version) == key]
            for name, task in _distinct_labels(class_tasks):
                if not holds(f"<{_labelled_task_iri(node, name)}> a ?kind ."):
                    lines += _labelled_task(node, name, task)
    return lines


def _metric(metric: UndeclaredMetric) -> list[str]:
    node = f"<{metric.iri}>"
    if metric.agreement_of is None:
        definition = (
            f"The score '{metric.name}' of {metric.task_class} {metric.version}, as it was "
            f"published; kgbench does not declare how it is computed."
        )
        range_ = [f'{node} <{KGB.unbounded}> "both" .']
    else:
        definition = (
            f"1 minus the absolute value of {metric.agreement_of.rpartition('/')[2]}, at least 0: "
            f"computed by kgbench from the published score."
        )
        range_ = [
            f"{node} <{KGB.agreementOf}> <{metric.agreement_of}> .",
            f"{node} <{SCHEMA.minValue}> {double(0.0)} .",
            f"{node} <{SCHEMA.maxValue}> {double(1.0)} .",
        ]
    lines = [
        f"{node} <{RDF.type}> <{KGB.Metric}> .",
        f"{node} <{RDF.type}> <{DQV.Metric}> .",
        f"{node} <{RDF.type}> <{RDF.Property}> .",
        f"{node} <{SKOS.notation}> {string(metric.name)} .",
        f"{node} <{RDFS.label}> {string(metric.name)}@en .",
        f"{node} <{SKOS.definition}> {string(definition)}@en .",
        f"{node} <{SCHEMA.version}> {string(metric.version)} .",
        f"{node} <{KGB.higherIsBetter}> {boolean(value=True)} .",
        *range_,
    ]
    if metric.aggregation is not None:
        lines.append(f"{node} <{KGB.aggregation}> {string(metric.aggregation)} .")
        lines.append(f"{node} <{KGB.aggregationOf}> <{metric.base}> .")
    return lines


def _task_class(
    node: str, task_class: str, version: str, metrics: Sequence[UndeclaredMetric]
) -> list[str]:
    rounds = 3 if any(metric.aggregation for metric in metrics) else 1
    definition = (
        f"The task class {task_class} {version} of LLM-KG-Bench, known from published results only."
    )
    return [
        f"{node} <{RDF.type}> <{KGB.TaskClass}> .",
        f"{node} <{SKOS.notation}> {string(task_class)} .",
        f"{node} <{SCHEMA.softwareVersion}> {string(version)} .",
        f"{node} <{RDFS.label}> {string(task_class)}@en .",
        f"{node} <{SKOS.definition}> {string(definition)}@en .",
        f"{node} <{KGB.maxRounds}> {integer(rounds)} .",
    ]


def _main_metric(metrics: Sequence[UndeclaredMetric]) -> str:
    """Return the main metric (IRI), that of whole dialogues if there is one."""
    dialogue_metrics = [metric for metric in metrics if metric.aggregation]
    by_name = {metric.name: metric.iri for metric in dialogue_metrics or metrics}
    errors = {metric.agreement_of for metric in metrics}
    averaged = [iri for iri in by_name.values() if iri not in errors]
    return next((by_name[name] for name in _MAIN_METRICS if name in by_name), averaged[0])


def _labelled_task_iri(task_class: str, label: str) -> str:
    """Return the IRI of a labelled task."""
    return f"{task_class[1:-1]}/{slug(label)}"


def _distinct_labels(tasks: Iterable[Task]) -> list[tuple[str, Task]]:
    """Sort tasks by label; the size is appended to labels that several tasks share."""
    by_label: dict[str, list[Task]] = {}
    for task in tasks:
        by_label.setdefault(task.label, []).append(task)
    named = {
        label if len(same) == 1 else f"{label}-{task.parameters.get('size', 'unsized')}": task
        for label, same in by_label.items()
        for task in same
    }
    return sorted(named.items(), key=lambda item: item[0])


def _labelled_task(task_class: str, name: str, task: Task) -> list[str]:
    """Describe a task as one of the labelled tasks of its class.

    Parameters that no task class could declare are left out.
    """
    iri = _labelled_task_iri(task_class, name)
    node = f"<{iri}>"
    lines = [
        f"{task_class} <{KGB.labelledTask}> {node} .",
        f"{node} <{RDF.type}> <{KGB.LabelledTask}> .",
        f"{node} <{SKOS.notation}> {string(name)} .",
    ]
    for parameter, value in task.parameters.items():
        if _PARAMETER.fullmatch(parameter) and (isinstance(value, str) or type(value) is int):
            setting = f"<{iri}/{slug(parameter)}>"
            term = string(storable(value).value) if isinstance(value, str) else integer(value)
            lines += [
                f"{node} <{KGB.setting}> {setting} .",
                f"{setting} <{RDF.type}> <{KGB.Setting}> .",
                f"{setting} <{KGB.parameterName}> {string(parameter)} .",
                f"{setting} <{KGB.parameterValue}> {term} .",
            ]
    return lines
