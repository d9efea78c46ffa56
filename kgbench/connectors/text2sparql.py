# SPDX-License-Identifier: Apache-2.0
"""Systems with the protocol of the TEXT2SPARQL challenge, called like models.

``GET ADDRESS?dataset=IRI&question=TEXT`` returns JSON: ``{"dataset", "question", "query"}``. The
protocol has no conversations and no instructions, so it only supports prompts that consist of a
bare question about a data set. The reply is the query as it was received.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Final, Self
from urllib.parse import urlencode, urlsplit

from kgbench import rdf
from kgbench.connectors.bodies import mapping, text_of
from kgbench.connectors.calls import Caller
from kgbench.connectors.declared import Declaration
from kgbench.connectors.error_bodies import NoAnswer
from kgbench.connectors.options import Option, read
from kgbench.errors import ModelSpecError, ProviderError, ProviderRefused
from kgbench.model import Json, ModelSetup, Reply, Request
from kgbench.net import environment, web
from kgbench.net.limits import REDIRECTS, Limits, Misbehaviour, RedirectRefused, redirect_target

REPEATED_AFTER: Final = 15.0
"""Seconds after which the challenge's client repeats a call that failed."""

_MOST: Final = 1 << 22  # bytes of a response; the longest published query has 4,000
_MOST_OF_ERROR: Final = 1 << 16  # characters of an error's body
_MOVED: Final = frozenset((301, 302, 303, 307, 308))

DECLARED = Declaration(
    specifications=("text2sparql:ADDRESS", "text2sparql:NAME@ADDRESS"),
    options={
        "dataset": Option(
            str, "", meaning="the IRI by which the system knows the data set, if it is another one"
        ),
        "timeout": Option(
            float,
            600.0,
            1,
            3600,
            meaning="seconds for each call: 600 in the challenge of 2025, 180 in that of 2026",
        ),
    },
    sampling=(),
)


def open(setup: ModelSetup, timeout: float) -> System:  # noqa: A001, ARG001 - the interface
    """Return the system at the address of ``setup``; its option ``timeout`` limits calls."""
    options = read(setup.options, DECLARED.options, setup.spec)
    if setup.sampling:
        raise ModelSpecError(
            f"{setup.spec} takes no sampling parameters, but has {', '.join(setup.sampling)}"
        )
    url = setup.base_url or setup.model_id
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelSpecError(
            f"{setup.spec}: name the address of the system, as text2sparql:https://host/path"
        )
    environment.check(url)
    return System(Caller(setup.spec, options["timeout"], (), url), options["dataset"])


class System:
    """A question answering system; see the module."""

    def __init__(self, caller: Caller, dataset: str) -> None:
        self._caller = caller
        self._dataset = dataset

    @property
    def deadline(self) -> float:
        """The timeout of a call in seconds, which replaces that of the run."""
        return self._caller.timeout

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Do nothing: each call has a connection of its own."""

    async def ask(self, request: Request) -> Reply:
        """Return the system's query for a question.

        Raises :class:`~kgbench.errors.ProviderRefused` for any prompt but a bare question.
        """
        dataset = self._dataset or request.case.data.get("dataset")
        (question, *more) = request.messages
        if more or not dataset or question != request.case.data.get("question"):
            raise ProviderRefused(
                self._caller.describe(
                    "a system can only be asked a bare question about a data set: choose tasks "
                    "whose prompt is the question"
                )
            )
        fields = {"dataset": dataset, "question": rdf.storable(question).value}
        try:
            async with asyncio.timeout(self._caller.timeout):
                return await _in_thread(lambda: self._get(urlencode(fields)))
        except TimeoutError:
            raise _with_wait(self._caller.timeout_error()) from None
        except ProviderError as error:
            raise _with_wait(error) from None
        except Misbehaviour as error:
            raise _with_wait(self._caller.misbehaviour_error(error)) from None
        except OSError as error:
            raise _with_wait(self._caller.connection_error(error)) from None

    def _get(self, fields: str) -> Reply:
        """Return the reply; redirects within the server are followed."""
        seconds = self._caller.timeout
        url = f"{self._caller.url}?{fields}"
        for _ in range(REDIRECTS + 1):
            with web.request(url, Limits(_MOST, _MOST, seconds), idle=seconds) as response:
                if response.status in _MOVED and (to := response.headers.get("Location")):
                    url = redirect_target(url, to)
                    continue
                if response.status >= 400:  # noqa: PLR2004
                    text = response.text(_MOST_OF_ERROR)
                    return self._caller.failed(response.status, text, response.headers)
                body = b"".join(response.pieces()).decode("utf-8", "replace")
                return self._caller.read(body, _reply, None)
        raise RedirectRefused(f"the server redirects more than {REDIRECTS} times")


def _with_wait(error: ProviderError) -> ProviderError:
    """Set on ``error`` the time after which the call is retried."""
    error.again_after = REPEATED_AFTER
    return error


def _reply(body: Json, _: str | None) -> Reply:
    """Return the query in a response; ``null`` is an empty answer."""
    if "query" not in mapping(body):
        raise NoAnswer("no 'query'", body)
    query = mapping(body)["query"]
    if query is None:
        return Reply("")
    text = text_of(query)
    if text is None:
        raise ProviderError("the 'query' of the response is not a string")
    return Reply(text)


async def _in_thread(work: Callable[[], Reply]) -> Reply:
    """Return the result of ``work`` from a daemon thread.

    The interpreter waits for threads of the event loop's pool when it exits, which could take ten
    minutes with a slow server; it does not wait for daemon threads.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Reply] = loop.create_future()

    def resolve(result: Reply | None, error: BaseException | None) -> None:
        if future.done():  # cancelled
            return
        if result is not None:
            future.set_result(result)
        elif error is not None:
            future.set_exception(error)

    def run() -> None:
        result: Reply | None = None
        error: BaseException | None = None
        try:
            result = work()
        except Exception as exception:  # noqa: BLE001 - raised by awaiting the future
            error = exception
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(resolve, result, error)
        error = None  # breaks the reference cycle between the error and this frame

    threading.Thread(target=run, daemon=True, name="text2sparql").start()
    return await future
