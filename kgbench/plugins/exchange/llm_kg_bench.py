# SPDX-License-Identifier: Apache-2.0
"""Exports a run as a result file of LLM-KG-Bench 3: a list with one record per dialogue.

The reverse of :mod:`kgbench.importers.llm_kg_bench`, which documents the fields. A run that is
exported and imported again has the same dialogues and scores. The format has no fields for failed
calls, tokens, times of calls other than those of prompt and response, time zones (times are in UTC,
unmarked), outcomes, text around an extracted answer, and case names that are not in the case data
(the case digest stays the same); these are left out.
"""

from __future__ import annotations

from datetime import UTC, datetime

from kgbench.api import KGB, RDFS, Dialogue, Json, OutgoingRun
from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import all_answered
from kgbench.importers.published import without_printed_graph
from kgbench.model import Evaluation
from kgbench.publish.redaction import RedactionLevel
from kgbench.record.schema import disclosed
from kgbench.vocab import PROV, SCHEMA, SKOS


def records(run: OutgoingRun) -> tuple[list[Json], int]:
    """Return the records of a run, and the number of dialogues left out for lack of an answer.

    Raises :class:`~kgbench.errors.PublicationRefused` if prompts or answers are to be left out.
    """
    if run.level >= RedactionLevel.PROMPTS:
        raise PublicationRefused(
            "result files of LLM-KG-Bench consist of prompts and answers: with --redact "
            f"{run.level.name.lower()} nothing would be left of them"
        )
    commit = _commit(run)
    answered = filter(all_answered, run.dialogues)
    records_ = [_record(run, dialogue, commit) for dialogue in answered]
    return records_, len(run.dialogues) - len(records_)


def _record(run: OutgoingRun, dialogue: Dialogue, commit: str) -> Json:
    catalogue = run.catalogue
    of_class = run.class_of(dialogue.task)
    started = dialogue.started
    assert started is not None
    last = max((turn.calls[-1].ended for turn in dialogue.turns), default=started)
    task_class = catalogue.required(of_class, SKOS.notation)
    prompt = disclosed(dialogue.turns[0].prompt) or ""
    case_data = run.catalogue.data(dialogue.case, KGB.caseData)
    data = without_printed_graph(task_class, case_data, prompt)
    scores, infos, published = _judged(run, dialogue, of_class)
    condensed = published.pop("condensedTaskData", data)
    record: dict[str, Json] = {
        "startTime": _time(started),
        "reevalOriginalTime": None,
        "modelId": _model(run, dialogue.model),
        "taskInfo": {
            "taskId": task_class,
            "taskLabel": catalogue.required(dialogue.task, SKOS.notation),
            "version": catalogue.required(of_class, SCHEMA.softwareVersion),
            "taskParameter": catalogue.data(dialogue.case, KGB.parameters),
            "gitCommit": commit,
            "condensedTaskData": condensed,
        },
        "taskSizeInfo": {"targetSize": None, "estimatedSize": None, "actualSize": None},
        "scores": scores,
        "info": infos,
        "taskData": data,
        "interactions": _interactions(dialogue),
        "duration": str((dialogue.ended or last) - started),
    }
    return record | published


def _judged(
    run: OutgoingRun, dialogue: Dialogue, of_class: str
) -> tuple[dict[str, Json], dict[str, Json], dict[str, Json]]:
    verdicts, rounds = run.verdicts[dialogue.iri], len(dialogue.turns)
    of_rounds = [v for v in verdicts if v.round is not None and v.round < rounds]
    whole = next((v for v in verdicts if v.round is None), None)
    if whole is None and not _has_aggregates(run, of_class):
        last = of_rounds[-1] if of_rounds else None
        infos = {} if last is None else dict(last.infos)
        published = infos.pop("published", {})
        return ({} if last is None else _named(run, last)), infos, published
    scores: dict[str, Json] = {str(v.round): _named(run, v) for v in of_rounds}
    infos = {str(v.round): v.infos for v in of_rounds}
    beside: dict[str, Json] = {}
    if whole is not None:
        infos |= dict(whole.infos)
        beside = infos.pop("published", {})
        for metric, value in whole.scores.items():
            name, aggregation = run.metrics[metric]
            group = aggregation or name.partition("_")[0]  # an unknown aggregation
            scores.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
        if of_rounds:
            infos.setdefault("last", of_rounds[-1].infos)
    return scores, infos, beside


def _has_aggregates(run: OutgoingRun, of_class: str) -> bool:
    metrics = run.catalogue.values(of_class, KGB.metric)
    return any(run.metrics.get(metric, ("", None))[1] is not None for metric in metrics)


def _named(run: OutgoingRun, verdict: Evaluation) -> dict[str, Json]:
    """Return scores by name, without agreement, which the import computes from the error."""
    return {
        run.metrics[metric][0]: value
        for metric, value in verdict.scores.items()
        if run.catalogue.value(metric, KGB.agreementOf) is None
    }


def _interactions(dialogue: Dialogue) -> list[Json]:
    interactions: list[Json] = []
    for turn in dialogue.turns:
        call = turn.calls[-1]
        interactions.append(["prompt", _time(call.started), disclosed(turn.prompt)])
        interactions.append(["response", _time(call.ended), disclosed(turn.answer)])
    return interactions


def _model(run: OutgoingRun, model: str) -> str:
    """Return the model's name in the framework: as published, else connector and label."""
    published = run.catalogue.values(model, KGB.sourceModelId)
    if published:
        return published[0]
    label = run.catalogue.required(model, RDFS.label)
    family = run.catalogue.value(model, KGB.connector) or "kgbench"
    return f"{family}--{label.replace('--', '-')}"


def _commit(run: OutgoingRun) -> str:
    """Return the commit of the code that ran, or else its name and version."""
    agents = run.statements.values(run.info.iri, PROV.wasAssociatedWith)
    for session in run.statements.instances(KGB.Session):
        agents += run.statements.values(session, PROV.wasAssociatedWith)
    commits = [run.catalogue.value(agent, KGB.commit) for agent in agents]
    known = [commit for commit in commits if commit is not None]
    if known:
        return known[0]
    versions = [run.catalogue.value(agent, SCHEMA.softwareVersion) for agent in agents]
    return f"kgbench-{versions[0]}" if versions and versions[0] else "unknown"


def _time(moment: datetime) -> str:
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat()
