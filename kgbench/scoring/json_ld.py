# SPDX-License-Identifier: Apache-2.0
"""Triples and frames of JSON-LD documents, with PyLD and without fetching remote contexts.

PyLD conforms to JSON-LD 1.1 where the streaming parser of Oxigraph does not (terms of type-scoped
contexts inside ``@nest``).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import pyoxigraph as ox

from kgbench.errors import KgbenchError
from kgbench.vocab import XSD

T = TypeVar("T")

_DEFAULT: Final = "@default"
_N_TRIPLES: Final = ox.RdfFormat.N_TRIPLES


class IllFormedJsonLd(KgbenchError):
    """A document is not JSON, or the JSON-LD processor refuses it; the message gives the reason."""


def rows(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the triples of a JSON-LD document, as N-Triples without the full stop.

    The name of a named graph follows its triples. Raises :class:`IllFormedJsonLd` for a document
    that the processor refuses, for example because of a remote context.
    """
    from pyld import jsonld

    dataset = _process(lambda: jsonld.to_rdf(dict(document), _OPTIONS))
    return frozenset(
        _row(triple, "" if graph == _DEFAULT else f" <{graph}>")
        for graph, triples in dataset.items()
        for triple in triples
    )


def framed(nodes: Sequence[Any], frame: Mapping[str, Any]) -> dict[str, Any]:
    """Frame expanded JSON-LD nodes; return the tree without its context.

    Raises :class:`IllFormedJsonLd` for a frame that the processor refuses.
    """
    from pyld import jsonld

    tree = _process(lambda: jsonld.frame(list(nodes), dict(frame), _OPTIONS))
    return {name: value for name, value in tree.items() if name != "@context"}


def leaves(tree: Any, node: str = "", path: str = "") -> Iterator[str]:
    """Yield the values of a framed tree, each with the identifier of its node and the path to it.

    Positions in arrays are left out, so that their order does not matter.
    """
    if isinstance(tree, Mapping):
        node = str(tree.get("id", node))
        if not tree:
            yield f"{node} {path} {{}}"
        for key, value in tree.items():
            yield from leaves(value, node, f"{path}/{key}")
    elif isinstance(tree, list):
        for item in tree:
            yield from leaves(item, node, path)
    else:
        yield f"{node} {path} {json.dumps(tree)}"


def sort_arrays(tree: Any) -> Any:
    """Sort the arrays of a tree by content, so that trees with reordered arrays compare equal."""
    if isinstance(tree, Mapping):
        return {key: sort_arrays(value) for key, value in sorted(tree.items())}
    if isinstance(tree, list):
        return sorted((sort_arrays(item) for item in tree), key=json.dumps)
    return tree


def expanded(lines: Sequence[str]) -> list[dict[str, Any]]:
    """Convert lines of N-Triples to expanded JSON-LD with a node for each subject."""
    from pyld import jsonld

    text = "".join(f"{line}\n" for line in lines)
    return list(jsonld.from_rdf(text, {"format": "application/n-quads"}))


def ntriples_rows(lines: Sequence[str]) -> frozenset[str]:
    """Convert lines of N-Triples to the form of :func:`rows`."""
    return frozenset(str(quad.triple) for quad in ox.parse("\n".join(lines), _N_TRIPLES))


def load() -> None:
    """Import PyLD and all that it loads lazily, for a process that cannot open files later."""
    context = {"a": "http://example.org/a"}
    rows({"@context": context, "a": [1, 1.5, True, {"@list": ["x"]}]})
    framed([{"http://example.org/a": [{"@value": "x"}]}], {"@context": context, "a": {}})


def _process(work: Callable[[], T]) -> T:
    """Call the processor; raise its errors, also unforeseen ones, as :class:`IllFormedJsonLd`."""
    from pyld import jsonld

    try:
        with warnings.catch_warnings():
            # Terms such as "@x" are ignored, as JSON-LD 1.1 demands: no news for a terminal.
            warnings.simplefilter("ignore", SyntaxWarning)
            return work()
    except jsonld.JsonLdError as error:
        raise IllFormedJsonLd(_error_message(error)) from error
    except RecursionError as error:
        raise IllFormedJsonLd("the document is nested too deeply") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise IllFormedJsonLd(
            "a keyword has a value that it cannot have, or an object is used where a text belongs"
        ) from error


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


_OPTIONS: Final = {"documentLoader": _refuse, "base": ""}


def _error_message(error: BaseException) -> str:
    """Return the message of the innermost cause, with the term or keyword that it concerns.

    Causes that are errors of Python itself have no words for the author of a document.
    """
    cause = error
    while isinstance(cause.__cause__, type(error) | IllFormedJsonLd):
        cause = cause.__cause__
    details = getattr(cause, "details", None) or {}
    keys = [key for key in ("term", "property", "keyword") if key in details]
    message = str(cause.args[0] if cause.args else cause)
    return f"{message} ({details[keys[0]]})" if keys else message
