# SPDX-License-Identifier: Apache-2.0
"""From what a store holds to what is published: quads with other IRIs, and without some texts.

Quads come one subject at a time, because what is left out depends on what the subject is. Nothing
else decides what leaves the store: pages and dumps are made from these quads alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import pyoxigraph as ox

from kgbench.publish.addresses import Addresses
from kgbench.publish.scrubbing import Scrubber, is_private, is_public
from kgbench.publish.withholding import (
    Level,
    case_data,
    gold_texts,
    infos,
    parsed,
    without,
)
from kgbench.rdf import canonical_json, digest
from kgbench.vocab import KGB, PROV, RDF, RDFS, SCHEMA, XSD

_MOST_KEPT = 200_000  # IRIs that are remembered; their number says nothing of the memory of a run
_TYPE = ox.NamedNode(RDF.type)
_VALUE, _TEXT, _CASE = ox.NamedNode(PROV.value), ox.NamedNode(KGB.text), ox.NamedNode(KGB.case)
_CASE_DATA, _ANSWER = ox.NamedNode(KGB.caseData), ox.NamedNode(KGB.Answer)
_BOOLEAN, _STRING, _JSON = (ox.NamedNode(n) for n in (XSD.boolean, XSD.string, RDF.JSON))
_REDACTED = ox.Literal("true", datatype=_BOOLEAN)
#: Things whose origin is named where their IRI is another one: those that others refer to.
_LINKED = frozenset(
    (
        *(KGB.Run, KGB.TaskExecution, KGB.Dialogue, KGB.EvaluationPass),
        *(KGB.Analysis, KGB.Invalidation),
    )
)
_WRITTEN_BY_HAND = frozenset(  # declared things: what they say was written to be published
    (
        *(KGB.Metric, KGB.TaskClass, KGB.Parameter, KGB.LabelledTask, KGB.Setting, KGB.IriPattern),
        *(KGB.Compass, KGB.ScoreSet, KGB.ScoreSelector, KGB.FormatComparison, KGB.StoreLayout),
        "http://www.w3.org/2002/07/owl#Class",
        "http://www.w3.org/2002/07/owl#Ontology",
        "http://www.w3.org/2002/07/owl#DatatypeProperty",
        "http://www.w3.org/2002/07/owl#ObjectProperty",
        "http://www.w3.org/ns/shacl#SPARQLExecutable",
        "http://www.w3.org/ns/shacl#Parameter",
        "http://www.w3.org/2004/02/skos/core#Concept",
        "http://www.w3.org/ns/csvw#Column",
    )
)
_NOBODY = "[name]"


class Rules(NamedTuple):
    """What is left out: texts up to a level, and what a scrubber finds."""

    level: Level
    scrubber: Scrubber


class Outgoing:
    """Publishes the quads of one database."""

    def __init__(self, database: ox.Store, addresses: Addresses, rules: Rules) -> None:
        self._database = database
        self._addresses = addresses
        self._rules = rules
        self._nodes: dict[str, ox.NamedNode] = {}
        self._gold: dict[str, frozenset[str]] = {}
        self._prompts: dict[str, bool] = {}
        self.base, self.store = addresses.base, addresses.store
        self.place = addresses.place

    def graph(self, name: str) -> Iterator[list[ox.Quad]]:
        """All of a graph, subject by subject, as the database keeps it."""
        quads = self._database.quads_for_pattern(None, None, None, ox.NamedNode(name))
        for _, group in groupby(quads, key=lambda quad: quad.subject):
            found = self.subject(list(group))
            if found:
                yield found

    def about(self, subject: Any) -> list[ox.Quad]:
        """What the database says of one subject, in all graphs."""
        quads = list(self._database.quads_for_pattern(subject, None, None))
        return self.subject(quads)

    def subject(self, quads: list[ox.Quad]) -> list[ox.Quad]:
        """The quads about one subject as they are published; none where nothing is."""
        kinds = {_value(quad) for quad in quads if quad.predicate == _TYPE}
        if KGB.WriterLease in kinds:  # who is writing at the moment is nobody's business
            return []
        kept = list(self._kept(quads, kinds))
        if self._addresses.moves and not kinds.isdisjoint(_LINKED):
            kept += self._origin(quads[0])
        return kept

    def node(self, iri: str) -> ox.NamedNode:
        """The published form of an IRI."""
        found = self._nodes.get(iri)
        if found is None:
            if len(self._nodes) >= _MOST_KEPT:
                self._nodes.clear()
            found = self._nodes[iri] = ox.NamedNode(self._addresses.published(iri))
        return found

    def clean(self, text: str) -> str:
        """A text that kgbench, a provider or a person wrote, as it is published."""
        return self._rules.scrubber.text(text)

    def model_name(self, text: str) -> str:
        """The name of a model as it is published; no two that differ become the same."""
        cleaned = self.clean(text)
        return text if cleaned == text else f"{cleaned} #{digest(text)[:6]}"

    # --- one subject ------------------------------------------------------------------------

    def _kept(self, quads: list[ox.Quad], kinds: set[str]) -> Iterator[ox.Quad]:
        if KGB.Text in kinds and self._is_withheld(quads):
            yield from self._without_text(quads)
            return
        by_hand = not kinds.isdisjoint(_WRITTEN_BY_HAND)
        # Taken apart once: each look at a part of a quad makes a new object.
        for subject, predicate, recorded, graph in quads:
            value: Any = recorded
            if isinstance(value, ox.Triple) or isinstance(subject, ox.Triple):
                continue  # nothing here writes quoted triples, and they could hold anything
            if isinstance(value, ox.NamedNode):
                iri = value.value
                if self._leads_astray(predicate.value, iri):
                    continue
                value = self.node(iri)
            elif isinstance(value, ox.Literal) and not by_hand:
                name = predicate.value
                if name == KGB.baseUrl and not is_public(value.value):
                    continue
                value = self._literal(subject, name, value, kinds)
            yield ox.Quad(self._renamed(subject), predicate, value, self._renamed(graph))

    def _renamed(self, term: Any) -> Any:
        return self.node(term.value) if isinstance(term, ox.NamedNode) else term

    def _made(self, quad: ox.Quad, value: Any, predicate: ox.NamedNode | None = None) -> ox.Quad:
        return ox.Quad(
            self._renamed(quad.subject),
            predicate or quad.predicate,
            value,
            self._renamed(quad.graph_name),
        )

    def _origin(self, quad: ox.Quad) -> Iterator[ox.Quad]:
        made = self._made(quad, quad.subject, ox.NamedNode(PROV.alternateOf))
        hides = isinstance(quad.subject, ox.NamedNode) and any(
            part in self._addresses.renamed for part in quad.subject.value.split("/")
        )
        if made.subject != quad.subject and not hides:
            yield made

    def _leads_astray(self, predicate: str, iri: str) -> bool:
        """Whether an IRI names a file or a server that is not for everyone."""
        if iri.startswith((self._addresses.store, "https://w3id.org/", "http://www.w3.org/")):
            return False
        return not is_public(iri) if predicate == KGB.caseEndpoint else is_private(iri)

    # --- literals ---------------------------------------------------------------------------

    def _literal(
        self, subject: Any, predicate: str, value: ox.Literal, kinds: set[str]
    ) -> ox.Literal:
        level = self._rules.level
        if value.datatype == _JSON:
            found = parsed(value.value)
            if predicate == KGB.caseData:
                found = case_data(found, level)
            elif predicate == KGB.infos:
                found = self._rules.scrubber.json(infos(found, level, self._gold_of(subject)))
            else:
                found = self._rules.scrubber.json(found)
            text = canonical_json(found)
            return value if text == value.value else ox.Literal(text, datatype=_JSON)
        if value.datatype != _STRING and not value.language:
            return value
        if KGB.Text in kinds:
            return value
        text = self._string(predicate, value.value, kinds)
        if text == value.value:
            return value
        return ox.Literal(text, language=value.language) if value.language else ox.Literal(text)

    def _string(self, predicate: str, text: str, kinds: set[str]) -> str:
        if kinds == {PROV.Agent} and predicate == RDFS.label and not any(c.isspace() for c in text):
            return _NOBODY  # the name of an account; a name as people write it is meant to be told
        if predicate == SCHEMA.error and self._rules.level >= Level.PROMPTS:
            return f"[sha256:{digest(text)}]"  # providers repeat what they were sent
        if self._rules.level >= Level.GOLD and (
            predicate == SCHEMA.error or KGB.Configuration in kinds
        ):
            text = without(text, self._all_gold())
        return self.model_name(text) if KGB.Model in kinds else self.clean(text)

    # --- texts ------------------------------------------------------------------------------

    def _is_withheld(self, quads: list[ox.Quad]) -> bool:
        level = self._rules.level
        if level is Level.ANSWERS:
            return True
        if level is Level.PROMPTS and self._is_prompt(quads[0].subject):
            return True
        values = (_value(quad) for quad in quads if quad.predicate == _VALUE)
        return any(map(self._rules.scrubber.tells, values))

    def _is_prompt(self, text: Any) -> bool:
        """Whether a text is that of a prompt, if only among others.

        Remembered, because an answer of a word or two is that of a thousand dialogues.
        """
        found = self._prompts.get(text.value)
        if found is None:
            if len(self._prompts) >= _MOST_KEPT:
                self._prompts.clear()
            pattern = self._database.quads_for_pattern
            users = pattern(None, _TEXT, text)
            found = any(next(pattern(u.subject, _TYPE, _ANSWER), None) is None for u in users)
            self._prompts[text.value] = found
        return found

    def _without_text(self, quads: list[ox.Quad]) -> Iterator[ox.Quad]:
        for quad in quads:
            if quad.predicate.value not in (PROV.value, KGB.originalBytes):
                yield self._made(quad, quad.object)
        name = str(quads[0].subject).rstrip(">").rpartition("/")[2]
        yield self._made(quads[0], ox.Literal(name), ox.NamedNode(KGB.digest))
        yield self._made(quads[0], _REDACTED, ox.NamedNode(KGB.redacted))

    # --- reference answers ------------------------------------------------------------------

    def _gold_of(self, evaluation: Any) -> frozenset[str]:
        if self._rules.level is Level.NONE:
            return frozenset()
        for quad in self._database.quads_for_pattern(evaluation, _CASE, None):
            case: Any = quad.object
            if case.value not in self._gold:
                if len(self._gold) >= _MOST_KEPT // 100:
                    self._gold.clear()
                found = self._database.quads_for_pattern(case, _CASE_DATA, None)
                self._gold[case.value] = frozenset().union(*map(_gold_in, found))
            return self._gold[case.value]
        return self._all_gold()

    def _all_gold(self) -> frozenset[str]:
        """All reference answers of the store; asked for only by what cannot name its case."""
        if "" not in self._gold:
            found = self._database.quads_for_pattern(None, _CASE_DATA, None)
            self._gold[""] = frozenset().union(*map(_gold_in, found))
        return self._gold[""]


def _gold_in(quad: ox.Quad) -> frozenset[str]:
    return gold_texts(parsed(_value(quad)))


def _value(quad: ox.Quad) -> str:
    """The IRI or lexical form of an object; a quoted triple has none."""
    return str(getattr(quad.object, "value", ""))
