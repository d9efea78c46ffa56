# SPDX-License-Identifier: Apache-2.0
"""A run as logs of Inspect AI (version 2, JSON): one for each model and task.

``kgbench import inspect`` reads them back: the same prompts, answers, tool calls and scores. The
messages of a sample are for readers in Inspect; what is imported stands in its metadata
(:mod:`kgbench.importers.inspect_samples`). A case that this kgbench cannot make again, such as one
of a published suite, is not named, and its log can be read in Inspect only.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby

from kgbench.errors import PublicationRefused, TaskError
from kgbench.execution import frames
from kgbench.exports.outgoing_run import Held, OutgoingRun, Round, Used
from kgbench.importers import inspect_samples
from kgbench.importers.inspect_logs import SCORER
from kgbench.model import Call, Json, Outcome, Reply, Turn, Usage, Verdict
from kgbench.publish.withholding import Level
from kgbench.rdf import digest
from kgbench.store.iris import slug
from kgbench.tasks import catalogue
from kgbench.tool_calls import Fault, ToolCall, ToolOutcome, ToolResult, ToolUse
from kgbench.tools import arguments, wording
from kgbench.vocab import KGB, OUTCOME, PROV, RDFS, SCHEMA, SKOS

_SEED = re.compile(r"kgb:randomSeed (\d+)")
_STOPS: Mapping[str, str] = {"length": "max_tokens", "tool_calls": "tool_calls"}
_KNOWN_STOPS = ("stop", "max_tokens", "model_length", "tool_calls", "content_filter")


def logs(run: OutgoingRun) -> dict[str, Json]:
    """The logs of a run by file name; dialogues that have no end or no answer are left out.

    Raises :class:`~kgbench.errors.PublicationRefused` where prompts or answers are to be left out.
    """
    if run.level >= Level.PROMPTS:
        raise PublicationRefused(
            "logs of Inspect AI consist of prompts and answers: with --redact "
            f"{run.level.name.lower()} nothing would be left of them"
        )
    found = {}
    whole = [h for h in run.held if h.ended and h.verdicts and _answered(h)]
    for (model, task), group in groupby(whole, key=lambda h: (h.model, h.task)):
        label, name = run.catalogue.needed(task, SKOS.notation), _model(run, model)
        found[f"{slug(name)}_{slug(label)}.json"] = _log(run, model, task, list(group))
    return found


def _answered(held: Held) -> bool:
    return bool(held.rounds) and all(one.answer_text is not None for one in held.rounds)


def _model(run: OutgoingRun, model: str) -> str:
    return run.catalogue.needed(model, RDFS.label)


def _log(run: OutgoingRun, model: str, task: str, of: Sequence[Held]) -> Json:
    label = run.catalogue.needed(task, SKOS.notation)
    identity = digest(f"{run.info.iri} {model} {task}")
    samples = [
        sample
        for held, (index, epoch) in zip(of, _places(run, task, of), strict=True)
        for sample in (_sample(run, held, index, epoch),)
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
            "task_version": run.catalogue.one(run.class_of(task), SCHEMA.softwareVersion) or "0",
            "dataset": {"name": label, "samples": len(samples)},
            "model": _model(run, model),
            "model_generate_config": {
                k: v for k, v in sampling.items() if type(v) in kinds and k in _GENERATE
            },
            "config": {},
            "packages": {"kgbench": version("kgbench")},
            "metadata": {"run": run.info.iri, "passes": [one.iri for one in run.passes]},
        },
        "stats": {
            "started_at": min(h.started for h in of).isoformat(),
            "completed_at": max(h.ended or h.started for h in of).isoformat(),
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [],
        },
        "samples": samples,
    }


# What Inspect's settings of generation have under the same name.
_GENERATE = frozenset(("temperature", "top_p", "top_k", "max_tokens", "seed", "frequency_penalty"))


def _places(
    run: OutgoingRun, task: str, of: Sequence[Held]
) -> Iterator[tuple[inspect_samples.About | None, int]]:
    """Which case of the task each dialogue is about, and for the how manieth time."""
    known = _cases(run, task, of)
    times: Counter[str] = Counter()
    for held in of:
        times[held.case] += 1
        yield known.get(held.case), times[held.case]


def _cases(run: OutgoingRun, task: str, of: Sequence[Held]) -> dict[str, inspect_samples.About]:
    """The cases that can be made again, by their IRI."""
    label = run.catalogue.needed(task, SKOS.notation)
    found = catalogue.labelled_tasks().get(label)
    version_ = run.catalogue.one(run.class_of(task), SCHEMA.softwareVersion)
    same = found is not None and found.version == version_
    if found is None or not same or found.parameters != run.catalogue.data(task, KGB.parameters):
        return {}
    suite = run.info.suite.rpartition("/")[2]
    most = 1 + max(held.iteration for held in of)
    try:
        cases = catalogue.module(found.task_class).cases(found, suite, _seed(run), most)
    except TaskError:  # the suite has cases of its own
        return {}
    return {
        run.published(cases[k].iri): inspect_samples.About(
            label, found.version, suite, _seed(run), k, cases[k].digest
        )
        for k in range(min(most, len(cases)))
    }


def _seed(run: OutgoingRun) -> int:
    """The seed of generated cases, which all sessions of a run have in common."""
    for one in run.said.of_type(KGB.Configuration):
        if found := _SEED.search(run.said.one(one, PROV.value) or ""):
            return int(found[1])
    return 0


def _sample(
    run: OutgoingRun, held: Held, about: inspect_samples.About | None, epoch: int
) -> dict[str, Json]:
    turns = [_turn(run, one) for one in held.rounds]
    metadata: dict[str, Json] = {"dialogue": held.iri}
    if about is not None:
        metadata[inspect_samples.CASE] = about.as_json()
        metadata[inspect_samples.TURNS] = [inspect_samples.turn_as_json(turn) for turn in turns]
    if held.tool_protocol is not None:
        metadata[inspect_samples.PROTOCOL] = held.tool_protocol
    messages = list(_messages(turns, _model(run, held.model)))
    last = next(m for m in reversed(messages) if m["role"] == "assistant")
    stop = turns[-1].calls[-1].reply
    reason = _stop(None if stop is None else stop.finish_reason)
    return {
        "id": held.case if about is None else f"{about.index}",
        "epoch": epoch,
        "input": held.rounds[0].prompt_text or "",
        "target": "",
        "messages": messages,
        "output": {
            "model": _model(run, held.model),
            "choices": [{"message": last, "stop_reason": reason}],
        },
        "scores": {SCORER: _score(run, held, turns)},
        "metadata": metadata,
        "total_time": ((held.ended or held.started) - held.started).total_seconds(),
    }


def _stop(reason: str | None) -> str:
    found = _STOPS.get(reason or "", reason or "stop")
    return found if found in _KNOWN_STOPS else "unknown"


def _score(run: OutgoingRun, held: Held, turns: Sequence[Turn]) -> dict[str, Json]:
    """The scores of the dialogue (or of its one answer), with a verdict for each judged answer."""
    by_round = {one.round: one for one in held.verdicts}
    whole = by_round.get(None) or held.verdicts[-1]
    verdicts = []
    for number in sorted(k for k in by_round if k is not None):
        one = by_round[number]
        later = turns[number + 1] if number + 1 < len(turns) else None
        found = Verdict(
            _named(run, one.scores),
            one.infos,
            Outcome(one.outcome.removeprefix(OUTCOME)),
            None if later is None else later.prompt,
            None if later is None else later.feedback,
        )
        verdicts.append(frames.verdict_to_json(found))
    return {
        "value": _named(run, whole.scores),
        "answer": turns[-1].answer,
        "explanation": whole.outcome,
        "metadata": {inspect_samples.VERDICTS: verdicts},
    }


def _named(run: OutgoingRun, scores: Mapping[str, float]) -> dict[str, float]:
    return {run.metrics[metric][0]: value for metric, value in scores.items()}


def _turn(run: OutgoingRun, one: Round) -> Turn:
    said = run.said

    def count(term: str) -> int | None:
        found = said.one(one.call or "", term)
        return None if found is None else int(found)

    outcome = said.one(one.call or "", KGB.outcome)
    reply = Reply(
        text=one.answer_text or "",
        usage=Usage(
            count(KGB.inputTokens),
            count(KGB.outputTokens),
            count(KGB.cachedTokens),
            count(KGB.reasoningTokens),
        ),
        model=said.one(one.call or "", KGB.answeringModel),
        finish_reason=said.one(one.call or "", KGB.finishReason),
        request_id=said.one(one.call or "", KGB.requestId),
        reasoning=run.text(said.one(one.answer or "", KGB.reasoning)),
        outcome=None if outcome is None else Outcome(outcome.removeprefix(OUTCOME)),
    )
    began, ended = one.asked or _never(), one.answered or _never()
    feedback = said.one(one.prompt, KGB.feedback)
    uses = tuple(map(_use, one.uses))
    return Turn(one.prompt_text or "", (Call(began, ended, reply),), feedback, uses)


def _never() -> datetime:
    return datetime.fromtimestamp(0, UTC)


def _use(used: Used) -> ToolUse:
    fault = None if used.fault is None else Fault(used.fault)
    return ToolUse(
        ToolCall(used.tool, used.arguments or "", used.id, used.malformed),
        ToolResult(used.result or "", ToolOutcome(used.outcome), fault),
        used.started,
        used.ended,
        used.server,
    )


def _messages(turns: Sequence[Turn], model: str) -> Iterator[dict[str, Json]]:
    """The conversation as Inspect shows it: calls in answers, a message for each result."""
    before: list[tuple[str, ToolUse]] = []
    for k, turn in enumerate(turns):
        told, note = wording.told(turn.prompt) if before else ([], turn.prompt)
        if told:
            yield from (_result(name, use) for name, use in before)
        yield {"role": "user", "content": note, "source": "input"}
        before = [(use.call.id or f"call_{k}_{i}", use) for i, use in enumerate(turn.uses)]
        text, _ = wording.spoken(turn.answer or "")
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
    made: dict[str, Json] = {"id": name, "function": use.call.name, "type": "function"}
    try:
        made["arguments"] = arguments.read(use.call.arguments)
    except ValueError as error:
        made |= {"arguments": {}, "parse_error": f"{error}: {use.call.arguments}"}
    return made


def _result(name: str, use: ToolUse) -> dict[str, Json]:
    message: dict[str, Json] = {
        "role": "tool",
        "content": use.result.text,
        "tool_call_id": name,
        "function": use.call.name,
    }
    kind = inspect_samples.error_type(use.result)
    if kind is not None:
        message["error"] = {"type": kind, "message": use.result.text}
    return message
