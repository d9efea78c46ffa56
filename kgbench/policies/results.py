# SPDX-License-Identifier: Apache-2.0
"""Typed results as JSON: the SPARQL 1.1 Query Results JSON Format, or only its bindings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from kgbench.errors import EvaluationError
from kgbench.model import Json, QueryResult
from kgbench.policies.values import Term, format_term, parse_term
from kgbench.vocab import XSD

_LITERALS: Final = frozenset(("literal", "typed-literal"))  # the second is of the draft of 2007


def from_json(document: Json) -> QueryResult:
    """Return the result in a SPARQL-JSON ``document``.

    A document of the form ``{"error": text}`` represents a query that failed. Raises
    :class:`~kgbench.errors.EvaluationError` if ``document`` has neither form.
    """
    if not isinstance(document, Mapping):
        raise EvaluationError(f"a result must be a JSON object, not {type(document).__name__}")
    if isinstance(document.get("error"), str):
        return QueryResult(error=document["error"], expired=bool(document.get("expired")))
    if isinstance(document.get("boolean"), bool):
        return QueryResult(boolean=document["boolean"])
    try:
        variables = tuple(document["head"]["vars"])
        rows = document["results"]["bindings"]
    except (KeyError, TypeError):
        raise EvaluationError(
            "a result has neither 'boolean' nor 'head' with 'vars' and 'results' with 'bindings'"
        ) from None
    return from_bindings(rows, variables)


def from_bindings(
    rows: Sequence[Mapping[str, Json]], variables: Sequence[str] | None = None
) -> QueryResult:
    """Return the query result with the bindings in ``rows``.

    By default, its variables are in order of occurrence.
    """
    try:
        if variables is None:
            variables = list(dict.fromkeys(name for row in rows for name in row))
        cells = tuple(tuple(_cell(row.get(name)) for name in variables) for row in rows)
    except (AttributeError, KeyError, TypeError) as error:
        raise EvaluationError(f"a row of a result is not a set of bindings: {error!r}") from None
    return QueryResult(tuple(variables), cells)


def to_json(result: QueryResult) -> dict[str, Json]:
    """Return ``result`` as SPARQL-JSON; :func:`from_json` reverses it."""
    if result.error is not None:
        return {"error": result.error, **({"expired": True} if result.expired else {})}
    if result.boolean is not None:
        return {"head": {}, "boolean": result.boolean}
    bindings = [
        {
            name: _binding(cell)
            for name, cell in zip(result.variables, row, strict=True)
            if cell is not None
        }
        for row in result.rows
    ]
    return {"head": {"vars": list(result.variables)}, "results": {"bindings": bindings}}


def _cell(binding: Mapping[str, Json] | None) -> str | None:
    if binding is None:
        return None
    kind, value = binding["type"], str(binding["value"])
    if kind == "uri":
        return f"<{value}>"
    if kind == "bnode":
        return f"_:{value}"
    if kind == "triple":
        return value
    if kind not in _LITERALS:
        raise EvaluationError(f"a result has a binding of the unknown type '{kind}'")
    language, datatype = binding.get("xml:lang"), binding.get("datatype")
    return format_term(Term("literal", value, language, datatype if language is None else None))


def _binding(cell: str) -> dict[str, Json]:
    term = parse_term(cell)
    binding: dict[str, Json] = {"type": term.kind, "value": term.value}
    if term.language is not None:
        binding["xml:lang"] = term.language
    elif term.datatype is not None and term.datatype != XSD.string:
        binding["datatype"] = term.datatype
    return binding
