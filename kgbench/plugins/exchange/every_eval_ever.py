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
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from kgbench import resources
from kgbench.analysis.task_scores import Row, estimate_means
from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.model import Json
from kgbench.plugins.exchange import agentic
from kgbench.plugins.exchange.cells import Cell, cells
from kgbench.plugins.exchange.judge_scores import JudgeCell
from kgbench.rdf.declared import shipped
from kgbench.record.judgements import Rubric
from kgbench.scores.inference import inference
from kgbench.statistics.intervals import CONFIDENCE, Bounds
from kgbench.store.iris import slug
from kgbench.vocab import KGB, PROV, RDFS, SCHEMA, SKOS

VERSION = "0.3.0"
RECORDS, SAMPLES = "every-eval-ever.schema.json", "every-eval-ever-samples.schema.json"

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
    judged: Iterable[JudgeCell] = (),
) -> dict[str, Json]:
    """Return the records of a run, by their paths in the format's data store.

    ``organisation`` made the evaluation; ``relation`` is its relation to the makers of the models.
    ``judged`` are the scores by judges, which are added to the executed ones.
    """
    by_judges: dict[str, list[JudgeCell]] = {}
    for judge_cell in judged:
        by_judges.setdefault(judge_cell.cell.model, []).append(judge_cell)
    by_model: dict[str, list[Cell]] = {}
    for cell in cells(run):
        by_model.setdefault(cell.model, []).append(cell)
    by_path = {}
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
                "additional_details": {"run": run.info.iri, "pass": _passes(run)},
            },
            "eval_library": _library(run),
            "model_info": info,
            "evaluation_results": [
                *(_result(run, cell) for cell in of_model),
                *(_judged_result(run, judge_cell) for judge_cell in by_judges.get(model, ())),
            ],
        }
        by_path[_path(run, info, record)] = record
    return by_path


def check(records_: Mapping[str, Json], schema: Path | None, shipped_schema: str = RECORDS) -> None:
    """Raise :class:`~kgbench.errors.PublicationRefused` if a record violates the schema.

    ``schema`` is the official file; without it, ``shipped_schema`` is used.
    """
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError

    try:
        text = (
            resources.text("shapes", shipped_schema)
            if schema is None
            else schema.read_text("utf-8-sig")
        )
        rules = json.loads(text)
        checker = validators.validator_for(rules)
        checker.check_schema(rules)
    except (OSError, ValueError, SchemaError) as error:
        raise PublicationRefused(f"{schema} is not a readable JSON schema: {error}") from None
    for record in records_.values():
        for problem in checker(rules).iter_errors(record):
            path = "/".join(map(str, problem.absolute_path))
            raise PublicationRefused(
                f"the record of {_model_id(record)} breaks the schema of Every Eval Ever "
                f"at {path}: {problem.message[:300]}"
            )


def _model_id(record: Mapping[str, Json]) -> Json:
    return record.get("model_id") or record["model_info"]["id"]


def _result(run: OutgoingRun, cell: Cell) -> Json:
    label = run.catalogue.required(cell.task, SKOS.notation)
    name, _ = run.metrics[cell.metric]
    metric = _metric(run, cell.metric, run.class_of(cell.task))
    return _scored(run, cell, f"{label}/{name}", metric, _bounds(run, cell.metric))


def _judged_result(run: OutgoingRun, judge_cell: JudgeCell) -> Json:
    label = run.catalogue.required(judge_cell.cell.task, SKOS.notation)
    judge = run.catalogue.required(judge_cell.judge, SKOS.notation)
    called = f"{label}/{judge_cell.rubric.name} by {judge}"
    return _scored(
        run, judge_cell.cell, called, _judge_metric(run, judge_cell), _values(judge_cell.rubric)
    )


def _scored(run: OutgoingRun, cell: Cell, called: str, metric: Json, bounds: Bounds) -> Json:
    catalogue = run.catalogue
    values = cell.values
    details = {"dialogues": str(cell.dialogues), "without_value": str(cell.dialogues - values.n)}
    return {
        "evaluation_result_id": called,
        "evaluation_name": f"kgbench.{catalogue.required(cell.task, SKOS.notation)}",
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
        "metric_config": metric,
        "score_details": {
            "score": values.mean,
            "details": details,
            "uncertainty": _uncertainty(cell, bounds),
        },
        "generation_config": _generation(
            catalogue.data(cell.model, KGB.sampling), agentic.arguments_of(run, cell.task)
        ),
    }


def _values(rubric: Rubric) -> Bounds:
    values = [option.value for option in rubric.options if option.value is not None]
    return Bounds(min(values), max(values))


def _judge_metric(run: OutgoingRun, judge_cell: JudgeCell) -> Json:
    """Return a rubric as a metric, with the judge in the format's fields for judges."""
    rubric, bounds = judge_cell.rubric, _values(judge_cell.rubric)
    judge: dict[str, Json] = {"model_info": _model(run, judge_cell.judge)}
    temperature = run.catalogue.data(judge_cell.judge, KGB.sampling).get("temperature")
    if isinstance(temperature, int | float) and not isinstance(temperature, bool):
        judge["temperature"] = temperature
    scoring: dict[str, Json] = {
        "judges": [judge],
        "input_prompt": rubric.prompt(),
        "additional_details": {"rubric": rubric.iri, "kind": rubric.kind},
    }
    if judge_cell.repeated:
        scoring["aggregation_method"] = "majority_vote"
    if judge_cell.executed is not None:
        scoring["additional_details"]["executed_mean"] = repr(judge_cell.executed)
    return {
        "evaluation_description": rubric.criterion,
        "metric_id": f"kgbench.judge.{rubric.version}.{rubric.name}",
        "metric_name": rubric.label,
        "metric_kind": rubric.name,
        "metric_unit": "proportion" if bounds == Bounds(0.0, 1.0) else "points",
        "lower_is_better": False,
        "score_type": "continuous",
        "min_score": bounds.low,
        "max_score": bounds.high,
        "llm_scoring": scoring,
        "additional_details": {"iri": rubric.iri},
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


def _bounds(run: OutgoingRun, metric: str) -> Bounds:
    ends = (run.catalogue.value(metric, end) for end in (SCHEMA.minValue, SCHEMA.maxValue))
    return Bounds(*(None if end is None else float(end) for end in ends))


def _uncertainty(cell: Cell, bounds: Bounds) -> Json:
    """Return the deviation, and the standard error and interval if they can be computed."""
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
    """Return the evaluation software: the agent of the first pass."""
    agents = [a for p in run.passes for a in run.judged.values(p.iri, PROV.wasAssociatedWith)]
    name = run.catalogue.value(agents[0], RDFS.label) if agents else None
    version = run.catalogue.value(agents[0], SCHEMA.softwareVersion) if agents else None
    commit = run.catalogue.value(agents[0], KGB.commit) if agents else None
    return {
        "name": name or "unknown",
        "version": version or "unknown",
        "additional_details": {} if commit is None else {"commit": commit},
    }


def _passes(run: OutgoingRun) -> str:
    return " ".join(pass_.iri for pass_ in run.passes)


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
