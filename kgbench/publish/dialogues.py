# SPDX-License-Identifier: Apache-2.0
"""The published quads of one dialogue, and the content of its page, made from these quads alone.

They are read by the indexes of the database, because a query per dialogue would take a hundred
times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, takewhile
from typing import Any

import pyoxigraph as ox

from kgbench.analysis.dialogues import RoundView, VerdictView, round_view, verdict_view
from kgbench.pages.measures import Measures
from kgbench.pages.rendering import anchor, plain
from kgbench.pages.verdicts import conversation_context
from kgbench.rdf.quads import Properties, Quads, Statements, by_subject
from kgbench.record import schema
from kgbench.record.assembly import Assembler, evaluation
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, XSD

_PART_OF, _TYPE = ox.NamedNode(DCTERMS.isPartOf), ox.NamedNode(RDF.type)
_GENERATED, _USED = ox.NamedNode(PROV.wasGeneratedBy), ox.NamedNode(PROV.used)
_OF_DIALOGUE, _CALL = ox.NamedNode(KGB.dialogue), ox.NamedNode(KGB.ModelCall)
_TOOL_CALL, _EVALUATION = ox.NamedNode(KGB.ToolCall), ox.NamedNode(KGB.Evaluation)
_AGENT = ox.NamedNode(PROV.wasAssociatedWith)
_VERDICTS = frozenset(ox.NamedNode(kind) for kind in (KGB.Verdict, KGB.CalibrationVerdict))
_JUDGED = ox.NamedNode(KGB.judgedItem)
_LONGEST_INFO = 300  # characters; the published data have all of it
_LONG = 200  # characters; longer prompts are shown once per page


@dataclass(frozen=True, slots=True)
class DialogueQuads:
    """The published quads about a dialogue and its parts, also by subject and property.

    ``calls``, ``prompts``, ``answers`` and ``evaluations`` are IRIs, in the order of rounds.
    """

    iri: str
    quads: list[ox.Quad]
    properties: Statements
    calls: list[str]
    prompts: list[str]
    answers: list[str]
    evaluations: list[str]
    tool_calls: list[str]
    tool_results: list[str]

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the first value of a property of ``subject``, if any."""
        objects = self.properties.get(subject, {}).get(name)
        return str(objects[0].value) if objects else None


def dialogue_quads(
    quads: Quads, everywhere: Quads, dialogue: ox.NamedNode, graphs: Sequence[str]
) -> DialogueQuads:
    """Collect the quads about ``dialogue``; of evaluations only those in ``graphs``.

    ``everywhere`` also has what is not recorded in its run, such as tool servers.
    """
    pattern = quads.quads_for_pattern
    calls: list[Any] = [
        quad.subject
        for quad in pattern(None, _PART_OF, dialogue)
        if next(pattern(quad.subject, _TYPE, _CALL), None) is not None
    ]
    prompts: dict[Any, None] = {
        q.object: None for call in calls for q in pattern(call, _USED, None)
    }
    # A prompt that no call has used yet is found by its IRI.
    by_iri = (ox.NamedNode(f"{dialogue.value}-{number}-prompt") for number in count())
    prompts |= dict.fromkeys(takewhile(lambda node: any(pattern(node, _TYPE, None)), by_iri))
    answers = [q.subject for call in calls for q in pattern(None, _GENERATED, call)]
    of_dialogue = list(pattern(None, _OF_DIALOGUE, dialogue))
    kinds = {
        q.subject: {kind.object for kind in pattern(q.subject, _TYPE, None)} for q in of_dialogue
    }
    in_run = {q.subject for q in of_dialogue if str(q.graph_name).strip("<>") in graphs}
    evaluations = [
        node for node, kinds_ in kinds.items() if _EVALUATION in kinds_ and node in in_run
    ]
    # Verdicts that a judge gave in this dialogue. Verdicts about it belong to other runs, and the
    # pages of a run must not change with other runs.
    verdicts = [
        node
        for node, kinds_ in kinds.items()
        if not _VERDICTS.isdisjoint(kinds_) and node in in_run
    ]
    judged = [q.object for verdict in verdicts for q in pattern(verdict, _JUDGED, None)]
    tool_calls = [node for node, kinds_ in kinds.items() if _TOOL_CALL in kinds_]
    tool_results = [q.subject for call in tool_calls for q in pattern(None, _GENERATED, call)]
    texts = {
        q.object: None
        for part in (*prompts, *answers, *tool_calls, *tool_results)
        for name in schema.texts()
        for q in pattern(part, ox.NamedNode(name), None)
    }
    servers = {q.object: None for call in tool_calls for q in pattern(call, _AGENT, None)}
    inner = (*calls, *prompts, *answers, *tool_calls, *tool_results, *evaluations, *verdicts)
    about = [_about(quads, part) for part in (*inner, *judged, *texts)]
    about += [_about(everywhere, server) for server in servers]
    described = sorted(filter(None, about), key=lambda of_part: str(of_part[0].subject))
    found = [quad for of_part in (_about(quads, dialogue), *described) for quad in of_part]
    said = by_subject(found)

    def ordered(nodes: Sequence[Any]) -> list[str]:
        names = [node.value for node in nodes if isinstance(node, ox.NamedNode)]
        return sorted((n for n in names if n in said), key=lambda n: (_round(said[n]), len(n), n))

    return DialogueQuads(
        iri=dialogue.value,
        quads=found,
        properties=said,
        calls=ordered(calls),
        prompts=ordered(list(prompts)),
        answers=ordered(answers),
        evaluations=ordered(evaluations),
        tool_calls=ordered(tool_calls),
        tool_results=ordered(tool_results),
    )


