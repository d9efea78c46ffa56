# SPDX-License-Identifier: Apache-2.0
"""Validating small graphs against shapes that anybody may have written.

The engine of this package validates where it knows everything that the shapes say; pySHACL
validates where it does not. Refused with words are shapes that break the syntax rules of SHACL, and
recursive shapes, whose meaning SHACL leaves open. Nothing is fetched: ``owl:imports`` are not
followed.

Syntax rules: the shapes graph "SHACL for SHACL" (appendix C of the recommendation), which pySHACL
ships.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyoxigraph as ox

from kgbench.errors import ResourceError
from kgbench.shapes import rdflib_graph
from kgbench.validation import components
from kgbench.validation.checking import complaints
from kgbench.validation.compiling import TARGETS, Shape, compiled
from kgbench.validation.data import Data, Memory, Term
from kgbench.validation.literals import KNOWN_DATATYPES
from kgbench.vocab import RDF, RDFS, SH, XSD, compact

if TYPE_CHECKING:
    import rdflib

_MOST_SAID = 5  # faults of shapes that a message lists
_SUFFIX = "ConstraintComponent"
_BOUNDS = tuple(SH[f"{m}{kind}"] for m in ("min", "max") for kind in ("Inclusive", "Exclusive"))
_REFERENCES = tuple(
    ox.NamedNode(SH[name]) for name in ("property", "qualifiedValueShape", *components.OF_SHAPES)
)
_OF_LISTS = tuple(ox.NamedNode(SH[name]) for name in components.LOGICAL)
_FIRST, _REST = ox.NamedNode(RDF.first), ox.NamedNode(RDF.rest)

# Everything that pySHACL may load late.
_EXAMPLE = """
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix e: <https://e.invalid/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
e:s a sh:NodeShape ; sh:targetNode e:a ; sh:targetSubjectsOf e:p ; sh:targetObjectsOf e:q ;
  sh:closed true ; sh:ignoredProperties ( e:q ) ; sh:or ( e:t e:u ) ; sh:xone ( e:t e:u ) ;
  sh:and ( e:t e:u ) ; sh:not e:t ; sh:node e:u ; e:most 3 ;
  sh:sparql [ a sh:SPARQLConstraint ; sh:message "{$this}" ; sh:select
    "SELECT $this WHERE { $this <https://e.invalid/p> ?v FILTER(REGEX(STR(?v), 'a')) }" ] ;
  sh:property [ sh:path e:p ; sh:minCount 9 ; sh:maxCount 1 ; sh:pattern "^a" ; sh:flags "i" ;
    sh:datatype e:d ; sh:nodeKind sh:IRI ; sh:class e:C ; sh:minLength 9 ; sh:maxLength 0 ;
    sh:in ( 1 2 ) ; sh:hasValue 7 ; sh:languageIn ( "de" ) ; sh:uniqueLang true ; sh:equals e:q ;
    sh:disjoint e:q ; sh:lessThan e:q ; sh:lessThanOrEquals e:q ; sh:minInclusive 1 ;
    sh:maxInclusive 0 ; sh:minExclusive 1 ; sh:maxExclusive 0 ; sh:qualifiedValueShape e:t ;
    sh:qualifiedMinCount 9 ; sh:qualifiedMaxCount 0 ] ;
  sh:property [ sh:path ( e:p [ sh:inversePath e:p ] [ sh:zeroOrMorePath e:p ]
    [ sh:oneOrMorePath e:p ] [ sh:zeroOrOnePath e:p ] [ sh:alternativePath ( e:p e:q ) ] ) ;
    sh:maxCount 0 ] .
e:t a sh:NodeShape ; sh:class e:C . e:u a sh:NodeShape ; sh:nodeKind sh:Literal .
e:Most a sh:ConstraintComponent ; sh:parameter [ sh:path e:most ; sh:datatype xsd:integer ] ;
  sh:validator [ a sh:SPARQLAskValidator ; sh:ask "ASK { FILTER(STRLEN(STR($value)) < $most) }" ] .
