# SPDX-License-Identifier: Apache-2.0
"""One dialogue as it is published: its quads, and what its page shows, made from these alone.

Read by the indexes of the database and put together here: a query per dialogue would take a hundred
times as long.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

import pyoxigraph as ox

from kgbench.analysis.dialogues import RoundView, VerdictView
from kgbench.pages import drawing
from kgbench.pages.rendering import anchor
from kgbench.publish.outgoing import Outgoing
from kgbench.publish.withholding import parsed
from kgbench.vocab import DCTERMS, KGB, OUTCOME, PROV, RDF, SCHEMA, XSD

Said = Mapping[str, list[Any]]
_PART_OF, _TYPE = ox.NamedNode(DCTERMS.isPartOf), ox.NamedNode(RDF.type)
_GENERATED, _USED = ox.NamedNode(PROV.wasGeneratedBy), ox.NamedNode(PROV.used)
_OF_DIALOGUE, _CALL = ox.NamedNode(KGB.dialogue), ox.NamedNode(KGB.ModelCall)
TEXTS = tuple(ox.NamedNode(one) for one in (KGB.text, KGB.reasoning, KGB.extracted))


@dataclass(frozen=True, slots=True)
class Gathered:
    """The quads about a dialogue and its parts, and the same by subject and property.

    ``calls``, ``prompts``, ``answers`` and ``evaluations`` are IRIs, in the order of rounds.
    """

    iri: str
    quads: list[ox.Quad]
    said: dict[str, dict[str, list[Any]]]
    calls: list[str]
    prompts: list[str]
    answers: list[str]
    evaluations: list[str]


def gather(
    outgoing: Outgoing, database: ox.Store, dialogue: ox.NamedNode, graphs: frozenset[str]
) -> Gathered:
    """Everything that is published about ``dialogue``; of evaluations those in ``graphs``."""
    pattern = database.quads_for_pattern
    calls: list[Any] = [
        quad.subject
        for quad in pattern(None, _PART_OF, dialogue)
        if next(pattern(quad.subject, _TYPE, _CALL), None) is not None
    ]
    prompts: dict[Any, None] = {
        q.object: None for call in calls for q in pattern(call, _USED, None)
    }
    # The prompt of a call that is not made yet is found by its IRI.
    by_iri = (ox.NamedNode(f"{dialogue.value}/{number}/prompt") for number in count())
    prompts |= dict.fromkeys(takewhile(lambda node: any(pattern(node, _TYPE, None)), by_iri))
    answers = [q.subject for call in calls for q in pattern(None, _GENERATED, call)]
    evaluations = [
        q.subject
        for q in pattern(None, _OF_DIALOGUE, dialogue)
        if str(q.graph_name).strip("<>") in graphs
    ]
    texts = {
        q.object: None
        for one in (*prompts, *answers)
        for predicate in TEXTS
        for q in pattern(one, predicate, None)
    }
    quads: list[ox.Quad] = []
    for node in (dialogue, *calls, *prompts, *answers, *evaluations, *texts):
        quads += outgoing.about(node)
    said = by_subject(quads)

    def published(nodes: Iterable[Any]) -> list[str]:
        names = [outgoing.node(n.value).value for n in nodes if isinstance(n, ox.NamedNode)]
        return sorted((n for n in names if n in said), key=lambda n: (_round(said[n]), n))

    return Gathered(
        iri=outgoing.node(dialogue.value).value,
        quads=quads,
        said=said,
        calls=published(calls),
        prompts=published(prompts),
        answers=published(answers),
        evaluations=published(evaluations),
    )


def by_subject(quads: Iterable[ox.Quad]) -> dict[str, dict[str, list[Any]]]:
    """Objects by subject and property."""
    found: dict[str, dict[str, list[Any]]] = {}
    subject: Any
    for subject, predicate, value, _ in quads:
        objects = found.setdefault(subject.value, {}).setdefault(predicate.value, [])
        if value not in objects:
            objects.append(value)
    return found


class Telling:
    """Tells what the page of a dialogue shows; ``metrics`` and ``passes`` are names by IRI."""

    def __init__(self, metrics: Mapping[str, str], passes: Mapping[str, str]) -> None:
        self._metrics = metrics
        self._passes = passes

    def context(self, found: Gathered, run: str, title: str) -> dict[str, Any]:
        """The context of the template; ``run`` is the IRI of the run."""
        about = found.said[found.iri]
        verdicts = list(self.verdicts(found))
        rounds = [
            {
                "turn": turn,
                "verdicts": [v for v in verdicts if v.round == turn.round],
                "difference": [],  # from what was expected, which is not told
            }
            for turn in _turns(found)
        ]
        facts = {name: value(about, KGB[name]) for name in ("model", "task", "suite", "case")}
        return {
            "iri": found.iri,
            "title": title,
            "kinds": [KGB.Dialogue],
            "facts": {**facts, "run": run},
            "reveal": False,
            "dialogue": {"facts": self._timeline(about)},
            "execution": value(about, DCTERMS.isPartOf),
            "rounds": rounds,
            "whole": [v for v in verdicts if v.round is None],
            "drawing": drawing.provenance(
                facts["case"] or "", facts["model"] or "", list(_rows(found))
            ),
        }

    @staticmethod
    def _timeline(about: Said) -> list[tuple[str, str | None]]:
        return [
            ("iteration", value(about, KGB.iteration)),
            ("started", value(about, PROV.startedAtTime)),
            ("ended", value(about, PROV.endedAtTime) or "not complete"),
        ]

    def verdicts(self, found: Gathered) -> Iterator[VerdictView]:
        """What each pass says, answer by answer."""
        for iri in found.evaluations:
            said = found.said[iri]
            number = value(said, KGB.round)
            about = "the whole dialogue" if number is None else f"answer {number}"
            by = self._passes.get(value(said, PROV.wasGeneratedBy) or "", "a pass")
            scores = [
                (self._metrics[name], float(objects[0].value))
                for name, objects in said.items()
                if name in self._metrics and objects[0].datatype.value == XSD.double
            ]
            yield VerdictView(
                title=f"verdict on {about} ({by})",
                evaluation=iri,
                round=None if number is None else _round(said),
                outcome=(value(said, KGB.outcome) or "").removeprefix(OUTCOME),
                scores=tuple(sorted(scores)),
                infos=tuple(_infos(value(said, KGB.infos))),
            )


def places(found: Gathered) -> dict[str, str]:
    """The places on the page by the IRIs of what stands there."""
    named = {iri: anchor(iri) for iri in found.evaluations}
    for kind, nodes in (("prompt", found.prompts), ("answer", found.answers)):
        named |= {iri: f"{_round(found.said[iri])}-{kind}" for iri in nodes}
    named |= {iri: f"{_round(found.said[iri])}-prompt" for iri in found.calls}
    return named


def value(said: Said, predicate: str) -> str | None:
    """The first value of a property."""
    objects = said.get(predicate)
    return None if not objects else str(getattr(objects[0], "value", ""))


def _turns(found: Gathered) -> Iterator[RoundView]:
    said = found.said
    answers = {_round(said[iri]): said[iri] for iri in found.answers}
    for iri in found.prompts:
        prompt = said[iri]
        number = _round(prompt)
        answer = answers.get(number)
        text = None if answer is None else said.get(value(answer, KGB.text) or "", {})
        yield RoundView(
            round=number,
            prompt=_text(said, prompt, KGB.text) or "",
            feedback=value(prompt, KGB.feedback),
            calls=tuple(_call(said[c]) for c in found.calls if _round(said[c]) == number),
            answer=None if answer is None else _text(said, answer, KGB.text),
            reasoning=None if answer is None else _text(said, answer, KGB.reasoning),
            note="the answer has lone surrogates, shown as U+FFFD"
            if text and KGB.originalBytes in text
            else None,
        )


def _text(said: Mapping[str, Said], of: Said, predicate: str) -> str | None:
    iri = value(of, predicate)
    if iri is None:
        return None
    text = value(said.get(iri, {}), PROV.value)
    if text is None:
        return f"[the text was left out; its SHA-256 is {iri.rpartition('/')[2]}]"
    return text


def _call(said: Said) -> str:
    parts = [f"called {value(said, PROV.startedAtTime)}, ended {value(said, PROV.endedAtTime)}"]
    for name, title in ((KGB.inputTokens, "tokens in"), (KGB.outputTokens, "out")):
        if name in said:
            parts.append(f"{title} {value(said, name)}")
    if KGB.finishReason in said:
        parts.append(f"finished: {value(said, KGB.finishReason)}")
    if KGB.outcome in said:
        parts.append((value(said, KGB.outcome) or "").removeprefix(OUTCOME))
    if SCHEMA.error in said:
        parts.append(value(said, SCHEMA.error) or "")
    return "; ".join(parts)


def _infos(text: str | None) -> Iterator[tuple[str, str]]:
    found = parsed(text or "{}")
    if isinstance(found, dict):
        for name, one in sorted(found.items()):
            yield name, one if isinstance(one, str) else json.dumps(one)


def _rows(found: Gathered) -> Iterator[dict[str, str]]:
    """Prompt, call, answer and evaluation of each round, for the drawing of the provenance."""
    said = found.said
    for iri in found.prompts:
        number = _round(said[iri])
        row = {"prompt": iri}
        for name, nodes in (
            ("call", found.calls),
            ("answer", found.answers),
            ("evaluation", [e for e in found.evaluations if KGB.round in said[e]]),
        ):
            node = next((n for n in nodes if _round(said[n]) == number), None)
            if node is not None:
                row[name] = node
        yield row


def _round(said: Said) -> int:
    try:
        return int(value(said, KGB.round) or 0)
    except ValueError:  # an import may hold anything
        return 0
