# SPDX-License-Identifier: Apache-2.0
"""Constraints that are queries: ``sh:sparql`` and components that a shapes graph declares.

Sections 5 and 6 of the recommendation. Pre-binding (section 5.3 and appendix B) gives a variable
its value in every group of a query, unlike a join with the result. Each group therefore begins with
a pattern that finds the values in a graph of their own, so that blank nodes and literals can be
values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind, Token, first_word
from kgbench.rdf.query_text import explain_error, has_dataset
from kgbench.validation.components import Breach, Broken, Constraint, term_text
from kgbench.validation.data import Data, IllFormedShapes, Term
from kgbench.vocab import OWL, SH

SHAPES_GRAPH: Final = ox.NamedNode("urn:x-kgbench:shapes")
"""The graph of the shapes, which queries find as ``$shapesGraph``."""

_VALUES: Final = ox.NamedNode("urn:x-kgbench:bound")  # the graph of the values
_IS: Final = ox.NamedNode("urn:x-kgbench:is")
_UNPROJECTED: Final = frozenset(("shapesGraph", "currentShape"))
_REFUSED: Final = frozenset(("MINUS", "VALUES"))
_SILENT: Final = frozenset((Kind.BLANK, Kind.COMMENT))
_DECLARE, _PREFIX, _NAMESPACE, _PREFIXES = (
    ox.NamedNode(SH[name]) for name in ("declare", "prefix", "namespace", "prefixes")
)
_IMPORTS = ox.NamedNode(OWL.imports)
_NOTHING = ox.Store()
_ERRORS = (ValueError, RuntimeError, OSError)  # of the engine


class PreBound:
    """A SELECT or ASK query of a shapes graph.

    ``holder`` is the node with the query and its ``sh:prefixes``, ``names`` are the variables that
    get a value, and ``path`` is what ``$PATH`` stands for, if it has a meaning. Raises
    :class:`~kgbench.validation.data.IllFormedShapes` for a query that is not SPARQL, asks another
    endpoint or has what the recommendation does not allow with pre-bound variables.
    """

    def __init__(
        self, shapes: Data, holder: Term, text: str, names: Iterable[str], path: str | None
    ) -> None:
        self._shapes = shapes
        prologue = _prologue(shapes, holder)
        refused = lexer.result_refusal(prologue + text)
        if refused is not None:
            raise IllFormedShapes(f"a query is never executed: {refused}")
        if has_dataset(text):
            raise IllFormedShapes("a query has FROM, but constraints are about the data graph")
        plain = [_with_path(token, path) for token in lexer.tokens(text)]
        _check_syntax(prologue, "".join(token.text for token in plain))
        used = {token.text[1:] for token in plain if token.kind is Kind.VARIABLE}
        self._names = sorted(used.intersection(names))
        self._text = prologue + "".join(_with_values(plain, self._names))

    def solutions(self, data: Data, values: Mapping[str, Term]) -> Iterator[dict[str, Term]]:
        """Yield the variables of each solution of a SELECT query that have a value.

        ``values`` are those of the pre-bound variables. Raises
        :class:`~kgbench.validation.data.IllFormedShapes` if the query cannot be executed.
        """
        try:
            found = self._run(data, values)
            names = [variable.value for variable in found.variables]
            for solution in found:
                yield {name: solution[name] for name in names if solution[name] is not None}
        except _ERRORS as error:
            raise IllFormedShapes(f"a query cannot be executed: {error}") from error

    def holds(self, data: Data, values: Mapping[str, Term]) -> bool:
        """Return the result of an ASK query; see :meth:`solutions`."""
        try:
            return bool(self._run(data, values))
        except _ERRORS as error:
            raise IllFormedShapes(f"a query cannot be executed: {error}") from error

    def _run(self, data: Data, values: Mapping[str, Term]) -> Any:
        data.store.remove_graph(_VALUES)
        for name in self._names:
            data.store.add(ox.Quad(_node(name), _IS, values[name], _VALUES))
        if "shapesGraph" in self._names and not data.store.contains_named_graph(SHAPES_GRAPH):
            data.store.extend(self._shapes.quads(SHAPES_GRAPH))
        return data.store.query(self._text)


def _node(name: str) -> ox.NamedNode:
    return ox.NamedNode(f"{_VALUES.value}:{name}")


def _prologue(shapes: Data, holder: Term) -> str:
    """Return the declarations that ``sh:prefixes`` leads to, also by ``owl:imports``."""
    ontologies = dict.fromkeys(shapes.values(holder, _PREFIXES))
    waiting = list(ontologies)
    while waiting:
        imported = shapes.values(waiting.pop(), _IMPORTS)
        waiting += [one for one in imported if one not in ontologies]
        ontologies.update(dict.fromkeys(imported))
    return "".join(
        f"PREFIX {prefix.value}: <{namespace.value}> "
        for ontology in ontologies
        for declaration in shapes.values(ontology, _DECLARE)
        for prefix in shapes.values(declaration, _PREFIX)
        for namespace in shapes.values(declaration, _NAMESPACE)
    )


def _with_path(token: Token, path: str | None) -> Token:
    if token.kind is not Kind.VARIABLE or token.text[1:] != "PATH":
        return token
    if path is None:
        raise IllFormedShapes("a query has $PATH, but its shape has no sh:path")
    return Token(Kind.MARK, path, token.start)


def _check_syntax(prologue: str, query: str) -> None:
    missing = lexer.undeclared(prologue + query, {})
    if missing:
        raise IllFormedShapes(
            f"a query uses the prefix {missing[0]}:, which neither it declares (PREFIX) nor "
            "sh:prefixes (sh:declare)"
        )
    try:
        _NOTHING.query(prologue + query)
    except SyntaxError as error:
        raise IllFormedShapes(explain_error(query, str(error), preamble=prologue)) from error
    except _ERRORS as error:
        raise IllFormedShapes(f"a query cannot be executed: {error}") from error


def _with_values(read: Sequence[Token], names: Sequence[str]) -> Iterator[str]:
    """Yield the text of a query in which each group begins with the values of ``names``."""
    found = " ".join(f"GRAPH {_VALUES} {{ {_node(name)} {_IS} ${name} }}" for name in names)
    said = [token for token in read if token.kind not in _SILENT]
    following = iter(range(1, len(said) + 1))
    for token in read:
        yield token.text
        if token.kind in _SILENT:
            continue
        rest = said[next(following) :]
        _refuse_unbindable(token, rest[0] if rest else token, names)
        if token.text == "{" and rest and rest[0].text.upper() == "SELECT":
            _refuse_unprojected(rest[1:], names)
        elif token.text == "{":
            yield f" {found} "


def _refuse_unbindable(token: Token, following: Token, names: Sequence[str]) -> None:
    """Refuse what pre-bound variables have no meaning with."""
    word = token.text.upper() if token.kind is Kind.WORD else ""
    if word in _REFUSED:
        raise IllFormedShapes(f"a query has {word}, which SHACL does not allow in constraints")
    if word == "GRAPH" and following.text[1:] != "shapesGraph":
        raise IllFormedShapes("a query has GRAPH, but there is no named graph but $shapesGraph")
    if word == "AS" and following.text[1:] in names:
        raise IllFormedShapes(f"a query assigns {following.text}, which has a value already")


def _refuse_unprojected(following: Sequence[Token], names: Sequence[str]) -> None:
    """Refuse an inner query that does not select all pre-bound variables."""
    selected: set[str] = set()
    level = 0
    for token in following:
        if token.text in "()":
            level += 1 if token.text == "(" else -1
        elif level == 0 and (token.text == "{" or token.text.upper() == "WHERE"):
            break
        elif level == 0 and token.kind is Kind.VARIABLE:
            selected.add(token.text[1:])
    missing = sorted({"this", *names} - _UNPROJECTED - selected)
    if missing:
        raise IllFormedShapes(
            f"an inner query does not select ${missing[0]}, so that it would have no value there"
        )


# --- constraints ---------------------------------------------------------------------------------


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
