# SPDX-License-Identifier: Apache-2.0
"""A run as records of Every Eval Ever (schema 0.3.0): one for each model, all tasks in it.

What the format demands and nobody has recorded is said to be unknown, never guessed. Documents are
checked against the schema in ``shapes/every-eval-ever.schema.json``, which is written after the
published description of the format, or against the official file where one is given.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kgbench import resources
from kgbench.analysis.intervals import CONFIDENCE, mean_interval
from kgbench.errors import PublicationRefused
from kgbench.exports.cells import Cell, cells
from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.model import Json
from kgbench.store.iris import slug
from kgbench.vocab import KGB, PROV, RDFS, SCHEMA, SKOS

VERSION = "0.3.0"

_TYPED = ("temperature", "top_p", "top_k", "max_tokens")  # what the format has fields for
_HOSTED = ("openai", "anthropic", "google", "google_legacy")


def records(run: OutgoingRun, organisation: str, relation: str, now: datetime) -> dict[str, Json]:
    """The records of a run, by the path that the format's data store keeps them at.

    ``organisation`` made the evaluation; ``relation`` is what it is to the makers of the models.
    """
    by_model: dict[str, list[Cell]] = {}
    for cell in cells(run):
        by_model.setdefault(cell.model, []).append(cell)
    found = {}
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
            "evaluation_results": [_result(run, cell) for cell in of_model],
        }
        found[_path(run, info, record)] = record
    return found


def check(found: Mapping[str, Json], schema: Path | None) -> None:
    """Raise :class:`~kgbench.errors.PublicationRefused` where a record breaks the schema.

    ``schema`` is the official file; ``None`` is ours.
    """
    from jsonschema import validators
    from jsonschema.exceptions import SchemaError

    try:
        text = (
            resources.text("shapes", "every-eval-ever.schema.json")
            if schema is None
            else schema.read_text("utf-8")
        )
        rules = json.loads(text)
        checker = validators.validator_for(rules)
        checker.check_schema(rules)
    except (OSError, ValueError, SchemaError) as error:
        raise PublicationRefused(f"{schema} is no JSON schema that can be read: {error}") from None
    for record in found.values():
        for problem in checker(rules).iter_errors(record):
            place = "/".join(map(str, problem.absolute_path))
            raise PublicationRefused(
                f"the record of {record['model_info']['id']} breaks the schema of Every Eval Ever "
                f"at {place}: {problem.message[:300]}"
            )


def _result(run: OutgoingRun, cell: Cell) -> Json:
    catalogue = run.catalogue
    label = catalogue.needed(cell.task, SKOS.notation)
    of_class = run.class_of(cell.task)
    name, _ = run.metrics[cell.metric]
    values = cell.values
    details = {"dialogues": str(cell.dialogues), "without_value": str(cell.dialogues - values.n)}
    return {
        "evaluation_result_id": f"{label}/{name}",
        "evaluation_name": f"kgbench.{label}",
        "source_data": {
            "dataset_name": _suite(run),
            "source_type": "url",
            "url": [run.info.suite, of_class],
            "additional_details": {
                "task": cell.task,
                "parameters": json.dumps(catalogue.data(cell.task, KGB.parameters)),
            },
        },
        "evaluation_timestamp": _epoch(run.info.started),
        "metric_config": _metric(run, cell.metric, of_class),
        "score_details": {
            "score": values.mean,
            "details": details,
            "uncertainty": _uncertainty(cell),
        },
        "generation_config": _generation(catalogue.data(cell.model, KGB.sampling)),
    }


def _metric(run: OutgoingRun, metric: str, of_class: str) -> Json:
    catalogue = run.catalogue
    name, aggregation = run.metrics[metric]
    low = _bound(catalogue.one(metric, SCHEMA.minValue), -math.inf)
    high = _bound(catalogue.one(metric, SCHEMA.maxValue), math.inf)
    task_class = catalogue.needed(of_class, SKOS.notation)
    version = catalogue.one(metric, SCHEMA.version) or "unknown"
    found: dict[str, Json] = {
        "evaluation_description": catalogue.one(metric, SKOS.definition) or "",
        "metric_id": f"kgbench.{task_class}.{version}.{name}",
        "metric_name": catalogue.one(metric, RDFS.label) or name,
        "metric_kind": name,
        "metric_unit": "proportion" if (low, high) == (0.0, 1.0) else "points",
        "lower_is_better": catalogue.one(metric, KGB.higherIsBetter) == "false",
        "score_type": "continuous",
        "min_score": low,
        "max_score": high,
        "additional_details": {"iri": metric},
    }
    if aggregation is not None:
        found["metric_parameters"] = {"aggregation": aggregation}
    return found


def _bound(value: str | None, unbounded: float) -> float | str:
    """A bound as the format writes it: infinities as texts, because JSON has none."""
    if value is not None:
        return float(value)
    return "Infinity" if unbounded > 0 else "-Infinity"


def _uncertainty(cell: Cell) -> Json:
    values = cell.values
    found: dict[str, Json] = {"num_samples": values.n}
    interval = mean_interval(values)
    if interval is not None:
        found |= {
            "standard_deviation": values.sd,
            "standard_error": {"value": values.standard_error, "method": "analytic"},
            "confidence_interval": {
                "lower": interval.low,
                "upper": interval.high,
                "confidence_level": CONFIDENCE,
                "method": "Student's t",
            },
        }
    return found


def _generation(sampling: Mapping[str, Json]) -> Json:
    typed = {
        name: sampling[name]
        for name in _TYPED
        if isinstance(sampling.get(name), int | float) and not isinstance(sampling[name], bool)
    }
    rest = {name: json.dumps(value) for name, value in sampling.items() if name not in typed}
    return {"generation_args": typed, "additional_details": rest}


def _model(run: OutgoingRun, model: str) -> dict[str, Any]:
    catalogue = run.catalogue
    connector = catalogue.one(model, KGB.connector)
    hosted = connector in _HOSTED and catalogue.one(model, KGB.baseUrl) is None
    deployed = "self_deployed" if connector == "vllm" else "unknown"
    developer = str(connector).partition("_")[0] if hosted else "unknown"
    name = catalogue.needed(model, RDFS.label)
    details = {
        "deployment_type": "externally_managed" if hosted else deployed,
        "model_availability": "unknown",
        "iri": model,
    }
    found: dict[str, Any] = {
        "name": name,
        "id": f"{developer}/{catalogue.needed(model, SKOS.notation)}",
        "developer": developer,
        "additional_details": details,
    }
    if connector is not None:
        found["inference_platform"] = connector
    return found


def _library(run: OutgoingRun) -> Json:
    """What judged: the agent of the first pass."""
    agents = [a for one in run.passes for a in run.judged.all(one.iri, PROV.wasAssociatedWith)]
    name = run.catalogue.one(agents[0], RDFS.label) if agents else None
    version = run.catalogue.one(agents[0], SCHEMA.softwareVersion) if agents else None
    commit = run.catalogue.one(agents[0], KGB.commit) if agents else None
    return {
        "name": name or "unknown",
        "version": version or "unknown",
        "additional_details": {} if commit is None else {"commit": commit},
    }


def _passes(run: OutgoingRun) -> str:
    return " ".join(one.iri for one in run.passes)


def _last(iri: str) -> str:
    return iri.rpartition("/")[2]


def _suite(run: OutgoingRun) -> str:
    return _last(run.info.suite)


def _epoch(moment: datetime) -> str:
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return f"{aware.timestamp():.6f}"


def _path(run: OutgoingRun, info: Mapping[str, Any], record: Mapping[str, Json]) -> str:
    """``data/COLLECTION/DEVELOPER/MODEL/UUID.json``; the same record has the same name."""
    content = {name: value for name, value in record.items() if name != "retrieved_timestamp"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).digest()
    name = uuid.UUID(bytes=digest[:16], version=4)
    parts: Iterable[str] = (_suite(run), info["developer"], info["id"].partition("/")[2])
    return "/".join(["data", *map(slug, parts), f"{name}.json"])
