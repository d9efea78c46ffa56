# SPDX-License-Identifier: Apache-2.0
"""Exports a run as records of Every Eval Ever (schema 0.3.0): one per model, with all tasks.

Required values that were not recorded are given as unknown, never guessed. Documents are checked
against ``every-eval-ever.schema.json``, which follows the published description of the
format, or against the official schema file if one is given.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kgbench import resources
from kgbench.analysis.task_scores import Row, estimate_means
from kgbench.api import KGB, RDFS, Json, OutgoingRun
from kgbench.errors import PublicationRefused
from kgbench.rdf.declared import shipped
from kgbench.scores.inference import inference
from kgbench.scores.reading import Item
from kgbench.statistics.histogram import Histogram
from kgbench.statistics.intervals import CONFIDENCE, Bounds
from kgbench.store.iris import slug
from kgbench.tasks import catalogue, tool_prompts
from kgbench.tools.module import BUDGET_CALLS, budget_of
from kgbench.vocab import PROV, SCHEMA, SKOS

VERSION = "0.3.0"
RECORDS = "every-eval-ever.schema.json"

_TYPED = (
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
)  # have fields in the format
_HOSTED = ("openai", "anthropic", "google", "google_legacy")
_BASELINE = "baseline"


def records(
    run: OutgoingRun,
    organisation: str,
    relation: str,
    now: datetime,
) -> dict[str, Json]:
    """Return the records of a run, by their paths in the format's data store.

    ``organisation`` made the evaluation; ``relation`` is its relation to the makers of the models.
    """
    by_model: dict[str, list[_Cell]] = {}
    for cell in _cells(run):
        by_model.setdefault(cell.model, []).append(cell)
    by_path = {}
    passes = " ".join(pass_.iri for pass_ in run.passes)
    for model, of_model in by_model.items():
        info = _model(run, model)
        record = {
            "schema_version": VERSION,
            "evaluation_id": f"{_suite(run)}/{info['id']}/{_last(model)}/{run.info.id}",
            "evaluation_timestamp": _epoch(run.info.started),
            "retrieved_timestamp": _epoch(now),
            "source_metadata": {
                "source_name": "kgbench",
                "source_type": "evaluation_run",
                "source_organization_name": organisation,
                "evaluator_relationship": relation,
                "additional_details": {
                    "run": run.info.iri,
                    "pass": passes,
                },
            },
            "eval_library": _library(run),
            "model_info": info,
            "evaluation_results": [_result(run, cell) for cell in of_model],
        }
        by_path[_path(run, info, record)] = record
    return by_path


def check(records_: Mapping[str, Json], schema: Path | None) -> None:
    """Raise :class:`~kgbench.errors.PublicationRefused` if a record violates the schema.

    ``schema`` is the official file; without it, that of kgbench is used.
    """
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError

    try:
        text = (
            resources.text("shapes", RECORDS) if schema is None else schema.read_text("utf-8-sig")
        )
        rules = json.loads(text)
        checker = validators.validator_for(rules)
        checker.check_schema(rules)
    except (OSError, ValueError, SchemaError) as error:
        raise PublicationRefused(f"{schema} is not a readable JSON schema: {error}") from None
    for record in records_.values():
        for problem in checker(rules).iter_errors(record):
            path = "/".join(map(str, problem.absolute_path))
            model = record["model_info"]["id"]
            raise PublicationRefused(
                f"the record of {model} breaks the schema of Every Eval Ever "
                f"at {path}: {problem.message[:300]}"
            )


def _result(run: OutgoingRun, cell: _Cell) -> Json:
    name, _ = run.metrics[cell.metric]
    catalogue, values = run.catalogue, cell.values
    label = catalogue.required(cell.task, SKOS.notation)
    details = {"dialogues": str(cell.dialogues), "without_value": str(cell.dialogues - values.n)}
    return {
        "evaluation_result_id": f"{label}/{name}",
        "evaluation_name": f"kgbench.{label}",
        "source_data": {
            "dataset_name": _suite(run),
            "source_type": "url",
            "url": [run.info.suite, run.class_of(cell.task)],
            "additional_details": {
                "task": cell.task,
                "parameters": json.dumps(catalogue.data(cell.task, KGB.parameters)),
            },
        },
        "evaluation_timestamp": _epoch(run.info.started),
        "metric_config": _metric(run, cell.metric, run.class_of(cell.task)),
        "score_details": {
            "score": values.mean,
            "details": details,
            "uncertainty": _uncertainty(run, cell),
        },
        "generation_config": _generation(
            catalogue.data(cell.model, KGB.sampling),
            _arguments_of_tools(run, cell.task),
        ),
    }


def _metric(run: OutgoingRun, metric: str, of_class: str) -> Json:
    catalogue = run.catalogue
    name, aggregation = run.metrics[metric]
    low = _bound(catalogue.value(metric, SCHEMA.minValue), -math.inf)
    high = _bound(catalogue.value(metric, SCHEMA.maxValue), math.inf)
    task_class = catalogue.required(of_class, SKOS.notation)
    version = catalogue.value(metric, SCHEMA.version) or "unknown"
    config: dict[str, Json] = {
        "evaluation_description": catalogue.value(metric, SKOS.definition) or "",
        "metric_id": f"kgbench.{task_class}.{version}.{name}",
        "metric_name": catalogue.value(metric, RDFS.label) or name,
        "metric_kind": name,
        "metric_unit": "proportion" if (low, high) == (0.0, 1.0) else "points",
        "lower_is_better": catalogue.value(metric, KGB.higherIsBetter) == "false",
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
        "additional_details": {"iri": metric},
    }
    if aggregation is not None:
        config["metric_parameters"] = {"aggregation": aggregation}
    return config


def _bound(value: str | None, unbounded: float) -> float | str:
    """Format a bound; infinities are strings, because JSON has none."""
    if value is not None:
        return float(value)
    return "Infinity" if unbounded > 0 else "-Infinity"


def _uncertainty(run: OutgoingRun, cell: _Cell) -> Json:
    ends = (run.catalogue.value(cell.metric, end) for end in (SCHEMA.minValue, SCHEMA.maxValue))
    bounds = Bounds(*(None if end is None else float(end) for end in ends))
    uncertainty: dict[str, Json] = {"num_samples": cell.values.n}
    if cell.values.sd is not None:
        uncertainty["standard_deviation"] = cell.values.sd
    how = inference()
    (claimed,) = estimate_means(how.estimand, [Row(cell.cases, bounds)])
    method = (
        f"{how.method.label}, about {how.estimand.label}, {claimed.number} {how.estimand.sampled}s"
    )
    if claimed.error is not None:
        uncertainty["standard_error"] = {"value": claimed.error, "method": method}
    if claimed.low is not None and claimed.high is not None:
        uncertainty["confidence_interval"] = {
            "lower": claimed.low,
            "upper": claimed.high,
            "confidence_level": CONFIDENCE,
            "method": method,
        }
    return uncertainty


def _generation(sampling: Mapping[str, Json], of_tools: Mapping[str, Json]) -> Json:
    typed = {
        name: sampling[name]
        for name in _TYPED
        if isinstance(sampling.get(name), int | float) and not isinstance(sampling[name], bool)
    }
    rest = {name: json.dumps(value) for name, value in sampling.items() if name not in typed}
    return {"generation_args": {**typed, **of_tools}, "additional_details": rest}


def _model(run: OutgoingRun, model: str) -> dict[str, Any]:
    catalogue = run.catalogue
    connector = catalogue.value(model, KGB.connector)
    hosted = connector in _HOSTED and catalogue.value(model, KGB.baseUrl) is None
    deployed = "self_deployed" if connector == "vllm" else "unknown"
    notation = catalogue.required(model, SKOS.notation)
    developer = str(connector).partition("_")[0] if hosted else _developer(connector, notation)
    name = catalogue.required(model, RDFS.label)
    details = {
        "deployment_type": "externally_managed" if hosted else deployed,
        "model_availability": "unknown",
        "iri": model,
    }
    info: dict[str, Any] = {
        "name": name,
        "id": f"{developer}/{notation.removeprefix(developer + '/')}",
        "developer": developer,
        "additional_details": details,
    }
    if connector is not None:
        info["inference_platform"] = connector
    return info


def _developer(connector: str | None, notation: str) -> str:
    """Return the developer of a model that others serve: the account in its name, or by its name.

    Baselines are kgbench's own; the developer of an unknown name is ``unknown``.
    """
    if connector == _BASELINE:
        return "kgbench"
    account, slash, name = notation.rpartition("/")
    if slash and account:
        return account.rpartition("/")[2]
    known = shipped("queries", "models.ttl")
    for developer in known.instances(KGB.Developer):
        globs = known.texts(developer, KGB.matches)
        if any(fnmatchcase(name.lower(), glob) for glob in globs):
            return known.required(developer, SKOS.notation)
    return "unknown"


def _library(run: OutgoingRun) -> Json:
    agents = [a for p in run.passes for a in run.judged.values(p.iri, PROV.wasAssociatedWith)]
    name = run.catalogue.value(agents[0], RDFS.label) if agents else None
    version = run.catalogue.value(agents[0], SCHEMA.softwareVersion) if agents else None
    commit = run.catalogue.value(agents[0], KGB.commit) if agents else None
    return {
        "name": name or "unknown",
        "version": version or "unknown",
        "additional_details": {} if commit is None else {"commit": commit},
    }


def _last(iri: str) -> str:
    return iri.rpartition("/")[2]


def _suite(run: OutgoingRun) -> str:
    return _last(run.info.suite)


def _epoch(moment: datetime) -> str:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return f"{aware.timestamp():.6f}"


def _path(run: OutgoingRun, info: Mapping[str, Any], record: Mapping[str, Json]) -> str:
    """Return ``data/COLLECTION/DEVELOPER/MODEL/UUID.json``; equal records have equal names."""
    content = {name: value for name, value in record.items() if name != "retrieved_timestamp"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
    name = uuid.UUID(bytes=digest[:16], version=4)
    parts: Iterable[str] = (_suite(run), info["developer"], info["id"].partition("/")[2])
    return "/".join(["data", *map(slug, parts), f"{name}.json"])


@dataclass(frozen=True, slots=True)
class _Cell:
    """The values of one metric for a model and a task, over all cases and by case.

    ``dialogues`` counts all dialogues, including those without a value.
    """

    model: str
    task: str
    metric: str
    dialogues: int
    values: Histogram
    cases: Mapping[Item, Histogram]


def _cells(run: OutgoingRun) -> list[_Cell]:
    """Return all cells of a run, sorted by model, task and metric.

    For a dialogue with several rounds, the metrics of the whole dialogue count; for one with a
    single answer, those of the answer.
    """
    values: dict[tuple[str, str, str], dict[Item, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    dialogues: dict[tuple[str, str], int] = defaultdict(int)
    for dialogue in run.dialogues:
        model, task = dialogue.model, dialogue.task
        dialogues[model, task] += 1
        verdicts = run.verdicts[dialogue.iri]
        whole = [verdict for verdict in verdicts if verdict.round is None]
        for verdict in whole or verdicts[-1:]:
            for metric, value in verdict.scores.items():
                values[model, task, metric][Item(task, dialogue.case)].append(value)
    result = []
    for (model, task, metric), by_case in sorted(values.items()):
        cases = {item: Histogram.of(of_case) for item, of_case in by_case.items()}
        every = Histogram.pooled(cases.values())
        result.append(_Cell(model, task, metric, dialogues[model, task], every, cases))
    return result


def _arguments_of_tools(run: OutgoingRun, task: str) -> dict[str, Json]:
    """Return the part of ``generation_args`` about the tools of a task (IRI); empty without tools.

    The tools are those of the installed version of the task class; they are left out if the run
    used another version.
    """
    parameters = run.catalogue.data(task, KGB.parameters)
    if BUDGET_CALLS not in parameters:
        return {}
    offered = _offered_tools(run, task)
    if not offered:
        return {}
    limits = budget_of(parameters)
    details = {"tool_call_limit": str(limits.calls)}
    if limits.dollars is not None:
        details["cost_limit_usd"] = f"{limits.dollars:f}"
    eval_limits = {}
    if limits.seconds is not None:
        eval_limits["time_limit"] = int(limits.seconds)
    if limits.tokens is not None:
        eval_limits["token_limit"] = limits.tokens
    return {
        "agentic_eval_config": {"available_tools": offered, "additional_details": details},
        "eval_limits": eval_limits,
    }


def _offered_tools(run: OutgoingRun, task: str) -> list[Json]:
    label = run.catalogue.required(task, SKOS.notation)
    version = run.catalogue.value(run.class_of(task), SCHEMA.softwareVersion)
    known = catalogue.labelled_tasks().get(label)
    if known is None or known.version != version:
        return []
    suite = run.info.suite.rpartition("/")[2]
    cases = catalogue.module(known.task_class).cases(known, suite, 0, 1)
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": {
                name: json.dumps(schema, ensure_ascii=False)
                for name, schema in tool.parameters.get("properties", {}).items()
            },
        }
        for case in cases[:1]
        for tool in tool_prompts.tools_of(case)
    ]
