# SPDX-License-Identifier: Apache-2.0
"""The default engine: parsing, checking and querying with pyoxigraph.

Relative IRIs are resolved against :data:`~kgbench.execution.documents.BASE_IRI`. An undeclared
prefix is not a syntax error, as in rdflib, although Oxigraph's grammar rejects it: the query passes
the check and fails when it is executed.

The engine checks scope and grammar in one pass and often reports only the position. If it accepts a
query after the variables are changed so that none can be out of scope, the grammar was correct.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

import pyoxigraph as ox

from kgbench.characters import BOM
from kgbench.errors import EvaluationError
from kgbench.execution import documents, graph_changes
from kgbench.execution.engines import TRIPLE, GraphText, QueryEngine, Question, as_rows
from kgbench.execution.rewriting import FUNCTIONS, execute
from kgbench.model import ParsedGraph, QueryResult
from kgbench.rdf import lexer
from kgbench.rdf.lexer import Kind, tokens
from kgbench.rdf.quads import to_ntriples
from kgbench.rdf.query_text import error_place, with_well_known

DEEPEST = (
    400  # nested brackets; the engine's recursive parser overflows its stack at thrice as many
)

_SHORT = 1 << 16  # characters of the longest document whose triples are cached
_KEPT = 64  # cached documents
_LONGEST_WORD = 300  # characters that a message about a query quotes
_FORMATS = {
    "turtle": ox.RdfFormat.TURTLE,
    "json-ld": ox.RdfFormat.JSON_LD,
    "xml": ox.RdfFormat.RDF_XML,
    "ntriples": ox.RdfFormat.N_TRIPLES,
}
_EVALUATION_ERRORS = (ValueError, OSError, RuntimeError)
_LONG_STRING = "is not a valid RDF quoted triple object"
_REIFIER = re.compile(r"~\s*+[\[#]")  # perhaps an anonymous one
_UNDECLARED = "https://undeclared.invalid/"
_MARK = re.compile(r'(?<![^ ])"[^"\s]+"(?=,|$)')
_LINE = re.compile(
    r"Parser error (?:at|between) line (\d+) (?:column|between columns) (\d+)[^:]*: "
)


SCOPE_ERROR: Final = "error of scope"

_HINTS: Final = {
    "contains a variable that is unbound": "SELECT names a variable that is neither grouped nor "
    "aggregated, although the query groups or aggregates",
    "overrides an existing variable": "SELECT gives a value to a variable that has one already",
    "SELECT * is not authorized": "SELECT * does not go with GROUP BY",
}
_OTHER: Final = "a variable is given a value, or selected, where its scope does not allow it"
_ENDS: Final = frozenset(("WHERE", "FROM", "{"))
_PASSED: Final = frozenset((Kind.BLANK, Kind.COMMENT))


class OxigraphExecutor(QueryEngine[ox.Store]):
    """An implementation of :class:`kgbench.model.Executor` with pyoxigraph."""

    ERRORS = (SyntaxError, *_EVALUATION_ERRORS)
    _nothing = ox.Store()

    def parse(self, text: str, rdf_format: str) -> ParsedGraph:
        """Return the distinct triples of a document's default graph, or the parser's message."""
        # The reference document of a case is parsed with every answer to it.
        return (
            _parsed_cached(text, rdf_format) if len(text) <= _SHORT else _parsed(text, rdf_format)
        )

    def check(self, query: str, prefixes: Mapping[str, str], *, update: bool = False) -> str | None:
        """Return the syntax error of a query or update, with line and column, or ``None``."""
        known = with_well_known(prefixes)
        query = query.removeprefix(BOM)
        if update:
            return self._check_update(query, known)
        try:
            query = self._checkable(query)
            self._run(self._nothing, query, known)
        except documents.RefusedDocument as error:
            return str(error)
        except SyntaxError as error:
            missing = lexer.undeclared(query, known)
            return self._check_undeclared(query, known, missing) or (
                None if missing else self._syntax_error(query, str(error), known)
            )
        except _EVALUATION_ERRORS:
            return None  # evaluation began, so the grammar has accepted the query
        return None

    def _changed(self, loaded: ox.Store, text: str, known: Mapping[str, str]) -> QueryResult:
        _refuse_deep(text)
        try:
            return graph_changes.changes(loaded, text, known, FUNCTIONS)
        except SyntaxError as error:
            return QueryResult(error=_update_error(text, str(error), known))

    def _queried(
        self, kind: Question, loaded: ox.Store, query: str, known: Mapping[str, str]
    ) -> QueryResult:
        _refuse_deep(query)
        results = self._run(loaded, query, known, {} if kind == "select" else FUNCTIONS)
        if isinstance(results, ox.QueryBoolean):
            return QueryResult(boolean=bool(results))
        if isinstance(results, ox.QuerySolutions):
            return rows(results)
        if kind != "explore":
            return QueryResult(error=lexer.NO_RESULT_QUERY, refused=True)
        triples = as_rows(TRIPLE, results, _written)  # may contain duplicates
        return replace(triples, rows=tuple(dict.fromkeys(triples.rows)))

    def _message(self, error: Exception, query: str, known: Mapping[str, str]) -> str:
        if not isinstance(error, SyntaxError):
            return str(error)
        missing = lexer.undeclared(query, known)
        return (
            f"the prefix '{missing[0]}:' is not declared"
            if missing
            else _rephrased(query, str(error))
        )

    @staticmethod
    def _loaded(graph: GraphText) -> ox.Store:
        store = ox.Store()
        try:
            store.bulk_load(
                input=graph.text.encode("utf-8"),
                format=ox_format(graph.rdf_format),
                base_iri=documents.BASE_IRI,
            )
        except (SyntaxError, ValueError) as error:
            raise EvaluationError(f"the graph of the case does not parse: {error}") from error
        return store

    @staticmethod
    def _check_update(update: str, known: Mapping[str, str]) -> str | None:
        """Return the syntax error of an update; an undeclared prefix is one, too."""
        try:
            documents.refuse_surrogates(update)
            _refuse_deep(update)
            if graph_changes.refusal(update) == lexer.ASKS_ELSEWHERE:
                update = lexer.without_service(update)
            if (refused := graph_changes.refusal(update)) not in {None, graph_changes.NO_CHANGE}:
                return refused
            ox.Store().update(update, base_iri=documents.BASE_IRI, prefixes=dict(known))
        except documents.RefusedDocument as error:
            return str(error)
        except SyntaxError as error:
            return _update_error(update, str(error), known)
        except _EVALUATION_ERRORS:
            return None  # evaluation began, so the grammar has accepted the update
        return None

    def _checkable(self, query: str) -> str:
        """Return ``query`` without SERVICE, which must not reach the engine even for a check."""
        documents.refuse_surrogates(query)
        _refuse_deep(query)
        if self._refusal(query) == lexer.ASKS_ELSEWHERE:
            query = lexer.without_service(query)
            if lexer.refusal(query) == lexer.ASKS_ELSEWHERE:
                raise documents.RefusedDocument(lexer.ASKS_ELSEWHERE)
        return query

    def _check_undeclared(
        self, query: str, known: Mapping[str, str], missing: list[str]
    ) -> str | None:
        """Return the syntax error that remains when the ``missing`` prefixes are declared."""
        if not missing:
            return None
        invented = {prefix: f"{_UNDECLARED}{number}#" for number, prefix in enumerate(missing)}
        declared = {**known, **invented}
        try:
            self._run(self._nothing, query, declared)
        except SyntaxError as error:
            return self._syntax_error(query, str(error), declared)
        except _EVALUATION_ERRORS:
            return None
        return None

    def _syntax_error(self, query: str, message: str, prefixes: Mapping[str, str]) -> str:
        """Rephrase the engine's ``message`` about a query with a syntax error."""

        def accepts(other: str) -> bool:
            try:
                self._run(self._nothing, other, prefixes)
            except SyntaxError:
                return False
            except _EVALUATION_ERRORS:
                pass  # evaluation began
            return True

        place = error_place(query, message)
        explanation = None if place is None else explain_scope(query, message, accepts)
        if place is None or explanation is None:
            return _rephrased(query, message)
        return f"{documents.position_of(query, place)}: {explanation}"

    @staticmethod
    def _run(
        store: ox.Store,
        query: str,
        prefixes: Mapping[str, str],
        functions: Mapping[ox.NamedNode, Callable[..., ox.Literal | None]] | None = None,
    ) -> ox.QuerySolutions | ox.QueryBoolean | ox.QueryTriples:
        options = {
            "base_iri": documents.BASE_IRI,
            "prefixes": dict(prefixes),
            "custom_functions": dict(functions) if functions else None,
        }
        return execute(lambda text: store.query(text, **options), query)  # type: ignore[arg-type]