def _about(quads: Quads, node: Any) -> list[ox.Quad]:
    return sorted(quads.quads_for_pattern(node, None, None), key=str)


class DialoguePresenter:
    """Builds the content of the pages of dialogues.

    ``metrics`` and ``passes`` are names by IRI, passes in the order of their starts; ``known``
    returns the metrics of a task (IRI).
    """

    def __init__(
        self,
        metrics: Mapping[str, str],
        passes: Mapping[str, str],
        known: Callable[[str], Measures],
    ) -> None:
        self._metrics = metrics
        self._passes = passes
        self._order = {iri: position for position, iri in enumerate(passes)}
        self._known = known

    def conversation(
        self,
        gathered: DialogueQuads,
        verdicts: Sequence[VerdictView],
        prompt_fragments: dict[str, str],
    ) -> dict[str, Any]:
        """Return the template context of one dialogue with its ``verdicts``.

        ``prompt_fragments`` maps the long prompts that the page already has to their fragments;
        those of this dialogue are added.
        """
        properties = gathered.properties[gathered.iri]
        known = self._known(value(properties, KGB.task) or "")
        fragment = anchor(gathered.iri)
        talk = conversation_context(_rounds(gathered), verdicts, known)
        for round_ in talk["rounds"]:
            turn = round_["turn"]
            if len(turn.prompt) > _LONG:
                at = f"{fragment}-{turn.round}-prompt"
                round_["same"] = prompt_fragments.get(turn.prompt)
                prompt_fragments.setdefault(turn.prompt, at)
        return {
            "iri": gathered.iri,
            "place": fragment,
            "case": value(properties, KGB.case),
            "iteration": value(properties, KGB.iteration) or "?",
            "started": value(properties, PROV.startedAtTime),
            "ended": value(properties, PROV.endedAtTime),
            **talk,
        }

    def verdicts(self, gathered: DialogueQuads) -> Iterator[VerdictView]:
        """Yield the verdicts, pass by pass and answer by answer."""

        def order(iri: str) -> int:
            return self._order.get(value(gathered.properties[iri], PROV.wasGeneratedBy) or "", 0)

        for iri in sorted(gathered.evaluations, key=order):
            properties = gathered.properties[iri]
            number = value(properties, KGB.round)
            about = "the whole dialogue" if number is None else f"answer {number}"
            by = self._passes.get(value(properties, PROV.wasGeneratedBy) or "", "a pass")
            scores = {
                name: float(objects[0].value)
                for name, objects in properties.items()
                if name in self._metrics and objects[0].datatype.value == XSD.double
            }
            title = f"verdict on {about} ({by})"
            yield verdict_view(evaluation(gathered, iri, scores), title, self._metrics, _shortened)


def value(properties: Properties, predicate: str) -> str | None:
    """Return the first value of a property, if any."""
    objects = properties.get(predicate)
    return None if not objects else str(getattr(objects[0], "value", ""))


def _shortened(info: str) -> str:
    return plain(info, _LONGEST_INFO)


def _rounds(gathered: DialogueQuads) -> list[RoundView]:
    assembler = Assembler(gathered)
    uses = assembler.uses(gathered.tool_calls, gathered.tool_results)
    turns = assembler.turns(gathered.calls, gathered.answers, uses, gathered.prompts)
    return [round_view(k, turn) for k, turn in turns.items()]


def _round(properties: Properties) -> int:
    number = value(properties, KGB.round) or ""
    return int(number) if number.isdecimal() else 0  # an import may hold anything
