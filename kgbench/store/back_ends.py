# SPDX-License-Identifier: Apache-2.0
"""Which server a location means: its addresses for queries, updates and graphs, and its ways.

A location is the URL of a server of a known kind (``store/back-ends.ttl``; the kind follows from
the path, or is named as in ``http://host/sparql?engine=virtuoso``), or a Turtle file that describes
one. Addresses can be given, or replaced, by environment variables. Credentials never stand in a
location: see :mod:`kgbench.store.credentials`.
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

from kgbench.errors import StoreError
from kgbench.rdf.declared import shipped
from kgbench.store.iris import slug
from kgbench.vocab import KGB, RDF, SH, SKOS

VARIABLES = {
    "query": "KGBENCH_STORE_QUERY_URL",
    "update": "KGBENCH_STORE_UPDATE_URL",
    "data": "KGBENCH_STORE_DATA_URL",
}
FORMATS = ("json", "tsv")
_SMALLEST = 10_000  # bytes; a request below this could not even hold one turn
_AS_IT_IS = "/%:@!$&'()*+,;=?~[]{}|^`\\\"<>"  # all that is ASCII
_Values = Mapping[str, ox.NamedNode | ox.Literal]


@dataclass(frozen=True, slots=True)
class BackEnd:
    """A server that keeps a store, and how to speak with it.

    ``location`` is what people are shown. ``data`` is ``None`` where the server has no Graph Store
    Protocol. ``request_limit`` is in bytes. ``exact_double`` is a SPARQL expression over ``$value``
    where the server rounds the doubles in its results.
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
    """Whether a location is a server: a URL, or a Turtle file that describes one."""
    if "://" in location:
        return True
    return location.endswith(".ttl") and Path(location).is_file()


def find(location: str, environment: Mapping[str, str] | None = None) -> BackEnd:
    """The back end at ``location``; raises :class:`~kgbench.errors.StoreError` with words."""
    given = os.environ if environment is None else environment
    found = _described(Path(location)) if "://" not in location else _by_url(location)
    addresses = {
        part: checked(given[name], name)
        for part, name in VARIABLES.items()
        if given.get(name, "").strip()
    }
    return BackEnd(
        location=found.location,
        kind=found.kind,
        query=addresses.get("query", found.query),
        update=addresses.get("update", found.update),
        data=addresses.get("data", found.data),
        request_limit=found.request_limit,
        result_format=found.result_format,
        exact_double=found.exact_double,
    )


def state_folder(kind: str, location: str) -> Path:
    """Where this user keeps files of a ``kind`` on this machine, for a store on a server.

    Below ``kgbench`` in the user's state folder (``XDG_STATE_HOME``, by default
    ``~/.local/state``), named after the address for updates.
    """
    base = os.environ.get("XDG_STATE_HOME")
    state = Path(base) if base else Path.home() / ".local" / "state"
    return state / "kgbench" / kind / slug(find(location).update)


def checked(url: str, source: str) -> str:
    """``url`` where it is an http(s) URL without credentials; :class:`StoreError` otherwise."""
    parts = _split(url.strip(), source)
    if parts.fragment:
        raise StoreError(f"{source}: the address {shown(url)} may have no fragment")
    return urlunsplit(parts)


def shown(url: str) -> str:
    """``url`` without what stands before an ``@`` in it, fit to be printed."""
    return re.sub(r"(?<=//)[^/?#]*@", "", url)


# --- by URL ---------------------------------------------------------------------------------------


