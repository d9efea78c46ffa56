# SPDX-License-Identifier: Apache-2.0
"""Causes of differences between evaluations, found by judging the dialogue with the other engine.

If the other engine still gives the earlier scores, the difference is one between the engines; the
first round that they judge differently shows its kind.

Where others published the scores of a comparison policy, they executed the queries with another
engine. Known facts come first: the error or the numbers of rows that were published with the score,
and the error of the local engine. Features of queries that engines treat differently come last,
because they are only read from the query texts.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, NamedTuple

from kgbench.execution import oxigraph
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import judge_dialogues
from kgbench.model import Case, Dialogue, Json, Outcome, Verdict
from kgbench.policies.ties import parse_ranking
from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind, Token, tokens
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation.comparison import UNEXPLAINED, DialogueScores, is_same_value
from kgbench.tasks import catalogue

STRICTER = "stricter grammar"
SCOPE = "scope rule"
LAXER = "more tolerant engine"
UNJUDGED = "not judged"
NOT_BEFORE = "not scored before"
REPAIR = "repair of the answer"

_OTHER_ENGINE_SECONDS = 10.0  # seconds for the other engine
_TITLES = {"oxigraph": "Oxigraph", "rdflib": "rdflib"}
_PARSED = ("answerParse", "parsableSyntax")
OTHER_ENGINE: Final = "other engine"
REFUSED: Final = "refused here"
UNDECLARED: Final = "undeclared prefix"
TIE: Final = "tie at a limit"
LIMIT: Final = "limit"
SEMANTICS: Final = "semantics"
_LONGEST: Final = 200
UNORDERED: Final = "limit without order"
PATH: Final = "property path"
COUNT: Final = "count of all"
ORDER: Final = "order of terms"
_WORDS: Final = {
    UNORDERED: "LIMIT without ORDER BY leaves the choice of rows to the engine",
    PATH: "paths of any length count their solutions once in SPARQL 1.1, and not in all engines",
    COUNT: "COUNT(*) with optional parts is counted otherwise by some engines",
    ORDER: "< and > between IRIs are errors in SPARQL 1.1, and not in all engines",
}
_SILENT: Final = frozenset((Kind.BLANK, Kind.COMMENT))
_LONG: Final = frozenset("*+")


class DifferingDialogue(NamedTuple):
    """A dialogue whose new scores differ from the earlier ones.

    ``entry`` is its entry in the report, ``verdicts`` are the new verdicts, ``before`` the earlier
    scores by round and short name, and ``new`` the short names of metrics that the earlier pass
    lacks. ``published`` is true if others published the earlier scores, and ``noted`` is the data
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
    differing: Sequence[DifferingDialogue],
    executor: concurrent.futures.Executor,
    limits: JudgeLimits,
) -> None:
    """Enter the cause of each difference into the report.

    ``limits`` are those of the new verdicts. The other engine judges each dialogue once more.
    """
    other = "rdflib" if limits.engine == "oxigraph" else "oxigraph"
    other_limits = replace(limits, engine=other, seconds=min(limits.seconds, _OTHER_ENGINE_SECONDS))
    engines = (_TITLES[limits.engine], _TITLES[other])
    for item in differing:
        item.entry["cause"] = f"{NOT_BEFORE}: the compared pass has no score of the dialogue"
    scored = [item for item in differing if any(seen.scores for seen in item.before.values())]
    todo = [(item.dialogue, item.case) for item in scored]
    for item, (_, theirs) in zip(
        scored, judge_dialogues(todo, executor, other_limits), strict=True
    ):
        rounds = enumerate(item.dialogue.judged)
        before = {index: item.before[k] for index, k in rounds if k in item.before}
        by_policy = item.published and "policy" in item.verdicts[-1].infos
        evidence = (item.case, item.verdicts, before, item.noted)
        if by_policy and (shown_cause := proven_cause(*evidence)):
            item.entry["cause"] = shown_cause
            continue
        found_cause = cause(
            before,
            item.verdicts,
            theirs,
            engines=engines,
            new=item.new,
            published=item.published,
        )
        # A timeout of rdflib says nothing about the engine that others used.
        if by_policy and found_cause.partition(":")[0] in {UNEXPLAINED, LIMIT}:
            found_cause = likely_cause(*evidence) or UNEXPLAINED
        item.entry["cause"] = (
            _by_task_class(item, before) if found_cause == UNEXPLAINED else found_cause
        )


