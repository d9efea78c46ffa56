# SPDX-License-Identifier: Apache-2.0
"""Recorded dialogues: their parts, found by look-ups in a store, and as :mod:`kgbench.model`.

This is the inverse of :class:`~kgbench.record.recorder.Recorder`, for whoever shows, publishes,
exports or continues single dialogues. What judging needs of a whole run is read faster by
:func:`kgbench.record.reading.execution_dialogues`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.model import Call, Dialogue, Evaluation, Reply, Turn, Usage
from kgbench.rdf.quads import LookUp
from kgbench.record import schema
from kgbench.record.schema import required, required_number
from kgbench.store.fragments import dialogue_part
from kgbench.store.protocol import Store
from kgbench.tool_calls import Fault, ToolCall, ToolResult, ToolServer, ToolUse
from kgbench.vocab import DCTERMS, KGB, PROV, RDF, XSD

_AT_ONCE = 200  # dialogues that are read together
_NUMBER = re.compile(r"[-/]([0-9]+)$")
_DOUBLE = ox.NamedNode(XSD.double)
_VERDICTS = (KGB.Verdict, KGB.CalibrationVerdict)  # that a judge gave in a dialogue


class Parts(NamedTuple):
    """The parts of a dialogue (IRIs): by round, or in no order."""

    calls: list[str]
    prompts: list[str]
    answers: list[str]
    tool_calls: list[str]
    tool_results: list[str]


class StoredDialogues:
    """The dialogues among ``iris`` that a store has, with all statements about their parts.

    ``parts`` are by dialogue, and so are ``evaluations`` and the ``verdicts`` that a judge gave in
    it (IRIs), which :meth:`find_evaluations` finds.
    """

    def __init__(self, store: LookUp, iris: Iterable[str]) -> None:
        self._store = store
        self._about: dict[str, list[Any]] = {}
        self._values: dict[str, dict[str, list[Any]]] = {}
        self.parts: dict[str, Parts] = {}
        self.evaluations: dict[str, list[str]] = {}
        self.verdicts: dict[str, list[str]] = {}
        wanted = list(dict.fromkeys(iris))
        self.describe(wanted)
        self._find([iri for iri in wanted if self.is_a(iri, KGB.Dialogue)])

    def _find(self, dialogues: Sequence[str]) -> None:
        within = self._referring(DCTERMS.isPartOf, dialogues)
        executions = (self.iris(iri, DCTERMS.isPartOf) for iri in dialogues)
        self.describe(*executions, *within.values())
        calls = {
            iri: [part for part in within.get(iri, ()) if self.is_a(part, KGB.ModelCall)]
            for iri in dialogues
        }
        all_calls = list(chain(*calls.values()))
        prompts = {iri: list(self._prompts(iri, calls[iri])) for iri in dialogues}
        answers = self._referring(PROV.wasGeneratedBy, all_calls)
        tool_calls = self._referring(PROV.wasInformedBy, all_calls)
        results = self._referring(PROV.wasGeneratedBy, list(chain(*tool_calls.values())))
        messages = list(chain(*prompts.values(), *answers.values(), *tool_calls.values()))
        messages += chain(*results.values())
        self.describe(messages)
        properties = (*schema.texts(), PROV.wasAssociatedWith)  # of a tool call: the server
        self.describe(*(self.iris(part, name) for part in messages for name in properties))
        for iri in dialogues:
            uses = [use for call in calls[iri] for use in tool_calls.get(call, ())]
            self.parts[iri] = Parts(
                calls[iri],
                [prompt for prompt in prompts[iri] if self._about[prompt]],
                [answer for call in calls[iri] for answer in answers.get(call, ())],
                uses,
                [result for use in uses for result in results.get(use, ())],
            )

    def _prompts(self, dialogue: str, calls: Iterable[str]) -> Iterator[str]:
        """Yield the prompts of calls, and the next one, which no call may have used yet."""
        rounds = -1
        for call in calls:
            yield required(self, call, PROV.used)
            rounds = max(rounds, self._round(call))
        yield dialogue_part(dialogue, f"{rounds + 1}/prompt")

    # --- statements -------------------------------------------------------------------------

    def describe(self, *nodes: Iterable[str]) -> None:
        """Look up the statements about nodes (IRIs)."""
        new = [node for node in dict.fromkeys(chain(*nodes)) if node not in self._about]
        for node in new:
            self._about[node] = []
            self._values[node] = {}
        for quad in self._store.about(new):
            node = quad.subject.value
            self._about[node].append(quad)
            self._values[node].setdefault(quad.predicate.value, []).append(quad.object)

    def _referring(
        self, name: str, nodes: Iterable[str], graphs: Container[str] | None = None
    ) -> dict[str, list[str]]:
        """Return the distinct IRIs that have each of the nodes as value of a property."""
        found: dict[str, dict[str, None]] = defaultdict(dict)
        for quad in self._store.referring(name, nodes):
            if isinstance(quad.subject, ox.NamedNode) and (
                graphs is None or quad.graph_name.value in graphs
            ):
                found[quad.object.value][quad.subject.value] = None
        return {node: list(subjects) for node, subjects in found.items()}

    def value(self, subject: str, name: str, /) -> str | None:
        """Return the value of a property; of several values, the least."""
        objects = self._values.get(subject, {}).get(name)
        if not objects:
            return None
        return str(objects[0].value if len(objects) == 1 else min(one.value for one in objects))

    def iris(self, subject: str, name: str) -> list[str]:
        """Return the values of a property that are IRIs."""
        objects = self._values.get(subject, {}).get(name, ())
        return [one.value for one in objects if isinstance(one, ox.NamedNode)]

    def is_a(self, subject: str, *classes: str) -> bool:
        """Return whether a resource is an instance of one of the classes (IRIs)."""
        return not set(classes).isdisjoint(self.iris(subject, RDF.type))

    def graph(self, dialogue: str) -> str:
        """Return the graph (IRI) of a dialogue."""
        return str(self._about[dialogue][0].graph_name.value)

    def run(self, dialogue: str) -> str:
        """Return the run (IRI) of a dialogue."""
        return required(self, required(self, dialogue, DCTERMS.isPartOf), DCTERMS.isPartOf)

    def quads(self, dialogue: str) -> list[Any]:
        """Return the statements about a dialogue, and then about its parts, in order."""
        parts = dict.fromkeys(chain(*self.parts[dialogue]))
        uses = self.parts[dialogue].tool_calls
        verdicts = self.verdicts.get(dialogue, ())
        nodes = {
            *parts,
            *(text for part in parts for name in schema.texts() for text in self.iris(part, name)),
            *(server for use in uses for server in self.iris(use, PROV.wasAssociatedWith)),
            *self.evaluations.get(dialogue, ()),
            *verdicts,
            *(item for verdict in verdicts for item in self.iris(verdict, KGB.judgedItem)),
        }
        return [
            quad
            for node in (dialogue, *sorted(nodes))
            for quad in sorted(self._about.get(node, ()), key=str)
        ]

    # --- evaluations ------------------------------------------------------------------------

    def find_evaluations(self, graphs: Container[str] | None = None) -> None:
        """Find evaluations with their passes, only those in ``graphs`` if given.

        Evaluations are in the order of passes; those of an answer come before those of the whole
        dialogue.
        """
        found = self._referring(KGB.dialogue, self.parts, graphs)
        self.describe(*found.values())
        for dialogue in self.parts:
            nodes = found.get(dialogue, ())
            self.evaluations[dialogue] = [one for one in nodes if self.is_a(one, KGB.Evaluation)]
            self.verdicts[dialogue] = [one for one in nodes if self.is_a(one, *_VERDICTS)]
        evaluations = list(chain(*self.evaluations.values()))
        self.describe(
            *(self.iris(one, PROV.wasGeneratedBy) for one in evaluations),
            *(self.iris(v, KGB.judgedItem) for v in chain(*self.verdicts.values())),
        )
        for nodes in self.evaluations.values():
            nodes.sort(key=self._place)

    def _place(self, evaluation: str) -> tuple[str, str, bool, int, str]:
        of_pass = self.value(evaluation, PROV.wasGeneratedBy) or ""
        number = self.value(evaluation, KGB.round) or ""
        started = self.value(of_pass, PROV.startedAtTime) or ""
        round_ = int(number) if number.isdecimal() else 0  # an import may hold anything
        return started, of_pass, not number, round_, evaluation

    def scores(self, evaluation: str) -> dict[str, float]:
        """Return the scores of an evaluation by metric (IRI)."""
        return {
            name: float(objects[0].value)
            for name, objects in sorted(self._values[evaluation].items())
            if isinstance(objects[0], ox.Literal) and objects[0].datatype == _DOUBLE
        }

    def evaluation(self, iri: str) -> Evaluation:
        """Return an evaluation with its scores."""
        return Evaluation(
            iri=iri, scores=self.scores(iri), **self._read("Evaluation", iri, Evaluation)
        )

    # --- dialogues --------------------------------------------------------------------------

    def dialogue(self, iri: str) -> Dialogue:
        """Return a dialogue.

        A text that was removed for publication is a :class:`~kgbench.record.schema.Withheld`.
        """
        return Dialogue(
            iri=iri,
            run=self.run(iri),
            turns=tuple(self.turns(iri).values()),
            **self._read("Dialogue", iri, Dialogue),
        )

    def turns(self, dialogue: str) -> dict[int, Turn]:
        """Return the turns of a dialogue, by round in order."""
        parts = self.parts[dialogue]
        by_round: dict[int, list[str]] = defaultdict(list)
        for call in parts.calls:
            by_round[self._round(call)].append(call)
        prompt_of = {self._round(prompt): prompt for prompt in parts.prompts}
        for k, names in by_round.items():
            names.sort(key=call_order)
            prompt_of[k] = required(self, names[0], PROV.used)
        answer_of = {self.value(answer, PROV.wasGeneratedBy): answer for answer in parts.answers}
        uses = self._uses(parts)
        return {
            k: Turn(
                calls=tuple(self._call(call, answer_of.get(call)) for call in by_round[k]),
                uses=uses.get(k, ()),
                **self._read("Prompt", prompt, Turn),
            )
            for k, prompt in sorted(prompt_of.items())
        }

    def _uses(self, parts: Parts) -> Mapping[int, tuple[ToolUse, ...]]:
        """Return the tool uses of a dialogue by round."""
        by_round: dict[int, list[tuple[int, ToolUse]]] = defaultdict(list)
        result_of = {self.value(one, PROV.wasGeneratedBy): one for one in parts.tool_results}
        for call in parts.tool_calls:
            index = required_number(self, call, KGB.callIndex)
            by_round[self._round(call)].append((index, self._use(call, result_of.get(call))))
        return {
            k: tuple(use for _, use in sorted(indexed, key=lambda pair: pair[0]))
            for k, indexed in by_round.items()
        }

    def _use(self, call: str, result: str | None) -> ToolUse:
        returned = self._read("ToolCall", call, ToolResult) | {"text": ""}
        if returned["fault"] is not None:
            returned["fault"] = Fault(returned["fault"])
        if result is not None:
            returned |= self._read("ToolResult", result, ToolResult)
        said = self._read("ToolCall", call, ToolUse)
        if (agent := said["server"]) is not None:
            said["server"] = ToolServer(**self._read("ToolServer", agent, ToolServer))
        given = ToolCall(**self._read("ToolCall", call, ToolCall))
        return ToolUse(call=given, result=ToolResult(**returned), **said)

    def _call(self, call: str, answer: str | None) -> Call:
        said = self._read("ModelCall", call, Call)
        reply = self._read("ModelCall", call, Reply)
        if answer is None:
            return Call(**said, failure=reply["outcome"])
        usage = Usage(**self._read("ModelCall", call, Usage))
        reply |= self._read("Answer", answer, Reply)
        return Call(**said, reply=Reply(**reply, usage=usage))

    def _read(self, shape: str, iri: str, kind: type) -> dict[str, Any]:
        return schema.of(shape).read(self, iri, kind)

    def _round(self, part: str) -> int:
        return required_number(self, part, KGB.round)


def dialogues(store: Store, iris: Sequence[str]) -> Iterator[Dialogue]:
    """Yield the dialogues with these IRIs, in this order, read in portions.

    Raises :class:`~kgbench.errors.StoreError` for a dialogue that the store lacks.
    """
    for begin in range(0, len(iris), _AT_ONCE):
        names = iris[begin : begin + _AT_ONCE]
        found = StoredDialogues(store, names)
        for name in names:
            if name not in found.parts:
                raise StoreError(f"{store.location} holds no dialogue <{name}>")
            yield found.dialogue(name)


def call_order(call: str) -> tuple[int, str]:
    """Return the sort key of a call within its turn: the number that its IRI ends with."""
    number = _NUMBER.search(call)
    return (0 if number is None else int(number[1])), call