def _split(url: str, source: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise StoreError(f"{source}: {shown(url)} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise StoreError(f"{source}: {shown(url)} is not an http or https URL")
    if "@" in parts.netloc:
        raise StoreError(
            f"{source}: {shown(url)} was given with a user or password, which a location never "
            "holds: set KGBENCH_STORE_USER and KGBENCH_STORE_PASSWORD instead"
        )
    if re.search(r"[\x00-\x20\x7f]", url):
        raise StoreError(f"{source}: {shown(url)!r} holds blanks or control characters")
    # A request can hold ASCII only; whatever is escaped already stays as it is.
    path, query = quote(parts.path, safe=_AS_IT_IS), quote(parts.query, safe=_AS_IT_IS)
    return parts._replace(path=path, query=query)


def _by_url(location: str) -> BackEnd:
    parts = _split(location, "--store")
    asked = dict(parse_qsl(parts.query, keep_blank_values=True))
    name = asked.pop("engine", None)
    if asked or parts.fragment:
        raise StoreError(
            f"the location {urlunsplit(parts._replace(query='', fragment=''))} may have '?engine=' "
            "behind it, nothing else: describe the server in a Turtle file for more"
        )
    kind = _kind_of(parts.path) if name is None else _kind_named(name)
    if kind is None:
        raise StoreError(
            f"the kind of the server at {location} does not show in its path: say it "
            f"(?engine={'|'.join(sorted(_kinds()))}), or describe the server in a Turtle file"
        )
    base = urlunsplit(parts._replace(query="", fragment=""))
    data = _maybe(kind, KGB.dataPath)
    return BackEnd(
        location=location,
        kind=_text(kind, SKOS.notation),
        query=_joined(base, _text(kind, KGB.queryPath)),
        update=_joined(base, _text(kind, KGB.updatePath)),
        data=None if data is None else _joined(base, data),
        request_limit=int(_text(kind, KGB.requestLimit)),
        result_format=_text(kind, KGB.resultFormat),
        exact_double=_maybe(kind, KGB.exactDouble),
    )


def _joined(base: str, path: str) -> str:
    return base if path == "." else urljoin(base.rstrip("/") + "/", path)


def _kind_of(path: str) -> _Values | None:
    for kind in _kinds().values():
        pattern = _maybe(kind, KGB.locationPattern)
        if pattern is not None and re.fullmatch(pattern, path):
            return kind
    return None


def _kind_named(name: str) -> _Values:
    try:
        return _kinds()[name]
    except KeyError:
        known = ", ".join(sorted(_kinds()))
        raise StoreError(f"'{name}' is no kind of server that is known: {known}") from None


@cache
def _kinds() -> dict[str, _Values]:
    """The known kinds in their declared order: the first whose pattern matches counts."""
    source = shipped("store", "back-ends.ttl")
    kinds = source.instances(KGB.BackEnd)
    return {
        source.required(kind, SKOS.notation): {
            quad.predicate.value: quad.object
            for quad in source.graph.quads_for_pattern(kind, None, None)
            if isinstance(quad.object, (ox.NamedNode, ox.Literal))
        }
        for kind in sorted(kinds, key=lambda kind: source.needed(kind, SH.order, int))
    }


# --- by description -------------------------------------------------------------------------------

_NEEDED = (KGB.queryEndpoint, KGB.updateEndpoint)
_ALLOWED = {
    *_NEEDED,
    *(RDF.type, KGB.dataEndpoint, KGB.ofKind, KGB.requestLimit, KGB.resultFormat, KGB.exactDouble),
}
_OTHERS = ("http://www.w3.org/2000/01/rdf-schema#", "http://purl.org/dc/terms/", SKOS)


def _described(path: Path) -> BackEnd:
    """The back end that a Turtle file describes."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}") from None
    try:
        quads = list(ox.parse(content, ox.RdfFormat.TURTLE, base_iri=path.absolute().as_uri()))
    except (SyntaxError, ValueError) as error:
        raise StoreError(f"{path} is no Turtle: {error}") from None
    servers = {q.subject for q in quads if q.object == ox.NamedNode(KGB.BackEnd)}
    if len(servers) != 1:
        raise StoreError(f"{path} describes {len(servers)} servers (kgb:BackEnd), not one")
    (server,) = servers
    said: dict[str, ox.NamedNode | ox.Literal] = {}
    for quad in quads:
        name = quad.predicate.value
        if quad.subject != server or name.startswith(_OTHERS):
            continue
        if name not in _ALLOWED:
            known = ", ".join(sorted(one.removeprefix(KGB) for one in _ALLOWED - {RDF.type}))
            raise StoreError(f"{path}: <{name}> says nothing of a server; what does, is: {known}")
        if name in said:
            raise StoreError(f"{path}: <{name}> is said twice")
        if isinstance(quad.object, (ox.NamedNode, ox.Literal)):
            said[name] = quad.object
    return _from(said, path)


def _from(said: _Values, path: Path) -> BackEnd:
    kind = _kind_named(_last(said.get(KGB.ofKind)) or "sparql")
    whole = {**kind, **said}
    for needed in _NEEDED:
        if needed not in said:
            raise StoreError(f"{path}: the server has no kgb:{needed.removeprefix(KGB)}")
    limit, form = _text(whole, KGB.requestLimit), _text(whole, KGB.resultFormat)
    if not limit.isdecimal() or int(limit) < _SMALLEST:
        raise StoreError(f"{path}: kgb:requestLimit is a number of bytes, at least {_SMALLEST}")
    if form not in FORMATS:
        raise StoreError(f"{path}: kgb:resultFormat is one of {', '.join(FORMATS)}, not '{form}'")
    data = _maybe(said, KGB.dataEndpoint)
    return BackEnd(
        location=str(path),
        kind=_text(kind, SKOS.notation),
        query=checked(_text(said, KGB.queryEndpoint), str(path)),
        update=checked(_text(said, KGB.updateEndpoint), str(path)),
        data=None if data is None else checked(data, str(path)),
        request_limit=int(limit),
        result_format=form,
        exact_double=_maybe(whole, KGB.exactDouble),
    )


def _last(term: ox.NamedNode | ox.Literal | None) -> str | None:
    return None if term is None else term.value.rpartition("/")[2]


def _text(values: _Values, name: str) -> str:
    return values[name].value


def _maybe(values: _Values, name: str) -> str | None:
    found = values.get(name)
    return None if found is None else found.value
