# SPDX-License-Identifier: Apache-2.0
"""Validation of small graphs against untrusted shapes.

The engine of this package validates if it supports everything in the shapes; otherwise pySHACL
does. Shapes that break the syntax rules of SHACL are refused with a message, and so are recursive
shapes, whose meaning SHACL leaves open. Nothing is fetched: ``owl:imports`` are not followed.

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
from kgbench.rdf.quads import IndexedQuads
from kgbench.validation import components
from kgbench.validation.checking import complaints
from kgbench.validation.compiling import CLASSES, Shape, compiled, targets
from kgbench.validation.data import Data, Term
from kgbench.validation.literals import KNOWN_DATATYPES
from kgbench.validation.with_pyshacl import rdflib_graph
from kgbench.vocab import RDF, RDFS, SH, XSD, compact

if TYPE_CHECKING:
    import rdflib

_MOST_LISTED = 5  # most faults of shapes listed in a message
_SUFFIX = "ConstraintComponent"
_BOUNDS = tuple(SH[f"{m}{kind}"] for m in ("min", "max") for kind in ("Inclusive", "Exclusive"))
_REFERENCES = tuple(
    ox.NamedNode(SH[name]) for name in ("property", "qualifiedValueShape", *components.OF_SHAPES)
)
_OF_LISTS = tuple(ox.NamedNode(SH[name]) for name in components.LOGICAL)
_SUBCLASS = ox.NamedNode(RDFS.subClassOf)
_FIRST, _REST = ox.NamedNode(RDF.first), ox.NamedNode(RDF.rest)

# Shapes that make pySHACL load all its lazily imported parts.
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
    """The shapes cannot be used for validation; the message gives the reason."""


class Finding(NamedTuple):
    """A validation result.

    ``focus`` is a term in N-Triples syntax. ``component`` is the name of the constraint component
    without namespace and ``ConstraintComponent``. ``path`` is a compact property IRI, or ``None``
    if there is no path or it is not a single property.
    """

    focus: str
    component: str
    path: str | None
    message: str

    @property
    def pair(self) -> tuple[str, str]:
        """The focus node and the component."""
        return self.focus, self.component


class ForeignShapes:
    """An untrusted shapes graph, ready to validate any number of graphs.

    Raises :class:`IllFormedShapes` if the shapes break the syntax rules of SHACL or are recursive.
    """

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._triples = list(triples)
        graph = Data(IndexedQuads(self._triples))
        _refuse_triple_terms(self._triples)
        _refuse_custom_targets(self._triples)
        _refuse_ill_formed(graph)
        _refuse_recursion(graph)
        self._targets = targets(IndexedQuads(self._triples))
        self._shapes = None if _has_unknown_values(self._triples) else _compiled(self._triples)
        self._for_pyshacl: rdflib.Graph | None = None

    @property
    def engine(self) -> str:
        """The engine that validates: ``kgbench`` or ``pyshacl``."""
        return "pyshacl" if self._shapes is None else "kgbench"

    @property
    def have_targets(self) -> bool:
        """Whether any shape has a target."""
        return bool(self._targets)

    def select(self, data: Sequence[ox.Triple]) -> bool:
        """Return whether the targets of the shapes select any node of a graph."""
        graph = Data(IndexedQuads(data))
        found = (target(graph) for of_shape in self._targets.values() for target in of_shape)
        return any(found)

    def findings(self, data: Sequence[ox.Triple]) -> list[Finding]:
        """Return the validation results of a graph, in no particular order.

        Raises :class:`IllFormedShapes` if a fault of the shapes is only detected now.
        """
        if self._shapes is None or not all(map(_is_known, data)):
            return self.by_pyshacl(data)
        try:
            return [
                Finding(str(result.focus), result.component, result.path, result.message)
                for result in complaints(Data(IndexedQuads(data)), self._shapes)
            ]
        except RecursionError as error:
            raise IllFormedShapes("the shapes are nested too deeply") from error

    def by_pyshacl(self, data: Sequence[ox.Triple]) -> list[Finding]:
        """Return the validation results of pySHACL, without triples that contain triple terms."""
        if self._for_pyshacl is None:
            graph = Data(IndexedQuads(self._triples))
            kinds = {kind for cls in CLASSES for kind in graph.subclasses(cls)}
            # pySHACL takes only direct subclasses of rdfs:Class for classes.
            direct = [ox.Triple(kind, _SUBCLASS, CLASSES[0]) for kind in kinds]
            self._for_pyshacl = rdflib_graph([*self._triples, *direct])
        plain = [triple for triple in data if not isinstance(triple.object, ox.Triple)]
        return _by_pyshacl(self._for_pyshacl, plain)


def load_core() -> None:
    """Load the syntax rules of SHACL, for processes that cannot open files later."""
    _syntax_rules()


def load_pyshacl() -> None:
    """Load pySHACL with all that it imports lazily, for processes that cannot open files later."""
    shapes = ForeignShapes(quad.triple for quad in ox.parse(_EXAMPLE, ox.RdfFormat.TURTLE))
    data = "@prefix e: <https://e.invalid/> . e:a e:p 'a' , 'b'@en , 1 , e:a ; e:q 1.5 ."
    shapes.by_pyshacl([quad.triple for quad in ox.parse(data, ox.RdfFormat.TURTLE)])


def _refuse_triple_terms(triples: list[ox.Triple]) -> None:
    for triple in triples:
        if isinstance(triple.object, ox.Triple):
            raise IllFormedShapes("triple terms of RDF 1.2 have no meaning in SHACL")


def _refuse_custom_targets(triples: list[ox.Triple]) -> None:
    """Refuse targets of SHACL Advanced Features, which both engines would silently ignore."""
    if any(triple.predicate.value == SH.target for triple in triples):
        raise IllFormedShapes(
            "sh:target (sh:SPARQLTarget and others) belongs to SHACL Advanced Features, which are "
            "not supported: say what a shape is about by sh:targetClass, sh:targetNode, "
            "sh:targetSubjectsOf or sh:targetObjectsOf"
        )


def _refuse_ill_formed(graph: Data) -> None:
    faults = [
        f"{_node_text(result.focus)}{'' if result.path is None else f', {result.path}'}"
        f": {result.message}"
        + ("" if result.value is None or result.value.startswith("_:") else f" ({result.value})")
        for result in complaints(graph, _syntax_rules())
    ]
    if faults:
        listed = "; ".join(sorted(set(faults))[:_MOST_LISTED])
        raise IllFormedShapes(f"the shapes graph breaks the syntax rules of SHACL: {listed}")


@cache
def _syntax_rules() -> list[Shape]:
    path = Path(str(distribution("pyshacl").locate_file("pyshacl/assets/shacl-shacl.ttl")))
    store = ox.Store()
    store.load(path.read_bytes(), format=ox.RdfFormat.TURTLE)
    return compiled(store)


def _refuse_recursion(graph: Data) -> None:
    """Refuse shapes that refer to themselves, directly or indirectly (section 3.4.3)."""
    done: set[Term] = set()
    for start in {shape for name in _REFERENCES + _OF_LISTS for shape in graph.subjects(name)}:
        path: dict[Term, Iterator[Term]] = {start: _inner(graph, start)}
        while path and start not in done:
            node = next(reversed(path))
            inner = next((shape for shape in path[node] if shape not in done), None)
            if inner is None:
                done.add(node)
                del path[node]
            elif inner in path:
                raise IllFormedShapes(
                    f"the shape {_node_text(inner)} refers to itself, and SHACL does not define "
                    "what recursive shapes mean"
                )
            else:
                path[inner] = _inner(graph, inner)


def _inner(graph: Data, shape: Term) -> Iterator[Term]:
    """Yield the shapes that a shape refers to directly."""
    for name in _REFERENCES:
        yield from graph.values(shape, name)
    for name in _OF_LISTS:
        for head in graph.values(shape, name):
            visited: set[Term] = set()
            while head not in visited:
                visited.add(head)
                yield from graph.values(head, _FIRST)
                head = next(iter(graph.values(head, _REST)), head)  # noqa: PLW2901


def _is_known(triple: ox.Triple) -> bool:
    """Return whether this engine can handle an object: only some XSD datatypes are unsupported."""
    value = triple.object
    if not isinstance(value, ox.Literal):
        return True
    datatype = value.datatype.value
    return datatype in KNOWN_DATATYPES or not datatype.startswith(str(XSD))


def _has_unknown_values(triples: list[ox.Triple]) -> bool:
    """Return whether a bound or ``sh:datatype`` needs a datatype that this engine lacks."""
    bounds = [triple.object for triple in triples if triple.predicate.value in _BOUNDS]
    known = all(
        isinstance(bound, ox.Literal) and bound.datatype.value in KNOWN_DATATYPES
        for bound in bounds
    )
    datatypes = {
        triple.object.value
        for triple in triples
        if triple.predicate.value == SH.datatype and isinstance(triple.object, ox.NamedNode)
    }
    return not known or any(
        datatype.startswith(str(XSD)) for datatype in datatypes - KNOWN_DATATYPES
    )


def _compiled(triples: list[ox.Triple]) -> list[Shape] | None:
    """Compile the shapes for this engine; return ``None`` if it does not support them."""
    try:
        return compiled(IndexedQuads(triples))
    except ResourceError:
        return None
    except re.error as error:
        raise IllFormedShapes(f"sh:pattern has no regular expression: {error}") from error
    except (ValueError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise IllFormedShapes(
            "the shapes cannot be read: a parameter has a value of another form than SHACL says, "
            "or shapes are nested too deeply"
        ) from error


def _by_pyshacl(shapes: rdflib.Graph, data: Sequence[ox.Triple]) -> list[Finding]:
    import pyshacl
    import rdflib
    from rdflib import SH as NAMES

    with warnings.catch_warnings():
        # Warnings of ill-typed values (reported as results) and of recursion (refused above).
        warnings.simplefilter("ignore")
        try:
            conforms, results, text = pyshacl.validate(
                rdflib_graph(data), shacl_graph=shapes, do_owl_imports=False, inference="none"
            )
        except MemoryError:
            raise
        except Exception as error:  # pySHACL raises whatever rdflib and Python do
            # Errors of Python have no words for an author; plain exceptions of rdflib have some.
            is_python = type(error).__module__ == "builtins" and type(error) is not Exception
            reason = "a parameter has a value of another form than SHACL says"
            raise IllFormedShapes(
                f"pySHACL cannot use the shapes: {reason if is_python else error}"
            ) from error
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
        messages = sorted(str(text) for text in results.objects(node, names.resultMessage))
        focus = results.value(node, names.focusNode)
        yield Finding(
            "" if focus is None else focus.n3(),
            component.removeprefix(str(SH)).removesuffix(_SUFFIX),
            compact(str(path)) if isinstance(path, rdflib.URIRef) else None,
            "; ".join(messages),
        )


def _node_text(node: Term) -> str:
    return compact(node.value) if isinstance(node, ox.NamedNode) else "a node without an IRI"
