# SPDX-License-Identifier: Apache-2.0
"""Servers that keep stores: their addresses for queries, updates and graphs, and their limits.

A location is the URL of a server of a known kind (``store/back-ends.ttl``, and such files of
plug-ins). The kind follows from the path, or is named as in ``http://host/ds?engine=fuseki``;
``query=``, ``update=`` and ``data=`` give other addresses, absolute or below the URL, ``limit=``
another limit of requests. A location never contains credentials: see
:mod:`kgbench.store.connections`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, quote, urljoin, urlsplit, urlunsplit

import pyoxigraph as ox

from kgbench import resources
from kgbench.errors import StoreError
from kgbench.rdf.declared import Declared
from kgbench.store.iris import slug
from kgbench.vocab import KGB, SH, SKOS

REPLY_LOG = "replies.jsonl"
_PATHS = {"query": KGB.queryPath, "update": KGB.updatePath, "data": KGB.dataPath}
_OPTIONS = ("engine", *_PATHS, "limit")
_SMALLEST = 10_000  # bytes; smaller requests could not contain a single turn
_AS_IT_IS = "/%:@!$&'()*+,;=?~[]{}|^`\\\"<>"  # quote() escapes non-ASCII characters only
_Values = Mapping[str, str]  # IRIs of properties, and texts


@dataclass(frozen=True, slots=True)
class BackEnd:
    """A server that keeps a store: its addresses and properties.

    ``location`` is the location as the user gave it. ``data`` is ``None`` if the server has no
    Graph Store Protocol. ``request_limit`` is in bytes, ``result_format`` is json or tsv.
    """

    location: str
    kind: str
    query: str
    update: str
    data: str | None
    request_limit: int
    result_format: str


def is_remote(location: str) -> bool:
    """Return whether a location is that of a server: a URL."""
    return "://" in location


def find(location: str) -> BackEnd:
    """Return the back end at ``location``; raises :class:`~kgbench.errors.StoreError`."""
    parts = _split(location)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    base = urlunsplit(parts._replace(query="", fragment=""))
    if parts.fragment or not options.keys() <= set(_OPTIONS):
        known = ", ".join(f"{name}=" for name in _OPTIONS)
        raise StoreError(f"the location {base} may be followed by '?' with {known} only")
    kind = _kind(options, parts.path, base)
    limit = options.get("limit", kind[KGB.requestLimit])
    if not limit.isdecimal() or int(limit) < _SMALLEST:
        raise StoreError(f"the location {base}: limit= is a number of bytes, at least {_SMALLEST}")
    paths = {name: options.get(name, kind.get(path, "")) for name, path in _PATHS.items()}
    query, update, data = (
        base if path == "." else path and _address(urljoin(base.rstrip("/") + "/", path))
        for path in paths.values()
    )
    return BackEnd(
        location=location,
        kind=kind[SKOS.notation],
        query=query,
        update=update,
        data=data or None,
        request_limit=int(limit),
        result_format=kind[KGB.resultFormat],
    )


def state_folder(kind: str, location: str) -> Path:
    """Return the local folder for files of a ``kind`` that belong to a store on a server.

    It is below ``kgbench`` in the user's state folder (``XDG_STATE_HOME``, by default
    ``~/.local/state``) and named after the address for updates.
    """
    base = os.environ.get("XDG_STATE_HOME")
    state = Path(base) if base else Path.home() / ".local" / "state"
    return state / "kgbench" / kind / slug(find(location).update)


def reply_log(location: str) -> Path | None:
    """Return the file of the reply log of a store; ``None`` for one in memory.

    It is in the folder of an embedded store. For a store on a server it is on this machine, in a
    folder of the user's state folder that is named after the server's address. Raises
    :class:`~kgbench.errors.StoreError` if there are replies in the form of an earlier version.
    """
    if location == "memory:":
        return None
    if is_remote(location):
        folder = state_folder("replies", location)
        earlier = state_folder("write-ahead", location)
    else:
        folder = Path(location)
        earlier = folder / "write-ahead"
    if any(earlier.rglob("*.log")):
        raise StoreError(
            f"{earlier} has replies in the form of an earlier version of kgbench: finish the run "
            f"with that version, or delete the folder, and its replies are asked for again"
        )
    return folder / REPLY_LOG


def public_url(url: str) -> str:
    """Return ``url`` without user and password, for messages."""
    return re.sub(r"(?<=//)[^/?#]*@", "", url)


def _address(url: str) -> str:
    """Return an address in ASCII, as requests need it; existing escapes are kept."""
    return urlunsplit(_split(url))


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise StoreError(f"--store: {public_url(url)} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StoreError(f"--store: {public_url(url)} is not an http or https URL")
    if "@" in parts.netloc:
        raise StoreError(
            f"--store: {public_url(url)} was given with a user or password, which a location "
            "never holds: set KGBENCH_STORE_USER and KGBENCH_STORE_PASSWORD instead"
        )
    if re.search(r"[\x00-\x20\x7f]", url):
        raise StoreError(f"--store: {public_url(url)!r} holds blanks or control characters")
    # Requests are ASCII only; existing escapes are kept.
    path, query = quote(parts.path, safe=_AS_IT_IS), quote(parts.query, safe=_AS_IT_IS)
    return parts._replace(path=path, query=query)


def _kind(options: Mapping[str, str], path: str, base: str) -> _Values:
    """Return the kind of a server: the named one, or the first whose pattern its path matches."""
    name = options.get("engine", "sparql" if {"query", "update"} <= options.keys() else None)
    if name is not None and name in _kinds():
        return _kinds()[name]
    if name is not None:
        known = ", ".join(sorted(_kinds()))
        raise StoreError(f"'{name}' is not a known kind of server: known are {known}")
    for kind in _kinds().values():
        if KGB.locationPattern in kind and re.fullmatch(kind[KGB.locationPattern], path):
            return kind
    raise StoreError(
        f"the kind of the server at {base} is not known from its path: name it "
        f"(?engine={'|'.join(sorted(_kinds()))})"
    )


@cache
def _kinds() -> dict[str, _Values]:
    """Return the known kinds in their declared order; the first matching pattern decides."""
    source = Declared(*resources.files("store", "*.ttl"))
    kinds = source.instances(KGB.BackEnd)
    return {
        source.required(kind, SKOS.notation): {
            quad.predicate.value: quad.object.value
            for quad in source.graph.quads_for_pattern(kind, None, None)
            if isinstance(quad.object, (ox.NamedNode, ox.Literal))
        }
        for kind in sorted(kinds, key=lambda kind: source.required_as(kind, SH.order, int))
    }
