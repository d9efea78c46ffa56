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
from datetime import UTC
from importlib.metadata import version
from itertools import groupby

from kgbench.api import KGB, RDFS, Call, Dialogue, Json, OutgoingRun, TaskError, Turn, Verdict
from kgbench.errors import PublicationRefused
from kgbench.execution import frames
from kgbench.exports.outgoing_run import all_answered
from kgbench.plugins.inspect import samples
from kgbench.plugins.inspect.logs import SCORER
from kgbench.publish.redaction import RedactionLevel
from kgbench.rdf import digest
from kgbench.record.schema import disclosed
from kgbench.store.iris import slug
from kgbench.tasks import catalogue
from kgbench.tool_calls import ToolUse
from kgbench.tools import wording
from kgbench.vocab import PROV, SCHEMA, SKOS

_SEED = re.compile(r"kgb:randomSeed (\d+)")
_STOPS = {name: name for name in ("stop", "max_tokens", "model_length", "content_filter")}
_STOPS |= {"length": "max_tokens", "tool_calls": "tool_calls"}
# Sampling parameters with the same name in Inspect's generation config.
_GENERATE = frozenset(("temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty"))


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
        name = run.catalogue.required(model, RDFS.label)
        label = run.catalogue.required(task, SKOS.notation)
        by_name[f"{slug(name)}_{slug(label)}.json"] = _log(run, name, label, list(group))
    return by_name


def _log(run: OutgoingRun, name: str, label: str, dialogues: Sequence[Dialogue]) -> Json:
    model, task = dialogues[0].model, dialogues[0].task
    identity = digest(f"{run.info.iri} {model} {task}")
    known = _cases(run, label, dialogues)
    epochs: Counter[str] = Counter()
    made = []
    for dialogue in dialogues:
        epochs[dialogue.case] += 1
        case = known.get(dialogue.case)
        made.append(_sample(run, dialogue, name, case) | {"epoch": epochs[dialogue.case]})
    sampling = run.catalogue.data(model, KGB.sampling).items()
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
            "dataset": {"name": label, "samples": len(made)},
            "model": name,
            "model_generate_config": {
                k: v for k, v in sampling if type(v) in (int, float, str) and k in _GENERATE
            },
            "config": {},
            "packages": {"kgbench": version("kgbench")},
            "metadata": {"run": run.info.iri, "passes": [pass_.iri for pass_ in run.passes]},
        },
        "stats": {
            "started_at": min(d.started for d in dialogues if d.started).isoformat(),
            "completed_at": max(d.ended for d in dialogues if d.ended).isoformat(),
        },
        "results": {"total_samples": len(made), "completed_samples": len(made), "scores": []},
        "samples": made,
    }


def _cases(
    run: OutgoingRun, label: str, dialogues: Sequence[Dialogue]
) -> Mapping[str, samples.CaseIdentity]:
    """Return the cases that can be generated again, by IRI."""
    task, current = dialogues[0].task, catalogue.labelled_tasks().get(label)
    recorded = run.catalogue.value(run.class_of(task), SCHEMA.softwareVersion)
    parameters = run.catalogue.data(task, KGB.parameters)
    if current is None or (current.version, current.parameters) != (recorded, parameters):
        return {}
    # The seed of generated cases is the same in all sessions of a run.
    plans = run.statements.instances(KGB.Configuration)
    texts = (run.statements.value(plan, PROV.value) or "" for plan in plans)
    seed = next((int(match[1]) for text in texts if (match := _SEED.search(text))), 0)
    suite = run.info.suite.rpartition("/")[2]
    number = 1 + max(dialogue.iteration for dialogue in dialogues)
    try:
        cases = catalogue.module(current.task_class).cases(current, suite, seed, number)
    except TaskError:  # the suite does not generate its cases
        return {}
    return {
        run.published(cases[k].iri): samples.CaseIdentity(
            label, current.version, suite, seed, k, cases[k].digest
        )
        for k in range(min(number, len(cases)))
    }


