# SPDX-License-Identifier: Apache-2.0
"""State shared by all handlers of a server: settings, current snapshot, workers.

The newest snapshot is served, also after updates; old ones close with their last reader. Small
requests are parsed in the event loop, large ones by workers with a time limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from kgbench import __version__
from kgbench.errors import KgbenchError
from kgbench.pages import things
from kgbench.pages.rendering import serialised
from kgbench.pages.things import View
from kgbench.rdf.lexer import TooManyTokens
from kgbench.serve import formats, requests
from kgbench.serve.admission import INSIDE, Admitted, Refused, admit
from kgbench.serve.formats import Format
from kgbench.serve.pool import Pool
from kgbench.serve.requests import Operation, PreparedOperation, RawRequest, error_message
from kgbench.serve.settings import Settings
from kgbench.store import EmbeddedStore, open_reader, snapshots

_FOR_PAGES = 2  # workers
_NICE, _NICER = 1, 10  # niceness of workers of pages, and of those that run what clients send
_GLANCE = 0.5  # seconds between checks for a new snapshot
_PREPARING = 15.0  # maximum seconds between finding a new snapshot and serving it
_SMALL = 8_000  # bytes; smaller requests are parsed within milliseconds
VARY = {"Vary": "Accept"}
_log = logging.getLogger("kgbench.serve")


class PendingSnapshot(NamedTuple):
    """A newer snapshot that is open but not served yet, and the name of the served one."""

    view: View
    served: str


class SnapshotFollower:
    """Follows the snapshots of the store at ``location``; :attr:`view` is the served one.

    :meth:`refresh` switches to the newest snapshot at once. :meth:`newer` only opens it, so that it
    can be prepared before :meth:`show` switches to it.
    """

    def __init__(self, location: str, base: str) -> None:
        open_reader(location).close()  # recovers from a killed writer, or raises
        self._folder = Path(location) / "snapshots"
        self._base = base
        self._lock = threading.Lock()
        self.view = self._open()

    def refresh(self) -> bool:
        """Serve the newest snapshot; return whether it is a new one.

        Several threads call this: after an update, and on a timer. The lock makes sure that a view
        is never replaced by an older one.
        """
        with self._lock:
            newest = snapshots.newest(self._folder)
            if newest is None or newest.name == self.view.name:
                return False
            self.view = self._open()
            return True

    def newer(self) -> PendingSnapshot | None:
        """Open and return the newest snapshot; ``None`` if it is served already."""
        with self._lock:
            served = self.view.name
            newest = snapshots.newest(self._folder)
            if newest is None or newest.name == served:
                return None
            view = self._open()
        return None if view.name == served else PendingSnapshot(view, served)

    def show(self, newer: PendingSnapshot) -> None:
        """Serve a snapshot, unless an even newer one is served meanwhile."""
        with self._lock:
            if self.view.name == newer.served:
                self.view = newer.view

    def _open(self) -> View:
        return things.open_newest(self._folder, self._base)


class Updates:
    """Applies updates one at a time; an update is visible to readers before it is answered."""

    def __init__(self, store: EmbeddedStore, following: SnapshotFollower) -> None:
        self._store = store
        self._following = following
        self._lock = asyncio.Lock()

    async def apply(self, text: str) -> None:
        """Apply a prepared update and publish a snapshot with it; raises :class:`Refused`."""
        async with self._lock:
            try:
                await asyncio.to_thread(self._store.update, text)
            except (SyntaxError, ValueError, RuntimeError) as error:
                raise Refused(400, error_message(text, error)) from None
            await asyncio.to_thread(self._store.publish_snapshot)
            await asyncio.to_thread(self._following.refresh)


class RequestReaders:
    """Parses requests and graphs; to be used in the server's event loop.

    The methods raise :class:`~kgbench.serve.admission.Refused` like the functions of
    :mod:`kgbench.serve.requests`, and as :meth:`Pool.run` does.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def operation(self, sent: RawRequest, base: str) -> PreparedOperation | None:
        """See :func:`kgbench.serve.requests.operation`."""
        if len(sent.url_query) + len(sent.body) <= _SMALL and not sent.may_write:
            try:
                return requests.operation(sent, base, INSIDE)
            except TooManyTokens:
                pass
        found = await self._read("operation", sent, base)
        if found is None:
            return None
        operation, admitted = found
        return PreparedOperation(_operation(operation), admitted and Admitted(*admitted))

    async def admit(self, query: str) -> Admitted:
        """See :func:`kgbench.serve.admission.admit`."""
        if len(query) <= _SMALL:
            try:
                return admit(query, INSIDE)
            except TooManyTokens:
                pass
        return Admitted(*await self._read("admit", query))

    async def triples(self, content_type: str, body: bytes, base: str) -> str:
        """See :func:`kgbench.serve.requests.triples`."""
        result: str = await self._read("triples", content_type, body, base)
        return result

    async def _read(self, name: str, *arguments: Any) -> Any:
        job = {"read": name, "arguments": arguments}
        answer = await self._pool.run(job, seconds=self._pool.limits.reading_seconds)
        return json.loads(await answer.whole())


def _operation(fields: Mapping[str, Any]) -> Operation:
    """Restore an operation, whose tuples are lists in JSON."""
    restored: Any = {name: tuple(v) if isinstance(v, list) else v for name, v in fields.items()}
    return Operation(**restored)


