# SPDX-License-Identifier: Apache-2.0
"""IRIs of dialogues and their parts as publications have them: fragments of documents that exist.

A store names dialogues, prompts, calls, answers, evaluations and texts by paths. A file server has
no file for each of them. So a publication names them by a fragment of the document of their task
execution, and texts by one of an index of the run's texts. What belongs to an analysis or
invalidation is a fragment of its document, and what a person decided one of the document of the
pass. An import turns all of them into paths again, and reads publications that were made before
December 2026, in which each dialogue had a document.

>>> dialogue = "https://example.org/run/r1/oracle/Spell/0-d1d1d1d1"
>>> published(dialogue, {})
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1'
>>> published(f"{dialogue}/0/call/1", {})
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-call-1'
>>> evaluation = "https://example.org/pass/p1/oracle/Spell/0-d1d1d1d1/0"
>>> runs = {"https://example.org/pass/p1": "https://example.org/run/r1"}
>>> published(evaluation, runs)
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-evaluation-p1'
>>> recorded(published(evaluation, runs)) == evaluation
True
>>> published(f"{evaluation}/verdict/1", runs)
'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-judged-1-p1'
>>> published("https://example.org/pass/p2/verdict/v1", {})
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
_OF_PART = re.compile(
    rf"(.*/run/[^/#]+/{_EXECUTION})(?:#({_NAME})-|/({_NAME})#)([0-9]+)-([a-z]+(?:-[0-9a-z]+)*)"
)
_KIND = r"(evaluation|verdict|judged-[0-9]+)"
_WHICH = rf"(?:([0-9]+)-)?{_KIND}-([^/#]+)"
_OF_EVALUATION = re.compile(rf"(.*/)run/[^/#]+/({_EXECUTION})(?:#({_NAME})-|/({_NAME})#){_WHICH}")
_OF_FOREIGN = re.compile(rf"(.*/)thing/[0-9a-f]{{24}}#{_WHICH}/({_EXECUTION}/{_NAME})")
_OF_DECIDED = re.compile(rf"(.*/pass/[^/#]+)#{_KIND}-([^/#]+)")
_OF_OWN_GRAPH = re.compile(r"(.*/(?:analysis|invalidation)/[^/#]+)#([^#]+)")
_OF_TEXT = re.compile(r"(.*/run/[^/#]+/text)/[0-9a-z]#([0-9a-z]+)")
_IN_DIALOGUE = re.compile(rf"(.*/run/[^/#]+/{_EXECUTION}#{_NAME})(?:-.*)?")


def published(iri: str, runs: Mapping[str, str]) -> str:
    """The IRI of a dialogue or part by a fragment; what is neither keeps its IRI.

    ``runs`` has the run (IRI) of each pass (IRI). An evaluation of a pass that is not among them
    keeps its IRI. One of a run below another base than its pass is named in the document that the
    base of the pass has about the task execution.
    """
    found = _EVALUATION.fullmatch(iri)
    if found is not None:
        return _of_dialogue(found, runs.get(found[1]))
    for pattern, name in _PUBLISHED:
        found = pattern.fullmatch(iri)
        if found is not None:
            return name(found)
    return iri


def _of_dialogue(found: re.Match[str], run: str | None) -> str:
    """An evaluation or verdict in the document of its execution; ``run`` is that of its pass."""
    _, base, name, path, dialogue, number, verdict = found.groups()
    if run is None:
        return found[0]
    which = f"{'' if number is None else f'{number}-'}{_kind(verdict)}-{name}"
    if run.startswith(f"{base}run/"):
        return f"{run}/{path}#{dialogue}-{which}"
    return f"{base}{foreign_place(f'{run}/{path}')}#{which}/{path}/{dialogue}"


def recorded(iri: str) -> str:
    """The IRI by which a store names what is published as ``iri``; others stay."""
    if "#" in iri:
        for pattern, name in _RECORDED:
            found = pattern.fullmatch(iri)
            if found is not None:
                return name(found)
    return iri


def _kind(verdict: str | None) -> str:
    """What a part of a pass is called, by the end of its path.

    It is an evaluation, the verdict in it, or one of the dialogues that the verdict is about.
    """
    if verdict is None:
        return "evaluation"
    place = verdict.rpartition("/")[2]
    return f"judged-{place}" if place.isdecimal() else "verdict"


def _evaluation(base: str, path: str, number: str | None, kind: str, name: str) -> str:
    """An evaluation, verdict or judged dialogue, as a store names it."""
    within = "" if number is None else f"/{number}"
    verdict = "" if kind == "evaluation" else f"/verdict{_place(kind)}"
    return f"{base}pass/{name}/{path}{within}{verdict}"


def _place(kind: str) -> str:
    """The end of the path of a judged dialogue, after that of its verdict."""
    return "" if kind == "verdict" else f"/{kind.removeprefix('judged-')}"


_Names = tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...]
_PUBLISHED: _Names = (
    (_DIALOGUE, lambda it: f"{it[1]}#{it[2]}"),
    (_PART, lambda it: f"{it[1]}#{it[2]}-{it[3]}-{it[4].replace('/', '-')}"),
    (_TEXT, lambda it: f"{it[1]}/{it[3]}#{it[2]}"),
    (_DECIDED, lambda it: f"{it[1]}#{_kind(it[2] + (it[4] or ''))}-{it[3]}"),
    (_OWN_GRAPH, lambda it: f"{it[1]}#{it[2]}"),
)
_RECORDED: _Names = (
    (_OF_TEXT, lambda it: f"{it[1]}/{it[2]}"),
    (
        _OF_EVALUATION,
        lambda it: _evaluation(it[1], f"{it[2]}/{it[3] or it[4]}", it[5], it[6], it[7]),
    ),
    (_OF_FOREIGN, lambda it: _evaluation(it[1], it[5], it[2], it[3], it[4])),
    (_OF_DECIDED, lambda it: f"{it[1]}/verdict/{it[3]}{_place(it[2])}"),
    (_OF_OWN_GRAPH, lambda it: f"{it[1]}/{it[2]}"),
    (_OF_PART, lambda it: f"{it[1]}/{it[2] or it[3]}/{it[4]}/{it[5].replace('-', '/')}"),
    (_OF_DIALOGUE, lambda it: f"{it[1]}/{it[2]}"),
)


def dialogue(iri: str) -> str | None:
    """The published dialogue that ``iri``, published too, names or names a part of, else none.

    >>> dialogue("https://example.org/run/r1/oracle/Spell#0-d1d1d1d1-0-answer")
    'https://example.org/run/r1/oracle/Spell#0-d1d1d1d1'
    """
    found = _IN_DIALOGUE.fullmatch(iri)
    return None if found is None else found[1]


def page_before(path: str) -> tuple[str, str] | None:
    """Where what was once at the path of a dialogue now stands: a document and a fragment.

    >>> page_before("run/r1/oracle/Spell/0-d1d1d1d1")
    ('run/r1/oracle/Spell', '0-d1d1d1d1')
    """
    found = _DIALOGUE.fullmatch(path)
    return None if found is None else (found[1], found[2])


def fragment(iri: str) -> str:
    """The fragment by which a dialogue or evaluation stands on a page.

    What is published has it in its IRI. An evaluation of a store stands on the page of its dialogue
    alone.
    """
    if "#" in iri:
        return iri.partition("#")[2]
    found = _EVALUATION.fullmatch(iri)
    if found is None:
        digest = hashlib.sha256(iri.encode("utf-8", "surrogatepass")).hexdigest()
        return f"e-{digest[:12]}"
    number = found[6]
    return f"{'' if number is None else f'{number}-'}{_kind(found[7])}-{found[3]}"


def foreign_place(iri: str) -> str:
    """The place, below the base of a site, of the document about something with another base."""
    return f"thing/{hashlib.sha256(iri.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"
