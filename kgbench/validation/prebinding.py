# SPDX-License-Identifier: Apache-2.0
"""Queries of shapes: prefixes, pre-bound variables, and what such queries may not contain.

Pre-binding (section 5.3 and appendix B of the recommendation) gives a variable its value in every
group of a query, unlike a join with the result. Each group therefore begins with a pattern that
finds the values in a graph of their own, so that blank nodes and literals can be values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyoxigraph as ox

from kgbench.rdf import lexer, query_errors
from kgbench.rdf.dataset_clauses import has_dataset
from kgbench.rdf.lexer import Kind, Token
from kgbench.validation.data import Data, IllFormedShapes, Term
from kgbench.vocab import OWL, SH

SHAPES_GRAPH: Final = ox.NamedNode("urn:x-kgbench:shapes")
"""The graph of the shapes, which queries find as ``$shapesGraph``."""

_VALUES: Final = ox.NamedNode("urn:x-kgbench:bound")  # the graph of the values
_IS: Final = ox.NamedNode("urn:x-kgbench:is")
_OPTIONAL: Final = frozenset(("shapesGraph", "currentShape"))
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
        raise IllFormedShapes(query_errors.explain(query, str(error), preamble=prologue)) from error
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
    missing = sorted({"this", *names} - _OPTIONAL - selected)
    if missing:
        raise IllFormedShapes(
            f"an inner query does not select ${missing[0]}, so that it would have no value there"
        )