def _parsed(text: str, rdf_format: str) -> ParsedGraph:
    text = text.removeprefix(BOM)
    try:
        documents.refuse_surrogates(text)
        if rdf_format == "xml":
            text = documents.check_xml(text)
        parsed = ox.parse(text.encode("utf-8"), ox_format(rdf_format), base_iri=documents.BASE_IRI)
        quads: Iterable[ox.Quad] = parsed
        if rdf_format == "json-ld":  # the only format here with named graphs
            default = ox.DefaultGraph()
            quads = (quad for quad in parsed if quad.graph_name == default)
        # In N-Quads, triples of the default graph are written as in N-Triples.
        lines = ox.serialize(quads, format=ox.RdfFormat.N_QUADS)
    except documents.RefusedDocument as error:
        return ParsedGraph(None, str(error))
    except (SyntaxError, ValueError) as error:
        # Reading all tokens takes long, and judges that repair an answer parse it many times.
        if rdf_format == "turtle" and (_LONG_STRING in str(error) or _REIFIER.search(text)):
            other = documents.as_oxigraph_reads(text)
            if other != text:
                return _parsed(other, rdf_format)
        return ParsedGraph(None, _parse_error(text, error, rdf_format))
    assert lines is not None
    triples = lines.decode("utf-8").split("\n")[:-1]
    return ParsedGraph(tuple(dict.fromkeys(documents.relabel(triples))))


