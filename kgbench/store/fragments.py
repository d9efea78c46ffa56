# SPDX-License-Identifier: Apache-2.0
"""IRIs of dialogues and their parts in publications: fragments of existing documents.

A store identifies dialogues, prompts, calls, answers, evaluations and texts by paths. A file server
does not have a file for each of them. Therefore a publication uses fragments: of the document of
the task execution for dialogues and their parts, of an index for texts of a run, of the document of
an analysis or invalidation for its parts, and of the document of a pass for a person's verdicts. An
import converts them back to paths.

>>> dialogue = "https://example.org/run/r1/oracle/Spell/0-d1d1d1d1"
>>> published_iri(dialogue, {})
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1'
>>> published_iri(f"{dialogue}/0/call/1", {})
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-call-1'
>>> evaluation = "https://example.org/pass/p1/oracle/Spell/0-d1d1d1d1/0"
>>> runs = {"https://example.org/pass/p1": "https://example.org/run/r1"}
>>> published_iri(evaluation, runs)
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-evaluation-p1'
>>> recorded_iri(published_iri(evaluation, runs)) == evaluation
True
>>> published_iri(f"{evaluation}/verdict/1", runs)
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-judged-1-p1'
>>> published_iri("https://example.org/pass/p2/verdict/v1", {})
'https://example.org/pass/p2#verdict-v1'
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping

_EXECUTION = r"[^/#]+/[^/#]+"
_NAME = r"[0-9]+-[0-9a-z]+(?:\.[0-9]+)?"
_DIALOGUE = re.compile(rf"((?:.*/)?run/[^/#]+/{_EXECUTION})/({_NAME})")
_PART = re.compile(rf"(.*/run/[^/#]+/{_EXECUTION})/({_NAME})/([0-9]+)/([a-z]+(?:/[0-9a-z]+)*)")
_WITHIN = r"(?:/([0-9]+)(/verdict(?:/[0-9]+)?)?)?"
_EVALUATION = re.compile(rf"((.*/)pass/([^/#]+))/({_EXECUTION})/({_NAME}){_WITHIN}")
_DECIDED = re.compile(r"(.*/pass/[^/#]+)(/verdict)/([^/#]+)(/[0-9]+)?")
_TEXT = re.compile(r"(.*/run/[^/#]+/text)/([0-9a-z]*([0-9a-z]))")

_OWN_GRAPH = re.compile(r"(.*/(?:analysis|invalidation)/[^/#]+)/([^#]+)")

_OF_DIALOGUE = re.compile(rf"(.*/run/[^/#]+/{_EXECUTION})#({_NAME})")
_OF_PART = re.compile(rf"(.*/run/[^/#]+/{_EXECUTION})#({_NAME})-([0-9]+)-([a-z]+(?:-[0-9a-z]+)*)")
_KIND = r"(evaluation|verdict|judged-[0-9]+)"
_WHICH = rf"(?:([0-9]+)-)?{_KIND}-([^/#]+)"
_OF_EVALUATION = re.compile(rf"(.*/)run/[^/#]+/({_EXECUTION})#({_NAME})-{_WHICH}")
_OF_FOREIGN = re.compile(rf"(.*/)thing/[0-9a-f]{{24}}#{_WHICH}/({_EXECUTION}/{_NAME})")
_OF_DECIDED = re.compile(rf"(.*/pass/[^/#]+)#{_KIND}-([^/#]+)")
_OF_OWN_GRAPH = re.compile(r"(.*/(?:analysis|invalidation)/[^/#]+)#([^#]+)")
_OF_TEXT = re.compile(r"(.*/run/[^/#]+/text)/[0-9a-z]#([0-9a-z]+)")
_FOREIGN_PLACE = re.compile("thing/[0-9a-f]{24}")
_IN_DIALOGUE = re.compile(rf"(.*/run/[^/#]+/{_EXECUTION}#{_NAME})(?:-.*)?")


def published_iri(iri: str, runs: Mapping[str, str]) -> str:
    """Return the published IRI, with a fragment, of a dialogue or part; other IRIs are unchanged.

    ``runs`` maps passes (IRIs) to their runs (IRIs). An evaluation of any other pass keeps its IRI.
    If run and pass have different bases, the evaluation is in the document about the task execution
    below the base of the pass.
    """
    match = _EVALUATION.fullmatch(iri) if "pass/" in iri else None
    if match is not None:
        return _of_dialogue(match, runs.get(match[1]))
    for segment, names in _PUBLISHED:
        if segment in iri:
            for pattern, name in names:
                match = pattern.fullmatch(iri)
                if match is not None:
                    return name(match)
    return iri


def _of_dialogue(match: re.Match[str], run: str | None) -> str:
    """Return the published IRI of an evaluation or verdict; ``run`` is the run of its pass."""
    _, base, name, path, dialogue, number, verdict = match.groups()
    if run is None:
        return match[0]
    which = f"{'' if number is None else f'{number}-'}{_kind(verdict)}-{name}"
    if run.startswith(f"{base}run/"):
        return f"{run}/{path}#{dialogue}-{which}"
    return f"{base}{foreign_place(f'{run}/{path}')}#{which}/{path}/{dialogue}"


def recorded_iri(iri: str) -> str:
    """Return the IRI in a store of what is published as ``iri``; other IRIs are unchanged."""
    if "#" in iri:
        for pattern, name in _RECORDED:
            match = pattern.fullmatch(iri)
            if match is not None:
                return name(match)
    return iri


def _kind(verdict: str | None) -> str:
    """Return the kind of a part of a pass, from the end of its path.

    It is an evaluation, a verdict, or one of the dialogues that the verdict is about.
    """
    if verdict is None:
        return "evaluation"
    last = verdict.rpartition("/")[2]
    return f"judged-{last}" if last.isdecimal() else "verdict"


def _evaluation(base: str, path: str, number: str | None, kind: str, name: str) -> str:
    """Return the IRI in a store of an evaluation, verdict or judged dialogue."""
    within = "" if number is None else f"/{number}"
    verdict = "" if kind == "evaluation" else f"/verdict{_place(kind)}"
    return f"{base}pass/{name}/{path}{within}{verdict}"


def _place(kind: str) -> str:
    """Return the last part of the path of a judged dialogue, which follows that of its verdict."""
    return "" if kind == "verdict" else f"/{kind.removeprefix('judged-')}"


_Names = tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]
#: By the segments of paths that an IRI contains; finding these is quicker than a match.
_PUBLISHED: tuple[tuple[str, _Names], ...] = (
    (
        "run/",
        (
            (_DIALOGUE, lambda it: f"{it[1]}#{it[2]}"),
            (_PART, lambda it: f"{it[1]}#{it[2]}-{it[3]}-{it[4].replace('/', '-')}"),
            (_TEXT, lambda it: f"{it[1]}/{it[3]}#{it[2]}"),
        ),
    ),
    ("pass/", ((_DECIDED, lambda it: f"{it[1]}#{_kind(it[2] + (it[4] or ''))}-{it[3]}"),)),
    ("analysis/", ((_OWN_GRAPH, lambda it: f"{it[1]}#{it[2]}"),)),
    ("invalidation/", ((_OWN_GRAPH, lambda it: f"{it[1]}#{it[2]}"),)),
)
_RECORDED: _Names = (
    (_OF_TEXT, lambda it: f"{it[1]}/{it[2]}"),
    (
        _OF_EVALUATION,
        lambda it: _evaluation(it[1], f"{it[2]}/{it[3]}", it[4], it[5], it[6]),
    ),
    (_OF_FOREIGN, lambda it: _evaluation(it[1], it[5], it[2], it[3], it[4])),
    (_OF_DECIDED, lambda it: f"{it[1]}/verdict/{it[3]}{_place(it[2])}"),
    (_OF_OWN_GRAPH, lambda it: f"{it[1]}/{it[2]}"),
    (_OF_PART, lambda it: f"{it[1]}/{it[2]}/{it[3]}/{it[4].replace('-', '/')}"),
    (_OF_DIALOGUE, lambda it: f"{it[1]}/{it[2]}"),
)


def dialogue(iri: str) -> str | None:
    """Return the published dialogue of a published ``iri`` (itself or a part), or ``None``.

    >>> dialogue("https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-answer")
    'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1'
    """
    match = _IN_DIALOGUE.fullmatch(iri)
    return None if match is None else match[1]


def dialogue_part(dialogue: str, path: str) -> str:
    """Return the IRI of the part of a dialogue with this path, also of a published dialogue.

    >>> dialogue_part("https://example.org/run/r1/oracle/Spell#0-d1d1d1d1", "0/answer")
    'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-answer'
    """
    return f"{dialogue}-{path.replace('/', '-')}" if "#" in dialogue else f"{dialogue}/{path}"


def fragment(iri: str) -> str:
    """Return the fragment (HTML id) of a dialogue or evaluation on a page.

    A published IRI contains it. An evaluation of a store only appears on the page of its dialogue.
    """
    if "#" in iri:
        return iri.partition("#")[2]
    match = _EVALUATION.fullmatch(iri)
    if match is None:
        digest = hashlib.sha256(iri.encode("utf-8", "surrogatepass")).hexdigest()
        return f"e-{digest[:12]}"
    number = match[6]
    return f"{'' if number is None else f'{number}-'}{_kind(match[7])}-{match[3]}"


def foreign_place(iri: str) -> str:
    """Return the path, below a site's base, of a document about a resource with another base."""
    return f"thing/{hashlib.sha256(iri.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def is_foreign_place(path: str) -> bool:
    """Return whether a path is one of :func:`foreign_place`."""
    return _FOREIGN_PLACE.fullmatch(path) is not None
