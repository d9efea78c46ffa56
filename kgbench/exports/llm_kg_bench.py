# SPDX-License-Identifier: Apache-2.0
"""A run as a result file of LLM-KG-Bench 3: a list of records, one for each dialogue.

The reverse of :mod:`kgbench.importers.llm_kg_bench`, which says what the fields are. A run that is
exported and imported again has the same dialogues and scores. What the format has no place for is
left out: failed calls, tokens, times of calls beyond those of prompt and response, time zones
(times are written in UTC, without saying so), outcomes, what a model wrote around an extracted
answer, and the name of a case that its data do not hold (its digest is the same).
"""

from __future__ import annotations

from datetime import UTC, datetime

from kgbench.errors import PublicationRefused
from kgbench.exports.outgoing_run import OutgoingRun, all_answered
from kgbench.importers.published_cases import without_printed_graph
from kgbench.model import Dialogue, Evaluation, Json
from kgbench.publish.withholding import Level
from kgbench.record.withheld import disclosed
from kgbench.vocab import KGB, PROV, RDFS, SCHEMA, SKOS


def records(run: OutgoingRun) -> tuple[list[Json], int]:
    """The records of a run, and how many of its dialogues have none, being without an answer.

    Raises :class:`~kgbench.errors.PublicationRefused` where prompts or answers are to be left out.
    """
    if run.level >= Level.PROMPTS:
        raise PublicationRefused(
            "result files of LLM-KG-Bench consist of prompts and answers: with --redact "
            f"{run.level.name.lower()} nothing would be left of them"
        )
    commit = _commit(run)
    answered = filter(all_answered, run.dialogues)
    found = [_record(run, dialogue, commit) for dialogue in answered]
    return found, len(run.dialogues) - len(found)


def _record(run: OutgoingRun, dialogue: Dialogue, commit: str) -> Json:
    catalogue = run.catalogue
    of_class = run.class_of(dialogue.task)
    started = _started(dialogue)
    task_class = catalogue.needed(of_class, SKOS.notation)
    data = _task_data(run, dialogue, task_class)
    scores, infos, published = _judged(run, dialogue, of_class)
    condensed = published.pop("condensedTaskData", data)
    record: dict[str, Json] = {
        "startTime": _time(started),
        "reevalOriginalTime": None,
        "modelId": _model(run, dialogue.model),
        "taskInfo": {
            "taskId": task_class,
            "taskLabel": catalogue.needed(dialogue.task, SKOS.notation),
            "version": catalogue.needed(of_class, SCHEMA.softwareVersion),
            "taskParameter": catalogue.data(dialogue.case, KGB.parameters),
            "gitCommit": commit,
            "condensedTaskData": condensed,
        },
        "taskSizeInfo": {"targetSize": None, "estimatedSize": None, "actualSize": None},
        "scores": scores,
        "info": infos,
        "taskData": data,
        "interactions": _interactions(dialogue),
        "duration": str(_ended(dialogue) - started),
    }
    return record | published


def _started(dialogue: Dialogue) -> datetime:
    assert dialogue.started is not None
    return dialogue.started


def _ended(dialogue: Dialogue) -> datetime:
    """When a dialogue ended; one that is open has lasted up to its last answer."""
    answered = [turn.calls[-1].ended for turn in dialogue.turns]
    return dialogue.ended or max(answered, default=_started(dialogue))


def _task_data(run: OutgoingRun, dialogue: Dialogue, task_class: str) -> Json:
    """The data of the case, without the graph that an import takes from the prompt."""
    data = run.catalogue.data(dialogue.case, KGB.caseData)
    return without_printed_graph(task_class, data, disclosed(dialogue.turns[0].prompt) or "")


def _judged(
    run: OutgoingRun, dialogue: Dialogue, of_class: str
) -> tuple[dict[str, Json], dict[str, Json], dict[str, Json]]:
    """Scores, infos, and what was published beside them."""
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
            group = aggregation or ""
            scores.setdefault(group, {})[name.removeprefix(f"{group}_")] = value
        if of_rounds:
            infos.setdefault("last", of_rounds[-1].infos)
    return scores, infos, beside


def _has_aggregates(run: OutgoingRun, of_class: str) -> bool:
    metrics = run.catalogue.all(of_class, KGB.metric)
    return any(run.metrics.get(metric, ("", None))[1] is not None for metric in metrics)


def _named(run: OutgoingRun, verdict: Evaluation) -> dict[str, Json]:
    return {run.metrics[metric][0]: value for metric, value in verdict.scores.items()}


def _interactions(dialogue: Dialogue) -> list[Json]:
    found: list[Json] = []
    for turn in dialogue.turns:
        call = turn.calls[-1]
        found.append(["prompt", _time(call.started), disclosed(turn.prompt)])
        found.append(["response", _time(call.ended), disclosed(turn.answer)])
    return found


def _model(run: OutgoingRun, model: str) -> str:
    """How the framework names a model: as it was published, else connector and label."""
    said = run.catalogue.all(model, KGB.sourceModelId)
    if said:
        return said[0]
    label = run.catalogue.needed(model, RDFS.label)
    family = run.catalogue.one(model, KGB.connector) or "kgbench"
    return f"{family}--{label.replace('--', '-')}"


def _commit(run: OutgoingRun) -> str:
    """The commit of the code that ran, or, where that is not known, its name and version."""
    agents = run.said.all(run.info.iri, PROV.wasAssociatedWith)
    for session in run.said.of_type(KGB.Session):
        agents += run.said.all(session, PROV.wasAssociatedWith)
    commits = [run.catalogue.one(agent, KGB.commit) for agent in agents]
    known = [commit for commit in commits if commit is not None]
    if known:
        return known[0]
    versions = [run.catalogue.one(agent, SCHEMA.softwareVersion) for agent in agents]
    return f"kgbench-{versions[0]}" if versions and versions[0] else "unknown"


def _time(moment: datetime) -> str:
    """A time as the framework writes it: without a zone."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat()
