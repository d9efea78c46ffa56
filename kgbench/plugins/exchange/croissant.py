# SPDX-License-Identifier: Apache-2.0
"""Exports the scores of a run as a Croissant 1.1 data set: ``scores.csv``, a row for each score."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from kgbench.api import Json, OutgoingRun
from kgbench.plugins.exchange.tables import FIELDS, scores_csv, statements, write_folder
from kgbench.publish.settings import Agent

_CONTEXT = Path(__file__).with_name("croissant-context.json")


def write(run: OutgoingRun, out: Path, licence: str, creators: Sequence[Agent]) -> list[str]:
    """Write the folder ``out``, and return the names of its files.

    Raises :class:`~kgbench.errors.PublicationRefused` if ``out`` already exists.
    """
    data = {"scores.csv": scores_csv(run), "results.nq": statements(run)}
    document = metadata(run, data, licence, creators)
    data["croissant.json"] = (json.dumps(document, indent=1) + "\n").encode("ascii")
    write_folder(out, data)
    return list(data)


def metadata(
    run: OutgoingRun, data: dict[str, bytes], licence: str, creators: Sequence[Agent]
) -> Json:
    """Return the Croissant description of the files ``data`` (name to content)."""
    document: dict[str, Json] = {
        "@context": json.loads(_CONTEXT.read_text(encoding="utf-8")),
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
