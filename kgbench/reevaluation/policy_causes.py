# SPDX-License-Identifier: Apache-2.0
"""Causes of differences between published scores and a comparison policy with the same rule.

Others executed the queries with another engine. Known facts come first: the error or the numbers of
rows that were published with the score, and the error of the local engine. Features of queries that
engines treat differently come last, because they are only read from the query texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kgbench.execution import query_traits
from kgbench.model import Case, Json, Outcome, Verdict
from kgbench.rdf import lexer
from kgbench.record.reading import ScoredEvaluation

OTHER_ENGINE: Final = "other engine"
REFUSED: Final = "refused here"
UNDECLARED: Final = "undeclared prefix"
TIE: Final = "tie at a limit"
LIMIT: Final = "limit"
SEMANTICS: Final = "semantics"


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
    causes = [trait for trait in _traits(case, verdict) if trait.startswith(query_traits.LIMIT)]
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
    traits_by_query = [query_traits.traits(text) for _, text in _queries(case, verdict)]
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


_LONGEST: Final = 200
