# SPDX-License-Identifier: Apache-2.0
"""What all handlers of one server share: settings, the snapshot of now, the pool of workers."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kgbench.errors import KgbenchError
from kgbench.serve.following import Following, View
from kgbench.serve.pool import ANALYSES, Pool
from kgbench.serve.readers import Readers
from kgbench.serve.settings import Settings
from kgbench.vocab import PREFIXES

_QUICK_PAGE = 2.0  # seconds of an analysis before it counts as heavy
_GLANCE = 0.5  # seconds between looks for a new snapshot
_PREPARING = 15.0  # seconds at most from finding a new snapshot to serving it
_log = logging.getLogger("kgbench.serve")


class Service:
    """One server's state."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.pool = Pool(settings.limits)
        few = replace(settings.limits, quick=2, quick_seconds=_QUICK_PAGE, heavy=1)
        self.analysts = Pool(few, ANALYSES)  # started when the first page needs one
        self.readers = Readers(settings.limits)  # as these, when the first large request comes
        self.following = Following(settings.location, settings.base)
        self.preparations: list[Callable[[View], Awaitable[object]]] = [self._prepare_workers]
        """What is done with a new snapshot before it is served."""

    @property
    def view(self) -> View:
        """The newest snapshot."""
        return self.following.view

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Workers are there, and the store is followed, inside this context."""
        await self.pool.start()
        if not self.pool.isolated:
            _log.warning(
                "this system cannot keep query workers from the network: only SERVICE is refused"
            )
        task = asyncio.create_task(self._follow())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.gather(self.pool.close(), self.analysts.close(), self.readers.close())

    async def _follow(self) -> None:
        while True:
            await asyncio.sleep(_GLANCE)
            try:
                newer = await asyncio.to_thread(self.following.newer)
            except (KgbenchError, OSError) as error:  # the last snapshot goes on being served
                _log.warning("the newest snapshot cannot be opened: %s", error)
                continue
            if newer is not None:
                await self._prepare(newer.view)
                await asyncio.to_thread(self.following.show, newer)
                del newer  # nothing here keeps it on disk

    async def _prepare(self, view: View) -> None:
        """Prepare a snapshot, so that no request waits for it to be opened and counted.

        Until that is done the last one is served, but not for longer than :data:`_PREPARING`.
        """
        tasks = [asyncio.ensure_future(prepare(view)) for prepare in self.preparations]
        try:
            await asyncio.wait(tasks, timeout=_PREPARING)
        finally:
            for task in tasks:
                task.cancel()
            for failed in await asyncio.gather(*tasks, return_exceptions=True):
                # Whoever asks for what could not be prepared is told why; nobody may ask for it.
                if isinstance(failed, Exception):
                    _log.warning("the newest snapshot could not be prepared: %s", failed)

    async def _prepare_workers(self, view: View) -> None:
        await self.pool.prepare({"snapshot": view.path, "prepare": True})

    def job(self, view: View, form: str, **what: Any) -> dict[str, Any]:
        """A job for a worker on ``view`` with its answer in the format ``form``."""
        return {
            "snapshot": view.path,
            "format": form,
            "base": self.settings.base,
            "union": self.settings.union,
            "default": None,
            "named": None,
            "prefixes": dict(PREFIXES),
            **what,
        }

    def root(self, request: Request) -> str:
        """The URL of the root, as clients reach it; ends with ``/``."""
        if self.settings.public is not None:
            return self.settings.public.rstrip("/") + "/"
        return str(request.base_url).rstrip("/") + "/"


def etag(*parts: object) -> str:
    """A weak entity tag over ``parts``."""
    seen = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass"))
    return f'W/"{seen.hexdigest()[:24]}"'


def bare(headers: Mapping[str, str]) -> Response:
    """A HEAD response without Content-Length: the body's size is unknown before it is computed."""
    response = Response(headers=headers)
    del response.headers["content-length"]  # 0, which is said of an empty body
    return response


def unchanged(request: Request, tag: str) -> bool:
    """Whether the client has what ``tag`` stands for already."""
    known = request.headers.get("if-none-match", "")
    return known.strip() == "*" or tag.removeprefix("W/") in [
        one.strip().removeprefix("W/") for one in known.split(",")
    ]
