# SPDX-License-Identifier: Apache-2.0
"""Conversion of the TEXT2SPARQL challenge to runs, one for each system and set of questions.

A dialogue is a question in one language with the query that the system answered. The published
scores become the evaluation pass. The score ``set_F_ndcg`` of an answer is not published; as in
the challenge's client, it is ``ndcg`` if the order of the result matters, else ``set_F``. A
question without an answer becomes a failed call, because the client gave up on it. When systems
were asked is not published: the first day of the edition's year is recorded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import kgbench.api as kb
from kgbench.importers.llm_kg_bench import Item
from kgbench.on_demand import Repeatable
from kgbench.plugins.challenges import questions
from kgbench.plugins.challenges.text2sparql_files import Answer, SystemFiles
from kgbench.rdf import double, string
from kgbench.record.recorder import Recorder
from kgbench.software import Software
from kgbench.store.iris import Iris
from kgbench.store.protocol import Block
from kgbench.vocab import DCTERMS, DQV, SKOS

POLICY = "text2sparql-2025"
"""The comparison policy that defines the metrics of the published scores."""
NO_ANSWER = "no answer of the system is published: the challenge's client gave up asking"

SCORES = ("set_P", "set_recall", "set_F")


def imported_run(files: SystemFiles, iris: Iris) -> kb.ImportedRun:
    """Convert the published files of one system and set of questions to a run.

    The run generates its dialogues at each iteration.
    """
    of = files.questions.file
    edition = "" if of.year is None else f" {of.year}"
    suite, day = f"text2sparql-{of.year or of.prefix}", datetime(of.year or 2025, 1, 1, tzinfo=UTC)
    run = kb.PublishedRun(
        iris,
        suite,
        _model(files, iris),
        Software("TEXT2SPARQL", edition.strip() or "unknown"),
        source=f"TEXT2SPARQL{edition} {of.prefix} {files.system}",
        content=files.digest(),
    )
    metrics = kb.policy(POLICY).metrics
    tasks = {language: questions.task(of.prefix, language) for language in of.languages}
    cases = {
        key: questions.case(suite, tasks[language], of, question, files.questions.gold.get(key))
        for key, (question, language) in files.questions.keys.items()
    }

    def items() -> Iterator[Item]:
        counts: dict[str, int] = {}
        for key, (_, language) in files.questions.keys.items():
            iteration = counts[language] = counts.get(language, -1) + 1
            case, answer = cases[key], files.answers.get(key)
            query = None if answer is None else answer.query
            failed = kb.Call(day, day, None, kb.Outcome.PROVIDER_ERROR, NO_ANSWER)
            call = failed if query is None else kb.Call(day, day, kb.Reply(query))
            prompt = (answer.question if answer else "") or case.data["question"]
            dialogue = run.dialogue(
                tasks[language],
                case,
                iteration,
                [files.system, case.uid, query],
                turns=(kb.Turn(prompt, (call,)),),
                started=day,
                ended=None if answer is None else day,
            )
            scores = _scores(files, key)
            # Infos are recorded in the published pass even if no scores were published.
            if scores is None and (files.scores or answer is None):
                yield dialogue, ()
                continue
            by_metric = {metrics[name].iri: value for name, value in (scores or {}).items()}
            infos = _infos(files, key, answer)
            yield dialogue, (run.evaluation(dialogue, 0, _outcome(query), by_metric, infos),)

    repeatable = Repeatable(items, len(cases))
    return run.imported(tasks.values(), cases.values(), repeatable, started=day, ended=day)


def _outcome(query: str | None) -> kb.Outcome:
    if query is None:
        return kb.Outcome.PROVIDER_ERROR
    return kb.Outcome.SCORED if query.strip() else kb.Outcome.EMPTY


def _scores(files: SystemFiles, key: str) -> dict[str, float] | None:
    """Return the scores of the answer to a question, or ``None`` if none is published."""
    published = files.scores.get(key)
    if not published:
        return None
    scores = {name: published[name] for name in SCORES if name in published}
    if "set_F" in scores:
        scores["set_F_ndcg"] = published.get("ndcg", scores["set_F"])
    return scores


def _infos(files: SystemFiles, key: str, answer: Answer | None) -> dict[str, kb.Json]:
    infos: dict[str, kb.Json] = {}
    if answer is not None:
        infos["sparql"] = answer.query
        if answer.dataset and answer.dataset != files.questions.file.dataset:
            infos["dataset"] = answer.dataset
    if (ndcg := files.scores.get(key, {}).get("ndcg")) is not None:
        infos["ndcg"] = ndcg
    if (values := files.results.get(key)) is not None:
        infos["publishedResultSet"] = dict(values)
    elif files.copied:
        infos["publishedResultSetIsCopy"] = True
    return infos


def _model(files: SystemFiles, iris: Iris) -> kb.ModelSetup:
    """Return the system, with its URL if all its answers name the same one."""
    addresses = {answer.endpoint for answer in files.answers.values()}
    address = addresses.pop() if len(addresses) == 1 else ""
    is_url = address.startswith(("http://", "https://"))
    return replace(
        kb.published_model(iris, files.system), base_url=address if is_url else None, is_system=True
    )


def write_averages(store: kb.Store, files: SystemFiles, run: kb.ImportedRun) -> None:
    """Write the published means of one system into the catalogue; writing again changes nothing.

    They are recorded as measurements of the run, and are not computed from its answers.
    """
    recorder = Recorder(store.iris, run.run_id, run.pass_id)
    metrics = kb.policy(POLICY).metrics
    content = []
    for (name, language), value in files.averages.items():
        full_name = f"{name}-{language}" if language else name
        node = f"<{recorder.evaluation_pass}/average/{full_name}>"
        content += [
            f"{node} <{kb.RDF.type}> <{DQV.QualityMeasurement}> .",
            f"{node} <{SKOS.notation}> {string(name)} .",
            f"{node} <{DQV.computedOn}> <{recorder.run}> .",
            f"{node} <{DQV.value}> {double(value)} .",
        ]
        if name in metrics:
            content.append(f"{node} <{DQV.isMeasurementOf}> <{metrics[name].iri}> .")
        if language:
            content.append(f"{node} <{DCTERMS.language}> {string(language)} .")
    store.write([Block(store.iris.catalogue, content)])