def _by_task_class(item: DifferingDialogue, before: Mapping[int, ScoredEvaluation]) -> str:
    """Return the explanation of published values by the task class's function ``explained``."""
    explained = getattr(catalogue.module(item.case.task_class), "explained", None)
    if explained is None or not before or not item.published:
        return UNEXPLAINED
    k = max(before)
    answer = item.dialogue.answers[item.dialogue.judged[k]]
    explanation: str | None = explained(item.case, answer, before[k].scores)
    return explanation or UNEXPLAINED


def cause(
    before: Mapping[int, ScoredEvaluation],
    verdicts: Sequence[Verdict],
    other_verdicts: Sequence[Verdict],
    *,
    engines: tuple[str, str] = ("Oxigraph", "rdflib"),
    new: Collection[str] = (),
    published: bool = True,
) -> str:
    """Return the cause of the differences between ``verdicts`` and ``before``.

    ``before`` has evaluations by round, with scores by short name. ``verdicts`` and
    ``other_verdicts`` are those of the two ``engines``; metrics in ``new`` are ignored;
    ``published`` is true if others published ``before``. The text begins with one of the constants
    of this module, followed by details after a colon. It is ``"unexplained"`` if the engines do not
    explain the difference: then the answer, the case or the rule has changed.
    """
    for k, (ours, theirs) in enumerate(zip(verdicts, other_verdicts, strict=True)):
        earlier = before.get(k)
        if _agrees(ours, earlier, new):
            continue
        if ours.outcome is Outcome.EVALUATOR_ERROR:
            return f"{UNJUDGED}: {ours.infos.get('message', 'no message')}"
        if earlier is None or not earlier.scores:
            return f"{NOT_BEFORE}: the compared pass has no score of the answer of round {k}"
        if Outcome.TIMEOUT in (ours.outcome, theirs.outcome):
            slow_engine = engines[theirs.outcome is Outcome.TIMEOUT]
            return f"{LIMIT}: {slow_engine} exceeds the limit on the answer of round {k}"
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
        rule = SCOPE if oxigraph.SCOPE_ERROR in message else STRICTER
        return f"{rule}: {here} refuses the answer of round {k}: {message}"
    if accepted == [True, False]:
        return f"{LAXER}: {there} refuses the answer of round {k}: {_message(theirs)}"
    row_counts = [
        verdict.infos.get("answerResultLength", verdict.infos.get("resultLength"))
        for verdict in (ours, theirs)
    ]
    exception = ours.infos.get("EvaluationException")
    if exception:
        return f"{STRICTER}: {here} does not execute the query of round {k}: {exception}"
    return f"{SEMANTICS}: {here} finds {row_counts[0]} rows in round {k}, {there} {row_counts[1]}"


def _accepted(verdict: Verdict) -> bool:
    return all(verdict.scores.get(name, 1.0) == 1.0 for name in _PARSED)


def _message(verdict: Verdict) -> str:
    message = verdict.infos.get("parseError") or verdict.infos.get("syntaxError") or "no message"
    return str(message).splitlines()[0]


def _agrees(verdict: Verdict, earlier: ScoredEvaluation | None, new: Collection[str]) -> bool:
    scores = {name: value for name, value in verdict.scores.items() if name not in new}
    if earlier is None:
        return not scores
    return scores.keys() == earlier.scores.keys() and all(
        is_same_value(earlier.scores[name], value, earlier.decimals)
        for name, value in scores.items()
    )


def proven_cause(
    case: Case,
    verdicts: Sequence[Verdict],
    before: Mapping[int, ScoredEvaluation],
    noted: Mapping[str, Json],
) -> str | None:
    """Return the cause shown by an engine's error or a LIMIT that cuts through ties, or ``None``.

    ``before`` are the published scores by round, and ``noted`` is the data published with them.
    """
    verdict = verdicts[-1]
    for name, side in (("answer", "prediction"), ("reference", "target")):
        if message := _published(noted, side).get("err"):
            return f"{OTHER_ENGINE}: it does not execute the {name}: {_line(message)}"
    error = (verdict.infos.get("result") or {}).get("error")
    if verdict.outcome is Outcome.TIMEOUT:
        return f"{LIMIT}: the query of the answer takes too long here"
    if error and any(value > 0 for seen in before.values() for value in seen.scores.values()):
        return f"{REFUSED}: the engine does not execute the answer: {_line(error)}"
    causes = [trait for trait in _traits(case, verdict) if trait.startswith(UNORDERED)]
    cut = verdict.infos.get("tieAtLimit") or ()
    causes += [f"{TIE}: rows tie where the LIMIT of the {name} cuts" for name in cut]
    return causes[0] + _sizes(verdict, noted) if causes else None


