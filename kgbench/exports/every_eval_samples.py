# SPDX-License-Identifier: Apache-2.0
"""The dialogues of a run as instance-level records of Every Eval Ever (schema 0.3.0), JSON Lines.

One record a dialogue, about the main metric of its task: ``single_turn`` for one answer,
``multi_turn`` for several, ``agentic`` where tools were offered. Reference answers are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from kgbench.errors import PublicationRefused
from kgbench.exports.agentic import texts
from kgbench.exports.outgoing_run import Held, OutgoingRun, Used, Verdict
from kgbench.model import Json
from kgbench.publish.withholding import Level
from kgbench.tools import arguments, wording
from kgbench.vocab import KGB, SCHEMA, SKOS

_SUFFIX = "_samples.jsonl"


def with_samples(run: OutgoingRun, records: Mapping[str, Json]) -> dict[str, bytes]:
    """The samples of each record, by the path of their file; the record then refers to them.

    ``records`` are those of :func:`kgbench.exports.every_eval_ever.records` for the same run.
    Raises :class:`~kgbench.errors.PublicationRefused` where prompts or answers are to be left out.
    """
    if run.level >= Level.PROMPTS:
        raise PublicationRefused(
            "samples consist of prompts and answers: with --redact "
            f"{run.level.name.lower()} nothing would be left of them"
        )
    found = {}
    for path, record in records.items():
        model = record["model_info"]["additional_details"]["iri"]
        lines = [json.dumps(one) for one in _samples(run, record, model)]
        if not lines:
            continue
        content = "".join(f"{line}\n" for line in lines).encode("ascii")
        name = path.removesuffix(".json") + _SUFFIX
        record["detailed_evaluation_results"] = {
            "format": "jsonl",
            "file_path": name,
            "hash_algorithm": "sha256",
            "checksum": hashlib.sha256(content).hexdigest(),
            "total_rows": len(lines),
        }
        found[name] = content
    return found


def _samples(run: OutgoingRun, record: Mapping[str, Json], model: str) -> Iterator[dict[str, Json]]:
    results = {one["evaluation_result_id"] for one in record["evaluation_results"]}
    for held in run.held:
        metric = run.catalogue.needed(run.class_of(held.task), KGB.mainMetric)
        name, _ = run.metrics[metric]
        label = run.catalogue.needed(held.task, SKOS.notation)
        verdict = _about(held, metric)
        answered = [one for one in held.rounds if one.answer_text is not None]
        if held.model != model or verdict is None or not answered:
            continue
        score = verdict.scores[metric]
        best = run.catalogue.one(metric, SCHEMA.maxValue)
        sample: dict[str, Any] = {
            "schema_version": record["schema_version"],
            "evaluation_id": record["evaluation_id"],
            "model_id": record["model_info"]["id"],
            "evaluation_name": f"kgbench.{label}",
            "sample_id": held.case,
            "interaction_type": "multi_turn" if len(answered) > 1 else "single_turn",
            "input": {"raw": held.rounds[0].prompt_text or "", "reference": []},
            "evaluation": {
                "score": score,
                "is_correct": best is not None and score >= float(best),
                "num_turns": len(answered),
            },
            "metadata": {"dialogue": held.iri, "outcome": verdict.outcome},
        }
        if f"{label}/{name}" in results:
            sample["evaluation_result_id"] = f"{label}/{name}"
        if usage := _tokens(run, held):
            sample["token_usage"] = usage
        yield _with_texts(held, sample)


def _about(held: Held, metric: str) -> Verdict | None:
    """The last verdict with a score of the metric."""
    return next((v for v in reversed(held.verdicts) if metric in v.scores), None)


def _with_texts(held: Held, sample: dict[str, Any]) -> dict[str, Json]:
    last = [one.answer_text for one in held.rounds if one.answer_text is not None][-1]
    place, source = 0, "output.raw"
    if held.tool_protocol is not None:
        sample["interaction_type"] = "agentic"
        sample["evaluation"]["tool_calls_count"] = sum(len(one.uses) for one in held.rounds)
    if sample["interaction_type"] == "single_turn":
        sample["output"] = {"raw": [last]}
    else:
        sample["messages"] = _messages(held)
        spoken = [m["turn_idx"] for m in sample["messages"] if m["role"] == "assistant"]
        place, source = spoken[-1], "messages[turn_idx].content"
    sample["answer_attribution"] = [
        {
            "turn_idx": place,
            "source": source,
            "extracted_value": last,
            "extraction_method": "custom",
            "is_terminal": True,
        }
    ]
    return sample


def _messages(held: Held) -> list[dict[str, Json]]:
    """The transcript: prompts, answers with their tool calls, and a message for each result."""
    found: list[dict[str, Json]] = []

    def say(role: str, content: str | None, **more: Json) -> None:
        found.append({"turn_idx": len(found), "role": role, "content": content, **more})

    before: list[tuple[str, Used]] = []
    for one in held.rounds:
        prompt = one.prompt_text or ""
        told, note = wording.told(prompt) if before else ([], prompt)
        for name, use in before if told else ():
            say("tool", use.result, tool_call_id=[name])
        say("user", note)
        if one.answer_text is None:
            continue
        before = [(use.id or f"call_{one.number}_{k}", use) for k, use in enumerate(one.uses)]
        text, _ = wording.spoken(one.answer_text)
        calls = [{"id": i, "name": u.tool, "arguments": _arguments(u)} for i, u in before]
        say("assistant", text, **({"tool_calls": calls} if calls else {}))
    for name, use in before:  # of the last answer, which no prompt follows
        say("tool", use.result, tool_call_id=[name])
    return found


def _arguments(use: Used) -> dict[str, str]:
    try:
        return texts(arguments.read(use.arguments or ""))
    except ValueError:
        return {"malformed": use.arguments or ""}


def _tokens(run: OutgoingRun, held: Held) -> dict[str, int]:
    """The tokens of a dialogue; none where a call of it did not count them."""
    total = {}
    for name, term in (("input_tokens", KGB.inputTokens), ("output_tokens", KGB.outputTokens)):
        counts = [run.said.one(one.call, term) for one in held.rounds if one.call and one.answer]
        if None in counts:
            return {}
        total[name] = sum(int(count) for count in counts if count is not None)
    return {**total, "total_tokens": sum(total.values())}
