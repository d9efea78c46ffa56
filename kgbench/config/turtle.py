# SPDX-License-Identifier: Apache-2.0
"""Configurations in Turtle: plans as runs record them, and files as trees with YAML's keys.

In the Turtle of a plan, every task has all its parameters and every model its full specification,
so that the meaning does not change when other tasks are installed, and loading the text gives the
same plan. The text is canonical: keys have a fixed order, and parameters are sorted by name. A
document that is read must have one root and no unconnected statements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote, unquote

import pyoxigraph as ox

from kgbench import rdf
from kgbench.config.graphs import PARAMETER, keys
from kgbench.config.trees import MAX_DEPTH, MAX_NODES, Several, Tree, below
from kgbench.model import Json, ModelSetup, Plan, Task
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation.data import TYPE, Data, Term
from kgbench.validation.literals import is_well_formed
from kgbench.vocab import PREFIXES, RDF, XSD, compact

_LOCAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_BASE = "urn:kgbench:document"
_FIRST, _REST, _NIL = (ox.NamedNode(iri) for iri in (RDF.first, RDF.rest, RDF.nil))

# The datatypes in configurations. Other literals get the datatype _OTHER, which the shapes refuse,
# so that no code tries to convert invalid values or numbers with a million digits.
_VALUES: Mapping[str, Callable[[str], Any]] = {
    XSD.string: str,
    XSD.boolean: lambda text: text in ("true", "1"),
    XSD.integer: int,
    XSD.decimal: float,
    XSD.double: float,
}
_OTHER = "urn:kgbench:other-value"
_LONGEST = 400  # characters of a number


def plan_to_turtle(plan: Plan) -> str:
    """Serialise ``plan`` as Turtle; its ``source_ttl`` is ignored."""
    iterations = "iterationsPerCase" if plan.iterations_per_case else "iterations"
    lines = [
        *(f"@prefix {name}: <{PREFIXES[name]}> ." for name in ("dcterms", "kgb", "rdfs")),
        f"@prefix param: <{PARAMETER}> .",
        "",
        "[] a kgb:Configuration ;",
        f"    dcterms:title {rdf.string(plan.name)} ;",
        f"    kgb:suiteName {rdf.string(plan.suite)} ;",
        f"    kgb:{iterations} {plan.iterations} ;",
        f"    kgb:randomSeed {plan.seed} ;",
        f"    kgb:concurrency {plan.concurrency} ;",
        f"    kgb:maxRetries {plan.max_retries} ;",
        f"    kgb:callTimeout {_real(plan.call_timeout)} ;",
        f"    kgb:judgeTimeout {_real(plan.judge_timeout)} ;",
        *_limits(plan),
        "    kgb:tasks (",
        *(f"        {_task(task)}" for task in plan.tasks),
        "    ) ;",
        "    kgb:models (",
        *(f"        {_model(model)}" for model in plan.models),
        "    ) .",
    ]
    return "\n".join(lines) + "\n"


def _limits(plan: Plan) -> list[str]:
    """Return the optional keys, without the price table: the prices themselves are recorded."""
    amounts = {
        "requestsPerMinute": plan.requests_per_minute,
        "tokensPerMinute": plan.tokens_per_minute,
        "maxCost": plan.max_cost,
    }
    lines = [f"    kgb:{k} {_real(float(v))} ;" for k, v in amounts.items() if v is not None]
    if plan.max_tokens is not None:
        lines.append(f"    kgb:maxTokens {plan.max_tokens} ;")
    if plan.batch:
        lines.append("    kgb:inBatches true ;")
    if plan.tool_protocol is not None:
        lines.append(f"    kgb:toolProtocol {rdf.string(plan.tool_protocol)} ;")
    return lines


def _task(task: Task) -> str:
    params = f" ; kgb:params {_object(task.parameters)}" if task.parameters else ""
    name = rdf.string(task.task_class)
    return f"[ rdfs:label {rdf.string(task.label)} ; kgb:className {name}{params} ]"


def _model(model: ModelSetup) -> str:
    return f"[ rdfs:label {rdf.string(model.label)} ; kgb:spec {rdf.string(model.spec)} ]"


def _object(values: Mapping[str, Json]) -> str:
    pairs = [f"{_property(k)} {_value(v)}" for k, v in sorted(values.items()) if v is not None]
    return f"[ {' ; '.join(pairs)} ]" if pairs else "[]"


def _property(name: str) -> str:
    if _LOCAL_NAME.fullmatch(name):
        return f"param:{name}"
    return f"<{PARAMETER}{quote(name, safe='')}>"


def _value(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, Mapping):
        return _object(value)
    if isinstance(value, list | tuple):
        return f"( {' '.join(_value(item) for item in value)} )"
    return rdf.string(str(value))


def _real(value: float) -> str:
    """Write a double in the short form of Turtle, which requires an exponent."""
    text = repr(float(value))
    return text if "e" in text else f"{text}e0"


def read(source: str, text: str, root_type: str) -> Tree:
    """Return the only node of type ``root_type`` in ``text``, and all that belongs to it.

    What YAML and JSON cannot say stays in the tree where the shapes refuse it: several values of a
    key, and literals of other kinds; parameters, which no shape describes, have findings. Raises
    :class:`~kgbench.errors.ConfigurationError` for invalid Turtle, nodes that are used twice, and
    statements that do not belong to the root.
    """
    tree = Tree(source)
    triples = _triples(tree, text)
    data = Data(IndexedQuads(triples))
    roots = data.instances(ox.NamedNode(root_type))
    if len(roots) != 1:
        message = f"found {len(roots)} nodes of type {compact(root_type)}; allowed: exactly one"
        raise tree.refusal("", message)
    frame = _Frame(tree, data)
    tree.value = frame.value(roots[0], "", within_params=False)
    loose = {triple.subject for triple in triples} - frame.seen
    for iri in sorted(str(node) for node in loose if isinstance(node, ox.NamedNode)):
        tree.note("", f"{iri} is no part of the configuration; nothing leads to it")
    if any(isinstance(node, ox.BlankNode) for node in loose):
        tree.note("", "a blank node is no part of the configuration; nothing leads to it")
    return tree


def _triples(tree: Tree, text: str) -> Collection[ox.Triple]:
    triples: dict[ox.Triple, None] = {}
    try:
        for quad in ox.parse(text, format=ox.RdfFormat.TURTLE, base_iri=_BASE):
            if quad.subject == _NIL:
                raise tree.refusal("", "rdf:nil is the empty list; nothing is said about it here")
            if isinstance(quad.object, ox.Triple):
                raise tree.refusal("", "statements about statements are not read here")
            triples[quad.triple] = None
            if len(triples) > MAX_NODES:
                raise tree.refusal("", f"the file holds more than {MAX_NODES} statements")
    except SyntaxError as error:
        raise tree.refusal("", f"this is not Turtle: {error.msg}", error.lineno) from None
    return triples.keys()


class _Frame:
    def __init__(self, tree: Tree, data: Data) -> None:
        self.tree = tree
        self.data = data
        self.seen: set[Term] = set()

    def value(self, node: Term, pointer: str, *, within_params: bool) -> Any:
        if isinstance(node, ox.Literal):
            return self._literal(node, pointer, within_params=within_params)
        if node == _NIL:
            return []
        self._see(node)
        if pointer.count("/") > MAX_DEPTH:
            raise self.tree.refusal("", f"nested deeper than {MAX_DEPTH} levels")
        if self.data.values(node, _FIRST):
            members = self._members(node)
            if members is None:
                raise self.tree.refusal(pointer, "this is not a well-formed list")
            return [
                self.value(member, below(pointer, number), within_params=within_params)
                for number, member in enumerate(members)
            ]
        return self._object(node, pointer, within_params=within_params)

    def _see(self, node: Term) -> None:
        """Refuse a node that is used twice, whose expansion could grow without limit."""
        if node in self.seen:
            name = str(node) if isinstance(node, ox.NamedNode) else "a blank node"
            raise self.tree.refusal("", f"{name} is used in two places; write it out in each")
        self.seen.add(node)

    def _members(self, head: Term) -> list[Term] | None:
        """Return the members of a list, or ``None`` if it is ill-formed."""
        cells: dict[Term, Term] = {}
        while head != _NIL:
            about = self.data.about(head)
            first, rest = about.get(_FIRST, []), about.get(_REST, [])
            others = about.keys() - {_FIRST, _REST, TYPE}
            if len(first) != 1 or len(rest) != 1 or others or head in cells:
                return None
            cells[head] = first[0]
            head = rest[0]
        for cell in list(cells)[1:]:
            self._see(cell)
        return list(cells.values())

    def _object(self, node: Term, pointer: str, *, within_params: bool) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for predicate, values in self.data.about(node).items():
            iri = predicate.value
            if predicate == TYPE and not within_params:
                continue
            key = keys().get(iri) or compact(iri)
            if within_params and iri.startswith(PARAMETER):
                key = unquote(iri.removeprefix(PARAMETER))
            elif within_params:
                allowed = f"allowed: properties in <{PARAMETER}>"
                self.tree.note(pointer, f"found {key}; {allowed}")
            position, inside = below(pointer, key), within_params or key == "params"
            if within_params and len(values) > 1:
                self.tree.note(position, "found more than one value; allowed: one")
            framed = [self.value(value, position, within_params=inside) for value in values]
            result[key] = Several(framed) if len(framed) > 1 else framed[0]
        return result

    def _literal(self, literal: ox.Literal, pointer: str, *, within_params: bool) -> Any:
        text, datatype = literal.value, literal.datatype.value
        known = datatype == XSD.string or (datatype in _VALUES and len(text) <= _LONGEST)
        if known and is_well_formed(literal):
            value = _VALUES[datatype](text)
            if not isinstance(value, float) or math.isfinite(value):
                return value
            if not within_params:
                return literal
            self.tree.note(pointer, "the number is not finite")
        elif within_params:
            allowed = "a text without language, a number, true or false"
            self.tree.note(pointer, f"found a value of another kind; allowed: {allowed}")
        elif literal.language is not None:  # without the base direction of RDF 1.2, if any
            return ox.Literal(text, language=literal.language)
        else:
            return ox.Literal(text, datatype=ox.NamedNode(_OTHER))
        return text