_parsed_cached = lru_cache(maxsize=_KEPT)(_parsed)


def _update_error(update: str, message: str, known: Mapping[str, str]) -> str:
    missing = lexer.undeclared(update, known)
    if missing and "Prefix not found" in message:
        return f"the prefix '{missing[0]}:' is not declared"
    return _rephrased(update, message, update=not graph_changes.is_construct(update))


def ox_format(rdf_format: str) -> ox.RdfFormat:
    """Return the format called ``rdf_format``; raises :class:`~kgbench.errors.EvaluationError`."""
    try:
        return _FORMATS[rdf_format]
    except KeyError:
        known = ", ".join(_FORMATS)
        raise EvaluationError(f"there is no format '{rdf_format}' (but {known})") from None


def _refuse_deep(query: str) -> None:
    """Refuse a query whose nesting would overflow the engine's stack."""
    if lexer.is_deeper(query, DEEPEST):
        raise documents.RefusedDocument(f"brackets are nested deeper than {DEEPEST} levels")


def rows(solutions: ox.QuerySolutions) -> QueryResult:
    """Convert solutions to a result with N-Triples terms."""
    names = [variable.value for variable in solutions.variables]
    return as_rows(names, solutions, _written)


def _written(term: object, number: Callable[[str], str]) -> str:
    if isinstance(term, ox.BlankNode):
        return number(term.value)
    if isinstance(term, ox.Triple):
        return to_ntriples(term, lambda part: _written(part, number))
    return str(term)


def _parse_error(text: str, error: Exception, rdf_format: str) -> str:
    """Return the error of a document, with line and column if they are known."""
    message = str(error.msg if isinstance(error, SyntaxError) else error)
    if rdf_format == "json-ld" and "LoadDocumentCallback" in message:
        try:
            documents.refuse_remote_contexts(text)
        except documents.RefusedDocument as refused:
            return str(refused)
    match = _LINE.match(message)
    if match is None:
        return message
    return f"line {match.group(1)}, column {match.group(2)}: {message[match.end() :]}"


def _word(text: str) -> str:
    """Return a word for a message: whole, because its end may be the mistake, or its length."""
    return f"'{text}'" if len(text) <= _LONGEST_WORD else f"a word of {len(text):,} characters"


def _rephrased(query: str, message: str, *, update: bool = False) -> str:
    """Rephrase a syntax error: its position, the text there, and the marks that are allowed.

    The engine also lists classes of characters and some of the allowed keywords, which mislead.
    """
    place = error_place(query, message, update=update)
    if place is None:
        return message
    rest = query[place:].split("\n", 1)[0].split()
    stands = f"{_word(rest[0])} stands" if rest else "the line ends"
    if not query[place:].strip():
        stands = "the query ends"
    marks = list(dict.fromkeys(_MARK.findall(message)))[:12]
    tail = f" instead of {' or '.join(marks)}" if marks else ""
    return f"{documents.position_of(query, place)}: syntax error, {stands} here{tail}"


def explain_scope(query: str, message: str, accepts: Callable[[str], bool]) -> str | None:
    """Describe the scope error in ``query``; ``None`` if the error is one of grammar.

    ``message`` is the engine's message, ``accepts`` returns whether the engine accepts a query.
    """
    free = without_scope_errors(query)
    if free == query or not accepts(free):
        return None
    hint = next((text for pattern, text in _HINTS.items() if pattern in message), _OTHER)
    return f"{SCOPE_ERROR}, {hint}"


def without_scope_errors(query: str) -> str:
    """Return ``query`` changed so that no rule of scope can be violated, with the same grammar.

    Each variable of a SELECT clause, and each variable after AS, becomes a new variable; variables
    in the expressions of a SELECT clause become numbers.

    >>> without_scope_errors("SELECT ?a (COUNT(?b) AS ?c) { BIND(?d AS ?a) }")
    'SELECT (1 AS ?free0) (COUNT(1) AS ?free1) { BIND(?d AS ?free2) }'
    """
    pieces: list[str] = []
    selecting = False
    level = new = 0
    before = ""
    for token in tokens(query):
        text, word = token.text, token.text.upper()
        if word == "SELECT" and token.kind is Kind.WORD:
            selecting, level = True, 0
        elif selecting and level == 0 and word in _ENDS:
            selecting = False
        elif selecting and text in "()" and token.kind is Kind.MARK:
            level += 1 if text == "(" else -1
        if token.kind is Kind.VARIABLE and before == "AS":
            text, new = f"?free{new}", new + 1
        elif selecting and level == 0 and (token.kind is Kind.VARIABLE or text == "*"):
            text, new = f"(1 AS ?free{new})", new + 1
        elif selecting and token.kind is Kind.VARIABLE:
            text = "1"
        if token.kind not in _PASSED:
            before = word
        pieces.append(text)
    return "".join(pieces)
