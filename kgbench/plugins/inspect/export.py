# SPDX-License-Identifier: Apache-2.0
"""Exports a run as logs of Inspect AI (version 2, JSON): one per model and task.

``kgbench import inspect`` reads them back with the same prompts, answers, tool calls and scores.
The messages of a sample are for readers in Inspect; the import uses its metadata
(:mod:`kgbench.plugins.inspect.samples`). A case that the installed kgbench cannot generate, such
as one of a published suite, is not named, and its log can be read in Inspect only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby

from kgbench.errors import PublicationRefused, TaskError
from kgbench.execution import frames
from kgbench.exports.outgoing_run import OutgoingRun, all_answered
from kgbench.model import Call, Dialogue, Json, Turn, Verdict
from kgbench.plugins.inspect import samples
from kgbench.plugins.inspect.logs import SCORER
from kgbench.publish.redaction import RedactionLevel
from kgbench.rdf import digest
from kgbench.record.schema import disclosed
from kgbench.store.iris import slug
from kgbench.tasks import catalogue
from kgbench.tool_calls import ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import KGB, PROV, RDFS, SCHEMA, SKOS

_SEED = re.compile(r"kgb:randomSeed (\d+)")
_STOPS: Mapping[str, str] = {"length": "max_tokens", "tool_calls": "tool_calls"}
_KNOWN_STOPS = ("stop", "max_tokens", "model_length", "tool_calls", "content_filter")


def logs(run: OutgoingRun) -> dict[str, Json]:
    """Return the logs of a run by file name, without incomplete or unanswered dialogues.

    Raises :class:`~kgbench.errors.PublicationRefused` if prompts or answers are to be left out.
    """
    if run.level >= RedactionLevel.PROMPTS:
        raise PublicationRefused(
            "logs of Inspect AI consist of prompts and answers: with --redact "
            f"{run.level.name.lower()} nothing would be left of them"
        )
    by_name = {}
    complete = [d for d in run.dialogues if d.ended and run.verdicts[d.iri] and all_answered(d)]
    for (model, task), group in groupby(complete, key=lambda d: (d.model, d.task)):
        label, name = run.catalogue.required(task, SKOS.notation), _model(run, model)
        by_name[f"{slug(name)}_{slug(label)}.json"] = _log(run, model, task, list(group))
    return by_name


def _model(run: OutgoingRun, model: str) -> str:
    return run.catalogue.required(model, RDFS.label)


def _log(run: OutgoingRun, model: str, task: str, dialogues: Sequence[Dialogue]) -> Json:
    label = run.catalogue.required(task, SKOS.notation)
    identity = digest(f"{run.info.iri} {model} {task}")
    samples = [
        sample
        for dialogue, (case_identity, epoch) in zip(
            dialogues, _places(run, task, dialogues), strict=True
        )
        for sample in (_sample(run, dialogue, case_identity, epoch),)
    ]
    sampling = run.catalogue.data(model, KGB.sampling)
    kinds = (int, float, str)
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "eval_id": identity[:22],
            "run_id": digest(run.info.iri)[:22],
            "created": run.info.started.astimezone(UTC).isoformat(),
            "task": f"kgbench/{label}",
            "task_id": digest(f"{identity} task")[:22],
            "task_version": run.catalogue.value(run.class_of(task), SCHEMA.softwareVersion) or "0",
            "dataset": {"name": label, "samples": len(samples)},
            "model": _model(run, model),
            "model_generate_config": {
                k: v for k, v in sampling.items() if type(v) in kinds and k in _GENERATE
            },
            "config": {},
            "packages": {"kgbench": version("kgbench")},
            "metadata": {"run": run.info.iri, "passes": [pass_.iri for pass_ in run.passes]},
        },
        "stats": {
            "started_at": min(map(_started, dialogues)).isoformat(),
            "completed_at": max(map(_ended, dialogues)).isoformat(),
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [],
        },
        "samples": samples,
    }


# Sampling parameters with the same name in Inspect's generation config.
_GENERATE = frozenset(("temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty"))


def _places(
    run: OutgoingRun, task: str, dialogues: Sequence[Dialogue]
) -> Iterator[tuple[samples.CaseIdentity | None, int]]:
    """Yield the case of each dialogue, and the number of dialogues so far with that case."""
    known = _cases(run, task, dialogues)
    times: Counter[str] = Counter()
    for dialogue in dialogues:
        times[dialogue.case] += 1
        yield known.get(dialogue.case), times[dialogue.case]


def _cases(
    run: OutgoingRun, task: str, dialogues: Sequence[Dialogue]
) -> dict[str, samples.CaseIdentity]:
    """Return the cases that can be generated again, by IRI."""
    label = run.catalogue.required(task, SKOS.notation)
    current = catalogue.labelled_tasks().get(label)
    version_ = run.catalogue.value(run.class_of(task), SCHEMA.softwareVersion)
    same = current is not None and current.version == version_
    if (
        current is None
        or not same
        or current.parameters != run.catalogue.data(task, KGB.parameters)
    ):
        return {}
    suite = run.info.suite.rpartition("/")[2]
    number = 1 + max(dialogue.iteration for dialogue in dialogues)
    try:
        cases = catalogue.module(current.task_class).cases(current, suite, _seed(run), number)
    except TaskError:  # the suite does not generate its cases
        return {}
    return {
        run.published(cases[k].iri): samples.CaseIdentity(
            label, current.version, suite, _seed(run), k, cases[k].digest
        )
        for k in range(min(number, len(cases)))
    }


def _seed(run: OutgoingRun) -> int:
    """Return the seed of generated cases, which is the same in all sessions of a run."""
    for configuration in run.statements.instances(KGB.Configuration):
        if match := _SEED.search(run.statements.value(configuration, PROV.value) or ""):
            return int(match[1])
    return 0


def _sample(
    run: OutgoingRun, dialogue: Dialogue, identity: samples.CaseIdentity | None, epoch: int
) -> dict[str, Json]:
    turns = [_turn(turn) for turn in dialogue.turns]
    metadata: dict[str, Json] = {"dialogue": dialogue.iri}
    if identity is not None:
        metadata[samples.CASE] = identity.as_json()
        metadata[samples.TURNS] = [samples.turn_as_json(turn) for turn in turns]
    if dialogue.tool_protocol is not None:
        metadata[samples.PROTOCOL] = dialogue.tool_protocol
    model = _model(run, dialogue.model)
    messages = list(_messages(turns, model))
    last = next(m for m in reversed(messages) if m["role"] == "assistant")
    stop = turns[-1].calls[-1].reply
    reason = _stop(None if stop is None else stop.finish_reason)
    return {
        "id": dialogue.case if identity is None else f"{identity.index}",
        "epoch": epoch,
        "input": turns[0].prompt,
        "target": "",
        "messages": messages,
        "output": {
            "model": model,
            "choices": [{"message": last, "stop_reason": reason}],
        },
        "scores": {SCORER: _score(run, dialogue.iri, turns)},
        "metadata": metadata,
        "total_time": (_ended(dialogue) - _started(dialogue)).total_seconds(),
    }


def _started(dialogue: Dialogue) -> datetime:
    assert dialogue.started is not None
    return dialogue.started


def _ended(dialogue: Dialogue) -> datetime:
    assert dialogue.ended is not None
    return dialogue.ended


def _stop(reason: str | None) -> str:
    stop = _STOPS.get(reason or "", reason or "stop")
    return stop if stop in _KNOWN_STOPS else "unknown"


def _score(run: OutgoingRun, dialogue: str, turns: Sequence[Turn]) -> dict[str, Json]:
    """Return the scores of the dialogue (or of its one answer), with the verdict on each answer."""
    by_round = {evaluation.round: evaluation for evaluation in run.verdicts[dialogue]}
    whole = by_round.get(None) or run.verdicts[dialogue][-1]
    verdicts = []
    for number in sorted(k for k in by_round if k is not None):
        evaluation = by_round[number]
        later = turns[number + 1] if number + 1 < len(turns) else None
        verdict = Verdict(
            _named(run, evaluation.scores),
            evaluation.infos,
            evaluation.outcome,
            None if later is None else later.prompt,
            None if later is None else later.feedback,
        )
        verdicts.append(frames.verdict_to_json(verdict))
    return {
        "value": _named(run, whole.scores),
        "answer": turns[-1].answer,
        "explanation": whole.outcome.value,
        "metadata": {samples.VERDICTS: verdicts},
    }


def _named(run: OutgoingRun, scores: Mapping[str, float]) -> dict[str, float]:
    return {run.metrics[metric][0]: value for metric, value in scores.items()}


def _turn(turn: Turn) -> Turn:
    """Reduce a turn to what samples have: its last call; texts that were left out are empty."""
    call = turn.calls[-1]
    reply = call.reply
    assert reply is not None
    answer = replace(reply, text=reply.answer, extracted=None, reasoning=disclosed(reply.reasoning))
    return Turn(
        disclosed(turn.prompt) or "",
        (Call(call.started, call.ended, answer),),
        turn.feedback,
        tuple(map(_use, turn.uses)),
    )


def _use(use: ToolUse) -> ToolUse:
    return replace(
        use,
        call=replace(use.call, arguments=disclosed(use.call.arguments) or ""),
        result=replace(use.result, text=disclosed(use.result.text) or ""),
    )


def _messages(turns: Sequence[Turn], model: str) -> Iterator[dict[str, Json]]:
    """Yield the messages of Inspect: prompts, answers with tool calls, and tool results."""
    before: list[tuple[str, ToolUse]] = []
    for k, turn in enumerate(turns):
        results, note = wording.split_results(turn.prompt) if before else ([], turn.prompt)
        if results:
            yield from (_result(name, use) for name, use in before)
        yield {"role": "user", "content": note, "source": "input"}
        before = [(use.call.id or f"call_{k}_{i}", use) for i, use in enumerate(turn.uses)]
        text, _ = wording.split_calls(turn.answer or "")
        message: dict[str, Json] = {
            "role": "assistant",
            "content": text,
            "source": "generate",
            "model": model,
        }
        if before:
            message["tool_calls"] = [_call(name, use) for name, use in before]
        yield message
    yield from (_result(name, use) for name, use in before)


def _call(name: str, use: ToolUse) -> dict[str, Json]:
    message: dict[str, Json] = {"id": name, "function": use.call.name, "type": "function"}
    try:
        message["arguments"] = arguments.read(use.call.arguments)
    except ValueError as error:
        message |= {"arguments": {}, "parse_error": f"{error}: {use.call.arguments}"}
    return message


def _result(name: str, use: ToolUse) -> dict[str, Json]:
    message: dict[str, Json] = {
        "role": "tool",
        "content": use.result.text,
        "tool_call_id": name,
        "function": use.call.name,
    }
    kind = samples.error_type(use.result)
    if kind is not None:
        message["error"] = {"type": kind, "message": use.result.text}
    return message