"""


class IllFormedShapes(ValueError):
    """Shapes that no graph can be validated against; the message says what is wrong with them."""


class Finding(NamedTuple):
    """A result of a validation.

    ``focus`` is a term as N-Triples write it, ``component`` the name of the constraint component
    without namespace and ``ConstraintComponent``, ``path`` as people read it (``None``: there is
    none, or it is no property).
    """

    focus: str
    component: str
    path: str | None
    message: str

    @property
    def pair(self) -> tuple[str, str]:
        """The node and the component."""
        return self.focus, self.component


class ForeignShapes:
    """The shapes of a graph, ready to validate any number of graphs.

    Raises :class:`IllFormedShapes`.
    """

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._triples = list(triples)
        graph = Data(Memory(self._triples))
        _refuse_what_is_no_rdf(self._triples)
        _refuse_ill_formed(graph)
        _refuse_recursion(graph)
        self._shapes = None if _has_unknown_values(self._triples) else _compiled(self._triples)
        self._for_pyshacl: rdflib.Graph | None = None

    @property
    def engine(self) -> str:
        """Which engine validates: ``kgbench`` or ``pyshacl``."""
        return "pyshacl" if self._shapes is None else "kgbench"

    @property
    def have_targets(self) -> bool:
        """Whether any shape says which nodes it is about."""
        return bool(self._shapes) if self._shapes is not None else _says_targets(self._triples)

    def findings(self, data: Sequence[ox.Triple]) -> list[Finding]:
        """Return what the shapes find wrong with a graph, in no particular order.

        Raises :class:`IllFormedShapes` if the shapes turn out to be unusable only now.
        """
        if self._shapes is None or not all(map(_is_known, data)):
            return self.by_pyshacl(data)
        try:
            return [
                Finding(str(one.focus), one.component, one.path, one.message)
                for one in complaints(Data(Memory(data)), self._shapes)
            ]
        except RecursionError as error:
            raise IllFormedShapes("the shapes are nested too deeply") from error

    def by_pyshacl(self, data: Sequence[ox.Triple]) -> list[Finding]:
        """Return the same from pySHACL, whatever the shapes say; it does not see triple terms."""
        if self._for_pyshacl is None:
            self._for_pyshacl = rdflib_graph(self._triples)
        plain = [one for one in data if not isinstance(one.object, ox.Triple)]
        return _by_pyshacl(self._for_pyshacl, plain)


def load_core() -> None:
    """Read the syntax rules of SHACL, for a process that cannot do so later."""
    _syntax_rules()


def load_pyshacl() -> None:
    """Load pySHACL with what it needs for queries, for a process that cannot do so later."""
    shapes = ForeignShapes(quad.triple for quad in ox.parse(_EXAMPLE, ox.RdfFormat.TURTLE))
    data = "@prefix e: <https://e.invalid/> . e:a e:p 'a' , 'b'@en , 1 , e:a ; e:q 1.5 ."
    shapes.by_pyshacl([quad.triple for quad in ox.parse(data, ox.RdfFormat.TURTLE)])


def _refuse_what_is_no_rdf(triples: list[ox.Triple]) -> None:
    for triple in triples:
        if isinstance(triple.object, ox.Triple):
            raise IllFormedShapes("triple terms of RDF 1.2 have no meaning in SHACL")


def _refuse_ill_formed(graph: Data) -> None:
    faults = [
        f"{_shown(one.focus)}{'' if one.path is None else f', {one.path}'}: {one.message}"
        + ("" if one.value is None or one.value.startswith("_:") else f" ({one.value})")
        for one in complaints(graph, _syntax_rules())
    ]
    if faults:
        said = "; ".join(sorted(set(faults))[:_MOST_SAID])
        raise IllFormedShapes(f"the shapes graph breaks the syntax rules of SHACL: {said}")


@cache
def _syntax_rules() -> list[Shape]:
    place = Path(str(distribution("pyshacl").locate_file("pyshacl/assets/shacl-shacl.ttl")))
    store = ox.Store()
    store.load(place.read_bytes(), format=ox.RdfFormat.TURTLE)
    return compiled(store)


def _refuse_recursion(graph: Data) -> None:
    """Refuse shapes that refer to themselves, over others or not (section 3.4.3)."""
    done: set[Term] = set()
    for start in {one for name in _REFERENCES + _OF_LISTS for one in graph.subjects(name)}:
        above: dict[Term, Iterator[Term]] = {start: _inner(graph, start)}
        while above and start not in done:
            node = next(reversed(above))
            inner = next((one for one in above[node] if one not in done), None)
            if inner is None:
                done.add(node)
                del above[node]
            elif inner in above:
                raise IllFormedShapes(
                    f"the shape {_shown(inner)} refers to itself, and SHACL does not define what "
                    "recursive shapes mean"
                )
            else:
                above[inner] = _inner(graph, inner)


def _inner(graph: Data, shape: Term) -> Iterator[Term]:
    """Yield the shapes that a shape refers to."""
    for name in _REFERENCES:
        yield from graph.values(shape, name)
    for name in _OF_LISTS:
        for head in graph.values(shape, name):
            met: set[Term] = set()
            while head not in met:
                met.add(head)
                yield from graph.values(head, _FIRST)
                head = next(iter(graph.values(head, _REST)), head)  # noqa: PLW2901


def _is_known(triple: ox.Triple) -> bool:
    """Whether the engine here knows the datatype of an object, which may be one of nobody's."""
    value = triple.object
    if not isinstance(value, ox.Literal):
        return True
    of = value.datatype.value
    return of in KNOWN_DATATYPES or not of.startswith(str(XSD))


