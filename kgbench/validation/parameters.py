# SPDX-License-Identifier: Apache-2.0
"""The syntax rules of shapes: which parameters there are, and which values each may have.

They follow sections 2 to 5 of the recommendation. A parameter of another name is refused, because a
silently ignored constraint is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import pyoxigraph as ox

from kgbench.nearest import closest
from kgbench.validation.components import KINDS, term_text
from kgbench.validation.data import Data, IllFormedShapes, Term
from kgbench.validation.literals import is_well_formed
from kgbench.validation.paths import list_members
from kgbench.vocab import RDF, XSD

_DIGITS = 100  # most digits of a number of values or characters
_MISPLACED = {
    "target": (
        "sh:target (sh:SPARQLTarget and others) belongs to SHACL Advanced Features, which are not "
        "supported: say what a shape is about by sh:targetClass, sh:targetNode, "
        "sh:targetSubjectsOf or sh:targetObjectsOf"
    ),
    **{
        name: f"sh:{name} belongs to a constraint in SPARQL (sh:sparql), not to a shape"
        for name in ("select", "ask", "prefixes")
    },
    **{
        f"{name}Path": f"sh:{name}Path belongs to a path (sh:path [ ... ]), not to a shape"
        for name in ("inverse", "alternative", "zeroOrMore", "oneOrMore", "zeroOrOne")
    },
}


class Parameter(NamedTuple):
    """What the values of a parameter must be, in words and as a check.

    ``is_single`` parameters have at most one value; only shapes with ``sh:path`` have those that
    are ``of_paths``.
    """

    words: str
    fits: Callable[[Data, Term], bool]
    is_single: bool = False
    of_paths: bool = False

    def once(self) -> Parameter:
        """Return a parameter with at most one value."""
        return self._replace(is_single=True)

    def on_paths(self) -> Parameter:
        """Return a parameter of property shapes only."""
        return self._replace(of_paths=True)


def _is_integer(_: Data, term: Term) -> bool:
    return _is_typed(term, XSD.integer) and len(term.value) <= _DIGITS


def _is_typed(term: Term, *datatypes: str) -> bool:
    return (
        isinstance(term, ox.Literal) and term.datatype.value in datatypes and is_well_formed(term)
    )


def _lists(fits: Callable[[Data, Term], bool]) -> Callable[[Data, Term], bool]:
    return lambda graph, head: all(fits(graph, member) for member in list_members(graph, head))


def _is_text(_: Data, term: Term) -> bool:
    return _is_typed(term, XSD.string)


def _is_iri(_: Data, term: Term) -> bool:
    return isinstance(term, ox.NamedNode)


def _is_node(_: Data, term: Term) -> bool:
    return not isinstance(term, ox.Literal)


_ANY = Parameter("any term", lambda _, __: True)
_IRI = Parameter("an IRI", _is_iri)
_NODE = Parameter("a shape", _is_node)
_LITERAL = Parameter("a literal", lambda _, term: isinstance(term, ox.Literal))
_INTEGER = Parameter("an xsd:integer", _is_integer).once()
_BOOLEAN = Parameter("true or false", lambda _, term: _is_typed(term, XSD.boolean)).once()
_TEXT = Parameter("a text", _is_text).once()
_WORDS = Parameter("a text", lambda _, term: _is_typed(term, XSD.string, RDF.langString))
_SHAPES = Parameter("a list of shapes", _lists(_is_node))

PARAMETERS: Mapping[str, Parameter] = {
    **dict.fromkeys(("targetClass", "targetSubjectsOf", "targetObjectsOf"), _IRI),
    "targetNode": Parameter("an IRI or a literal", lambda _, t: not isinstance(t, ox.BlankNode)),
    **dict.fromkeys(("message", "name", "description"), _WORDS),
    "path": Parameter("a path", _is_node).once(),
    "severity": _IRI.once(),
    "deactivated": _BOOLEAN,
    **dict.fromkeys(("order", "group", "defaultValue", "optional"), _ANY),
    **dict.fromkeys(("property", "node", "not", "sparql"), _NODE),
    **dict.fromkeys(("and", "or", "xone"), _SHAPES),
    **dict.fromkeys(("class", "equals", "disjoint"), _IRI),
    **dict.fromkeys(("lessThan", "lessThanOrEquals"), _IRI.on_paths()),
    "datatype": _IRI.once(),
    "nodeKind": Parameter("a node kind, such as sh:IRI", lambda _, t: t.value in KINDS).once(),
    **dict.fromkeys(("minCount", "maxCount"), _INTEGER.on_paths()),
    **dict.fromkeys(("minLength", "maxLength"), _INTEGER),
    **dict.fromkeys(
        ("minInclusive", "maxInclusive", "minExclusive", "maxExclusive"), _LITERAL.once()
    ),
    **dict.fromkeys(("pattern", "flags"), _TEXT),
    "languageIn": Parameter("a list of texts", _lists(_is_text)).once(),
    "uniqueLang": _BOOLEAN.on_paths(),
    "hasValue": _ANY,
    "in": Parameter("a list", _lists(lambda _, __: True)).once(),
    "closed": _BOOLEAN,
    "ignoredProperties": Parameter("a list of IRIs", _lists(_is_iri)).once(),
    "qualifiedValueShape": _NODE.once().on_paths(),
    "qualifiedValueShapesDisjoint": _BOOLEAN,
    **dict.fromkeys(("qualifiedMinCount", "qualifiedMaxCount"), _INTEGER),
}
"""The parameters of shapes, by their names in the namespace of SHACL."""

_SAID = frozenset(("message", "name", "description", "severity", "deactivated", "flags"))
_SAID_ELSEWHERE = frozenset(("path", "datatype", "order", "group", "defaultValue", "optional"))
DECISIVE = tuple(name for name in PARAMETERS if name not in _SAID | _SAID_ELSEWHERE)
"""The parameters that only shapes have, so that a node that has one is a shape."""


def check(graph: Data, name: str, values: Sequence[Term], *, has_path: bool) -> None:
    """Raise :class:`IllFormedShapes` unless a shape may have these values of a parameter."""
    known = PARAMETERS.get(name)
    if known is None:
        hint = closest(name, PARAMETERS, most=1)
        unknown = f"sh:{name} is not known here{'' if hint is None else f': {hint}'}"
        raise IllFormedShapes(_MISPLACED.get(name, unknown))
    if known.of_paths and not has_path:
        raise IllFormedShapes(f"sh:{name} needs a shape with sh:path")
    if known.is_single and len(values) > 1:
        raise IllFormedShapes(f"sh:{name} has {len(values)} values, may have at most 1")
    for value in values:
        if not known.fits(graph, value):
            found = "a node without an IRI" if isinstance(value, ox.BlankNode) else term_text(value)
            raise IllFormedShapes(f"sh:{name} must be {known.words}, not {found}")
