# SPDX-License-Identifier: Apache-2.0
"""The engine that reproduces published verdicts: parsing, checking and querying with rdflib.

The check uses rdflib's grammar only, so undeclared prefixes and errors of scope pass, as they did
in LLM-KG-Bench. Nothing is fetched: remote contexts, entities and graphs that a query names with
FROM are not loaded.
"""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import pyoxigraph as ox

from kgbench.characters import BOM
from kgbench.errors import EvaluationError
from kgbench.execution import documents, graph_changes
from kgbench.execution.engines import (
    TRIPLE,
    GraphText,
    InstalledGraphs,
    QueryEngine,
    Question,
    as_rows,
)
from kgbench.execution.oxigraph import ox_format
from kgbench.execution.rewriting import execute
from kgbench.model import ParsedGraph, QueryResult
from kgbench.vocab import XSD

if TYPE_CHECKING:
    from rdflib import Graph
    from rdflib.term import Node

_FORMATS = {"turtle": "turtle", "json-ld": "json-ld", "xml": "xml", "ntriples": "nt"}
# Strings, comments and IRIs of Turtle; the second group is a language tag followed by ^^.
_TAGGED_AND_TYPED = re.compile(
    r"""(\"\"\"(?:[^"\\]|\\.|"{1,2}(?!"))*+\"\"\"|'''(?:[^'\\]|\\.|'{1,2}(?!'))*+'''"""
    r"""|"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+')(@[A-Za-z]++(?:-[A-Za-z0-9]++)*+\^\^)?+"""
    r"""|\#[^\n]*+|<[^<>\s]*+>""",
    re.DOTALL,
)
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


class RdflibExecutor(QueryEngine["Graph"]):
    """An implementation of :class:`kgbench.model.Executor` with rdflib, whose casts it has."""

    ERRORS = (Exception,)  # rdflib's parsers raise exceptions of any class

    def __init__(self, installed: InstalledGraphs | None = None) -> None:
        import rdflib.plugins.sparql

        rdflib.plugins.sparql.SPARQL_LOAD_GRAPHS = False
        super().__init__(installed)

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Return the triples of a document's default graph, or the parser's message."""
        ox_format(rdf_format)  # refuses others
        try:
            with _quietly():
                lines = _parsed(text.removeprefix(BOM), rdf_format)
                return ParsedGraph(tuple(documents.relabel(lines)))
        except documents.RefusedDocument as error:
            return ParsedGraph(None, str(error))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return ParsedGraph(None, str(error) or type(error).__name__)

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:  # noqa: ARG002 - grammar
        """Return the message of rdflib's grammar, with line and column, or ``None``."""
        from rdflib.plugins.sparql.parser import parseQuery, parseUpdate

        try:
            documents.refuse_surrogates(query)
            (parseUpdate if update else parseQuery)(query.removeprefix(BOM))
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - as above
            return str(error) or type(error).__name__
        return None

    def _changed(self, loaded: Graph, text: str, known: Mapping[str, str]) -> QueryResult:
        with _quietly():
            return graph_changes.result(_changes(loaded, text, known))

    def _queried(
        self,
        kind: Question,  # noqa: ARG002 - the frame has refused what does not fit
        loaded: Graph,
        query: str,
        known: Mapping[str, str],
    ) -> QueryResult:
        with _quietly():
            result = execute(lambda text: loaded.query(text, initNs=known), query, _syntax_error())
            if result.type == "ASK":
                return QueryResult(boolean=bool(result.askAnswer))
            if result.type == "CONSTRUCT":
                return as_rows(TRIPLE, result.graph or (), _written)
            return as_rows([str(variable) for variable in result.vars or ()], result, _written)

    @staticmethod
    def _loaded(graph: GraphText) -> Graph:
        """Load the graph of a case with the faster parser of pyoxigraph; no model wrote it."""
        from rdflib import BNode, Graph, Literal, URIRef

        terms: dict[object, Node] = {}

        def term(value: Any) -> Node:
            node = terms.get(value)
            if node is None:
                if isinstance(value, ox.NamedNode):
                    node = URIRef(value.value)
                elif isinstance(value, ox.BlankNode):
                    node = BNode(value.value)
                elif value.language is not None:
                    node = Literal(value.value, lang=value.language)
                else:
                    plain = value.datatype.value == XSD.string
                    datatype = None if plain else URIRef(value.datatype.value)
                    node = Literal(value.value, datatype=datatype)
                terms[value] = node
            return node

        try:
            content, form = graph.text.encode("utf-8"), ox_format(graph.rdf_format)
            loaded = Graph()
            for quad in ox.parse(content, form, base_iri=documents.BASE_IRI):
                loaded.add((term(quad.subject), term(quad.predicate), term(quad.object)))
        except (SyntaxError, ValueError) as error:
            raise EvaluationError(f"the graph of the case does not parse: {error}") from error
        return loaded


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Ignore warnings, because rdflib uses functions that it has deprecated itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _syntax_error() -> type[Exception]:
    """Return the error of rdflib's grammar; rdflib is imported when it is used."""
    from pyparsing import ParseException

    return ParseException