class Service:
    """The shared state of a server."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = Pool(settings.limits, settings.limits.workers, _NICER)
        # Analyses of pages have workers of their own, so that no query of a client can take them.
        # They are started when a page first needs one, and end for no other.
        limits = replace(settings.limits, assured_seconds=settings.limits.seconds)
        self.analysts = Pool(limits, _FOR_PAGES, _NICE)
        self.readers = RequestReaders(self.pool)
        self.following = SnapshotFollower(settings.location, settings.base)
        self.preparations: list[Callable[[View], Awaitable[object]]] = []
        """Functions that prepare a new snapshot before it is served."""
        self.first_work: list[Callable[[], Awaitable[None]]] = []
        """Functions that are called when the server has started."""

    @property
    def view(self) -> View:
        """The served snapshot."""
        return self.following.view

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run workers and follow the store's snapshots within this context."""
        await self.pool.start()
        if not self.pool.isolated:
            _log.warning(
                "this system cannot keep query workers from the network: only SERVICE is refused"
            )
        works = [self._follow(), *(work() for work in self.first_work)]
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.gather(self.pool.close(), self.analysts.close())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(_GLANCE)
            try:
                newer = await asyncio.to_thread(self.following.newer)
            except (KgbenchError, OSError) as error:  # the previous snapshot stays served
                _log.warning("the newest snapshot cannot be opened: %s", error)
                continue
            if newer is not None:
                await self._prepare(newer.view)
                await asyncio.to_thread(self.following.show, newer)
                del newer  # a reference here would keep the snapshot on disk

    async def _prepare(self, view: View) -> None:
        """Prepare a snapshot, so that no request waits until its pages are computed.

        The previous one stays served meanwhile, at most for :data:`_PREPARING` seconds.
        """
        tasks = [asyncio.ensure_future(prepare(view)) for prepare in self.preparations]
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=_PREPARING)
        finally:
            for task in tasks:
                task.cancel()
            for failed in await asyncio.gather(*tasks, return_exceptions=True):
                # A later request that needs the failed preparation gets its error, but there may be
                # no such request, so it is logged.
                if isinstance(failed, Exception):
                    _log.warning("the newest snapshot could not be prepared: %s", failed)

    def job(self, view: View, form: str, **fields: Any) -> dict[str, Any]:
        """Return a worker job on ``view`` with its answer in the format ``form``."""
        return {
            "snapshot": view.path,
            "format": form,
            "base": self.settings.base,
            "union": self.settings.union,
            "default": None,
            "named": None,
            **fields,
        }

    def tag(self, view: View, *parts: object) -> str:
        """Return the entity tag of a representation that depends on ``view`` and ``parts``.

        It also depends on the settings that shape pages and answers, so that a browser does not
        keep those of another store or server that had the same address.
        """
        shaping = self.settings
        settings = (shaping.base, shaping.public, shaping.union, shaping.redirect)
        return etag(__version__, settings, view.identity, *parts)

    def root(self, request: Request) -> str:
        """Return the URL of the root as clients reach it, ending with ``/``."""
        if self.settings.public is not None:
            return self.settings.public.rstrip("/") + "/"
        return str(request.base_url).rstrip("/") + "/"


def etag(*parts: object) -> str:
    """Return a weak entity tag made from ``parts``."""
    seen = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"))
    return f'W/"{seen.hexdigest()[:24]}"'


def head_response(headers: Mapping[str, str]) -> Response:
    """Return a HEAD response without Content-Length, because the body's size is unknown."""
    response = Response(headers=headers)
    del response.headers["content-length"]  # Starlette sets 0 for an empty body
    return response


def header(request: Request, name: str) -> str | None:
    """Return the list in a header, ``None`` without one.

    A client may send it in several lines, which are joined with commas (RFC 9110, section 5.3).
    """
    return ", ".join(request.headers.getlist(name)) or None


def negotiated(
    request: Request, offered: tuple[Format, ...], what: str, wanted: str | None = None
) -> Format:
    """Return the format in which a client gets ``what``; see :func:`formats.negotiate`.

    Raises :class:`~kgbench.serve.admission.Refused` (406), with the formats that are ``offered``.
    """
    chosen = formats.negotiate(header(request, "accept"), offered, wanted)
    if chosen is None:
        known = ", ".join(form.media for form in offered)
        raise Refused(406, f"{what} can be sent as {known}", VARY)
    return chosen


def tagged(chosen: Format, tag: str) -> dict[str, str]:
    """Return the headers of a representation in a format, with its entity tag."""
    return {
        **VARY,
        "Content-Type": chosen.content_type,
        "Cache-Control": "no-cache",
        "ETag": tag,
    }


def is_unchanged(request: Request, tag: str) -> bool:
    """Return whether the client's If-None-Match matches ``tag``."""
    known = header(request, "if-none-match") or ""
    return known.strip() == "*" or tag.removeprefix("W/") in [
        entry.strip().removeprefix("W/") for entry in known.split(",")
    ]


def graph_response(quads: Iterable[Any], chosen: Format, headers: Mapping[str, str]) -> Response:
    """Return a response with ``quads`` in the chosen format.

    Raises :class:`~kgbench.serve.admission.Refused` (406) if the format cannot express them.
    """
    quads = list(quads)
    if not all(formats.can_express(quad, chosen.name) for quad in quads):
        raise Refused(406, formats.NO_TRIPLE_TERMS, VARY)
    return Response(
        serialised(quads, chosen.name), headers={**headers, "Content-Type": chosen.content_type}
    )
