# SPDX-License-Identifier: Apache-2.0
"""Why a dialogue came out otherwise than before: computed by judging it with the other engine.

Where the other engine still gives the earlier scores, the difference is one between the engines,
and the first round that they judge differently says which.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from kgbench.execution import scope
from kgbench.execution.dialogues import judged
from kgbench.execution.judging import JudgeLimits
from kgbench.model import Case, Dialogue, Json, Outcome, Verdict
from kgbench.record.reading import Seen
from kgbench.reevaluation import policy_causes
from kgbench.reevaluation.comparison import UNEXPLAINED, DialogueScores, same
from kgbench.tasks import catalogue

STRICTER = "stricter grammar"
SCOPE = "scope rule"
LAXER = "more tolerant engine"
LIMIT = policy_causes.LIMIT
SEMANTICS = policy_causes.SEMANTICS
UNJUDGED = "not judged"
NOT_BEFORE = "not scored before"
REPAIR = "repair of the answer"

_PATIENCE = 10.0  # seconds for the other engine
_TITLES = {"oxigraph": "Oxigraph", "rdflib": "rdflib"}
_PARSED = ("answerParse", "parsableSyntax")


class Differing(NamedTuple):
    """A dialogue that came out otherwise.

    ``entry`` is its entry in the report, ``before`` its earlier scores by round and short name,
    ``new`` the short names of metrics that nothing had then, ``verdicts`` are those of now,
    ``published`` says whether others published the earlier scores, and ``noted`` is what was
    published with them.
    """

    entry: dict[str, Json]
    dialogue: Dialogue
    case: Case
    verdicts: list[Verdict]
    before: DialogueScores
    new: frozenset[str]
    published: bool
    noted: Mapping[str, Json]


def explain(
    differing: Sequence[Differing], executor: concurrent.futures.Executor, limits: JudgeLimits
) -> None:
    """Enter the cause of each difference into the report.

    ``limits`` are those of the verdicts. The other engine judges each dialogue once more.
    """
    other = "rdflib" if limits.engine == "oxigraph" else "oxigraph"
    patience = replace(limits, engine=other, seconds=min(limits.seconds, _PATIENCE))
    engines = (_TITLES[limits.engine], _TITLES[other])
    for one in differing:
        one.entry["cause"] = f"{NOT_BEFORE}: the compared pass has no score of the dialogue"
    scored = [one for one in differing if any(seen.scores for seen in one.before.values())]
    todo = [(one.dialogue, one.case) for one in scored]
    for one, (_, theirs) in zip(scored, judged(todo, executor, patience), strict=True):
        rounds = enumerate(one.dialogue.judged)
        before = {place: one.before[k] for place, k in rounds if k in one.before}
        by_policy = one.published and "policy" in one.verdicts[-1].infos
        known = (one.case, one.verdicts, before, one.noted)
        if by_policy and (shown := policy_causes.shown(*known)):
            one.entry["cause"] = shown
            continue
        found = cause(
            before,
            one.verdicts,
            theirs,
            engines=engines,
            new=one.new,
            published=one.published,
        )
        # That rdflib is slower says nothing of the engine that others used.
        if by_policy and found.partition(":")[0] in {UNEXPLAINED, LIMIT}:
            found = policy_causes.likely(*known) or UNEXPLAINED
        one.entry["cause"] = _by_task_class(one, before) if found == UNEXPLAINED else found


def _by_task_class(one: Differing, before: Mapping[int, Seen]) -> str:
    """What the task class knows of rules that published values followed, where it knows any."""
    explained = getattr(catalogue.module(one.case.task_class), "explained", None)
    if explained is None or not before or not one.published:
        return UNEXPLAINED
    k = max(before)
    answer = one.dialogue.answers[one.dialogue.judged[k]]
    found: str | None = explained(one.case, answer, before[k].scores)
    return found or UNEXPLAINED


def cause(
    before: Mapping[int, Seen],
    now: Sequence[Verdict],
    other: Sequence[Verdict],
    *,
    engines: tuple[str, str] = ("Oxigraph", "rdflib"),
    new: Collection[str] = (),
    published: bool = True,
) -> str:
    """Why ``now`` differs from ``before`` (evaluations by round, with scores by short name).

    ``now`` and ``other`` are the verdicts of the two ``engines``; metrics in ``new`` are no matter;
    ``published`` says that others published ``before``. The answer begins with one of the constants
    of this module and says more behind a colon. It is ``"unexplained"`` where the engines do not
    explain the difference: the answer, the case or the rule is another one than before.
    """
    for k, (ours, theirs) in enumerate(zip(now, other, strict=True)):
        earlier = before.get(k)
        if _agrees(ours, earlier, new):
            continue
        if ours.outcome is Outcome.EVALUATOR_ERROR:
            return f"{UNJUDGED}: {ours.infos.get('message', 'no message')}"
        if earlier is None or not earlier.scores:
            return f"{NOT_BEFORE}: the compared pass has no score of the answer of round {k}"
        if Outcome.TIMEOUT in (ours.outcome, theirs.outcome):
            late = engines[theirs.outcome is Outcome.TIMEOUT]
            return f"{LIMIT}: {late} exceeds the limit on the answer of round {k}"
        if _agrees(theirs, earlier, new):
            return _difference(k, ours, theirs, engines)
        removed = ours.infos.get("removedLines")
        if published and removed:
            return (
                f"{REPAIR}: the answer of round {k} parses after {removed} of its lines are "
                "removed; which lines the published runs removed is not known"
            )
        break
    return UNEXPLAINED


def _difference(k: int, ours: Verdict, theirs: Verdict, engines: tuple[str, str]) -> str:
    here, there = engines
    accepted = [_accepted(ours), _accepted(theirs)]
    if accepted == [False, True]:
        message = _message(ours)
        rule = SCOPE if scope.ERROR in message else STRICTER
        return f"{rule}: {here} refuses the answer of round {k}: {message}"
    if accepted == [True, False]:
        return f"{LAXER}: {there} refuses the answer of round {k}: {_message(theirs)}"
    found = [
        verdict.infos.get("answerResultLength", verdict.infos.get("resultLength"))
        for verdict in (ours, theirs)
    ]
    exception = ours.infos.get("EvaluationException")
    if exception:
        return f"{STRICTER}: {here} does not execute the query of round {k}: {exception}"
    return f"{SEMANTICS}: {here} finds {found[0]} rows in round {k}, {there} {found[1]}"


def _accepted(verdict: Verdict) -> bool:
    return all(verdict.scores.get(name, 1.0) == 1.0 for name in _PARSED)


def _message(verdict: Verdict) -> str:
    said = verdict.infos.get("parseError") or verdict.infos.get("syntaxError") or "no message"
    return str(said).splitlines()[0]


def _agrees(verdict: Verdict, earlier: Seen | None, new: Collection[str]) -> bool:
    scores = {name: value for name, value in verdict.scores.items() if name not in new}
    if earlier is None:
        return not scores
    return scores.keys() == earlier.scores.keys() and all(
        same(earlier.scores[name], value, earlier.decimals) for name, value in scores.items()
    )
