# SPDX-License-Identifier: Apache-2.0
"""Conversion of recorded quads to published quads: IRIs are mapped, and some texts are left out.

Quads are processed one subject at a time, because what is left out depends on the types of the
subject. Whatever leaves a store is made from these quads only, so nothing else decides about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.publish.redaction import (
    WITHHELD,
    Addresses,
    RedactionLevel,
    ReferenceAnswers,
    is_unreadable,
    parse_json,
    public_fields,
    redacted_infos,
    without_gold,
)
from kgbench.publish.scrubbing import Scrubber, is_public
from kgbench.rdf import canonical_json
from kgbench.rdf.quads import Quads
from kgbench.record.accounts import run_end
from kgbench.store.publication_keys import PublicationKey
from kgbench.vocab import CSVW, KGB, OWL, PROV, RDF, RDFS, SCHEMA, SH, SKOS, XSD

_MOST_KEPT = 200_000  # entries of a cache, so that memory does not grow with the store
_TYPE = ox.NamedNode(RDF.type)
_RECORDED_AS = ox.NamedNode(KGB.recordedAs)
_VALUE, _TEXT = ox.NamedNode(PROV.value), ox.NamedNode(KGB.text)
_ORIGINAL_BYTES = ox.NamedNode(KGB.originalBytes)
_ANSWER, _DIGEST = ox.NamedNode(KGB.Answer), ox.NamedNode(KGB.digest)
_PASS_KIND, _LIVE = ox.NamedNode(KGB.passKind), ox.Literal("live")
_INFORMED_BY, _ENDED = ox.NamedNode(PROV.wasInformedBy), ox.NamedNode(PROV.endedAtTime)
_CASE_ENDPOINT = ox.NamedNode(KGB.caseEndpoint)
_BOOLEAN, _JSON = (ox.NamedNode(n) for n in (XSD.boolean, RDF.JSON))
#: Datatypes whose values are not texts; addresses are searched as IRIs are.
_NUMBERS = (XSD.boolean, XSD.integer, XSD.decimal, XSD.double, XSD.float)
_VALUES = frozenset((*_NUMBERS, XSD.date, XSD.dateTime, XSD.duration, XSD.anyURI))
_REDACTED, _TRUE = ox.NamedNode(KGB.redacted), ox.Literal("true", datatype=_BOOLEAN)
#: Properties whose values may quote prompts: errors of providers, rationales of reviewers.
_QUOTING = frozenset((SCHEMA.error, KGB.rationale))
#: Types whose digest covers what may be left out, so that guesses could be compared with it.
_DIGESTED = frozenset((KGB.Case, KGB.Dialogue, KGB.Configuration))
#: Types whose recorded IRI is published if it was changed, because others refer to them.
_LINKED = frozenset(
    (KGB.Run, KGB.TaskExecution, KGB.Dialogue, KGB.EvaluationPass, KGB.Analysis, KGB.Invalidation)
)
#: Types of activities that last until the last dialogue has ended.
_ENDING = frozenset((KGB.Run, KGB.EvaluationPass))
#: Types of declarations, whose texts were written for publication.
_WRITTEN_BY_HAND = frozenset(
    (
        KGB.Metric,
        KGB.TaskClass,
        KGB.Parameter,
        KGB.LabelledTask,
        KGB.Setting,
        KGB.IriPattern,
        KGB.Compass,
        KGB.ScoreSet,
        KGB.ScoreSelector,
        KGB.FormatComparison,
        KGB.StoreLayout,
        OWL.Class,
        OWL.Ontology,
        OWL.DatatypeProperty,
        OWL.ObjectProperty,
        SH.SPARQLExecutable,
        SH.Parameter,
        SKOS.Concept,
        CSVW.Column,
    )
)
_NAMES_TEXT = re.compile(r"/text/[0-9a-f]{64}\Z")  # an IRI that may be that of a text
_NAMED = frozenset((PROV.Agent, PROV.Person))  # types of people and accounts, not of software
_NOBODY = "[name]"
_ANYWHERE = "https://example.org/"
_Statement: TypeAlias = tuple[Any, ox.NamedNode, Any, Any]


class RedactionRules(NamedTuple):
    """What is left out of a publication.

    Texts are left out up to ``level``; ``scrubber`` removes secrets and names of machines; ``key``
    is that of the store, for digits in place of digests. IRIs of texts are always those of pages,
    which leave texts out up to ``page_level``.
    """

    level: RedactionLevel
    scrubber: Scrubber
    key: PublicationKey
    page_level: RedactionLevel


class QuadRedactor:
    """Converts the quads of one database to published quads."""

    def __init__(self, database: Quads, addresses: Addresses, rules: RedactionRules) -> None:
        self._database = database
        self._addresses = addresses
        self._rules = rules
        self._nodes: dict[str, ox.NamedNode] = {}
        self._revealing: set[str] = set()  # those of the nodes that are not published
        self._answers = ReferenceAnswers(database)
        self._left_out: dict[tuple[RedactionLevel, str], bool] = {}

    def graph(self, name: str) -> Iterator[list[ox.Quad]]:
        """Yield the published quads of a graph by subject, in the order of the database."""
        recorded = self._database.quads_for_pattern(None, None, None, ox.NamedNode(name))
        for _, group in groupby(recorded, key=lambda quad: quad.subject):
            published = self.subject(list(group))
            if published:
                yield published

    def subject(self, quads: list[ox.Quad]) -> list[ox.Quad]:
        """Return the published quads for all recorded ``quads`` of one subject; may be empty."""
        # Unpacked once, because pyoxigraph makes a new object at each access to a part of a quad.
        public = [(quad, parts) for quad in quads if self._may_leave(parts := tuple(quad))]
        quads, statements = [quad for quad, _ in public], [parts for _, parts in public]
        kinds = {_text(value) for _, predicate, value, _ in statements if predicate == _TYPE}
        # Leases of writing processes mean nothing outside the store. kgbench writes no quoted
        # triples, and they could contain anything.
        if not quads or KGB.WriterLease in kinds or isinstance(statements[0][0], ox.Triple):
            return []
        if KGB.Text in kinds and self._is_left_out(statements[0][0].value, self._rules.level):
            kept = list(self._without_text(quads))
        else:
            kept = self._published_quads(statements, kinds)
        if not kinds.isdisjoint(_ENDING):
            kept = list(self._with_end(kept, quads[0], kinds))
        addresses = self._addresses
        if addresses.store != addresses.base and not kinds.isdisjoint(_LINKED):
            origin = self._quad_like(quads[0], quads[0].subject, _RECORDED_AS)
            if origin.subject != quads[0].subject and not addresses.hides(_text(quads[0].subject)):
                kept.append(origin)
        # Sorted by published IRIs: the order in the store depends on the recorded ones.
        return sorted(kept, key=str)

    def node(self, iri: str) -> ox.NamedNode:
        """Return the published form of an IRI."""
        published = self._nodes.get(iri)
        if published is None:
            if len(self._nodes) >= _MOST_KEPT:
                self._nodes.clear()
            published = self._nodes[iri] = ox.NamedNode(self._published(iri))
            # The publisher chose the base, which may be on a private network.
            told = published.value.replace(self._addresses.base, _ANYWHERE, 1)
            if self._rules.scrubber.revealed(told) is not None:
                self._revealing.add(iri)
        return published

    def _published(self, iri: str) -> str:
        addresses, veil = self._addresses, self._addresses.veil
        left_out = veil is not None and _NAMES_TEXT.search(iri) is not None
        if veil is None or not left_out or not self._is_left_out(iri, self._rules.page_level):
            return addresses.published(iri)
        start, _, digits = addresses.rebase(iri).rpartition("/")
        return addresses.within(f"{start}/{veil.digits(digits)}")

    # --- one subject ------------------------------------------------------------------------

    def _published_quads(self, statements: list[_Statement], kinds: set[str]) -> list[ox.Quad]:
        subject = statements[0][0]
        sealed = self._is_sealed(subject, kinds)
        by_hand = not kinds.isdisjoint(_WRITTEN_BY_HAND)
        published_subject = self._published_term(subject)
        recorded_graph = published_graph = None
        published = []
        for _, predicate, value, graph in statements:
            if graph != recorded_graph:
                recorded_graph, published_graph = graph, self._published_term(graph)
            if sealed and predicate == _REDACTED:  # of an imported publication; said again below
                continue
            if isinstance(value, ox.NamedNode):
                published.append(
                    ox.Quad(published_subject, predicate, self.node(value.value), published_graph)
                )
            elif sealed and predicate == _DIGEST and isinstance(value, ox.Literal):
                digest = ox.Literal(self._addresses.digest(_text(subject), value.value))
                published += [
                    ox.Quad(published_subject, _DIGEST, digest, published_graph),
                    ox.Quad(published_subject, _REDACTED, _TRUE, published_graph),
                ]
            elif isinstance(value, ox.Literal) and not by_hand:
                name = predicate.value
                if name != KGB.baseUrl or is_public(value.value):
                    literal = self._literal(subject, name, value, kinds)
                    published.append(
                        ox.Quad(published_subject, predicate, literal, published_graph)
                    )
            elif not isinstance(value, ox.Triple):
                published.append(ox.Quad(published_subject, predicate, value, published_graph))
        return published

    def _is_sealed(self, subject: Any, kinds: set[str]) -> bool:
        """Return whether the digest of a subject covers something that is left out."""
        if self._rules.level is RedactionLevel.NONE or kinds.isdisjoint(_DIGESTED):
            return False
        return KGB.Case not in kinds or self._addresses.hides(_text(subject))

    def _published_term(self, term: Any) -> Any:
        return self.node(term.value) if isinstance(term, ox.NamedNode) else term

    def _quad_like(
        self, quad: ox.Quad, value: Any, predicate: ox.NamedNode | None = None
    ) -> ox.Quad:
        return ox.Quad(
            self._published_term(quad.subject),
            predicate or quad.predicate,
            value,
            self._published_term(quad.graph_name),
        )

    def _with_end(self, quads: list[ox.Quad], quad: ox.Quad, kinds: set[str]) -> Iterator[ox.Quad]:
        """Yield the quads of a run or its live pass, with the actual end of the run."""
        run: Any = quad.subject if KGB.Run in kinds else None
        if KGB.EvaluationPass in kinds:
            pattern = self._database.quads_for_pattern
            if any(pattern(quad.subject, _PASS_KIND, _LIVE)):
                run = next((q.object for q in pattern(quad.subject, _INFORMED_BY, None)), None)
        end = None if run is None else run_end(self._database, run)
        if end is None:
            yield from quads
            return
        yield from (other for other in quads if other.predicate != _ENDED)
        yield self._quad_like(quad, end, _ENDED)

    def _may_leave(self, statement: _Statement) -> bool:
        """Return whether no IRI of a statement reveals a key, a private host, a path or a name."""
        nodes, revealing = self._nodes, self._revealing
        for term in statement:
            if isinstance(term, ox.Literal):
                iri = term.datatype.value
                if iri == XSD.anyURI and self._rules.scrubber.revealed(term.value):
                    return False
            elif isinstance(term, ox.NamedNode):
                iri = term.value
            else:
                continue
            if iri not in nodes:
                self.node(iri)
            if iri in revealing:
                return False
        _, predicate, value, _ = statement
        return predicate != _CASE_ENDPOINT or is_public(_text(value))

    # --- literals ---------------------------------------------------------------------------

    def _literal(
        self, subject: Any, predicate: str, value: ox.Literal, kinds: set[str]
    ) -> ox.Literal:
        level = self._rules.level
        datatype = value.datatype.value
        if datatype == RDF.JSON:
            data = parse_json(value.value)
            if predicate == KGB.caseData:
                data = public_fields(data, level)
            else:
                if predicate == KGB.infos and level is not RedactionLevel.NONE:
                    data = redacted_infos(data, level, self._answers.of_case(subject))
                data = self._rules.scrubber.json(data)
            text = self._veiled(canonical_json(data))
            return value if text == value.value else ox.Literal(text, datatype=_JSON)
        if datatype in _VALUES or KGB.Text in kinds:
            return value
        text = self._string(predicate, value.value, kinds)
        if text == value.value:
            return value
        if value.language:
            return ox.Literal(text, language=value.language)
        return ox.Literal(text, datatype=value.datatype)

    def _string(self, predicate: str, text: str, kinds: set[str]) -> str:
        of_somebody = kinds and kinds <= _NAMED and predicate == RDFS.label
        if of_somebody and not any(c.isspace() for c in text):
            return _NOBODY  # a login name; names with spaces were entered for publication
        if predicate in _QUOTING and self._rules.level >= RedactionLevel.PROMPTS:
            return WITHHELD
        if self._rules.level >= RedactionLevel.GOLD and (
            predicate in _QUOTING or KGB.Configuration in kinds
        ):
            text = without_gold(text, self._answers.all())
        if KGB.Model not in kinds:
            return self._rules.scrubber.text(self._veiled(text))
        cleaned = self._rules.scrubber.text(text)
        # Different names of models stay different.
        return text if cleaned == text else f"{cleaned} #{self._rules.key.tag('model', text)[:6]}"

    def _veiled(self, text: str) -> str:
        """Veil the dialogue digests in a text that may name dialogues by IRI or path."""
        veil = self._addresses.veil
        return text if veil is None else veil.within(text)

    # --- texts ------------------------------------------------------------------------------

    def _is_left_out(self, text: str, level: RedactionLevel) -> bool:
        """Return whether a text (its IRI) is left out at ``level``.

        The result is cached, because a short answer may be shared by a thousand dialogues.
        """
        if level is RedactionLevel.ANSWERS:
            return True
        left_out = self._left_out.get((level, text))
        if left_out is None:
            if len(self._left_out) >= _MOST_KEPT:
                self._left_out.clear()
            node = ox.NamedNode(text)
            texts = [_text(q.object) for q in self._database.quads_for_pattern(node, _VALUE, None)]
            left_out = (
                not texts  # left out of the publication that was imported
                or (level is RedactionLevel.PROMPTS and self._is_prompt(node))
                or any(map(is_unreadable, texts))
                or any(map(self._rules.scrubber.tells, texts))
            )
            self._left_out[level, text] = left_out
        return left_out

    def _is_prompt(self, text: ox.NamedNode) -> bool:
        """Return whether a text is used by anything but answers."""
        pattern = self._database.quads_for_pattern
        users = pattern(None, _TEXT, text)
        return any(next(pattern(u.subject, _TYPE, _ANSWER), None) is None for u in users)

    def _without_text(self, quads: list[ox.Quad]) -> Iterator[ox.Quad]:
        for quad in quads:
            if quad.predicate not in (_VALUE, _ORIGINAL_BYTES, _REDACTED):
                yield self._quad_like(quad, quad.object)
        yield self._quad_like(quads[0], _TRUE, _REDACTED)


def _text(term: Any) -> str:
    """Return the IRI or lexical form of a term; empty for a quoted triple."""
    return str(getattr(term, "value", ""))
