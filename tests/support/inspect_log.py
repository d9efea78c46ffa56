# SPDX-License-Identifier: Apache-2.0
"""Logs in the format of Inspect AI, of dialogues with real verdicts, made without Inspect."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kgbench.execution import frames
from kgbench.execution.judging import JudgeLimits, JudgeRequest, end_child, judge_batch
from kgbench.model import Call, Reply, Turn, Usage
from kgbench.plugins.inspect import samples as inspect_samples
from kgbench.plugins.inspect.logs import SCORER
from kgbench.scoring.formulas import aggregate
from kgbench.tasks import catalogue

BEGIN = datetime(2026, 10, 1, 12, tzinfo=UTC)
SUITE = "kgbench-1"


def log(label: str, answers: Sequence[Sequence[str]]) -> Any:
    """Return a log with a sample for each list of answers, about the cases of ``label`` in turn."""
    task = catalogue.labelled_tasks()[label]
    samples = [_sample(task, index, given) for index, given in enumerate(answers)]
    header = {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": "Zr3",
            "task_id": "Q9x",
            "created": BEGIN.isoformat(),
            "task": f"kgbench/{label}",
            "model": "mockllm/model",
            "model_generate_config": {"temperature": 0.5},
            "packages": {"inspect_ai": "0.3.285"},
        },
    }
    return {**header, "samples": samples}


def _sample(task, index, answers):
    about = inspect_samples.CaseIdentity.of(task, SUITE, 0, index)
    case, task_class = about.case(""), catalogue.task_class(task.task_class)
    requests = [JudgeRequest(case, tuple(answers[: k + 1])) for k in range(len(answers))]
    try:
        verdicts = judge_batch(requests, JudgeLimits())
    finally:
        end_child()
    prompts = [catalogue.module(task.task_class).prompt(case)]
    prompts += [verdict.next_prompt for verdict in verdicts[:-1]]
    kinds = [None, *(verdict.feedback for verdict in verdicts)]
    value = dict.fromkeys(task_class.answer_metrics) | verdicts[-1].scores
    if task_class.max_rounds > 1:
        names = task_class.metrics.keys() - task_class.answer_metrics.keys()
        value = aggregate([v.scores for v in verdicts], names, task_class.max_rounds)
    turns = [
        inspect_samples.turn_as_json(_turn(*one, k))
        for k, one in enumerate(zip(prompts, kinds, answers, strict=False))
    ]
    return {
        "id": str(index),
        "epoch": 1,
        "input": prompts[0],
        "target": "",
        "metadata": {
            inspect_samples.CASE: about.as_json(),
            inspect_samples.TURNS: turns,
        },
        "scores": {
            SCORER: {
                "value": value,
                "answer": answers[-1],
                "metadata": {
                    inspect_samples.VERDICTS: [frames.verdict_to_json(v) for v in verdicts]
                },
            }
        },
    }


def _turn(prompt, kind, answer, k):
    begin = BEGIN + timedelta(seconds=10 * k)
    reply = Reply(answer, Usage(100, 10, None, 5), "mockllm/model", "stop", "r-1", "thought")
    return Turn(prompt, (Call(begin, begin + timedelta(seconds=3), reply),), kind)


def write(folder: Path, content, form: str) -> Path:
    """Write ``content`` as ``log.json``, or as ``log.eval`` with the compression ``form``."""
    if form == "json":
        path = folder / "log.json"
        path.write_text(json.dumps(content))
        return path
    header = {name: value for name, value in content.items() if name != "samples"}
    members = {
        f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in content["samples"]
    } | {"_journal/start.json": {}, "header.json": header}
    path = folder / "log.eval"
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            data = json.dumps(value).encode()
            if form == "zstandard":
                _add_compressed(archive, name, data)
            else:
                archive.writestr(name, data)
    path.write_bytes(_marked(stream.getvalue()) if form == "zstandard" else stream.getvalue())
    return path


def _add_compressed(archive, name, data):
    """Add a member compressed by Zstandard; its comment holds its real size and checksum."""
    import zstandard

    half = len(data) // 2
    make = zstandard.ZstdCompressor().compress
    info = zipfile.ZipInfo(name)
    info.comment = len(data).to_bytes(4, "little") + zlib.crc32(data).to_bytes(4, "little")
    archive.writestr(info, make(data[:half]) + make(data[half:]), zipfile.ZIP_STORED)


def _marked(content):
    """Return the archive with method 93 and the real sizes and checksums of its members."""
    found = bytearray(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        place = archive.start_dir
    for member in members:
        size, crc = member.comment[:4], member.comment[4:]
        local = member.header_offset
        found[local + 8 : local + 10] = found[place + 10 : place + 12] = b"\x5d\x00"
        found[local + 14 : local + 18] = found[place + 16 : place + 20] = crc
        found[local + 22 : local + 26] = found[place + 24 : place + 28] = size
        place += 46 + len(member.filename) + len(member.extra) + len(member.comment)
    return bytes(found)
