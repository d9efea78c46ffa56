# SPDX-License-Identifier: Apache-2.0
"""Exports the scores of a run as a Croissant data set and as Croissant Tasks.

Croissant 1.1 describes ``scores.csv``, which has a row for each score. The view as Croissant Tasks
has a problem for each task, a solution for each model and task, and its evaluation with the mean of
each metric. That vocabulary is young: documents conform to ``shapes/croissant-tasks.ttl``, which
follows its published description.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.model import Json
from kgbench.plugins.exchange.cells import Cell, cells
from kgbench.plugins.exchange.tables import FIELDS, scores_csv, statements
from kgbench.plugins.exchange.writing import atomic_path
from kgbench.publish.description import Agent
from kgbench.vocab import DCTERMS, RDFS, SKOS, XSD

_CR = "http://mlcommons.org/croissant/"
_CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": _CR,
    "description": {"@container": "@language"},
    "name": {"@container": "@language"},
    "dct": "http://purl.org/dc/terms/",
    "rai": f"{_CR}RAI/",
    "sc": "https://schema.org/",
    "conformsTo": "dct:conformsTo",
    **{
        name: f"cr:{name}"
        for name in (
            "arrayShape",
            "citeAs",
            "column",
            "containedIn",
            "isArray",
            "extract",
            "field",
            "fileProperty",
            "fileObject",
            "fileSet",
            "format",
            "includes",
            "isLiveDataset",
            "jsonPath",
            "key",
            "md5",
            "parentField",
            "path",
            "recordSet",
            "references",
            "regex",
            "repeated",
            "replace",
            "separator",
            "source",
            "subField",
            "transform",
            "equivalentProperty",
            "samplingRate",
        )
    },
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
_TASKS_CONTEXT: Json = {
    "cr": _CR,
    "schema": "https://schema.org/",
    "xsd": XSD,
}


def write(run: OutgoingRun, out: Path, licence: str, creators: Sequence[Agent]) -> list[str]:
    """Write the folder ``out``, and return the names of its files.

    Raises :class:`~kgbench.errors.PublicationRefused` if ``out`` already exists.
    """
    data = {"scores.csv": scores_csv(run), "results.nq": statements(run)}
    documents = {
        "croissant.json": metadata(run, data, licence, creators),
        "croissant-tasks.jsonld": tasks(run),
    }
    with atomic_path(out) as folder:
        folder.mkdir()
        for name, content in data.items():
            (folder / name).write_bytes(content)
        for name, document in documents.items():
            text = json.dumps(document, indent=1, ensure_ascii=True) + "\n"
            (folder / name).write_text(text, encoding="ascii")
    return [*data, *documents]


def metadata(
    run: OutgoingRun, data: dict[str, bytes], licence: str, creators: Sequence[Agent]
) -> Json:
    """Return the Croissant description of the files ``data`` (name to content)."""
    document: dict[str, Json] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": f"kgbench-{run.info.id}",
        "description": (
            f"Scores of {len({dialogue.model for dialogue in run.dialogues})} language models in "
            f"{len(run.dialogues)} dialogues about knowledge graphs (run {run.info.label})."
        ),
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "license": licence,
        "url": run.info.iri,
        "version": "1.0.0",
        "datePublished": run.info.started.date().isoformat(),
        "citeAs": f"Results of the kgbench run {run.info.iri}.",
        "distribution": [
            _file("scores.csv", "text/csv", data["scores.csv"], "Scores, one row for each."),
            _file("results.nq", "application/n-quads", data["results.nq"], "All statements."),
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "scores",
                "name": "scores",
                "description": "One record for each score.",
                "field": [
                    {
                        "@type": "cr:Field",
                        "@id": f"scores/{field.name}",
                        "name": field.name,
                        "description": field.says,
                        "dataType": field.datatype,
                        "source": {
                            "fileObject": {"@id": "scores.csv"},
                            "extract": {"column": field.name},
                        },
                    }
                    for field in FIELDS
                ],
            }
        ],
    }
    if creators:
        document["creator"] = [
            {"@type": "sc:Person", "name": agent.name, **({"@id": agent.iri} if agent.iri else {})}
            for agent in creators
        ]
    return document


def _file(name: str, media: str, content: bytes, says: str) -> Json:
    return {
        "@type": "cr:FileObject",
        "@id": name,
        "name": name,
        "description": says,
        "contentUrl": name,
        "contentSize": f"{len(content)} B",
        "encodingFormat": media,
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def tasks(run: OutgoingRun) -> Json:
    """Return the run as problems, solutions and evaluations of Croissant Tasks."""
    all_cells = cells(run)
    problems = [_problem(run, task) for task in sorted({cell.task for cell in all_cells})]
    executions = {
        (d.model, d.task): run.statements.required(d.iri, DCTERMS.isPartOf) for d in run.dialogues
    }
    by_pair: dict[tuple[str, str], list[Cell]] = {}
    for cell in all_cells:
        by_pair.setdefault((cell.model, cell.task), []).append(cell)
    solutions = [
        node
        for pair, of_pair in by_pair.items()
        for node in _solution(run, executions[pair], of_pair)
    ]
    return {"@context": _TASKS_CONTEXT, "@graph": [*problems, *solutions]}


def _problem(run: OutgoingRun, task: str) -> Json:
    catalogue = run.catalogue
    of_class = run.class_of(task)
    return {
        "@id": task,
        "@type": "cr:TaskProblem",
        "schema:name": catalogue.required(task, SKOS.notation),
        "schema:description": catalogue.value(of_class, SKOS.definition) or "",
        "cr:input": {
            "@type": "cr:InputSpec",
            "cr:schema": _records(f"{task}#prompts", "prompt", "What a model is asked."),
        },
        "cr:output": {
            "@type": "cr:OutputSpec",
            "cr:schema": _records(f"{task}#answers", "answer", "What a model answers."),
        },
        "cr:implementation": {"@type": "cr:ImplementationSpec"},
        "cr:evaluation": {"@type": "cr:EvaluationSpec"},
    }


def _records(iri: str, name: str, says: str) -> Json:
    return {
        "@id": iri,
        "@type": "cr:RecordSet",
        "schema:name": name,
        "cr:field": {
            "@id": f"{iri}/text",
            "@type": "cr:Field",
            "schema:name": "text",
            "schema:description": says,
            "cr:dataType": {"@id": "schema:Text"},
        },
    }


def _solution(run: OutgoingRun, execution: str, of_pair: Sequence[Cell]) -> list[Json]:
    """Return the solution of one task by one model, and its evaluation."""
    catalogue = run.catalogue
    model, task = of_pair[0].model, of_pair[0].task
    name = f"{catalogue.required(model, RDFS.label)} on {catalogue.required(task, SKOS.notation)}"
    solution = {
        "@id": execution,
        "@type": "cr:TaskSolution",
        "schema:name": name,
        "schema:isBasedOn": {"@id": task},
        "cr:implementation": {
            "@id": model,
            "@type": "schema:SoftwareApplication",
            "schema:name": catalogue.required(model, RDFS.label),
        },
        "cr:output": {
            "@id": f"{execution}#output",
            "@type": "schema:Dataset",
            "schema:name": f"Answers of {name}",
        },
    }
    evaluation = {
        "@id": f"{execution}#evaluation",
        "@type": "cr:EvaluationTask",
        "schema:name": f"Evaluation of {name}",
        "cr:evaluatedSolution": {"@id": execution},
        "cr:evaluationResults": [
            {
                "@id": f"{execution}#{run.metrics[cell.metric][0]}",
                "@type": "cr:EvaluationResult",
                "schema:name": run.metrics[cell.metric][0],
                "schema:description": (
                    f"Mean of {cell.values.n} values of {cell.dialogues} dialogues."
                ),
                "cr:metric": {"@id": cell.metric},
                "cr:value": {"@value": _decimal(cell.values.mean), "@type": "xsd:decimal"},
            }
            for cell in of_pair
        ],
    }
    return [solution, evaluation]


def _decimal(value: float | None) -> str:
    """Format a mean as the decimal of its shortest representation, without exponent."""
    assert value is not None
    return format(Decimal(repr(value)), "f")
