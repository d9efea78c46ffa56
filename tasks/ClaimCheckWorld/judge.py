# SPDX-License-Identifier: Apache-2.0
"""ClaimCheckWorld: decide whether a graph about a world entails or contradicts a claim.

Each clause of an answer is read for signs of a verdict, which a negation denies for the rest of its
clause ("neither entails nor contradicts"), and which are about the other verdict where the negation
of the claim is meant ("its negation follows"). What could mean two verdicts is none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    OWL,
    Case,
    DrawnFamily,
    Executor,
    Json,
    Outcome,
    Task,
    Verdict,
    serialise,
    world_of,
)
from kgbench.worlds import generator, questions

from .cases import CONTRADICTED, ENTAILED, UNKNOWN, VERDICTS, draw_claim

_PREFIXES: Final = {
    **questions.PREFIXES,
    "owl": str(OWL),
    "r": generator.RESOURCE,
}


_BREAK: Final = re.compile(
    r"[.:!?(){}]\s|[,;](?! (?:and |but )?(?:or|nor|neither)\b)"
    r"|\b(?:because|but(?! (?:nor|neither)\b)|since|as(?! follows)|so|hence|therefore|thus|while"
    r"|whereas|although|though|however|yet|which|then)\b"
)
# What a clause may say: kinds of signs, each with one regular expression a line. Where several
# match, the first counts. An underscore stands for the negation of the claim.
_SIGNS: Final = {
    # Both the claim and its negation.
    "joint": r"""
        both(?: \w+){0,2} and _
        (?:the claim|it) and _(?= are|$)
        (?:or|nor|neither|either)(?: (?:does|do|is|are|can|could|would))?(?: of)? _
        and _ (?:(?:does|do|is|are) not|cannot)(?: either)?$""",
    "opposite": r"""
        _
        that (?:the claim|it|this) (?:(?:is|must be) (?:false|untrue)|does not hold)
        that (?:the claim|it|this) cannot (?:be true|hold)""",
    "word for unknown": UNKNOWN,
    "open": r"""
        (?:leaves?|left|leaving)(?: \w+){0,3} (?:open|undecided|undetermined)
        (?:is|are|remains?|stays?|still) open
        ^open$
        undetermined|undecided|undecidable|indeterminate|inconclusive|uncertain|unresolved|neutral
        silent (?:on|about)
        either way
        (?:not(?: \w+)? enough|insufficient|no)(?: \w+)? (?:information|evidence|data)
        (?:not|cannot|impossible to|no way to|unable to)(?: possible to| \w+ly)? (?:DECIDE)
        says? nothing (?:about|on) (?:it|this|that|the claim|whether)
        may or may not(?: be true| hold)?
        (?:may|might|could|can) be (?:either )?(?:true or false|false or true)
        both (?:are|remain) possible
        neither true nor false""",
    "word for contradicted": CONTRADICTED,
    "word for entailed": ENTAILED,
    "maybe": r"""
        (?:may|might|could|can|would)(?: \w+)? (?:be (?:true|the case|correct)|hold)
        (?:is|are|remains?) (?:\w+ly )?possible(?! to)
        (?:consistent|compatible) with
        satisfiable""",
    "maybe not": r"(?:may|might|could|can|would)(?: \w+)? (?:be (?:false|wrong|untrue)|not hold)",
    "contradicted": r"""
        contradict(?:s|ing|ions?|ory)?
        (?:in )?conflict(?:s|ing)?|clash(?:es)?|inconsistent|incompatible|violates?|precludes?
        refut(?:es?|ed|ing|able)|disprov(?:es?|ed|en|able)
        rul(?:es?|ed|ing)(?: \w+){0,3} out
        excludes? (?:it|this|that|the claim)
        (?:is|be) (?:excluded|precluded|impossible)
        (?:cannot|could not|must not)(?: \w+ly)? (?:be (?:true|the case|correct|right)|hold)
        (?:is|be|are)(?: \w+ly| also| always)* (?:false|untrue)
        (?:makes?|making)(?: \w+){1,2} false""",
    "entailed": r"""
        entail(?:s|ing|ment)?|impl(?:y|ies|ied)|holds?
        (?<!as )follows?(?: \w+ly)?(?! (?:that|the)\b)
        (?:is|be|are)(?: \w+ly| also| always)* (?:true|the case|correct|supported)
        (?:cannot|could not|must not)(?: \w+ly)? be (?:false|untrue)
        confirmed|verified|proved|proven|shown|derived|inferred|deduced|derivable|provable
        be concluded
        a(?: \w+)? consequence
        (?:supports?|confirms?|proves?|guarantees?)(?= (?:it|this|that|the claim|neither|_))
        (?:makes?|making)(?: \w+){1,2} true""",
    "not": r"""
        not(?! (?:only|just|merely)\b)
        (?:no|without)(?! (?:a )?(?:doubt|question)\b)
        neither|nor|never|cannot|none|nothing|fails? to|unable""",
    "and": "and|but",
    "doubt": r"""
        whether|if|unless|may|might|perhaps|possibly
        (?:can|could)(?= (?:follow|entail|imply))
        would(?! (?:\w+ )?(?:contradict|conflict|violate|clash|be (?:an? |in|false|impossible)))""",
}
_OPPOSITE: Final = (
    r"(?:(?:its|the|their) )?(?:negation|negated claim|opposite|contrary|denial|complement)"
)
_DECIDE: Final = (
    r"(?:determine|decide|settle|tell|resolve|say|establish|specify|state)(?= (?:whether|if)\b)"
    r"|(?:determine|decide|tell)(?= (?:from|by|with|on)\b|$)"
    r"|be (?:\w+ly )?(?:determined|decided|settled|resolved|known|judged|told)|known"
)


def _pattern(kind: str, lines: str) -> str:
    choice = "|".join(lines.split("\n        ")).strip("|")
    choice = re.sub(r"(?<!\w)_", lambda _: _OPPOSITE, choice).replace("DECIDE", _DECIDE)
    return f"(?P<{kind.replace(' ', '_')}>{choice})"


_TOKEN: Final = re.compile(
    rf"(?<![^\W_])(?:{'|'.join(_pattern(*sign) for sign in _SIGNS.items())})(?![^\W_])"
)
_DENIAL: Final = re.compile("n(?:or|ot|either)")
_OTHER: Final = {ENTAILED: CONTRADICTED, CONTRADICTED: ENTAILED, UNKNOWN: UNKNOWN}


class _Sign(NamedTuple):
    verdict: str
    affirmed: bool
    word: bool  # one of the three words of the prompt


def read_verdict(answer: str) -> str | None:
    """Return the one verdict that an answer gives; ``None`` if it gives none, or several.

    Where an answer has one of the three words of the prompt, only these count. Where all that it
    says is which verdicts are wrong, the only other one is meant.

    >>> read_verdict("**Entailed**, as the opposite would be a contradiction")
    'entailed'
    >>> read_verdict("The graph rules it out.")
    'contradicted'
    >>> read_verdict("Neither the claim nor its negation follows.")
    'unknown'
    >>> read_verdict("The claim does not follow.")
    """
    signs = [sign for clause in _clauses(answer) for sign in _signs(clause)]
    found = {sign.verdict for sign in signs if sign.affirmed and sign.word}
    found = found or {sign.verdict for sign in signs if sign.affirmed}
    if not found and signs:
        found = set(VERDICTS) - {sign.verdict for sign in signs}
    return found.pop() if len(found) == 1 else None


def _clauses(answer: str) -> list[str]:
    text = re.sub(r"[*_`\"\u201c\u201d]", "", answer.lower().replace("\u2019", "'"))
    text = " ".join(re.sub(r"\n\s*\n", ". ", text).split())
    for short, long in (("can't", "cannot"), ("can not", "cannot"), ("n't", " not")):
        text = text.replace(short, long)
    return [clause.strip(" .,") for clause in _BREAK.split(text + " ")]


def _signs(clause: str) -> Iterator[_Sign]:
    tokens = [(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(clause)]
    joint = " ".join(text for kind, text in tokens if kind == "joint")
    is_opposite = any(kind == "opposite" for kind, _ in tokens)
    is_negated = is_doubtful = False
    for kind, _ in tokens:
        if kind in {"not", "and"}:
            is_negated = kind == "not"
        elif kind == "doubt":
            is_doubtful = True
        elif kind in {"open", "word_for_unknown"}:
            yield _Sign(UNKNOWN, not is_negated, kind != "open")
        elif kind not in {"joint", "opposite"} and not is_doubtful:
            is_entailed = kind in {"entailed", "word_for_entailed", "maybe_not"}
            verdict = ENTAILED if is_entailed else CONTRADICTED
            is_denied = is_negated or _DENIAL.search(joint) is not None
            affirmed = is_denied if kind.startswith("maybe") else not is_denied
            for one in {verdict, _OTHER[verdict]} if joint else {verdict}:
                about = _OTHER[one] if is_opposite else one
                yield _Sign(about, affirmed, kind.startswith("word"))


class ClaimCheckWorld(DrawnFamily):
    """Claims about the seed's world, each with a graph of its own."""

    shows = ("claim", "graph")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a claim with its graph and verdict."""
        parameters = task.parameters
        claim = draw_claim(world_of(task, seed), parameters["level"], number, parameters["things"])
        triples = [quad.triple for quad in ox.parse("\n".join(claim.graph), ox.RdfFormat.N_TRIPLES)]
        return {
            "graph": serialise(triples, "turtle", _PREFIXES),
            "claim": claim.words,
            "claimTriples": list(claim.triples),
            "verdict": claim.verdict,
        }

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the verdict in the last answer with the right one."""
        answer = answers[-1]
        verdict = read_verdict(answer)
        expected = case.data["verdict"]
        scores = {
            "correct": float(verdict == expected),
            "overclaiming": float(expected == UNKNOWN and verdict not in {None, expected}),
            "abstaining": float(expected != UNKNOWN and verdict == UNKNOWN),
        }
        infos = {"verdict": verdict, "expected": expected}
        if verdict is not None:
            return Verdict(scores, infos, Outcome.SCORED)
        return Verdict(scores, infos, Outcome.UNPARSABLE if answer.strip() else Outcome.EMPTY)

    def guess(self, case: Case, chance: Random) -> str:
        """Return one of the three words at random."""
        return chance.choice(sorted(VERDICTS))

    def chance_level(self, case: Case) -> float:
        """Return the mean of the main metric over guesses: one word in three is right."""
        return 1 / len(VERDICTS)

    def reference(self, case: Case) -> str:
        """Return the right word."""
        return str(case.data["verdict"])


family: Final = ClaimCheckWorld(__file__)
