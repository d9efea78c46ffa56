# SPDX-License-Identifier: Apache-2.0
"""Servers that keep stores: their addresses for queries, updates and graphs, and their limits.

A location is the URL of a server of a known kind (``store/back-ends.ttl``; the kind follows from
the path, or is named as in ``http://host/sparql?engine=virtuoso``), or a Turtle file that describes
a server. A location never contains credentials: see :mod:`kgbench.store.connections`.
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

from kgbench.characters import without_bom
from kgbench.errors import StoreError
from kgbench.rdf.declared import shipped
from kgbench.store.iris import slug
from kgbench.vocab import DCTERMS, KGB, RDF, RDFS, SH, SKOS

FORMATS = ("json", "tsv")
_SMALLEST = 10_000  # bytes; smaller requests could not contain a single turn
_AS_IT_IS = "/%:@!$&'()*+,;=?~[]{}|^`\\\"<>"  # quote() escapes non-ASCII characters only
_Values = Mapping[str, str]  # IRIs of properties, and texts


@dataclass(frozen=True, slots=True)
class BackEnd:
    """A server that keeps a store: its addresses and properties.

    ``location`` is the location as the user gave it. ``data`` is ``None`` if the server has no
    Graph Store Protocol. ``request_limit`` is in bytes. ``exact_double`` is a SPARQL expression
    over ``$value`` that gives all digits, for servers that round doubles in their results.
    """

    location: str
    kind: str
    query: str
    update: str
    data: str | None
    request_limit: int
    result_format: str
    exact_double: str | None = None


def is_remote(location: str) -> bool:
    """Return whether a location is a server: a URL, or a Turtle file that describes one."""
    if "://" in location:
        return True
    return location.endswith(".ttl") and Path(location).is_file()


def find(location: str) -> BackEnd:
    """Return the back end at ``location``; raises :class:`~kgbench.errors.StoreError`."""
    return _by_url(location) if "://" in location else _described(Path(location))


def state_folder(kind: str, location: str) -> Path:
    """Return the local folder for files of a ``kind`` that belong to a store on a server.

    It is below ``kgbench`` in the user's state folder (``XDG_STATE_HOME``, by default
    ``~/.local/state``) and named after the address for updates.
    """
    base = os.environ.get("XDG_STATE_HOME")
    state = Path(base) if base else Path.home() / ".local" / "state"
    return state / "kgbench" / kind / slug(find(location).update)


def public_url(url: str) -> str:
    """Return ``url`` without user and password, for messages."""
    return re.sub(r"(?<=//)[^/?#]*@", "", url)


# --- by URL ---------------------------------------------------------------------------------------


def _split(url: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise StoreError(f"{source}: {public_url(url)} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StoreError(f"{source}: {public_url(url)} is not an http or https URL")
    if "@" in parts.netloc:
        raise StoreError(
            f"{source}: {public_url(url)} was given with a user or password, which a location "
            "never holds: set KGBENCH_STORE_USER and KGBENCH_STORE_PASSWORD instead"
        )
    if re.search(r"[\x00-\x20\x7f]", url):
        raise StoreError(f"{source}: {public_url(url)!r} holds blanks or control characters")
    # Requests are ASCII only; existing escapes are kept.
    path, query = quote(parts.path, safe=_AS_IT_IS), quote(parts.query, safe=_AS_IT_IS)
    return parts._replace(path=path, query=query)


def _by_url(location: str) -> BackEnd:
    parts = _split(location, "--store")
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    name = options.pop("engine", None)
    base = urlunsplit(parts._replace(query="", fragment=""))
    if options or parts.fragment:
        raise StoreError(
            f"the location {base} may be followed by '?engine=' only: describe the server in a "
            "Turtle file to set more"
        )
    if name is None:
        matching = (
            kind
            for kind in _kinds().values()
            if KGB.locationPattern in kind and re.fullmatch(kind[KGB.locationPattern], parts.path)
        )
        kind = next(matching, None)
    else:
        kind = _kind_named(name)
    if kind is None:
        raise StoreError(
            f"the kind of the server at {location} is not known from its path: name it "
            f"(?engine={'|'.join(sorted(_kinds()))}), or describe the server in a Turtle file"
        )
    query, update, data = (
        base if path == "." else path and urljoin(base.rstrip("/") + "/", path)
        for path in map(kind.get, (KGB.queryPath, KGB.updatePath, KGB.dataPath))
    )
    return _back_end(location, kind, query or "", update or "", data)


def _kind_named(name: str) -> _Values:
    try:
        return _kinds()[name]
    except KeyError:
        known = ", ".join(sorted(_kinds()))
        raise StoreError(f"'{name}' is not a known kind of server: known are {known}") from None


@cache
def _kinds() -> dict[str, _Values]:
    """Return the known kinds in their declared order; the first matching pattern decides."""
    source = shipped("store", "back-ends.ttl")
    kinds = source.instances(KGB.BackEnd)
    return {
        source.required(kind, SKOS.notation): {
            quad.predicate.value: quad.object.value
            for quad in source.graph.quads_for_pattern(kind, None, None)
            if isinstance(quad.object, (ox.NamedNode, ox.Literal))
        }
        for kind in sorted(kinds, key=lambda kind: source.required_as(kind, SH.order, int))
    }


# --- by description -------------------------------------------------------------------------------

_NEEDED = (KGB.queryEndpoint, KGB.updateEndpoint)
_ALLOWED = {
    *_NEEDED,
    RDF.type,
    KGB.dataEndpoint,
    KGB.ofKind,
    KGB.requestLimit,
    KGB.resultFormat,
    KGB.exactDouble,
}
_OTHERS = (RDFS, DCTERMS, SKOS)


def _values(path: Path) -> _Values:
    """Return the properties of the server that a Turtle file describes."""
    try:
        content = without_bom(path.read_bytes())
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    try:
        quads = list(ox.parse(content, ox.RdfFormat.TURTLE, base_iri=path.absolute().as_uri()))
    except (SyntaxError, ValueError) as error:
        raise StoreError(f"{path} is not valid Turtle: {error}") from None
    servers = {q.subject for q in quads if q.object == ox.NamedNode(KGB.BackEnd)}
    if len(servers) != 1:
        raise StoreError(f"{path} describes {len(servers)} servers (kgb:BackEnd), not one")
    values: dict[str, str] = {}
    for quad in quads:
        name = quad.predicate.value
        if quad.subject not in servers or name.startswith(_OTHERS):
            continue
        if name not in _ALLOWED:
            known = ", ".join(sorted(term.removeprefix(KGB) for term in _ALLOWED - {RDF.type}))
            raise StoreError(f"{path}: <{name}> is not a property of a server: known are {known}")
        if name in values:
            raise StoreError(f"{path}: <{name}> is given twice")
        if isinstance(quad.object, (ox.NamedNode, ox.Literal)):
            values[name] = quad.object.value
    return values


def _described(path: Path) -> BackEnd:
    """Read the description of a back end from a Turtle file."""
    values = _values(path)
    kind = _kind_named(values.get(KGB.ofKind, "sparql").rpartition("/")[2])
    for needed in _NEEDED:
        if needed not in values:
            raise StoreError(f"{path}: the server has no kgb:{needed.removeprefix(KGB)}")
    combined = {**kind, **values}
    limit, form = combined[KGB.requestLimit], combined[KGB.resultFormat]
    if not limit.isdecimal() or int(limit) < _SMALLEST:
        raise StoreError(f"{path}: kgb:requestLimit is a number of bytes, at least {_SMALLEST}")
    if form not in FORMATS:
        raise StoreError(f"{path}: kgb:resultFormat is one of {', '.join(FORMATS)}, not '{form}'")
    addresses = {
        name: urlunsplit(_split(values[name].strip(), str(path)))
        for name in (*_NEEDED, KGB.dataEndpoint)
        if name in values
    }
    query, update = (addresses[name] for name in _NEEDED)
    return _back_end(str(path), combined, query, update, addresses.get(KGB.dataEndpoint))


def _back_end(location: str, values: _Values, query: str, update: str, data: str | None) -> BackEnd:
    return BackEnd(
        location=location,
        kind=values[SKOS.notation],
        query=query,
        update=update,
        data=data,
        request_limit=int(values[KGB.requestLimit]),
        result_format=values[KGB.resultFormat],
        exact_double=values.get(KGB.exactDouble),
    )
