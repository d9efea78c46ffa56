# SPDX-License-Identifier: Apache-2.0
"""JSON-LD that answers consist of, processed by PyLD, which fetches nothing.

PyLD keeps to JSON-LD 1.1 where the streaming parser of Oxigraph does not (terms that a class gives
a meaning to, inside of ``@nest``), so that what an answer means is PyLD's to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import KgbenchError
from kgbench.scoring.fences import fenced_blocks
from kgbench.tasks import texts
from kgbench.vocab import XSD

FOLDER: Final = "json-ld-answers"
_DEFAULT: Final = "@default"
_N_TRIPLES: Final = ox.RdfFormat.N_TRIPLES


class IllFormedJsonLd(KgbenchError):
    """A document that is no JSON, or that the JSON-LD processor refuses; the message says why."""


class Read(NamedTuple):
    """The JSON object in an answer (``None``: there is none, and ``error`` says why).

    ``text`` is ``None`` where the answer has no fenced block.
    """

    text: str | None
    document: Mapping[str, Any] | None
    error: str | None


def read(answer: str) -> Read:
    """Read the JSON object in the first fenced block of an answer."""
    blocks = fenced_blocks(answer)
    if not blocks:
        return Read(None, None, "there is no fenced block in the answer")
    text = blocks[0].body
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Read(text, None, f"this is no JSON: {error}")
    if not isinstance(found, dict):
        return Read(text, None, "this is no JSON object")
    return Read(text, found, None)


def feedback(of: Read, error: str) -> tuple[str, str]:
    """The prompt after an answer that cannot be used for the reason ``error``; its kind."""
    if of.text is None:
        return texts.shared(FOLDER, "feedback-no-block.txt"), "format"
    return texts.shared_filled(FOLDER, "feedback-error.txt", message=error), "syntax"


def rows(document: Mapping[str, Any]) -> frozenset[str]:
    """The triples of a JSON-LD document, as N-Triples without the full stop.

    Triples of a named graph have its name behind them. Raises :class:`IllFormedJsonLd` for a
    document that the processor refuses: a remote context, for one.
    """
    from pyld import jsonld

    try:
        found = jsonld.to_rdf(dict(document), {"documentLoader": _refuse, "base": ""})
    except jsonld.JsonLdError as error:
        raise IllFormedJsonLd(_said(error)) from error
    except RecursionError as error:
        raise IllFormedJsonLd("the document is nested too deeply") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # What PyLD does not foresee in a context ends in an error of Python.
        raise IllFormedJsonLd(f"the processor cannot work with it ({error!r})") from error
    return frozenset(
        _row(triple, "" if graph == _DEFAULT else f" <{graph}>")
        for graph, triples in found.items()
        for triple in triples
    )


def known(lines: Sequence[str]) -> frozenset[str]:
    """Triples in lines of N-Triples, as :func:`rows` writes them."""
    return frozenset(str(quad.triple) for quad in ox.parse("\n".join(lines), _N_TRIPLES))


def prepare() -> None:
    """Read the feedback prompts, for a process that cannot do so later."""
    for name in ("feedback-no-block.txt", "feedback-error.txt"):
        texts.shared(FOLDER, name)


def load() -> None:
    """Load PyLD, and let it do all that it loads something for."""
    rows({"@context": {"a": "http://example.org/a"}, "a": [1, 1.5, True, {"@list": ["x"]}]})


def _row(triple: Mapping[str, Mapping[str, str]], graph: str) -> str:
    subject, predicate, value = (triple[name] for name in ("subject", "predicate", "object"))
    return f"{_term(subject)} {_term(predicate)} {_term(value)}{graph}"


def _term(node: Mapping[str, str]) -> str:
    if node["type"] == "IRI":
        return f"<{node['value']}>"
    if node["type"] == "blank node":
        return str(node["value"])
    text = str(ox.Literal(node["value"]))
    if "language" in node:
        return f"{text}@{node['language'].lower()}"
    datatype = node["datatype"]
    return text if datatype == XSD.string else f"{text}^^<{datatype}>"


def _refuse(url: str, _options: object) -> None:
    raise IllFormedJsonLd(f"the context {url} is not at hand: nothing is fetched")


def _said(error: BaseException) -> str:
    """What the processor says of the innermost cause, with the term or keyword that it is about."""
    at = error
    while at.__cause__ is not None:
        at = at.__cause__
    details = getattr(at, "details", None) or {}
    keys = [key for key in ("term", "property", "keyword") if key in details]
    words = str(at.args[0] if at.args else at)
    return f"{words} ({details[keys[0]]})" if keys else words