def likely_cause(
    case: Case,
    verdicts: Sequence[Verdict],
    before: Mapping[int, ScoredEvaluation],
    noted: Mapping[str, Json],
) -> str | None:
    """Return the cause suggested by the texts of queries and the numbers of rows; else ``None``."""
    verdict = verdicts[-1]
    sizes = _sizes(verdict, noted)
    if traits := _traits(case, verdict):
        return traits[0] + sizes
    if not any(value for seen in before.values() for value in seen.scores.values()):
        for name, text in _queries(case, verdict):
            if prefixes := lexer.undeclared(text, {}):
                return (
                    f"{UNDECLARED}: the {name} uses '{prefixes[0]}:', which is known here without "
                    f"a declaration and not in all engines{sizes}"
                )
    return f"{SEMANTICS}: engines find other rows{sizes}" if sizes else None


def _traits(case: Case, verdict: Verdict) -> list[str]:
    """Return the features of the queries that engines treat differently."""
    traits_by_query = [traits(text) for _, text in _queries(case, verdict)]
    return [trait for of_query in traits_by_query for trait in of_query]


def _queries(case: Case, verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield the query of the answer and the reference query, as far as they exist."""
    texts = (("answer", verdict.infos.get("sparql")), ("reference", case.data.get("refSparql")))
    return ((name, text) for name, text in texts if text)


def _sizes(verdict: Verdict, noted: Mapping[str, Json]) -> str:
    """Return a text about published numbers of rows that differ from those found here."""
    texts = []
    sides = (("answer", "prediction", "resultLength"), ("reference", "target", "referenceLength"))
    for name, side, length in sides:
        theirs, ours = _published(noted, side).get("size"), verdict.infos.get(length)
        if isinstance(theirs, int) and isinstance(ours, int) and theirs != ours:
            texts.append(f"the {name} has {theirs:,} rows there and {ours:,} here")
    return f" ({'; '.join(texts)})" if texts else ""


def _published(noted: Mapping[str, Json], side: str) -> Mapping[str, Json]:
    """Return the entry about one of the two results in GRASP's evaluation files."""
    published = noted.get("published")
    entry = published.get(side) if isinstance(published, Mapping) else None
    return entry if isinstance(entry, Mapping) else {}


def _line(message: Json) -> str:
    """Return the first line of a message, shortened to a readable length."""
    lines = str(message).strip().splitlines() or ["no message"]
    return lines[0] if len(lines[0]) <= _LONGEST else f"{lines[0][:_LONGEST]}…"


def traits(query: str) -> list[str]:
    """Return the traits of ``query`` with their reasons, the most likely first.

    >>> traits("SELECT ?x { ?x ?p ?y } LIMIT 1")
    ['limit without order: LIMIT without ORDER BY leaves the choice of rows to the engine']
    """
    return [f"{name}: {_WORDS[name]}" for name in _names(query)]


def _names(query: str) -> Iterator[str]:
    read = [token for token in tokens(query) if token.kind not in _SILENT]
    ranking = parse_ranking(query)
    if ranking is not None and not ranking.keys:
        yield UNORDERED
    if any(_ends_step(one) and other.text in _LONG for one, other in pairwise(read)):
        yield PATH
    triples = zip(read, read[1:], read[2:], strict=False)
    if any(two.text in "<>" and _is_variable(one, three) for one, two, three in triples):
        yield ORDER
    if any(_is_count(*three) for three in zip(read, read[1:], read[2:], strict=False)):
        yield COUNT


def _ends_step(token: Token) -> bool:
    """Return whether a path step may end here, so that a following ``*`` or ``+`` repeats it."""
    return token.kind in {Kind.IRI, Kind.NAME}


def _is_variable(*pair: Token) -> bool:
    return all(token.kind is Kind.VARIABLE for token in pair)


def _is_count(word: Token, mark: Token, star: Token) -> bool:
    return word.text.upper() == "COUNT" and mark.text == "(" and star.text == "*"
