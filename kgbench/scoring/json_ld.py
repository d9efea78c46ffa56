# SPDX-License-Identifier: Apache-2.0
"""What JSON-LD means, and what frames make of it: by PyLD, which fetches nothing.

PyLD keeps to JSON-LD 1.1 where the streaming parser of Oxigraph does not (terms that a class gives
a meaning to, inside of ``@nest``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import pyoxigraph as ox

from kgbench.errors import KgbenchError
from kgbench.vocab import XSD

T = TypeVar("T")

_DEFAULT: Final = "@default"
_N_TRIPLES: Final = ox.RdfFormat.N_TRIPLES


class IllFormedJsonLd(KgbenchError):
    """A document that is no JSON, or that the JSON-LD processor refuses; the message says why."""


def rows(document: Mapping[str, Any]) -> frozenset[str]:
    """The triples of a JSON-LD document, as N-Triples without the full stop.

    Triples of a named graph have its name behind them. Raises :class:`IllFormedJsonLd` for a
    document that the processor refuses: a remote context, for one.
    """
    from pyld import jsonld

    found = _processed(lambda: jsonld.to_rdf(dict(document), _OPTIONS))
    return frozenset(
        _row(triple, "" if graph == _DEFAULT else f" <{graph}>")
        for graph, triples in found.items()
        for triple in triples
    )


def framed(nodes: Sequence[Any], frame: Mapping[str, Any]) -> dict[str, Any]:
    """The tree that a frame, with its context, makes of expanded JSON-LD; without the context.

    Raises :class:`IllFormedJsonLd` for a frame that the processor refuses.
    """
    from pyld import jsonld

    found = _processed(lambda: jsonld.frame(list(nodes), dict(frame), _OPTIONS))
    return {name: value for name, value in found.items() if name != "@context"}


def leaves(tree: Any, node: str = "", path: str = "") -> Iterator[str]:
    """What a framed tree says: for each value the identifier of its node, the path to it, and it.

    The order of what stands in an array does not matter.
    """
    if isinstance(tree, Mapping):
        node = str(tree.get("id", node))
        if not tree:
            yield f"{node} {path} {{}}"
        for key, value in tree.items():
            yield from leaves(value, node, f"{path}/{key}")
    elif isinstance(tree, list):
        for one in tree:
            yield from leaves(one, node, path)
    else:
        yield f"{node} {path} {json.dumps(tree)}"


def ordered(tree: Any) -> Any:
    """A tree whose arrays are in an order of what they hold, so that equal ones compare equal."""
    if isinstance(tree, Mapping):
        return {key: ordered(value) for key, value in sorted(tree.items())}
    if isinstance(tree, list):
        return sorted((ordered(one) for one in tree), key=json.dumps)
    return tree


def expanded(lines: Sequence[str]) -> list[dict[str, Any]]:
    """A graph, given as lines of N-Triples, as expanded JSON-LD: a node for each subject."""
    from pyld import jsonld

    text = "".join(f"{line}\n" for line in lines)
    return list(jsonld.from_rdf(text, {"format": "application/n-quads"}))


def known(lines: Sequence[str]) -> frozenset[str]:
    """Triples in lines of N-Triples, as :func:`rows` writes them."""
    return frozenset(str(quad.triple) for quad in ox.parse("\n".join(lines), _N_TRIPLES))


def load() -> None:
    """Load PyLD, and let it do all that it loads something for."""
    context = {"a": "http://example.org/a"}
    rows({"@context": context, "a": [1, 1.5, True, {"@list": ["x"]}]})
    framed([{"http://example.org/a": [{"@value": "x"}]}], {"@context": context, "a": {}})


def _processed(work: Callable[[], T]) -> T:
    """What a processor makes; its errors, and those of Python that it does not foresee, refused."""
    from pyld import jsonld

    try:
        return work()
    except jsonld.JsonLdError as error:
        raise IllFormedJsonLd(_said(error)) from error
    except RecursionError as error:
        raise IllFormedJsonLd("the document is nested too deeply") from error
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise IllFormedJsonLd(f"the processor cannot work with it ({error!r})") from error


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


def _said(error: BaseException) -> str:
    """What the processor says of the innermost cause, with the term or keyword that it is about."""
    at = error
    while at.__cause__ is not None:
        at = at.__cause__
    details = getattr(at, "details", None) or {}
    keys = [key for key in ("term", "property", "keyword") if key in details]
    words = str(at.args[0] if at.args else at)
    return f"{words} ({details[keys[0]]})" if keys else words
