# SPDX-License-Identifier: Apache-2.0
"""Small result files in the three published formats of LLM-KG-Bench, with invented contents."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"
START = datetime(2024, 12, 19, 6, 29, 39, 34515)  # noqa: DTZ001 - published times have no time zone

Record = dict[str, Any]


def interactions(texts: Sequence[str], start: datetime = START) -> list[list[str]]:
    """Return alternating prompts and responses, one second apart."""
    roles = ("prompt", "response")
    return [
        [roles[k % 2], (start + timedelta(seconds=k)).isoformat(), text]
        for k, text in enumerate(texts)
    ]


def record_v1(
    task: str = "TurtleFriendCount",
    *,
    version: str = "2.0",
    model: str = "Bird--parrot--parrot-2",
    scores: dict[str, float] | None = None,
    info: dict[str, Any] | None = None,
    texts: Sequence[str] = ("Who?", "The fourth."),
) -> Record:
    """Return a record of 2023: no label, no task data, flat scores."""
    friends = {
        "persons": 6,
        "triples": 19,
        "specialNode": "http://example.org/people/person-00000004",
        "personsInAnswer": ["4"],
    }
    return {
        "startTime": START.isoformat(),
        "modelId": model,
        "taskInfo": {"taskId": task, "version": version, "gitCommit": COMMIT},
        "scores": {"recall": 1, "f1": 1.0} if scores is None else scores,
        "info": friends if info is None else info,
        "duration": "0:00:01",
        "interactions": interactions(texts),
    }


def record_v2(
    task: str = "Sparql2AnswerListOrganizational",
    *,
    label: str = "Sparql2AnswerListOrgaTurtle",
    version: str = "2.0",
    scores: dict[str, Any] | None = None,
    data: dict[str, Any] | None = None,
    **others: Any,
) -> Record:
    """Return a record of May 2024: as in 2023, with a label, task data and sizes."""
    found = record_v1(task, version=version, **{"info": {"answerSet": [":a"]}, **others})
    found["taskInfo"]["taskLabel"] = label
    found["reevalOriginalTime"] = None
    found["taskSizeInfo"] = {"targetSize": None, "estimatedSize": 20, "actualSize": 21}
    found["taskData"] = {"uid": "q1", "refResultSet": [":a"]} if data is None else data
    if scores is not None:
        found["scores"] = scores
    return found


def record_v3(
    task: str = "RdfFriendCount",
    *,
    label: str = "RdfFriendCount-turtle-1",
    version: str = "4.4",
    parameters: dict[str, Any] | None = None,
    **others: Any,
) -> Record:
    """Return a record of December 2024: with task parameters and condensed task data too."""
    given = {
        "info": {"persons": 6, "personsInAnswer": ["4"]},
        "data": {"n": 6, "specialIndex": 3, "graphFormat": "turtle", "version": "4.4"},
        **others,
    }
    found = record_v2(task, label=label, version=version, **given)
    found["taskInfo"]["taskParameter"] = (
        {"graphFormat": "turtle", "specialAddKnowsCount": 1} if parameters is None else parameters
    )
    found["taskInfo"]["condensedTaskData"] = found["taskData"]
    return found


def dialogue_v3(**others: Any) -> Record:
    """Return a dialogue of two answers in the format of December 2024; the first is unparsable."""
    broken = {"brevity": 1.0, "parsableSyntax": 0, "combined": 0.25}
    mended = {"brevity": 1.0, "parsableSyntax": 1, "combined": 1.0}
    given = {
        "label": "RdfSyntaxFixList-turtle",
        "version": "0.3-testing",
        "parameters": {"graphFormat": "turtle"},
        "data": {
            "graphFormat": "turtle",
            "taskUid": "mine",
            "task": ":a :b",
            "optimal": ":a :b 1 .",
        },
        "scores": {
            "0": broken,
            "1": mended,
            "mean": {"combined": 0.625},
            "max": {"combined": 1.0},
            "meanExt": {"combined": 0.75},
            "last": mended,
        },
        "info": {
            "0": {"syntaxError": "an end was expected"},
            "1": {"syntaxError": None},
            "multiShotCount": 2,
            "last": {"syntaxError": None},
        },
        "texts": ["Mend this.", ":a :b", "A syntax error remains.", ":a :b 1 ."],
        **others,
    }
    found = record_v3("RdfSyntaxFixList", **given)
    found["duration"] = "0:00:03"
    return found


def as_json(records: Any) -> bytes:
    """Return the bytes of a result file; texts may contain lone surrogates."""
    return json.dumps(records).encode("ascii")


def write_json(path: Path, records: Any) -> Path:
    """Write a plain result file and return its path."""
    path.write_bytes(as_json(records))
    return path


def write_zip(path: Path, members: dict[str, bytes], password: str | None = None) -> Path:
    """Write an archive of ``members``, AES-encrypted if a password is given; return its path."""
    if password is None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members.items():
                archive.writestr(name, content)
        return path
    import pyzipper

    with pyzipper.AESZipFile(
        path, "w", compression=pyzipper.ZIP_DEFLATED, encryption=pyzipper.WZ_AES
    ) as archive:
        archive.setpassword(password.encode())
        for name, content in members.items():
            archive.writestr(name, content)
    return path