def _sample(
    run: OutgoingRun, dialogue: Dialogue, model: str, identity: samples.CaseIdentity | None
) -> dict[str, Json]:
    assert dialogue.started is not None
    assert dialogue.ended is not None
    turns = [_turn(turn) for turn in dialogue.turns]
    metadata: dict[str, Json] = {"dialogue": dialogue.iri}
    if identity is not None:
        metadata[samples.CASE] = identity.as_json()
        metadata[samples.TURNS] = [samples.turn_as_json(turn) for turn in turns]
    if dialogue.tool_protocol is not None:
        metadata[samples.PROTOCOL] = dialogue.tool_protocol
    messages = list(_messages(turns, model))
    last = next(m for m in reversed(messages) if m["role"] == "assistant")
    reply = turns[-1].calls[-1].reply
    reason = (None if reply is None else reply.finish_reason) or "stop"
    choice = {"message": last, "stop_reason": _STOPS.get(reason, "unknown")}
    return {
        "id": dialogue.case if identity is None else f"{identity.index}",
        "input": turns[0].prompt,
        "target": "",
        "messages": messages,
        "output": {"model": model, "choices": [choice]},
        "scores": {SCORER: _score(run, dialogue.iri, turns)},
        "metadata": metadata,
        "total_time": (dialogue.ended - dialogue.started).total_seconds(),
    }


def _score(run: OutgoingRun, dialogue: str, turns: Sequence[Turn]) -> dict[str, Json]:
    """Return the scores of the dialogue (or of its one answer), with the verdict on each answer."""

    def named(scores: Mapping[str, float]) -> dict[str, float]:
        return {run.metrics[metric][0]: value for metric, value in scores.items()}

    evaluations = run.verdicts[dialogue]  # of each round in order, then of the whole
    verdicts = []
    for evaluation in (one for one in evaluations if one.round is not None):
        assert evaluation.round is not None
        later = turns[evaluation.round + 1 :]
        feedback = (later[0].prompt, later[0].feedback) if later else (None, None)
        verdict = Verdict(named(evaluation.scores), evaluation.infos, evaluation.outcome, *feedback)
        verdicts.append(frames.verdict_to_json(verdict))
    return {
        "value": named(evaluations[-1].scores),
        "answer": turns[-1].answer,
        "explanation": evaluations[-1].outcome.value,
        "metadata": {samples.VERDICTS: verdicts},
    }


def _turn(turn: Turn) -> Turn:
    """Reduce a turn to what samples have: its last call; texts that were left out are empty."""
    call = turn.calls[-1]
    reply = call.reply
    assert reply is not None
    answer = replace(reply, text=reply.answer, extracted=None, reasoning=disclosed(reply.reasoning))
    uses = tuple(
        replace(
            use,
            call=replace(use.call, arguments=disclosed(use.call.arguments) or ""),
            result=replace(use.result, text=disclosed(use.result.text) or ""),
        )
        for use in turn.uses
    )
    answered = Call(call.started, call.ended, answer)
    return Turn(disclosed(turn.prompt) or "", (answered,), turn.feedback, uses)


def _messages(turns: Sequence[Turn], model: str) -> Iterator[dict[str, Json]]:
    before: list[tuple[str, ToolUse]] = []
    for k, turn in enumerate(turns):
        results, note = wording.split_results(turn.prompt) if before else ([], turn.prompt)
        if results:
            yield from (_result(name, use) for name, use in before)
        yield {"role": "user", "content": note, "source": "input"}
        before = [(use.call.id or f"call_{k}_{i}", use) for i, use in enumerate(turn.uses)]
        text, _ = wording.split_calls(turn.answer or "")
        said: dict[str, Json] = {"role": "assistant", "content": text, "source": "generate"}
        calls = {"tool_calls": [_call(name, use) for name, use in before]} if before else {}
        yield said | {"model": model} | calls
    yield from (_result(name, use) for name, use in before)


def _call(name: str, use: ToolUse) -> dict[str, Json]:
    message: dict[str, Json] = {"id": name, "function": use.call.name, "type": "function"}
    try:
        message["arguments"] = wording.read_arguments(use.call.arguments)
    except ValueError as error:
        message |= {"arguments": {}, "parse_error": f"{error}: {use.call.arguments}"}
    return message


def _result(name: str, use: ToolUse) -> dict[str, Json]:
    text, kind = use.result.text, samples.error_type(use.result)
    message = {"role": "tool", "content": text, "tool_call_id": name, "function": use.call.name}
    return message if kind is None else message | {"error": {"type": kind, "message": text}}
