# SPDX-License-Identifier: Apache-2.0
"""Constraints that are queries: ``sh:sparql`` and components that a shapes graph declares.

Sections 5 and 6 of the recommendation.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.rdf.lexer import first_word
from kgbench.validation.components import Breach, Broken, Constraint, term_text
from kgbench.validation.data import Data, IllFormedShapes, Term
from kgbench.validation.prebinding import SHAPES_GRAPH, PreBound
from kgbench.vocab import SH

_IN_MESSAGE: Final = re.compile(r"\{[?$](\w+)\}")
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z", re.ASCII)
_RESERVED: Final = frozenset(("this", "shapesGraph", "currentShape", "path", "PATH", "value"))
_TRUE: Final = ox.Literal(value=True)
_DEACTIVATED, _MESSAGE = ox.NamedNode(SH.deactivated), ox.NamedNode(SH.message)
_COMPONENT, _PARAMETER, _OPTIONAL, _PATH = (
    ox.NamedNode(SH[name]) for name in ("ConstraintComponent", "parameter", "optional", "path")
)
_VALIDATOR, _OF_NODES, _OF_PATHS = (
    ox.NamedNode(SH[name]) for name in ("validator", "nodeValidator", "propertyValidator")
)


class Owner(NamedTuple):
    """A shape that has constraints in SPARQL: its node, and its path as SPARQL, if it has one."""

    node: Term
    path: str | None


class Component(NamedTuple):
    """A component that a shapes graph declares.

    ``parameters`` are the properties of a shape with the values of variables; those of
    ``optional`` ones may be missing.
    """

    node: Term
    parameters: Mapping[str, Term]
    optional: frozenset[str]


def sparql_constraint(shapes: Data, node: Term, owner: Owner) -> list[Constraint]:
    """Return the constraint that a value of ``sh:sparql`` describes; none if it is deactivated.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` if it cannot be used.
    """
    if _TRUE in shapes.values(node, _DEACTIVATED):
        return []
    return [Constraint("SPARQL", _select(shapes, node, owner, {}))]


def components(shapes: Data) -> list[Component]:
    """Return the components that a shapes graph declares.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` if one cannot be used.
    """
    return [_component(shapes, node) for node in shapes.instances(_COMPONENT)]


def declared_constraints(shapes: Data, component: Component, owner: Owner) -> Iterator[Constraint]:
    """Yield the constraints of a shape by a component that its shapes graph declares.

    Raises :class:`~kgbench.validation.data.IllFormedShapes` if they cannot be used.
    """
    given = {
        name: shapes.values(owner.node, predicate)
        for name, predicate in component.parameters.items()
    }
    if not all(values or name in component.optional for name, values in given.items()):
        return
    several = [name for name, values in given.items() if len(values) > 1]
    if several and len(given) > 1:
        raise IllFormedShapes(f"the parameter {several[0]} has several values, may have one")
    check_of = _validator(shapes, component, owner)
    first = {name: values[0] for name, values in given.items() if values}
    choices = [{several[0]: value} for value in given[several[0]]] if several else [first]
    for values in choices:
        yield Constraint(term_text(component.node), check_of(values))


def _component(shapes: Data, node: Term) -> Component:
    parameters, optional = {}, set()
    for parameter in shapes.values(node, _PARAMETER):
        for predicate in shapes.values(parameter, _PATH):
            name = re.split(r"[#/:]", predicate.value)[-1]
            if name in _RESERVED or not _NAME.match(name):
                raise IllFormedShapes(f"a parameter of {term_text(node)} cannot be called '{name}'")
            parameters[name] = predicate
            if _TRUE in shapes.values(parameter, _OPTIONAL):
                optional.add(name)
    if not parameters.keys() - optional:
        raise IllFormedShapes(f"the component {term_text(node)} needs a mandatory sh:parameter")
    return Component(node, parameters, frozenset(optional))


def _validator(
    shapes: Data, component: Component, owner: Owner
) -> Callable[[Mapping[str, Term]], Callable[[Data, Term, list[Term]], Broken]]:
    for validator in shapes.values(component.node, _OF_PATHS if owner.path else _OF_NODES):
        return lambda values: _select(shapes, validator, owner, values)
    for validator in shapes.values(component.node, _VALIDATOR):
        return lambda values: _ask(shapes, validator, owner, values)
    raise IllFormedShapes(f"the component {term_text(component.node)} has no validator in SPARQL")


def _select(
    shapes: Data, node: Term, owner: Owner, parameters: Mapping[str, Term]
) -> Callable[[Data, Term, list[Term]], Broken]:
    """Return a check whose violations are the solutions of a SELECT query."""
    fixed = _fixed(owner, parameters)
    query = _query(shapes, node, "SELECT", ("this", *fixed), owner.path)
    message = _message(shapes, node)

    def check(data: Data, focus: Term, _: list[Term]) -> Broken:
        values = {**fixed, "this": focus}
        for solution in query.solutions(data, values):
            if solution.get("failure") == _TRUE:
                raise IllFormedShapes("a query in the shapes reports a failure")
            value = solution.get("value", focus if owner.path is None else None)
            path = solution.get("path")
            breach = _breach(value, message, {**values, **solution})
            yield breach._replace(path=None if path is None else term_text(path))

    return check


def _ask(
    shapes: Data, node: Term, owner: Owner, parameters: Mapping[str, Term]
) -> Callable[[Data, Term, list[Term]], Broken]:
    """Return a check whose violations are the values for which an ASK query finds nothing."""
    fixed = _fixed(owner, parameters)
    query = _query(shapes, node, "ASK", ("this", "value", *fixed), owner.path)
    message = _message(shapes, node)

    def check(data: Data, focus: Term, nodes: list[Term]) -> Broken:
        for value in nodes:
            values = {**fixed, "this": focus, "value": value}
            if not query.holds(data, values):
                yield _breach(value, message, values)

    return check


def _fixed(owner: Owner, parameters: Mapping[str, Term]) -> dict[str, Term]:
    return {**parameters, "shapesGraph": SHAPES_GRAPH, "currentShape": owner.node}


def _query(shapes: Data, node: Term, form: str, names: Iterable[str], path: str | None) -> PreBound:
    texts = shapes.values(node, ox.NamedNode(SH[form.lower()]))
    if len(texts) != 1 or not isinstance(texts[0], ox.Literal):
        raise IllFormedShapes(f"a constraint in SPARQL needs one text of sh:{form.lower()}")
    if not first_word(texts[0].value).startswith(form):
        raise IllFormedShapes(f"sh:{form.lower()} is no {form} query")
    return PreBound(shapes, node, texts[0].value, names, path)


def _message(shapes: Data, node: Term) -> str | None:
    return next((text.value for text in shapes.values(node, _MESSAGE)), None)


def _breach(value: Term | None, message: str | None, values: Mapping[str, Term]) -> Breach:
    """Return a violation with ``?message``, or else ``sh:message`` with the values of variables."""
    said = values.get("message")
    if isinstance(said, ox.Literal):
        return Breach(value, said.value, worded=True)
    if message is None:
        return Breach(value, "is what a query of the shape does not allow")

    def text(match: re.Match[str]) -> str:
        term = values.get(match[1])
        return match[0] if term is None else str(getattr(term, "value", term))

    return Breach(value, _IN_MESSAGE.sub(text, message), worded=True)