def _has_unknown_values(triples: list[ox.Triple]) -> bool:
    """Whether a bound or datatype is of a kind whose values the engine here does not know."""
    bounds = [one.object for one in triples if one.predicate.value in _BOUNDS]
    known = all(
        isinstance(one, ox.Literal) and one.datatype.value in KNOWN_DATATYPES for one in bounds
    )
    datatypes = {
        one.object.value
        for one in triples
        if one.predicate.value == SH.datatype and isinstance(one.object, ox.NamedNode)
    }
    return not known or any(one.startswith(str(XSD)) for one in datatypes - KNOWN_DATATYPES)


def _compiled(triples: list[ox.Triple]) -> list[Shape] | None:
    """Return the shapes for the engine here; ``None`` if it does not know all that they say."""
    try:
        return compiled(Memory(triples))
    except ResourceError:
        return None
    except re.error as error:
        raise IllFormedShapes(f"sh:pattern has no regular expression: {error}") from error
    except (ValueError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise IllFormedShapes(f"the shapes cannot be read: {error}") from error


def _says_targets(triples: list[ox.Triple]) -> bool:
    said = {SH[name] for name in (*TARGETS, "target")}
    implicit = {(str(RDF.type), str(RDFS.Class))}
    return any(
        one.predicate.value in said
        or (one.predicate.value, getattr(one.object, "value", None)) in implicit
        for one in triples
    )


def _by_pyshacl(shapes: rdflib.Graph, data: Sequence[ox.Triple]) -> list[Finding]:
    import pyshacl
    import rdflib
    from rdflib import SH as NAMES

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ill-typed values and of recursion: results, or refused
        try:
            conforms, results, text = pyshacl.validate(
                rdflib_graph(data), shacl_graph=shapes, do_owl_imports=False, inference="none"
            )
        except MemoryError:
            raise
        except Exception as error:  # pySHACL raises whatever rdflib and Python do
            raise IllFormedShapes(f"pySHACL cannot use the shapes: {error}") from error
    if conforms:
        return []
    if not isinstance(results, rdflib.Graph):
        raise IllFormedShapes(f"pySHACL cannot use the shapes: {text}")
    return list(_read(results, NAMES))


def _read(results: rdflib.Graph, names: Any) -> Iterator[Finding]:
    import rdflib

    for node in results.objects(None, names.result):
        path = results.value(node, names.resultPath)
        component = str(results.value(node, names.sourceConstraintComponent))
        messages = sorted(str(one) for one in results.objects(node, names.resultMessage))
        focus = results.value(node, names.focusNode)
        yield Finding(
            "" if focus is None else focus.n3(),
            component.removeprefix(str(SH)).removesuffix(_SUFFIX),
            compact(str(path)) if isinstance(path, rdflib.URIRef) else None,
            "; ".join(messages),
        )


def _shown(node: Term) -> str:
    return compact(node.value) if isinstance(node, ox.NamedNode) else "a node without an IRI"