def _changes(loaded: Graph, text: str, prefixes: Mapping[str, str]) -> Iterator[graph_changes.Row]:
    """Yield the rows of :mod:`kgbench.execution.graph_changes`; an update runs on a copy."""
    from rdflib import Dataset
    from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

    if graph_changes.is_construct(text):
        built = execute(lambda query: loaded.query(query, initNs=prefixes), text, _syntax_error())
        for subject, predicate, value in built.graph or ():
            yield graph_changes.ADDED, _term(subject), _term(predicate), _term(value), None
        return

    class Copy(Dataset):
        """A data set that INSERT DATA can add triples to; rdflib 7.6 treats them as quads."""

        def __iadd__(self, other: Iterable[Any]) -> Self:  # type: ignore[misc]
            for item in other:
                self.add(item)
            return self

    copy = Copy()
    for triple in loaded:
        copy.add(triple)
    before = set(copy.quads())
    execute(lambda update: copy.update(update, initNs=prefixes), text, _syntax_error())
    after = set(copy.quads())
    for change, quads in (
        (graph_changes.REMOVED, before - after),
        (graph_changes.ADDED, after - before),
    ):
        for subject, predicate, value, graph in quads:
            name = None if graph in {None, DATASET_DEFAULT_GRAPH_ID} else _term(graph)
            yield change, _term(subject), _term(predicate), _term(value), name


def _parsed(text: str, rdf_format: str) -> Iterator[str]:
    from rdflib import Graph

    documents.refuse_surrogates(text)
    if rdf_format == "xml":
        text = documents.check_xml(text)
    elif rdf_format == "json-ld":
        documents.refuse_remote_contexts(text)
    elif rdf_format == "turtle":
        _refuse_tagged_and_typed(text)
    graph = Graph(bind_namespaces="none")
    # Otherwise rdflib resolves relative IRIs against the current folder.
    graph.parse(data=text, format=_FORMATS[rdf_format], publicID=documents.BASE_IRI)
    for triple in graph:
        yield f"{' '.join(map(_term, triple))} ."


def _refuse_tagged_and_typed(text: str) -> None:
    """Refuse a literal with both a language tag and a datatype, which rdflib accepts.

    LLM-KG-Bench refused it, too.
    """
    for match in _TAGGED_AND_TYPED.finditer(text):
        if match.group(2) is not None:
            position = documents.position_of(text, match.start(2))
            raise documents.RefusedDocument(
                f"{position}: a literal has both a language tag and a datatype"
            )


def _written(term: Node, number: Callable[[str], str]) -> str:
    written = _term(term)
    return number(written) if written.startswith("_:") else written


def _term(term: Node) -> str:
    """Write a term as N-Triples; an invalid IRI, which rdflib accepts, stays invalid."""
    from rdflib import BNode, Literal

    if isinstance(term, Literal):
        quoted = f'"{str(term).translate(_ESCAPES)}"'
        if term.language:
            return f"{quoted}@{term.language.lower()}"  # equal in any case, also in rdflib
        return quoted if term.datatype is None else f"{quoted}^^<{term.datatype}>"
    return f"_:{term}" if isinstance(term, BNode) else f"<{term}>"
