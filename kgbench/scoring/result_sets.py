# SPDX-License-Identifier: Apache-2.0
"""Results and names of queries as sets in published form, and lists at four degrees of strictness.

Source: Meyer et al., Assessing SPARQL Capabilities of Large Language Models, NLP4KGC 2024, and the
scores published with LLM-KG-Bench 3 (see the scope notes of the task classes that use this).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from kgbench.scoring.agreement import Agreement, compare_sets

_LITERAL = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CHARACTERS = {"t": "\t", "n": "\n", "r": "\r", "b": "\b", "f": "\f"}

Row = tuple[str | None, ...]


def values(rows: Iterable[Row], prefixes: Mapping[str, str]) -> set[str]:
    """Return all bound values of all rows and columns, each as :func:`term_value` writes it."""
    return {term_value(term, prefixes) for row in rows for term in row if term is not None}


def bound_rows(rows: Iterable[Row]) -> int:
    """Return the number of rows with at least one bound value."""
    return sum(any(term is not None for term in row) for row in rows)


def term_value(term: str, prefixes: Mapping[str, str]) -> str:
    r"""Convert an N-Triples term to a value: IRIs by prefix if one fits, literals by lexical form.

    >>> term_value("<http://e.org/a>", {"": "http://e.org/"})
    ':a'
    >>> term_value('"1"^^<http://e.org/i>', {})
    '1'
    """
    if term.startswith("<"):
        return shorten_iri(term[1:-1], prefixes)
    literal = _LITERAL.match(term)
    return _ESCAPE.sub(_character, literal[1]) if literal else term


def shorten_iri(iri: str, prefixes: Mapping[str, str]) -> str:
    """Return ``prefix:local`` by the longest namespace that fits, else ``<iri>``."""
    best_prefix, best = "", ""
    for prefix, namespace in prefixes.items():
        if len(namespace) > len(best) and iri.startswith(namespace):
            best_prefix, best = prefix, namespace
    return f"{best_prefix}:{iri[len(best) :]}" if best else f"<{iri}>"


def _character(match: re.Match[str]) -> str:
    code = match[1] or match[2]
    return chr(int(code, 16)) if code else _CHARACTERS.get(match[3], match[3])


NAMESPACE = "https://abc.def/ghi/"

_IRI = re.compile(rf"<?{re.escape(NAMESPACE)}([^\s<>]*)>?")
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def lines(answer: str) -> list[str]:
    """Return the unchanged lines of ``answer`` that are not blank.

    Only line feeds separate lines.
    """
    return [line for line in answer.split("\n") if line.strip()]


def repaired(value: str) -> str:
    """Return ``value`` in the requested form: prefix ``:`` for the namespace, no quotation marks.

    >>> repaired(' <https://abc.def/ghi/anne> '), repaired('0:bob'), repaired('"UK"')
    (':anne', ':bob', 'UK')
    """
    value = value.strip().replace('"', "")
    match = _IRI.fullmatch(value)
    if match:
        return f":{match[1]}"
    return value[1:] if value.startswith("0:") else value


def relaxed(value: str) -> str:
    """Return ``value`` without notation: repaired, without a leading colon, in lower case."""
    value = repaired(value)
    return value.removeprefix(":0:").removeprefix(":").lower()


def is_number(value: str) -> bool:
    """Return whether a trimmed value is a decimal number."""
    return _NUMBER.fullmatch(value.strip()) is not None


def expects_number(expected: Iterable[str]) -> bool:
    """Return whether the only expected value is a number."""
    values = list(expected)
    return len(values) == 1 and is_number(values[0])


def comparisons(expected: Iterable[str], answer: str) -> dict[str, Agreement]:
    """Return agreements ``""`` (exact), ``trim``, ``fixed`` and ``relaxed``, in this order."""
    values, given = list(expected), lines(answer)

    def compare_by(form: Callable[[str], str]) -> Agreement:
        return compare_sets(set(map(form, values)), set(map(form, given)))

    return {
        "": compare_sets(set(values), set(given)),
        "trim": compare_by(str.strip),
        "fixed": compare_by(repaired),
        "relaxed": compare_sets(set(map(relaxed, values)), _relaxed_set(values, answer, given)),
    }


def _relaxed_set(expected: list[str], answer: str, items: list[str]) -> set[str]:
    """Return the relaxed answer set.

    A list of names is counted if the expected value is a number.
    """
    values = set(map(relaxed, items))
    if expects_number(expected) and not (len(values) == 1 and is_number(next(iter(values)))):
        return {str(answer.count(":"))}
    return values


_PREFIX = re.compile(r"PREFIX\s+[^\s:]*:\s*<[^<>]*>", re.IGNORECASE)
_TOKEN = re.compile(
    r"""(?P<quote>\"{3}|'{3}|"|')"""
    r"|<(?P<iri>[^<>\s]*)>"
    r"|(?P<name>(?<![\w?$:.-])[A-Za-z]?[\w.-]*:[\w%-]+(?:\.[\w%-]+)*)"
    r"|(?P<type>(?<![\w?$:<.-])a(?![\w:.-]))"
)
_STRINGS = {
    '"': re.compile(r'(?:[^"\\\n]|\\.)*+', re.DOTALL),
    "'": re.compile(r"(?:[^'\\\n]|\\.)*+", re.DOTALL),
}


def names(query: str, prefixes: Mapping[str, str]) -> set[str]:
    """Return the names in a query, with full IRIs shortened by ``prefixes``.

    Prefixed names are as written, and ``a`` is ``rdf:type``. Prefix declarations and strings are
    ignored; an IRI that no prefix fits stays ``<iri>``.
    """
    used = set()
    for match in _tokens(_PREFIX.sub(" ", query)):
        if match["name"]:
            used.add(match["name"])
        elif match["type"]:
            used.add("rdf:type")
        else:
            used.add(shorten_iri(match["iri"], prefixes))
    return used


def _tokens(text: str) -> Iterator[re.Match[str]]:
    """Yield the names in ``text`` outside of strings.

    An unclosed quotation mark begins no string.
    """
    position = 0
    unclosed = dict.fromkeys(_STRINGS, 0)
    while (match := _TOKEN.search(text, position)) is not None:
        position = match.end()
        quote = match["quote"]
        if quote is None:
            yield match
        elif len(quote) > 1 and (end := text.find(quote, position)) >= 0:
            position = end + len(quote)
        else:
            # Three marks that are never closed are an empty string and one mark.
            position = match.start() + 1
            mark = quote[0]
            # Whether a mark closes a string does not depend on where the string begins. So none is
            # closed before the end of an unclosed one, and no part is searched twice.
            if position >= unclosed[mark]:
                string = _STRINGS[mark].match(text, position)
                assert string is not None
                if text.startswith(mark, string.end()):
                    position = string.end() + 1
                else:
                    unclosed[mark] = string.end()


def compare_names(
    reference: str, query: str, prefixes: Mapping[str, str]
) -> tuple[Agreement, Agreement]:
    """Agreement of the names in two queries, and agreement of their local names."""
    expected, given = names(reference, prefixes), names(query, prefixes)
    return compare_sets(expected, given), compare_sets(
        set(map(_suffix, expected)), set(map(_suffix, given))
    )


def _suffix(name: str) -> str:
    return name if name.startswith("<") else name.partition(":")[2]
