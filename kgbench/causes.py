# SPDX-License-Identifier: Apache-2.0
"""Why a dialogue came out otherwise than before: computed by judging it with the other engine.

The published scores were computed with rdflib. Where rdflib still gives the earlier scores, the
difference is one between the engines, and the first round that they judge differently says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kgbench.comparison import TOLERANCE
from kgbench.execution import scope
from kgbench.model import Outcome, Verdict

STRICTER = "stricter grammar"
SCOPE = "scope rule"
LAXER = "more tolerant engine"
LIMIT = "limit"
SEMANTICS = "semantics"
UNJUDGED = "not judged"

_PARSED = ("answerParse", "parsableSyntax")


def cause(
    before: Mapping[int, Mapping[str, float]],
    now: Sequence[Verdict],
    other: Sequence[Verdict],
) -> str | None:
    """Why ``now`` differs from ``before`` (scores by round and short name), or ``None``.

    ``other`` are the verdicts of the engine that ``before`` was made with. The answer begins with
    one of the constants of this module; an answer that could not be judged says itself why.
    ``None`` means that the engines do not explain it: the answer, the case or the rule is another
    one than before.
    """
    for k, (ours, theirs) in enumerate(zip(now, other, strict=True)):
        if _same(ours.scores, before.get(k, {})):
            continue
        if ours.outcome is Outcome.EVALUATOR_ERROR:
            return f"{UNJUDGED}: {ours.infos.get('message', 'no message')}"
        if Outcome.TIMEOUT in (ours.outcome, theirs.outcome):
            late = "rdflib" if theirs.outcome is Outcome.TIMEOUT else "Oxigraph"
            return f"{LIMIT}: {late} exceeds the limit on the answer of round {k}"
        if not _same(theirs.scores, before.get(k, {})):
            return None
        return _difference(k, ours, theirs)
    return None


def _difference(k: int, ours: Verdict, theirs: Verdict) -> str:
    accepted = [_accepted(ours), _accepted(theirs)]
    if accepted == [False, True]:
        message = _message(ours)
        rule = SCOPE if scope.ERROR in message else STRICTER
        return f"{rule}: Oxigraph refuses the answer of round {k}: {message}"
    if accepted == [True, False]:
        return f"{LAXER}: rdflib refuses the answer of round {k}: {_message(theirs)}"
    found = [verdict.infos.get("answerResultLength") for verdict in (ours, theirs)]
    exception = ours.infos.get("EvaluationException")
    if exception:
        return f"{STRICTER}: Oxigraph does not execute the query of round {k}: {exception}"
    return f"{SEMANTICS}: Oxigraph finds {found[0]} rows in round {k}, rdflib {found[1]}"


def _accepted(verdict: Verdict) -> bool:
    return all(verdict.scores.get(name, 1.0) == 1.0 for name in _PARSED)


def _message(verdict: Verdict) -> str:
    said = verdict.infos.get("parseError") or verdict.infos.get("syntaxError") or "no message"
    return str(said).splitlines()[0]


def _same(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    return one.keys() == other.keys() and all(
        abs(value - other[name]) <= TOLERANCE for name, value in one.items()
    )
