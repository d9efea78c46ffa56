# SPDX-License-Identifier: Apache-2.0
"""Rules that combine several verdicts into one, declared in the folder ``rubrics``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from kgbench import resources
from kgbench.errors import ResourceError, TaskError
from kgbench.judges.rubrics import Rubric
from kgbench.nearest import nearest
from kgbench.rdf.declared import Declared
from kgbench.vocab import KGB, RDFS, SKOS

SAMPLES = "plurality"
"""The rule for the repeated samples of one judge."""
_DECISION_METHODS = ("votes", "median")
_TIES = ("nothing", "lower")


class NoVerdictReason(StrEnum):
    """Reasons why verdicts cannot be combined."""

    FEW = "few"  # fewer verdicts than the rule asks for
    TIE = "tie"
    SHARE = "share"  # no option has the share that the rule asks for
    CANNOT_TELL = "cannot tell"


class AggregatedVerdict(NamedTuple):
    """The name of the option that verdicts are combined into, or the reason for none."""

    option: str | None
    reason: NoVerdictReason | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of aggregation.

    ``decides_by`` is ``votes`` or ``median`` (of the options' values). The winning option needs a
    share of the votes (0 to 1) greater than ``share_above`` and of at least ``least_share``. With
    ``cannot_tell_counts`` a verdict "cannot tell" is a vote; otherwise it is left out.
    ``tie_gives`` is ``nothing``, or ``lower``: a median then is the lower of the two middle
    verdicts. At least ``least_verdicts`` verdicts are required.
    """

    iri: str
    name: str
    label: str
    definition: str
    decides_by: str
    share_above: float
    least_share: float
    cannot_tell_counts: bool
    tie_gives: str
    least_verdicts: int

    def combine(self, votes: Sequence[str], rubric: Rubric) -> AggregatedVerdict:
        """Combine ``votes``, names of options of a rubric, in any order."""
        decided = [vote for vote in votes if vote != rubric.undecided]
        if self.decides_by == "median":
            return self._median(decided, rubric)
        counted = list(votes) if self.cannot_tell_counts else decided
        if len(counted) < self.least_verdicts:
            return AggregatedVerdict(
                None,
                NoVerdictReason.CANNOT_TELL if len(votes) > len(counted) else NoVerdictReason.FEW,
            )
        (option, top_count), *others = Counter(sorted(counted)).most_common()
        if any(count == top_count for _, count in others):
            return AggregatedVerdict(None, NoVerdictReason.TIE)
        share = top_count / len(counted)
        if share <= self.share_above or share < self.least_share:
            return AggregatedVerdict(None, NoVerdictReason.SHARE)
        if option == rubric.undecided:
            return AggregatedVerdict(None, NoVerdictReason.CANNOT_TELL)
        return AggregatedVerdict(option)

    def _median(self, decided: Sequence[str], rubric: Rubric) -> AggregatedVerdict:
        values = {o.name: o.value for o in rubric.options if o.value is not None}
        positions = {option.name: k for k, option in enumerate(rubric.options)}
        ranked = sorted((values[v], positions[v], v) for v in decided if v in values)
        if len(ranked) < self.least_verdicts:
            return AggregatedVerdict(None, NoVerdictReason.FEW)
        lower, upper = ranked[(len(ranked) - 1) // 2], ranked[len(ranked) // 2]
        if lower[2] != upper[2] and self.tie_gives == "nothing":
            return AggregatedVerdict(None, NoVerdictReason.TIE)
        return AggregatedVerdict(lower[2])


def rule(name: str) -> Rule:
    """Return the rule called ``name``.

    Raises :class:`~kgbench.errors.TaskError`, with the known names, for an unknown one.
    """
    known = rules()
    if name not in known:
        listed = ", ".join(known)
        hint = nearest(name, known)
        raise TaskError(f"there is no rule of aggregation '{name}': {hint}; there are: {listed}")
    return known[name]


@cache
def rules() -> Mapping[str, Rule]:
    """Return every declared rule by name."""
    declared = Declared(resources.path("rubrics", "aggregations.ttl"))
    declared_rules = [_rule(declared, node) for node in declared.instances(KGB.AggregationRule)]
    return {declared_rule.name: declared_rule for declared_rule in declared_rules}


def _rule(declared: Declared, node: Any) -> Rule:
    result = Rule(
        iri=node.value,
        name=declared.required(node, SKOS.notation),
        label=declared.required(node, RDFS.label),
        definition=declared.required(node, SKOS.definition),
        decides_by=declared.required(node, KGB.decidesBy),
        share_above=declared.read(node, KGB.shareAbove, float) or 0.0,
        least_share=declared.read(node, KGB.leastShare, float) or 0.0,
        cannot_tell_counts=bool(declared.required_value(node, KGB.cannotTellCounts)),
        tie_gives=declared.required(node, KGB.tieGives),
        least_verdicts=declared.required_as(node, KGB.leastVerdicts, int),
    )
    if result.decides_by not in _DECISION_METHODS or result.tie_gives not in _TIES:
        raise ResourceError(
            f"{node}: a rule decides by {_DECISION_METHODS} and a tie gives {_TIES}"
        )
    return result
