# SPDX-License-Identifier: Apache-2.0
"""Exports dialogues as instance-level records of Every Eval Ever (schema 0.3.0), as JSON Lines.

One record per dialogue, about the main metric of its task: ``single_turn`` for one answer,
``multi_turn`` for several, ``agentic`` if tools were offered. Reference answers are left out.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import OutgoingRun
from kgbench.model import Dialogue, Json
from kgbench.plugins.exchange.agentic import texts
from kgbench.publish.redaction import RedactionLevel
from kgbench.record.schema import disclosed
from kgbench.tool_calls import ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import KGB, SCHEMA, SKOS

_SUFFIX = "_samples.jsonl"


def with_samples(run: OutgoingRun, records: Mapping[str, Json]) -> dict[str, bytes]:
    """Return the samples of each record by file path, and make the records refer to them.

    ``records`` are those of :func:`.every_eval_ever.records` for the same run.
    Raises :class:`~kgbench.errors.PublicationRefused` if prompts or answers are to be left out.
    """
    if run.level >= RedactionLevel.PROMPTS:
        raise PublicationRefused(
            "samples consist of prompts and answers: with --redact "
            f"{run.level.name.lower()} nothing would be left of them"
        )
    by_path = {}
    for path, record in records.items():
        model = record["model_info"]["additional_details"]["iri"]
        lines = [json.dumps(sample) for sample in _samples(run, record, model)]
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
        by_path[name] = content
    return by_path


def _samples(run: OutgoingRun, record: Mapping[str, Json], model: str) -> Iterator[dict[str, Json]]:
    results = {result["evaluation_result_id"] for result in record["evaluation_results"]}
    for dialogue in run.dialogues:
        metric = run.catalogue.required(run.class_of(dialogue.task), KGB.mainMetric)
        name, _ = run.metrics[metric]
        label = run.catalogue.required(dialogue.task, SKOS.notation)
        # The last verdict with a score of the metric.
        verdicts = reversed(run.verdicts[dialogue.iri])
        verdict = next((candidate for candidate in verdicts if metric in candidate.scores), None)
        answers = [
            answer for turn in dialogue.turns if (answer := disclosed(turn.answer)) is not None
        ]
        if dialogue.model != model or verdict is None or not answers:
            continue
        score = verdict.scores[metric]
        best = run.catalogue.value(metric, SCHEMA.maxValue)
        sample: dict[str, Any] = {
            "schema_version": record["schema_version"],
            "evaluation_id": record["evaluation_id"],
            "model_id": record["model_info"]["id"],
            "evaluation_name": f"kgbench.{label}",
            "sample_id": dialogue.case,
            "interaction_type": "multi_turn" if len(answers) > 1 else "single_turn",
            "input": {"raw": disclosed(dialogue.turns[0].prompt) or "", "reference": []},
            "evaluation": {
                "score": score,
                "is_correct": best is not None and score >= float(best),
                "num_turns": len(answers),
            },
            "metadata": {"dialogue": dialogue.iri, "outcome": verdict.outcome.value},
        }
        if f"{label}/{name}" in results:
            sample["evaluation_result_id"] = f"{label}/{name}"
        if usage := _tokens(dialogue):
            sample["token_usage"] = usage
        yield _with_texts(dialogue, answers[-1], sample)


def _with_texts(dialogue: Dialogue, last: str, sample: dict[str, Any]) -> dict[str, Json]:
    index, source = 0, "output.raw"
    if dialogue.tool_protocol is not None:
        sample["interaction_type"] = "agentic"
        sample["evaluation"]["tool_calls_count"] = sum(len(turn.uses) for turn in dialogue.turns)
    if sample["interaction_type"] == "single_turn":
        sample["output"] = {"raw": [last]}
    else:
        sample["messages"] = _messages(dialogue)
        spoken = [m["turn_idx"] for m in sample["messages"] if m["role"] == "assistant"]
        index, source = spoken[-1], "messages[turn_idx].content"
    sample["answer_attribution"] = [
        {
            "turn_idx": index,
            "source": source,
            "extracted_value": last,
            "extraction_method": "custom",
            "is_terminal": True,
        }
    ]
    return sample


def _messages(dialogue: Dialogue) -> list[dict[str, Json]]:
    """Return the transcript: prompts, answers with their tool calls, and tool results."""
    messages: list[dict[str, Json]] = []

    def say(role: str, content: str | None, **more: Json) -> None:
        messages.append({"turn_idx": len(messages), "role": role, "content": content, **more})

    before: list[tuple[str, ToolUse]] = []
    for k, turn in enumerate(dialogue.turns):
        prompt = disclosed(turn.prompt) or ""
        results, note = wording.split_results(prompt) if before else ([], prompt)
        for name, use in before if results else ():
            say("tool", disclosed(use.result.text), tool_call_id=[name])
        say("user", note)
        answer = disclosed(turn.answer)
        if answer is None:
            continue
        before = [(use.call.id or f"call_{k}_{i}", use) for i, use in enumerate(turn.uses)]
        text, _ = wording.split_calls(answer)
        calls = [{"id": i, "name": u.call.name, "arguments": _arguments(u)} for i, u in before]
        say("assistant", text, **({"tool_calls": calls} if calls else {}))
    for name, use in before:  # results for the last answer, which no prompt follows
        say("tool", disclosed(use.result.text), tool_call_id=[name])
    return messages


def _arguments(use: ToolUse) -> dict[str, str]:
    written = disclosed(use.call.arguments) or ""
    try:
        return texts(arguments.read(written))
    except ValueError:
        return {"malformed": written}


def _tokens(dialogue: Dialogue) -> dict[str, int]:
    """Return the token counts of a dialogue; none if one of its calls lacks them."""
    replies = [reply for turn in dialogue.turns if (reply := turn.calls[-1].reply)]
    counts = {
        "input_tokens": [reply.usage.input for reply in replies],
        "output_tokens": [reply.usage.output for reply in replies],
    }
    if any(None in of_replies for of_replies in counts.values()):
        return {}
    total = {name: sum(filter(None, of_replies)) for name, of_replies in counts.items()}
    return {**total, "total_tokens": sum(total.values())}
